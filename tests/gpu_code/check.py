"""`make check-cuda`: nvcc compiles every kernel of cuda_src for four kinds of GPUs, with or without one.

An A100 is sm_80, an H100 or H200 sm_90, a B200 sm_100, an RTX 5090 or RTX PRO 6000 sm_120.

Prints what each kernel needs of a GPU, and what its innermost loop does. Exits with 1 if nvcc fails or warns, if a
kernel spills registers to memory, or if it needs more than budget.csv grants. `make gpu-budget` writes budget.csv anew,
so that a change of it shows in the commit.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from itertools import product
from pathlib import Path

from hpcsolve.device.compiler import cuda_compiler
from tests.gpu_code.compiled import (
    MULTIPROCESSORS,
    NVDISASM,
    SOURCES,
    Compiled,
    Use,
    compiled,
    find_disassembler,
    release,
)

COLUMNS = ("threads", "registers", "shared", "stack", "spills", "warps", "spins", "loop", "local", "atomics",
           "barriers", "exchanges", "minima")
"""The columns of the table, beside the kernel, the architecture and the loads and stores."""
BUDGET = Path(__file__).parent / "budget.csv"
KEY = ("name", "architecture")
AT_LEAST = ("warps",)
"""Columns whose limit is a minimum."""
UNLIMITED = (*KEY, "threads", "minima", "accesses")
"""Columns that have no limit: neither more nor less is better."""
COMMENT = """\
# What each kernel of cuda_src may need of a GPU (tests/gpu_code/compiled.py has the columns' meanings): no more than
# this, and of resident warps no fewer. `make check-cuda` fails otherwise; `make gpu-budget` writes this file.
# nvcc release {release}
"""


def main() -> int:
    """Return the exit code. Print a table to stdout, and what is wrong to stderr."""
    parser = argparse.ArgumentParser(description="compile the kernels for GPUs, and compare them with their budget")
    parser.add_argument("--write", action="store_true", help="write the budget anew")
    write, disassembler = parser.parse_args().write, find_disassembler()
    if shutil.which(cuda_compiler()) is None:
        return failed([f"{cuda_compiler()} is not on the PATH: install the CUDA toolkit or load its module"])
    if disassembler is None:
        print("check-cuda: there is no nvdisasm, so the columns of the innermost loop are 0; it comes with the CUDA"
              f" toolkit, or with pip install {NVDISASM}", file=sys.stderr)
    print(heading())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = product(sorted(SOURCES.rglob("*.cu")), MULTIPROCESSORS)
        done = []
        for each in pool.map(lambda job: compiled(*job, disassembler), jobs):
            print("".join(f"{line(use)}\n" for use in each.uses), end="", flush=True)
            done.append(each)
    problems = [problem for each in done for problem in own_problems(each)]
    if not write:
        problems += budget_problems([use for each in done for use in each.uses], bool(disassembler))
    elif not problems and disassembler:
        write_budget((use for each in done for use in each.uses), release())
    elif write:
        problems.append(f"{BUDGET.name} was not written: that needs nvdisasm, and kernels without the faults above")
    return failed(problems) if problems else 0


def failed(problems: list[str]) -> int:
    """Print what is wrong, and return the exit code."""
    for problem in problems:
        print(f"check-cuda: {problem}", file=sys.stderr)
    return 1


def heading() -> str:
    """Return the first line of the table."""
    return f"{'kernel':<25}{'for':<6}" + "".join(f"{name:>{width(name)}}" for name in COLUMNS) + "  loads and stores"


def line(use: Use) -> str:
    """Return a kernel's line of the table."""
    numbers = "".join(f"{getattr(use, name):>{width(name)}}" for name in COLUMNS)
    return f"{use.name:<25}{use.architecture:<6}{numbers}  {use.accesses}"


def width(column: str) -> int:
    """Return the width of a column."""
    return max(7, len(column) + 1)


def own_problems(done: Compiled) -> list[str]:
    """Return what is wrong with one compiled file, whatever the budget."""
    spilling = [f"{use.name} spills registers to memory" for use in done.uses if use.spills]
    return [f"{done.file}, {done.architecture}: {one}" for one in (done.complaint, *spilling) if one]


def budget_problems(uses: list[Use], loops: bool) -> list[str]:
    """Return where kernels need more than the budget grants. Without `loops`, machine code was not disassembled."""
    budget, written_by = read_budget()
    found = {(use.name, use.architecture): use for use in uses}
    problems = [f"{' for '.join(key)} is not in {BUDGET.name}" for key in found if key not in budget]
    if loops:
        problems += [f"{' for '.join(key)} is in {BUDGET.name}, but in no file" for key in budget if key not in found]
    for key, use in found.items():
        if more := excesses(use, budget.get(key, use)):
            problems.append(f"{' for '.join(key)} needs more than its budget: {', '.join(more)}")
    if problems and written_by != release():
        problems.append(f"the budget is from nvcc {written_by}, this is {release()}; make gpu-budget writes it anew")
    return problems


def excesses(use: Use, granted: Use) -> list[str]:
    """Return a phrase for each limit that a kernel exceeds: `registers 73 instead of 72`."""
    found = []
    for field in (each.name for each in fields(Use) if each.name not in UNLIMITED):
        needed, most = getattr(use, field), getattr(granted, field)
        if needed < most if field in AT_LEAST else needed > most:
            found.append(f"{field.strip('_')} {needed} instead of {most}")
    return found


def read_budget(path: Path = BUDGET) -> tuple[dict[tuple[str, str], Use], str]:
    """Return the limits by kernel and architecture, and the release of nvcc with which they were written."""
    lines = path.read_text().splitlines()
    release = next(line.removeprefix("# nvcc release ") for line in lines if line.startswith("# nvcc release "))
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    words = {field.name for field in fields(Use) if field.type == "str"}
    uses = (Use(**{name: value if name in words else int(value) for name, value in row.items()}) for row in rows)
    return {(use.name, use.architecture): use for use in uses}, release


def write_budget(uses: Iterable[Use], release: str, path: Path = BUDGET) -> None:
    """Write what the kernels need now as their limits."""
    names = [field.name for field in fields(Use)]
    with path.open("w", newline="") as file:
        file.write(COMMENT.format(release=release))
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([getattr(use, name) for name in names] for use in uses)


if __name__ == "__main__":
    sys.exit(main())
