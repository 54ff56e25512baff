"""`make check-races`: every kernel of cuda_src under ThreadSanitizer, AddressSanitizer and UBSan, on tiny inputs.

ThreadSanitizer watches the CUDA form of the kernels on real threads (-DHOST_THREADS), the launch configurations of a
GPU; the other two watch the CPU's own form. The interpreter runs program.py with the sanitizer's library loaded first,
on kernels that hpcsolve's own build makes with other flags (HPCSOLVE_CXXFLAGS). Kernels with planted mistakes
(planted.cu) must be reported, or the check itself is broken. Exits with 1 at the first problem.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
KERNELS = REPOSITORY / "cuda_src"
COMMON = "-x c++ -std=c++17 -g -march=native -ffp-contract=off -fPIC -shared -Wno-psabi"
REPORT = re.compile(r"WARNING: ThreadSanitizer: [\w ]+|ERROR: AddressSanitizer: [\w-]+|runtime error: [^\n]+")


@dataclass(frozen=True)
class Build:
    """A way to compile and watch kernels.

    Attributes
    ----------
    name
        For messages.
    flags
        Options of g++.
    runtime
        The library of the sanitizer, loaded before the interpreter's own.
    clean, planted
        Kernels of planted.cu in which it must find nothing, and those that it must report with these words.
    """

    name: str
    flags: str
    runtime: str
    clean: tuple[str, ...]
    planted: dict[str, str]


THREADS = Build(
    "ThreadSanitizer, real threads",
    "-O1 -DHOST_THREADS -pthread -fsanitize=thread",
    "libtsan.so",
    ("nothing",),
    {"race": "ThreadSanitizer: data race"},
)
ADDRESSES = Build(
    "AddressSanitizer and UBSan, one thread a block",
    "-O1 -fopenmp -fsanitize=address,undefined -fno-sanitize-recover=undefined",
    "libasan.so",
    ("nothing", "race"),
    {"overrun": "AddressSanitizer: heap-buffer-overflow", "overflow": "runtime error: signed integer overflow"},
)


def main() -> int:
    """Return the exit code. Print what was checked to stdout, and what is wrong to stderr."""
    for build in (THREADS, ADDRESSES):
        problem = missing(build) or check(build)
        if problem:
            print(f"check-races: {build.name}: {problem}", file=sys.stderr)
            return 1
        print(f"check-races: {build.name}: every kernel clean, every planted mistake reported", flush=True)
    return 0


def missing(build: Build) -> str:
    """Return why this build cannot be tried on this machine, or an empty string."""
    if shutil.which("g++") is None:
        return "g++ is not on the PATH"
    if not sanitizer(build).is_absolute():
        return f"g++ has no {build.runtime}: install the compiler's sanitizer libraries"
    return ""


def check(build: Build) -> str:
    """Return what is wrong with the kernels, or with the sanitizer, in this build, or an empty string."""
    with tempfile.TemporaryDirectory() as cache:
        return check_planted(build, cache) or check_kernels(build, cache)


def check_kernels(build: Build, cache: str) -> str:
    """Return what the sanitizer reports of the kernels of cuda_src, or which answers are wrong, or an empty string."""
    compiled = run(build, cache, "compile", watched=False)
    if compiled.returncode != 0:
        return compiled.stderr
    done = run(build, cache, "kernels")
    if done.returncode != 0 or REPORT.search(done.stdout + done.stderr):
        return done.stdout + done.stderr
    forgotten = exported_kernels() - set(done.stdout.split())
    return f"tests/races/program.py does not launch {', '.join(sorted(forgotten))}" if forgotten else ""


def check_planted(build: Build, cache: str) -> str:
    """Return a planted mistake that the sanitizer overlooks, or one that it invents, or an empty string."""
    compiled = run(build, cache, "compile", "planted", watched=False)
    if compiled.returncode != 0:
        return compiled.stderr
    for name in build.clean:
        done = run(build, cache, name)
        if done.returncode != 0 or REPORT.search(done.stdout + done.stderr):
            return f"planted_{name} has no mistake, but:\n{done.stdout}{done.stderr}"
    for name, words in build.planted.items():
        done = run(build, cache, name)
        if words not in done.stderr or f"planted_{name}" not in done.stderr:
            return f"the mistake in planted_{name} was not reported: the check is blind\n{done.stderr}"
    return ""


def run(build: Build, cache: str, *words: str, watched: bool = True) -> subprocess.CompletedProcess[str]:
    """Run program.py, under a sanitizer if it is watched (compilers are slow then)."""
    environment = {
        **os.environ,
        "HPCSOLVE_CACHE": cache,
        "HPCSOLVE_CXX": "g++",
        "HPCSOLVE_CXXFLAGS": f"{COMMON} {build.flags}",
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONMALLOC": "malloc",
        "OPENBLAS_NUM_THREADS": "1",
        "TSAN_OPTIONS": "exitcode=66 report_thread_leaks=0",
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    # ThreadSanitizer needs memory where it expects it, which address randomisation of newer kernels does not grant.
    fixed = ["setarch", "-R"] if works("setarch", "-R", "true") else []
    preloaded = ["env", f"LD_PRELOAD={sanitizer(build)}"] if watched else []
    command = [*fixed, *preloaded, sys.executable, "-m", "tests.races.program", *words]
    return subprocess.run(command, env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def sanitizer(build: Build) -> Path:
    """Return where g++ has the library, or a bare name if it has none."""
    command = ["g++", f"-print-file-name={build.runtime}"]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


@functools.cache
def exported_kernels() -> frozenset[str]:
    """Return the kernels and functions of cuda_src, which the preprocessor gives an entry as it expands the macros."""
    command = ("g++", "-x", "c++", "-std=c++17", "-E", "-P", "-I", str(KERNELS))
    sources = sorted([*KERNELS.rglob("*.cu"), *KERNELS.rglob("*.cpp")])
    runs = (subprocess.run([*command, source], capture_output=True, text=True, check=True) for source in sources)
    entry = re.compile(r'extern "C" (?:void|int) (\w+)_(?:launch|call)\(')
    return frozenset(name for run in runs for name in entry.findall(run.stdout))


def works(*command: str) -> bool:
    """Return whether a command runs here."""
    return shutil.which(command[0]) is not None and subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
