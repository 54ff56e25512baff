"""Runs a case in the counting mode of tests/ptx, and turns what warps execute of the PTX into what they execute of the
machine code.

nvcc's PTX is not what a GPU executes: ptxas makes one instruction of an add and a minimum, and one load of 128 bits of
four. It also notes of each machine instruction the line of the PTX that it was made of. So the machine instruction is
taken to be executed as often as that line was, by as many lanes. For this, ptxas is told not to unroll loops: of a copy
in a loop that it unrolled one cannot tell how often it is executed. What may be wrong: code that ptxas moved out of a
loop counts too often, predicated code in place of a branch too rarely, and the real loops, unrolled, execute fewer
branches and counters. A shared load that was widened takes as many wavefronts as it has words of 4 bytes; global
accesses that were merged ask once for their sectors.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from hpcsolve.device.compiler import cuda_compiler
from tests.gpu_clock.gpus import CLOCKS, GPUS, Wait
from tests.gpu_code.compiled import find_disassembler, width
from tests.gpu_code.machine_code import Instruction, kernels
from tests.stub_driver.build import Stub

REPOSITORY = Path(__file__).resolve().parents[2]
BLOCKS_AT_A_TIME = 8
MEMORY = 4 << 30
SHARED, GLOBAL, LOCAL = {"LDS", "STS", "ATOMS"}, {"LDG", "STG", "LD", "ST"}, {"LDL", "STL"}
ATOMICS = {"ATOM", "ATOMG", "RED", "REDG"}
EXCHANGES = {"SHFL", "VOTE", "VOTEU", "MATCH", "REDUX"}
SPECIAL = {"MUFU", "POPC", "FLO", "BREV", "I2F", "F2I", "F2F", "I2I", "I2FP", "F2FP", "FRND", "UPOPC", "UFLO"}
MULTIPLY = {"IMAD", "FFMA", "FADD", "FMUL", "HFMA2", "IMUL", "IDP"}
DOUBLE = {"DADD", "DMUL", "DFMA", "DSETP", "DMNMX"}
CONTROL = {"BRA", "BRX", "JMP", "EXIT", "CALL", "RET", "BSSY", "BSYNC", "BREAK", "BMOV", "WARPSYNC", "BAR", "NOP",
           "YIELD", "NANOSLEEP", "MEMBAR", "ERRBAR", "CCTL", "KILL", "DEPBAR", "RPCMOV", "LEPC", "ACTIVEMASK"}


@dataclass
class Line:
    """What warps spent on one line of the PTX. See `Spent` in tests/ptx/count.hpp."""

    warps: int
    lanes: int
    asked: int
    lines: int
    l2: int
    dram: int
    wavefronts: int


@dataclass
class Ran:
    """What a kernel did in a run. See `KernelCounts` in tests/ptx/count.hpp."""

    ptx: Path
    launches: int
    blocks: int
    threads: int
    barriers: int
    path: int
    longest: int
    written_back: int
    touched: int
    lines: dict[int, Line]


Run = tuple[dict[str, Ran], Counter[str]]
"""What the kernels of a run did, by name, and how often it called the driver: up, down, wait (STUB_TRACE)."""


@dataclass(frozen=True)
class Counts:
    """What a kernel of a case costs a GPU. Instructions are those of warps, sectors have 32 bytes.

    Attributes
    ----------
    launches, blocks, threads
        Launches, blocks of all of them, and threads of a block.
    instructions
        Machine instructions. Of these: `alu` integer and logical ones, `minima` among them; `multiply` and `double`
        ones; `special` ones, conversions too; `uniform` ones; `control`, branches and barriers;
        `exchanges`, shuffles and votes; loads and stores in shared, global and local memory; `atomics`.
    ptx
        Instructions of the PTX.
    lanes
        Lanes of all of these, of at most 32 each.
    wavefronts
        Of shared memory, more than instructions where accesses are wide or banks conflict.
    asked, lines, l2, dram, written, touched
        Sectors that accesses to global memory ask for; lines of 128 bytes that they name; sectors that the L2 was asked
        for, that were read from memory, that were written to it, and different ones that the kernel asks for.
    changed
        Sectors that atomics change in the L2.
    barriers
        Barriers of blocks.
    path, longest
        Clocks of all blocks if none waited for another, and of each launch's longest.
    """

    case: str
    kernel: str
    architecture: str
    launches: int
    blocks: int
    threads: int
    instructions: int
    alu: int
    minima: int
    multiply: int
    double: int
    special: int
    uniform: int
    control: int
    exchanges: int
    shared: int
    global_: int
    local: int
    atomics: int
    ptx: int
    lanes: int
    wavefronts: int
    asked: int
    lines: int
    l2: int
    dram: int
    written: int
    touched: int
    changed: int
    barriers: int
    path: int
    longest: int


def environment(stub: Stub, output: Path, l2: int, published: bool) -> dict[str, str]:
    """Return the environment in which a process's launches are counted into a file.

    Without the published instances it solves generated ones, and counts are the same on every machine.
    """
    data = {} if published else {"HPCSOLVE_DATA": ""}
    clocks = ",".join(str(CLOCKS[wait]) for wait in Wait)
    return stub.environment(nvcc="ptx", trace=f"{output}.trace", ptx_counts=output, ptx_clocks=clocks,
                            ptx_l2=l2, ptx_races=0, ptx_blocks=BLOCKS_AT_A_TIME, ptx_steps=10**13, memory=MEMORY,
                            multiprocessors=GPUS["sm_90"].units, **data)


def run(stub: Stub, name: str, folder: Path, l2: int, published: bool) -> Run:
    """Run a case, and return what its kernels did, and its copies."""
    output = folder / f"{name}.counts"
    command = [sys.executable, "-m", "tests.gpu_clock.program", name]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment(stub, output, l2, published), check=False,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{name}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    (trace,) = folder.glob(f"{name}.counts.trace.*")
    return read(output), Counter(line.split()[0] for line in trace.read_text().splitlines())


def read(path: Path) -> dict[str, Ran]:
    """Read a file of counts: what the kernels did, by name."""
    found: dict[str, Ran] = {}
    for row in (line.split("\t") for line in path.read_text().splitlines()):
        if row[0] == "kernel":
            ran = found[row[1]] = Ran(Path(row[2]), *map(int, row[3:]), {})
        else:
            ran.lines[int(row[1])] = Line(*map(int, row[2:]))
    return found


def machine_code(ptx: Path, architecture: str) -> dict[str, dict[int, list[Instruction]]]:
    """Return for each kernel the machine instructions that are made of each line of a PTX file, no loop unrolled."""
    disassembler = find_disassembler()
    assert disassembler is not None, "there is no nvdisasm"
    with tempfile.TemporaryDirectory() as folder:
        text = ptx.read_text()
        plain, cubin = Path(folder) / "plain.ptx", Path(folder) / "plain.cubin"
        plain.write_text(re.sub(r"(\.address_size 64)", r'\1 .pragma "nounroll";', text, count=1))
        subprocess.run([cuda_compiler(), "-cubin", f"-arch={architecture}", "-O3", "-lineinfo", plain, "-o", cubin],
                       check=True, capture_output=True)
        done = subprocess.run([disassembler, "-gp", "-c", cubin], check=True, capture_output=True, text=True)
    found: dict[str, dict[int, list[Instruction]]] = {}
    for kernel in kernels(done.stdout):
        by_line = found.setdefault(kernel.name, defaultdict(list))
        for each in kernel.reached:
            by_line[each.line].append(each)
    return found


def counts_of(case: str, kernel: str, architecture: str, ran: Ran, code: dict[int, list[Instruction]]) -> Counts:
    """Return a kernel's counts."""
    found: Counter[str] = Counter()
    text = ran.ptx.read_text().splitlines()
    for number, line in ran.lines.items():
        found.update(ptx=line.warps, lanes=line.lanes, l2=line.l2, dram=line.dram)
        made = code.get(number, ())
        for each in made:
            found.update({"instructions": line.warps, kind_of(each): line.warps})
            found["minima"] += line.warps * ("MNMX" in each.kind)
        if any(each.kind in SHARED for each in made):
            wide = max(width(each) for each in made if each.kind in SHARED)
            own = ptx_width(text[number - 1])
            found["wavefronts"] += line.wavefronts if wide <= own else line.warps * wide // 32
        elif any(each.kind in GLOBAL | ATOMICS for each in made):
            found.update(asked=line.asked, lines=line.lines)
            found["changed"] += line.l2 * any(each.kind in ATOMICS for each in made)
    own = {"written": ran.written_back, "touched": ran.touched, "barriers": ran.barriers, "path": ran.path,
           "longest": ran.longest, "launches": ran.launches, "blocks": ran.blocks, "threads": ran.threads // ran.blocks}
    names = [each.name for each in fields(Counts)][3:]
    return Counts(case, kernel, architecture, **{name: own.get(name, found[name.strip("_")]) for name in names})


def kind_of(each: Instruction) -> str:
    """Return the field of `Counts` in which an instruction is counted."""
    kinds = {"shared": SHARED, "global": GLOBAL, "local": LOCAL, "atomics": ATOMICS, "exchanges": EXCHANGES,
             "special": SPECIAL, "multiply": MULTIPLY, "double": DOUBLE, "control": CONTROL}
    for name, known in kinds.items():
        if each.kind in known:
            return name
    uniform = each.kind.startswith("U") or each.kind in ("R2UR", "S2UR", "LDC", "LDCU", "S2R", "CS2R")
    return "uniform" if uniform else "alu"


def ptx_width(text: str) -> int:
    """Return the bits of a load or store of the PTX."""
    found = re.search(r"\.(?:v(\d)\.)?[usbf](\d+)\s", text)
    assert found is not None, text
    return int(found[1] or 1) * int(found[2])


def all_counts(case: str, ran: dict[str, Ran], codes: Codes) -> Iterator[Counts]:
    """Yield the counts of a case's kernels for each architecture."""
    for kernel, own in ran.items():
        for architecture in GPUS:
            yield counts_of(case, kernel, architecture, own, codes.of(own.ptx, architecture)[kernel])


class Codes:
    """Machine code by PTX and architecture, made once."""

    def __init__(self) -> None:
        self.made: dict[tuple[str, str], dict[str, dict[int, list[Instruction]]]] = {}

    def of(self, ptx: Path, architecture: str) -> dict[str, dict[int, list[Instruction]]]:
        """Return the machine code of a file's kernels."""
        key = ptx.read_text(), architecture
        if key not in self.made:
            self.made[key] = machine_code(ptx, architecture)
        return self.made[key]


def total(counts: Iterable[Counts], name: str) -> int:
    """Return the sum of a field."""
    return sum(getattr(each, name) for each in counts)
