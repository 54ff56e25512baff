"""The limits of what each kernel may need of a GPU (budget.csv), and the kernels that exceed them."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from tests.gpu_code.compiled import Use

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
