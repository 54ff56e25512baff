"""The published Steiner problems of the folder that HPCSOLVE_DATA names."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from hpcsolve.formats import read_graph
from hpcsolve.problems.graph import Graph


def published(folder: Path, below: int = 1 << 30) -> Iterator[tuple[Graph, dict[str, str]]]:
    """Yield the problems of `reference.csv` with fewer vertices than `below`, with their rows."""
    with open(folder / "reference.csv", encoding="utf-8") as table:
        rows = [row for row in csv.DictReader(table) if int(row["vertices"]) < below]
    for row in rows:
        yield read_graph(folder / row["name"]).problem, row
