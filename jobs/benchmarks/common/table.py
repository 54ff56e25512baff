"""Tables in Markdown."""

from __future__ import annotations


def markdown(names: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table with text in its first column and numbers in the others."""
    return [line(*names), line("---", *["---:"] * (len(names) - 1)), *(line(*row) for row in rows)]


def line(*cells: object) -> str:
    """Return one row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"
