"""A reader for the Markdown tables that benchmarks print."""

from __future__ import annotations


def tables(text: str) -> list[list[dict[str, str]]]:
    """Return the rows of every table as dictionaries."""
    found: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [[dict(zip(rows[0], row, strict=True)) for row in rows[2:]] for rows in found if rows]
