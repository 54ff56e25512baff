"""Writes a result that is in memory as a file."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from hpcsolve.answers.contents import Contents
from hpcsolve.output.hdf5 import write_result
from hpcsolve.output.large_tables import receive_chunks, write_with_tables
from hpcsolve.output.schema import FORMAT_VERSION
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.replacing import make_folder


def save(contents: Contents, path: Path) -> None:
    """Write a result file, in the present format version. Raises as `write_result`."""
    attributes = {**contents.attributes, "format_version": FORMAT_VERSION}
    solution = {name: column for name, column in contents.groups["solution"].items() if name not in contents.tables}
    written = replace(contents, attributes=attributes, groups={**contents.groups, "solution": solution})
    make_folder(path)
    if not contents.tables:
        write_result(path, written)
        return
    whole = {name: contents.value("solution", name) for name in contents.tables}
    tables = {name: replace(table, values=whole[name], first=0, row_ranges=((0, table.total),))
              for name, table in contents.tables.items()}
    comm, threads = SerialComm(), len(os.sched_getaffinity(0))
    write_with_tables(path, {name: (table, receive_chunks(table, comm, threads)) for name, table in tables.items()},
                      lambda: written)
