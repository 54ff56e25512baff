"""Times Held-Karp's kernels as several folders of sources have them, in turn in one process, beside the peak.

    python -m jobs.benchmarks.held_karp.versions /another/checkout/cuda_src
    python -m jobs.benchmarks.held_karp.versions FOLDER FOLDER --sizes 26 --repeats 40
    python -m jobs.benchmarks.held_karp.versions FOLDER --sizes 26 --textbook

The first column is this checkout. Prints Markdown: min-adds in a CPU second of one core, the best of all runs, and the
share of the peak (cuda_src/held_karp/min_add.cu). With --textbook also how many times as fast each is as the
straightforward program (full_table.cpp), which runs twice in the same process.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from unittest.mock import patch

os.environ["OMP_WAIT_POLICY"] = "passive"

from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.held_karp.lattice.planes import FILE
from hpcsolve.device import build
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.tsp import NO_ARC
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import best_of, keep_freed_memory
from jobs.benchmarks.held_karp.measure import FIRST, random_costs
from jobs.benchmarks.held_karp.peak import MeasuredDevice, min_adds, peak_rate
from jobs.benchmarks.held_karp.rivals import all_rivals


def main() -> int:
    """Print the table, and return 1 if two versions disagree about an optimum."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}" if __spec__ else None, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER", help="cuda_src of other versions")
    parser.add_argument("--sizes", type=int, nargs="+", default=[24, 26], metavar="N", help="cities")
    parser.add_argument("--repeats", type=int, default=20, help="runs of each version (default 20)")
    parser.add_argument("--textbook", action="store_true", help="also time the straightforward program, up to n = 26")
    options = parser.parse_args()
    keep_freed_memory()
    folders = [build.source_folder(), *options.folders]
    devices, peak = [_device(folder) for folder in folders], peak_rate(MeasuredDevice(1), 5)
    results = {n: rates_of(n, devices, options.repeats) for n in options.sizes}
    rows = [[str(n), *(f"{rate:.2e}, {100 * rate / peak:.0f} %" for rate in rates)]
            for n, (rates, _) in results.items()]
    print("\n".join(markdown(["n", "this version", *map(str, folders[1:])], rows)))
    print(f"\nPeak: {peak:.2e} min-adds in a CPU second.")
    for n in results if options.textbook else ():
        textbook, costs = all_rivals(1)[0][0], random_costs(n, FIRST).cost
        seconds = best_of(textbook.prepare(costs * (costs != NO_ARC)), 2, 0.0).cpu
        times = ", ".join(f"{rate * seconds / min_adds(n):.1f}" for rate in results[n][0])
        print(f"{textbook.name}, n = {n}: {seconds:.3g} CPU s; times as fast: {times}.")
    return int(any(len(optima) > 1 for _, optima in results.values()))


def _device(folder: Path) -> MeasuredDevice:
    """Return a device whose kernels are compiled from this folder."""
    device = MeasuredDevice(1)
    with patch.object(build, "source_folder", lambda: folder):
        build.host_library.cache_clear()
        for kernel in ("step_u2", "meet_u2"):
            device.kernel(FILE, f"held_karp_{kernel}")
    build.host_library.cache_clear()
    return device


def rates_of(n: int, devices: list[MeasuredDevice], repeats: int) -> tuple[list[float], set[int]]:
    """Return the best useful min-adds in a CPU second of each device, and the optima found."""
    tsp, optima = random_costs(n, FIRST), set()
    seconds = [float("inf")] * len(devices)
    for _ in range(repeats):
        for i, device in enumerate(devices):
            optima.add(int(held_karp.ALGORITHM.solve(tsp, device, SerialComm(), held_karp.Parameters()).cost))
            seconds[i] = min(seconds[i], device.kernel_seconds()[1])
    return [min_adds(n) / best for best in seconds], optima


if __name__ == "__main__":
    sys.exit(main())
