"""Times Held-Karp's kernels as a wheel has them beside those that g++ makes for this very CPU, in turn in one process.

    python -m jobs.benchmarks.held_karp.builds
    python -m jobs.benchmarks.held_karp.builds --sizes 26 --repeats 40

Prints Markdown: for each kind of CPU whose kernels `make wheel` compiles and this CPU can run, how many times the CPU
seconds of `-march=native` they take, the best of all runs each.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ["OMP_WAIT_POLICY"] = "passive"

from hpcsolve.algorithms.held_karp.lattice.planes import FILE
from hpcsolve.device import build
from hpcsolve.device.host import open_library
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import keep_freed_memory
from jobs.benchmarks.held_karp.peak import MeasuredDevice
from jobs.benchmarks.held_karp.versions import rates_of
from release.wheel import kinds_for_this_cpu


def main() -> int:
    """Print the table, and return 1 if two builds disagree about an optimum."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}" if __spec__ else None, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[22, 24], metavar="N", help="cities")
    parser.add_argument("--repeats", type=int, default=20, help="runs of each build (default 20)")
    options = parser.parse_args()
    keep_freed_memory()
    kinds = kinds_for_this_cpu()
    with tempfile.TemporaryDirectory() as folder:
        devices = [MeasuredDevice(1), *(_device(kind, Path(folder)) for kind in kinds)]
    results = {n: rates_of(n, devices, options.repeats) for n in options.sizes}
    rows = [[str(n), *(f"{rates[0] / rate:.3f}" for rate in rates[1:])] for n, (rates, _) in results.items()]
    print("\n".join(markdown(["n", *(f"{kind} / native" for kind in kinds)], rows)))
    return int(any(len(optima) > 1 for _, optima in results.values()))


def _device(kind: str, folder: Path) -> MeasuredDevice:
    """Return a device with the kernels that a wheel has for a kind of CPU, which are compiled into a folder."""
    device, built = MeasuredDevice(1), build.build_target(kind, False, [FILE], lambda file: None, folder)
    device.libraries[FILE] = open_library(built / build.kernel_name(FILE, kind), 1)
    return device


if __name__ == "__main__":
    sys.exit(main())
