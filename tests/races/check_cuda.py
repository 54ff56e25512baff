"""`make check-cuda`: nvcc compiles every kernel of cuda_src for an A100 (sm_80) and an H100 (sm_90), GPU or not.

Prints each kernel's registers a thread, shared memory a block, and spills. Exits with 1 if nvcc fails, if it warns, or
if a kernel spills registers to memory: kernels keep their tiles in registers, and one that spills is much slower.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.device.build import CUDA_FLAGS

KERNELS = Path(__file__).resolve().parents[2] / "cuda_src"
ARCHITECTURES = ("sm_80", "sm_90")
KERNEL = re.compile(
    r"Compiling entry function '(?P<name>\w+)' for '(?P<architecture>\w+)'"
    r".*?(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
    r".*?Used (?P<registers>\d+) registers(?:[^\n]*?(?P<shared>\d+) bytes smem)?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Use:
    """What one kernel needs of a GPU's multiprocessor: registers a thread, bytes of shared memory and of spills."""

    name: str
    architecture: str
    registers: int
    shared: int
    spills: int


def main() -> int:
    """Return the exit code; print a table to stdout, and what is wrong to stderr."""
    if shutil.which("nvcc") is None:
        print("check-cuda: nvcc is not on the PATH: install the CUDA toolkit or load its module", file=sys.stderr)
        return 1
    print(f"{'kernel':<24}{'for':>7}{'registers':>11}{'shared':>8}{'spills':>8}")
    failed = False
    for source in sorted(KERNELS.rglob("*.cu")):
        for architecture in ARCHITECTURES:
            output, code = compile_one(source, architecture)
            uses = kernels(output)
            print("".join(map(row, uses)), end="", flush=True)
            problem = complaint(output, code, uses)
            if problem:
                print(f"check-cuda: {source.name}, {architecture}: {problem}", file=sys.stderr)
                failed = True
    return int(failed)


def row(use: Use) -> str:
    """Return a line of the table."""
    return f"{use.name:<24}{use.architecture:>7}{use.registers:>11}{use.shared:>8}{use.spills:>8}\n"


def compile_one(source: Path, architecture: str) -> tuple[str, int]:
    """Return nvcc's output and its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        target = ["-arch", architecture, "-I", str(KERNELS), "-o", f"{folder}/kernels.cubin", str(source)]
        command = ["nvcc", *CUDA_FLAGS.split(), "-Xptxas", "-v", *target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr, done.returncode


def kernels(output: str) -> list[Use]:
    """Return what `-Xptxas -v` tells of every kernel."""
    return [
        Use(
            name=found["name"],
            architecture=found["architecture"],
            registers=int(found["registers"]),
            shared=int(found["shared"] or 0),
            spills=int(found["stores"]) + int(found["loads"]),
        )
        for found in KERNEL.finditer(output)
    ]


def complaint(output: str, code: int, uses: list[Use]) -> str:
    """Return what is wrong with one compile, or an empty string."""
    if code != 0 or "warning" in output:
        return f"nvcc ended with {code}\n{output}"
    spilling = [use.name for use in uses if use.spills]
    if spilling:
        return f"{', '.join(spilling)} spills registers to memory"
    return "" if uses else "it has no kernel"


if __name__ == "__main__":
    sys.exit(main())
