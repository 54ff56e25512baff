"""Runs `hpcsolve WORDS...` in a process whose clock is its CPU time. Started by `solvers.py`.

    python -m jobs.benchmarks.edge_assembly.own solve cities.tsp --seconds 10 --output result.h5 ...

Others may share the machine, so the time limit, the history and all seconds in the result are CPU seconds. The last
line has the CPU seconds, from the start of the process, at which hpcsolve's own clock began.
"""

from __future__ import annotations

import sys
import time


def main() -> int:
    """Run the command and return its exit code."""
    time.perf_counter = time.process_time
    from hpcsolve import cli

    began = time.process_time()
    code = cli.main(sys.argv[1:])
    print(f"began {began:.6f}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
