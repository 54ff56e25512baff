"""Computes the 1-tree bound of a file of cities on one thread. Started by `bounds.py`.

    python -m jobs.benchmarks.edge_assembly.bound_of cities.tsp

Prints the bound, and the CPU seconds of this process: when the file was read, and when the bound was there.
"""

from __future__ import annotations

import sys
import time

from hpcsolve.algorithms.tours.one_tree import tour_bound
from hpcsolve.device.host import HostDevice
from hpcsolve.formats import read
from hpcsolve.problems.tsp import Tsp


def main() -> None:
    """Read the file, and compute the bound."""
    tsp = read(sys.argv[1]).problem
    assert isinstance(tsp, Tsp)
    begun = time.process_time()
    with HostDevice(1) as host:
        bound = tour_bound(tsp, host)
    print(f"bound {bound.value if bound else 'none'} {begun:.6f} {time.process_time():.6f}", flush=True)


if __name__ == "__main__":
    main()
