"""The parts of the half hour on a GPU, and the steps of each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from hpcsolve.device.build import cuda_compiler
from jobs.benchmarks.gpu.checks import JOBS
from jobs.benchmarks.gpu.shapes import SWEEPS
from jobs.benchmarks.gpu.steps import Step

PYTHON = sys.executable
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
"""compute-sanitizer's tools."""
SANITIZER_FAILED = 9
PROFILED = {
    "held_karp_step_u2": "held-karp-28-u2", "near_far_solve_u4": "new-york-264", "near_far_grid_step_u4": "rmat-20",
    "tile_search_u4": "kmb-G103", "ant_head_tail_construct": "ant-system-pr2392",
}
"""Kernels that ncu looks at, and the cases that launch them."""


def parts(small: bool) -> dict[str, Callable[[], list[Step]]]:
    """Return the functions that give the steps of each part, by the part's name, in the order of their worth."""
    return {"truth": lambda: truth(small), "tests": lambda: tests(small), "sanitizer": lambda: sanitizer(small),
            "times": lambda: times(small), "profiles": lambda: profiles(small), "sweeps": lambda: sweeps(small)}


def truth(small: bool) -> list[Step]:
    """Versions, and what must be true before a time counts."""
    checks = [_module(f"check {name}", "checks", 240 if name == "compare" else 60, name, small=small)
              for name in ("compare", "share", "memory")]
    fault = Step("check fault", (PYTHON, "-m", "jobs.benchmarks.gpu.checks", "fault"), 60, {"STUB_FAIL_KERNEL": "1"})
    return [
        Step("driver", ("nvidia-smi", "-q"), 30),
        Step("compiler", (cuda_compiler(), "--version"), 30),
        Step("versions", (PYTHON, "-m", "hpcsolve", "info"), 60),
        *checks, fault,
    ]


def tests(small: bool) -> list[Step]:
    """Run the tests on the device, eight at a time: those of devices and kernels, then those of the algorithms."""
    few = {"devices and kernels": "-k minplus tests/device tests/kernels",
           "algorithms": "-k near-far-block tests/algorithms/test_arriving_rows.py"}
    whole = {"devices and kernels": "tests/device tests/kernels", "algorithms": "tests/algorithms"}
    make = ("make", "-C", str(JOBS.parent), "test-gpu", f"BIN={Path(PYTHON).parent}")
    return [Step(name, (*make, f"TESTS={chosen}"), 280) for name, chosen in (few if small else whole).items()]


def sanitizer(small: bool) -> list[Step]:
    """Run every kernel on small problems under each tool of compute-sanitizer."""
    run = (PYTHON, "-m", "tests.ptx.program", "run", *(("minplus",) if small else ()))
    return [Step(tool, ("compute-sanitizer", "--tool", tool, "--error-exitcode", str(SANITIZER_FAILED), *run), 140)
            for tool in TOOLS]


def times(small: bool) -> list[Step]:
    """Return the measurements, each algorithm by itself."""
    groups = {"launches": "", "held-karp 16-bit": "held-karp-*-u2", "held-karp 32-bit": "held-karp-*-u4",
              "new york": "new-york-*", "r-mat": "rmat-*", "steiner trees": "kmb-*", "ant systems": "ant-system-*",
              "colonies": "max-min-*"}
    found = [Step("launches", (PYTHON, "-m", "jobs.benchmarks.gpu.launches", "--device", "cuda"), 60)]
    return found + [_module(name, "measure", 150, "--device", "cuda", pattern, small=small)
                    for name, pattern in groups.items() if pattern]


def profiles(small: bool) -> list[Step]:
    """Return ncu's view of five kernels."""
    options = ("--set", "basic", "--section", "SpeedOfLight", "--section", "Occupancy", "--section",
               "MemoryWorkloadAnalysis", "--launch-skip", "2", "--launch-count", "2")
    return [Step(kernel, ("ncu", *options, "--kernel-name", kernel, PYTHON, "-m", "jobs.benchmarks.gpu.measure",
                          "--device", "cuda", "--repeats", "1", *(("--small", "*") if small else (case,))), 110)
            for kernel, case in PROFILED.items()]


def sweeps(small: bool) -> list[Step]:
    """Return the sweeps of launch shapes."""
    return [_module(name, "shapes", 110, "--device", "cuda", name, small=small) for name in SWEEPS]


def _module(name: str, module: str, seconds: float, *words: str, small: bool) -> Step:
    options = ("--small", *(() if module == "checks" else ("--repeats", "1"))) if small else ()
    return Step(name, (PYTHON, "-m", f"jobs.benchmarks.gpu.{module}", *words, *options), seconds)
