"""The parts of the half hour on a GPU, and the steps of each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from hpcsolve.device.compiler import cuda_compiler
from jobs.benchmarks.common.ranks import mpiexec
from jobs.benchmarks.gpu.checks import JOBS
from jobs.benchmarks.gpu.profile import PROFILED
from jobs.benchmarks.gpu.shapes import SWEEPS
from jobs.benchmarks.gpu.steps import Step

PYTHON = sys.executable
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
"""compute-sanitizer's tools."""
SANITIZER_FAILED = 9
"""The exit code of compute-sanitizer if it finds a fault."""

def parts(small: bool) -> dict[str, Callable[[], list[Step]]]:
    """Return for each part a function that returns its steps, the most important part first."""
    return {"truth": lambda: truth(small), "tests": lambda: tests(small), "sanitizer": lambda: sanitizer(small),
            "times": lambda: times(small), "profiles": lambda: profiles(small), "sweeps": lambda: sweeps(small)}


def truth(small: bool) -> list[Step]:
    """Return the steps that print versions, and the checks that must succeed before a time counts."""
    checks = [_module(f"check {name}", "checks", 240 if name == "compare" else 60, name, small=small)
              for name in ("kernels", "compare", "share", "memory")]
    fault = Step("check fault", (PYTHON, "-m", "jobs.benchmarks.gpu.checks", "fault"), 60, {"STUB_FAIL_KERNEL": "1"})
    return [
        Step("driver", ("nvidia-smi", "-q"), 30),
        Step("compiler", (cuda_compiler(), "--version"), 30),
        Step("versions", (PYTHON, "-m", "hpcsolve", "info"), 60),
        *checks, fault,
    ]


def tests(small: bool) -> list[Step]:
    """Return the steps that run the tests on the device: those of devices and kernels, then those of the algorithms."""
    few = {"devices and kernels": "-k minplus tests/device tests/kernels",
           "algorithms": "-k near-far-block tests/algorithms/shortest_paths/test_arriving_rows.py"}
    whole = {"devices and kernels": "tests/device tests/kernels", "algorithms": "tests/algorithms"}
    alone = ("PROCESSES=0",) if small else ()  # eight processes would take longer to start than these few tests
    make = ("make", "-C", str(JOBS.parent), "test-gpu", f"BIN={Path(PYTHON).parent}", *alone)
    return [Step(name, (*make, f"TESTS={chosen}"), 280) for name, chosen in (few if small else whole).items()]


def sanitizer(small: bool) -> list[Step]:
    """Return the steps that run every kernel on small problems, one under each tool of compute-sanitizer.

    The kernels are built before, side by side, since the compiler takes far longer under a tool.
    """
    run = (PYTHON, "-m", "tests.ptx.program", "run", *(("minplus",) if small else ()))
    watch = ("compute-sanitizer", "--error-exitcode", str(SANITIZER_FAILED), "--tool")
    kernels = _module("kernels", "checks", 140, "kernels", small=small)
    return [kernels, *(Step(tool, (*watch, tool, *run), 140) for tool in TOOLS)]


def times(small: bool) -> list[Step]:
    """Return the measurements: launches, then each algorithm by itself, then Held-Karp on several ranks.

    The ranks have a GPU each if there are enough, else they share one, and the time shows what their messages cost.
    """
    groups = {"held-karp 16-bit": "held-karp-*-u2", "held-karp 32-bit": "held-karp-*-u4", "bounds": "bounded-*",
              "proofs": "proof-*", "batches": "batch-*", "near-far": "near-far-*", "phast": "phast-*",
              "sums": "sums-*", "r-mat": "rmat-*", "steiner trees": "kmb-*", "ant systems": "ant-system-*",
              "colonies": "max-min-*", "edge assembly": "edge-assembly-*"}
    launches = Step("launches", (PYTHON, "-m", "jobs.benchmarks.gpu.launches", "--device", "cuda"), 60)
    shared = "held-karp-12-u2" if small else "held-karp-32-u2"
    return [launches, *(_module(name, "measure", 150, "--device", "cuda", pattern, small=small)
                        for name, pattern in groups.items()),
            *(_module(f"held-karp on {ranks} ranks", "measure", 60, "--device", "cuda", shared, small=small,
                      before=(mpiexec(), "-n", str(ranks))) for ranks in (2, 4))]


def profiles(small: bool) -> list[Step]:
    """Return the steps in which ncu profiles the longest launch of each kernel."""
    return [_module(kernel, "profile", 110, kernel, small=small, needs="ncu") for kernel in PROFILED]


def sweeps(small: bool) -> list[Step]:
    """Return the sweeps of launch shapes."""
    return [_module(name, "shapes", 110, "--device", "cuda", name, small=small) for name in SWEEPS]


def _module(
    name: str, module: str, seconds: float, *words: str, small: bool, before: tuple[str, ...] = (), needs: str = ""
) -> Step:
    """Return a step that runs a module of this package, with one repetition if it is small."""
    once = ("--repeats", "1") if module in ("measure", "shapes") else ()
    options = ("--small", *once) if small else ()
    return Step(name, (*before, PYTHON, "-m", f"jobs.benchmarks.gpu.{module}", *words, *options), seconds, needs=needs)
