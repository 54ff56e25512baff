"""Has ncu profile the longest launch of a kernel.

    python -m jobs.benchmarks.gpu.profile held_karp_step_u2    # or another of PROFILED; by default all

The kernel's launches are timed one by one first, without ncu, so that the longest launch is profiled, not an early one
with nearly empty blocks. ncu counts the same launches, since each run makes the same ones.
"""

from __future__ import annotations

import subprocess
import sys

from hpcsolve.device.select import open_device
from hpcsolve.errors import EnvironmentFault
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.gpu.cases import cases
from jobs.benchmarks.gpu.measure import timed
from jobs.benchmarks.gpu.record import before_longest, recording

PROFILED = {
    "held_karp_step_u2": ("held-karp-28-u2", "held-karp-12-u2"),
    "bounds_relax": ("bounded-32", "bounded-14"),
    "near_far_solve_u4": ("near-far-264", "near-far-24"),
    "near_far_grid_step_u4": ("rmat-20", "rmat-9"),
    "phast_climb_u4_32": ("phast-264", "phast-24"),
    "phast_sweep_u4_32": ("phast-264", "phast-24"),
    "tile_search_u4": ("kmb-G103", "kmb-small"),
    "head_tail_construct": ("ant-system-pr2392", "ant-system-small40"),
    "k_opt_matrix_u2": ("max-min-pcb442-160", "max-min-small40-32"),
}
"""Kernels -> the cases that launch them, large and small."""
SECTIONS = ("--set", "basic", "--section", "SpeedOfLight", "--section", "Occupancy", "--section",
            "MemoryWorkloadAnalysis")


def main() -> int:
    """Profile what the command asks for, and return the exit code of ncu."""
    parser = new_parser("jobs.benchmarks.gpu.profile", __doc__)
    parser.add_argument("kernels", nargs="*", choices=[*PROFILED, []], default=[], metavar="KERNEL",
                        help=f"{', '.join(PROFILED)} (default all)")
    parser.add_argument("--device", default="cuda", help="the GPU (default cuda)")
    parser.add_argument("--small", action="store_true", help="small cases, to try this program")
    options = parser.parse_args()
    codes = [_profile(kernel, PROFILED[kernel][options.small], options.device, options.small)
             for kernel in options.kernels or PROFILED]
    return max(codes)


def _profile(kernel: str, name: str, device: str, small: bool) -> int:
    skipped = launches_before(kernel, name, device, small)
    print(f"{kernel}: its longest launch in {name} comes after {skipped} others", flush=True)
    run = (sys.executable, "-m", "jobs.benchmarks.gpu.measure", "--device", device, "--repeats", "0",
           *(("--small",) if small else ()), name)
    try:
        return subprocess.run(["ncu", *SECTIONS, "--kernel-name", kernel, "--launch-skip", str(skipped),
                               "--launch-count", "1", *run], check=False).returncode
    except FileNotFoundError:
        raise EnvironmentFault("no ncu on the PATH: it comes with NVIDIA's toolkit") from None


def launches_before(kernel: str, name: str, device: str, small: bool) -> int:
    """Return how many launches of a kernel come before its longest one in a case."""
    case = cases(small)[name]
    problem = case.problem()
    with open_device(device, SerialComm(), share_gpu=True)[0] as opened:
        timed(case, problem, opened, SerialComm())  # what happens only once would make an early launch look long
        with recording(opened, timed=True) as launches:
            timed(case, problem, opened, SerialComm())
    return before_longest(launches, kernel)


if __name__ == "__main__":
    end_with(main, "jobs.benchmarks.gpu.profile")
