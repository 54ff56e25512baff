"""Writes answers as files for other programs: `hpcsolve export`. The file's suffix names the format.

tables.py   CSV, the rows that `Result.to_pandas` has
text.py     TSPLIB tours, trees of the PACE challenge, graphs for Graphviz
geojson.py  lines and points on the globe
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.analysis.export import geojson, tables, text
from hpcsolve.answers.contents import Contents
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.replacing import replacing


@dataclass(frozen=True)
class Exporter:
    """A format that answers are written in.

    Attributes
    ----------
    name
        As messages and documents call it.
    refusal
        Returns why an answer cannot be written in this format, given the contents of the result, or None if it can.
    pieces
        Yields the text of the file, given the contents and the number of a search or query (None: the only one).
    """

    name: str
    refusal: Callable[[Contents], str | None]
    pieces: Callable[[Contents, int | None], Iterator[str]]


PACE = Exporter("PACE", text.no_tree, text.pace)
EXPORTERS = {
    ".csv": Exporter("CSV", tables.no_rows, tables.csv_lines),
    ".geojson": Exporter("GeoJSON", geojson.no_lines, geojson.features),
    ".dot": Exporter("DOT", text.no_edges, text.dot),
    ".tour": Exporter("TSPLIB", text.no_cycle, text.tsplib_tour),
    ".pace": PACE,
}
"""Suffix -> the format."""


def export(contents: Contents, source: str, path: str, number: int | None = None) -> None:
    """Write the answer of a result in the format that the suffix of `path` names. An existing file is replaced.

    Parameters
    ----------
    source
        The result file, for messages.
    number
        The number of the search or query, from 0, for formats that have one of them.

    Raises
    ------
    InputError
        There is no such format, or the answer cannot be written in it.
    DamagedFileError
        The answer does not fit the instance.
    EnvironmentFault
        The file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in EXPORTERS:
        known = ", ".join(EXPORTERS)
        raise InputError(f"{path}: no format has the suffix {suffix!r}; there are {known}")
    pieces = pieces_of(EXPORTERS[suffix], contents, source, number)
    with replacing(Path(path)) as part, open(part, "x", encoding="utf-8", newline="") as file:
        file.writelines(pieces)


def pieces_of(exporter: Exporter, contents: Contents, source: str, number: int | None = None) -> Iterator[str]:
    """Yield the text of an answer in a format. Raises as `export`, on the first piece."""
    reason = exporter.refusal(contents)
    if reason is not None:
        able = [suffix for suffix, other in EXPORTERS.items() if other.refusal(contents) is None]
        way_out = f"hpcsolve export can write it as {', '.join(able)}" if able else "there is nothing to write"
        raise InputError(f"{source}: {reason}; {way_out}")
    try:
        yield from exporter.pieces(contents, number)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise DamagedFileError(f"{source}: damaged: the answer does not fit the instance: {error}") from None
