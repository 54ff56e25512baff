"""The table of the result file in README.md, made from a real result: `python tests/cli/readme_table.py RESULT.h5`."""

import sys

from hpcsolve.output.provenance import ENVIRONMENT
from hpcsolve.output.reader import read_result

BEGIN, END = "<!-- result file -->", "<!-- end of result file -->"


def dtype_of(values):
    """`int32`, `text`, ... as the table has it."""
    dtype = getattr(values, "dtype", None)
    return "text" if dtype is None or dtype.kind == "O" else dtype.name


def rows(path):
    """A row of the table for each dataset of a result."""
    for group, columns in read_result(path).groups.items():
        for name, column in columns.items():
            if name not in ENVIRONMENT:  # there only where the variable is set
                unit = "" if column.unit == "1" else column.unit
                cells = [f"`/{group}/{name}`", dtype_of(column.values), column.dimension, unit, column.description]
                yield "| " + " | ".join(cells) + " |"


def table(path):
    """The whole table."""
    return "\n".join(["| dataset | type | dimension | unit | content |", "|---|---|---|---|---|", *rows(path)])


if __name__ == "__main__":
    with open("README.md", encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    with open("README.md", "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{table(sys.argv[1])}\n{END}{after}")
