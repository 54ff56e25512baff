"""The columns of `hpcsolve.collect` as a table: `python -m hpcsolve.analysis.reference docs/sweeps.md`.

A file that has the two marker lines gets the table between them (`make docs`). A test checks that it is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hpcsolve.analysis.collect import COLUMNS
from hpcsolve.output.reference import with_generated

BEGIN = "<!-- columns: made by `make docs` -->"
END = "<!-- end of columns -->"


def updated(text: str) -> str:
    """Return the text of a document with the table between its markers. Raises as `with_generated`."""
    rows = [f"| `{name}` | {meaning} |" for name, meaning in COLUMNS.items()]
    return with_generated(text, BEGIN, END, "\n".join(["| column | meaning |", "|---|---|", *rows]) + "\n")


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(updated(document.read_text(encoding="utf-8")), encoding="utf-8")
