"""Makes the Markdown tables of all formats. `python -m hpcsolve.formats.reference FILE` writes them into a file.

The tables stand between two marker lines of the file. A test checks that they are up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hpcsolve.errors import InputError
from hpcsolve.formats import Format
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS

BEGIN = "<!-- formats: made by `make docs` -->"
END = "<!-- end of formats -->"


def reference() -> str:
    """Return the Markdown tables of all formats."""
    tsp, graph = "\n".join(_table(TSP_FORMATS)), "\n".join(_table(GRAPH_FORMATS))
    return f"Travelling salesman problems:\n\n{tsp}\n\nGraphs and Steiner problems:\n\n{graph}\n"


def updated(text: str) -> str:
    """Return the text of a file with the present tables between its markers.

    Raises
    ------
    InputError
        The text has no markers.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"there is no line {BEGIN!r}, or none {END!r} after it")
    return f"{before}{BEGIN}\n\n{reference()}\n{END}{after}"


def _table(formats: Sequence[Format[Any]]) -> Iterator[str]:
    directions = "directed" if formats is GRAPH_FORMATS else "costs"
    yield f"| format | suffix | what a file looks like | {directions} | written |"
    yield "|---|---|---|---|---|"
    for format in formats:
        suffixes = " ".join(f"`{suffix}`" for suffix in format.suffixes)
        written = "yes" if format.write else "no"
        yield f"| {format.title} | {suffixes} | {format.description} | {format.directed} | {written} |"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(updated(target.read_text(encoding="utf-8")), encoding="utf-8")
