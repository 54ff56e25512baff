"""Terminals of a Steiner problem in a file of their own: one vertex on each line, by label or name."""

from __future__ import annotations

from hpcsolve.formats.files import as_text, open_file
from hpcsolve.formats.graph.lines import read_records
from hpcsolve.formats.graph.named_vertices import NamedVertices, has_names, names_in, require_comments, vertices_in

_WHAT = ("a terminal",)


def read_terminals(path: str) -> NamedVertices:
    """Return the terminals of a file, perhaps compressed with gz or xz.

    Raises
    ------
    InputError
        With file and line: it is not a file of terminals, or it has none.
    """
    file = as_text(open_file(path))
    if has_names(file):
        return names_in(file, _WHAT)
    records = read_records(file, file.content, 1, _WHAT)
    require_comments(file, records, _WHAT)
    if not len(records.lines):
        raise file.error("there is no terminal; write a vertex on each line", file.last_line)
    return vertices_in(file, records)
