"""`make check-ptx`: nvcc's own code for every kernel that a GPU may run, executed without a GPU.

The real nvcc compiles cuda_src to PTX, the stub driver hands it to the interpreter (machine.hpp), and the cases of
tests/races/program.py, which check their answers, run on it under the real PyCUDA: once for each seed of the random
scheduler. It reports wrong answers, addresses outside of memory, misaligned or in the wrong memory, shared memory
that is read before it is written, division by 0, warps and blocks that diverge where they should meet, deadlocks, and
races between barriers (races.hpp). It also reports a kernel that no case launches, and a mistake planted in
the kernels (mutants.py) that is not found.

Only a GPU can test ptxas and the machine code, its weakly ordered memory, limits of registers, and speed.

    python -m tests.ptx.check --seeds 4 5 6 --blocks 4
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.device import build
from hpcsolve.device.declaration import declarations
from tests.ptx.build import ptx_stub
from tests.ptx.mutants import MUTANTS
from tests.races.program import CASES, WITHOUT_KERNELS
from tests.stub_driver.build import CannotBuild, Stub

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ran:
    """The outcome of a process of program.py.

    Attributes
    ----------
    launches, instructions
        Numbers of launches and of executed instructions, by kernel.
    problem
        What is wrong, or an empty string.
    """

    launches: Counter[str]
    instructions: Counter[str]
    problem: str


def main() -> int:
    """Return the exit code. Print what was checked to stdout, and what is wrong to stderr."""
    parser = argparse.ArgumentParser(prog="check-ptx", description="Run nvcc's code for all kernels without a GPU.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="of the scheduler (default 1 2 3)")
    parser.add_argument("--blocks", type=int, default=3, help="number of blocks that take turns (default 3)")
    parser.add_argument("--capability", type=int, default=90, help="of the GPU, times ten (default 90, 80 is sm_80)")
    parser.add_argument("--no-races", action="store_true", help="do not look for races")
    options = parser.parse_args()
    settings = {"ptx_blocks": options.blocks, "ptx_races": int(not options.no_races), "capability": options.capability}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(cores()) as pool:
        try:
            stub = ptx_stub(Path(folder))
        except CannotBuild as reason:
            problem = str(reason)
        else:
            problem = check_kernels(stub, pool, options.seeds, settings) or check_mutants(stub, pool)
    if problem:
        print(f"check-ptx: {problem}", file=sys.stderr)
    return 1 if problem else 0


def check_kernels(stub: Stub, pool: Executor, seeds: list[int], settings: dict[str, int]) -> str:
    """Run every case with every seed, and return what is wrong, or an empty string."""
    files = kernel_files()
    parts = [files[k :: cores()] for k in range(cores())]
    for ran in pool.map(lambda part: start(stub, "compile", *part), parts):
        if ran.problem:
            return ran.problem
    tasks = [(seed, case) for case in CASES if case not in WITHOUT_KERNELS for seed in seeds]
    all_ran = list(pool.map(lambda task: start(stub, "run", task[1], ptx_seed=task[0], **settings), tasks))
    for (seed, case), ran in zip(tasks, all_ran):
        if ran.problem:
            return f"{case}, seed {seed}: {ran.problem}"
    launches = sum((ran.launches for ran in all_ran), Counter())
    instructions = sum((ran.instructions for ran in all_ran), Counter())
    if problem := not_launched(launches):
        return problem
    for name in sorted(launches):
        print(f"{name:<28}{launches[name]:>8} launches{instructions[name]:>14,} instructions")
    print(f"check-ptx: {len(launches)} kernels, {len(seeds)} seeds, no fault", flush=True)
    return ""


def not_launched(launches: Collection[str]) -> str:
    """Return which kernels that a GPU may run are missing, or an empty string."""
    forgotten = gpu_kernels() - set(launches)
    return f"tests/races/program.py does not launch {', '.join(sorted(forgotten))}" if forgotten else ""


def check_mutants(stub: Stub, pool: Executor) -> str:
    """Return a planted mistake that is not found, or an empty string."""
    names = list(MUTANTS)
    for name, ran in zip(names, pool.map(lambda name: start(stub, "mutant", name, ptx_steps=10**8), names)):
        if not any(words in ran.problem for words in MUTANTS[name].words):
            return f"{name}, planted in {MUTANTS[name].file}, was not found: the check is blind\n{ran.problem}"
    print(f"check-ptx: {len(names)} planted mistakes found")
    return ""


def cores() -> int:
    """Return how many processes may run at a time."""
    return len(os.sched_getaffinity(0))


def start(stub: Stub, *words: str, **settings: int) -> Ran:
    """Run program.py on the stub driver, and return what the interpreter reported."""
    environment = stub.environment(nvcc="ptx", ptx_talk=1, **settings)
    command = [sys.executable, "-m", "tests.ptx.program", *words]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    launches: Counter[str] = Counter()
    instructions: Counter[str] = Counter()
    rest = []
    for line in done.stderr.splitlines():
        if line.startswith("ptx: "):
            _, name, _, _, steps, _, _ = line.split()
            launches[name] += 1
            instructions[name] += int(steps)
        else:
            rest.append(line)
    problem = "\n".join(rest) or (f"exit code {done.returncode}" if done.returncode else "")
    return Ran(launches, instructions, problem)


def kernel_files() -> list[str]:
    """Return the files of cuda_src that have kernels, as `Device.kernel` names them."""
    folder = build.source_folder()
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.cu"))


def gpu_kernels() -> set[str]:
    """Return the kernels. Functions of the host are none."""
    return {name for file in kernel_files() for name in declarations(build.source_folder(), file)}


if __name__ == "__main__":
    sys.exit(main())
