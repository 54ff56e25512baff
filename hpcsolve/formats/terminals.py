"""Terminals of a Steiner problem in a file beside the graph's: one vertex a line, named as there."""

from __future__ import annotations

from hpcsolve.formats.base import open_source, text_source
from hpcsolve.formats.labels import Labels, labels_in, require_comments
from hpcsolve.formats.lines import read_records

_WHAT = ("a terminal",)


def read_terminals(path: str) -> Labels:
    """Read a file of terminals; gz and xz too.

    Raises
    ------
    InputError
        With file and line: not such a file, or no terminal in it.
    """
    source = text_source(open_source(path))
    records = read_records(source, source.content, 1, _WHAT)
    require_comments(source, records, _WHAT)
    if not len(records.lines):
        raise source.error("there is no terminal; write a vertex on each line", source.last_line)
    return labels_in(source, records)
