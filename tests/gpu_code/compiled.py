"""What each kernel needs of a GPU: what nvcc says of it, and what its machine code says."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from hpcsolve.device.build import CUDA_FLAGS
from hpcsolve.device.compiler import cuda_compiler
from tests.gpu_code.blocks import threads_of
from tests.gpu_code.machine_code import Instruction, Kernel, kernels

SOURCES = Path(__file__).resolve().parents[2] / "cuda_src"
NVDISASM = "nvidia-cuda-nvdisasm"
"""The package that has nvdisasm, which not every installation of nvcc has."""
ENTRY = re.compile(
    r"Compiling entry function '(?P<name>\w+)' for '(?P<architecture>\w+)'"
    r".*?(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
    r".*?Used (?P<registers>\d+) registers(?:[^\n]*?(?P<shared>\d+) bytes smem)?",
    re.DOTALL,
)
COUNTED = {
    "global_": ("LDG", "STG", "LD", "ST"),
    "shared_": ("LDS", "STS"),
    "local": ("LDL", "STL"),
    "atomics": ("ATOM", "ATOMG", "ATOMS", "RED", "REDG"),
    "barriers": ("BAR",),
    "exchanges": ("SHFL", "VOTE", "VOTEU", "MATCH", "REDUX"),
    "minima": ("VIADDMNMX", "VIMNMX", "VIMNMX3", "IMNMX"),
}
"""The instructions that are counted in a loop. LD and ST are for memory whose kind the compiler does not know."""
WIDTHS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128}


@dataclass(frozen=True)
class Use:
    """What one kernel needs of a GPU.

    Attributes
    ----------
    threads
        Threads of a block, as hpcsolve launches it.
    registers, stack, spills
        For each thread: registers; bytes of local memory for arrays and calls; bytes of registers spilt to it.
    shared
        Bytes of shared memory of a block.
    warps
        The most warps that are resident on a multiprocessor.
    spins
        Atomics that the hardware does not have, so that they are tried in a loop.
    loop
        Instructions of the innermost loop, which is unrolled as the compiler likes; 0 without a disassembler.
    global_, shared_, local, atomics, barriers, exchanges, minima
        Instructions of the loop: loads and stores by kind of memory; atomics; barriers; shuffles and votes; minima,
        most of which add as well.
    accesses
        The loop's loads and stores with their widths: `LDG 2x64, LDS 4x16`.
    """

    name: str
    architecture: str
    threads: int
    registers: int
    shared: int
    stack: int
    spills: int
    warps: int
    spins: int = 0
    loop: int = 0
    global_: int = 0
    shared_: int = 0
    local: int = 0
    atomics: int = 0
    barriers: int = 0
    exchanges: int = 0
    minima: int = 0
    accesses: str = ""


@dataclass(frozen=True)
class Compiled:
    """What came of compiling one file for one architecture.

    Attributes
    ----------
    complaint
        An error or warning of nvcc, or an empty string.
    """

    file: str
    architecture: str
    uses: tuple[Use, ...]
    complaint: str


def compiled(source: Path, architecture: str, disassembler: str | None) -> Compiled:
    """Compile a file, and return what its kernels need."""
    with tempfile.TemporaryDirectory() as folder:
        target = ["-arch", architecture, "-I", str(SOURCES), "-o", f"{folder}/kernels.cubin", str(source)]
        command = [cuda_compiler(), *CUDA_FLAGS.split(), "-Xptxas", "-v", *target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        output = done.stdout + done.stderr
        if done.returncode != 0 or "warning" in output:
            problem = f"{cuda_compiler()} ended with exit code {done.returncode}\n{output}"
            return Compiled(source.name, architecture, (), problem)
        code = {} if disassembler is None else disassembled(disassembler, f"{folder}/kernels.cubin")
    uses = tuple(uses_of(output, code))
    return Compiled(source.name, architecture, uses, "" if uses else "it has no kernel")


def disassembled(disassembler: str, cubin: str) -> dict[str, Kernel]:
    """Return the machine code of the kernels, by name."""
    done = subprocess.run([disassembler, "-c", cubin], capture_output=True, text=True, check=True)
    return {kernel.name: kernel for kernel in kernels(done.stdout)}


def uses_of(output: str, code: dict[str, Kernel]) -> list[Use]:
    """Return what `-Xptxas -v` and the machine code tell of every kernel."""
    uses = []
    for found in ENTRY.finditer(output):
        name, architecture, threads = found["name"], found["architecture"], threads_of(found["name"])
        registers, shared = int(found["registers"]), int(found["shared"] or 0)
        warps = resident_warps(architecture, registers, shared, threads)
        spills = int(found["stores"]) + int(found["loads"])
        more = in_code(code[name]) if name in code else {}
        uses.append(Use(name, architecture, threads, registers, shared, int(found["stack"]), spills, warps, **more))
    return uses


def in_code(kernel: Kernel) -> dict[str, int | str]:
    """Return the fields of a `Use` that follow from the machine code."""
    loop = kernel.innermost_loop()
    counts = {what: sum(each.kind in kinds for each in loop) for what, kinds in COUNTED.items()}
    return {"spins": kernel.spins, "loop": len(loop), **counts, "accesses": accesses(loop)}


def accesses(loop: Iterable[Instruction]) -> str:
    """Return the loads and stores of a loop in words: `LDG 2x64, LDS 4x16`, with widths in bits."""
    memory = {kind for what in ("global_", "shared_", "local") for kind in COUNTED[what]}
    found = Counter((each.kind, width(each)) for each in loop if each.kind in memory)
    kinds = sorted({kind for kind, _ in found})
    return ", ".join(
        f"{kind} " + " ".join(f"{count}x{bits}" for (one, bits), count in sorted(found.items()) if one == kind)
        for kind in kinds
    )


def width(instruction: Instruction) -> int:
    """Return the bits that a thread loads or stores."""
    return next((WIDTHS[word] for word in instruction.name.split(".")[1:] if word in WIDTHS), 32)


def find_disassembler() -> str | None:
    """Return the path of nvdisasm: on the PATH, beside nvcc, or from its Python package. None if there is none."""
    beside = [str(Path(path).resolve().parent) for path in (shutil.which(cuda_compiler()),) if path]
    try:
        packaged = [str(file.locate().parent) for file in files(NVDISASM) or () if file.name == "nvdisasm"]
    except PackageNotFoundError:
        packaged = []
    return shutil.which("nvdisasm") or next(filter(None, (shutil.which("nvdisasm", path=folder)
                                                          for folder in (*beside, *packaged))), None)


def release() -> str:
    """Return nvcc's release: `13.0, V13.0.88`."""
    done = subprocess.run([cuda_compiler(), "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"release ([^\n]+)", done.stdout)
    return found[1] if found else "unknown"


@dataclass(frozen=True)
class Multiprocessor:
    """What a multiprocessor of an architecture has: warps, blocks, registers, bytes of shared memory.

    The rules are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and, in the
    chapter on performance, "Multiprocessor Level". Dynamic shared memory is not counted: no launch asks for any.
    """

    warps: int
    blocks: int
    registers: int
    shared: int


MULTIPROCESSORS = {
    "sm_80": Multiprocessor(warps=64, blocks=32, registers=65536, shared=164 * 1024),
    "sm_90": Multiprocessor(warps=64, blocks=32, registers=65536, shared=228 * 1024),
    "sm_100": Multiprocessor(warps=64, blocks=32, registers=65536, shared=228 * 1024),
    "sm_120": Multiprocessor(warps=48, blocks=24, registers=65536, shared=100 * 1024),
}
REGISTER_UNIT = 256
"""Registers are given to a warp in multiples of this."""
WARP_UNIT = 4
"""Warps fill the registers in multiples of this: a multiprocessor has four parts."""
SHARED_UNIT, RESERVED_SHARED = 128, 1024
"""Shared memory is given to a block in multiples of the first. The system takes the second of each block."""


def resident_warps(architecture: str, registers: int, shared: int, threads: int) -> int:
    """Return the warps that a multiprocessor holds.

    Parameters
    ----------
    registers
        Registers of a thread.
    shared
        Bytes of shared memory of a block.
    threads
        Threads of a block.
    """
    whole, warps = MULTIPROCESSORS[architecture], up(threads, 32) // 32
    by_registers = whole.registers // up(32 * registers, REGISTER_UNIT) // WARP_UNIT * WARP_UNIT
    by_shared = whole.shared // (up(shared, SHARED_UNIT) + RESERVED_SHARED)
    return warps * min(whole.blocks, whole.warps // warps, by_registers // warps, by_shared)


def up(count: int, unit: int) -> int:
    """Return the least multiple of `unit` that is not below `count`."""
    return -(-count // unit) * unit
