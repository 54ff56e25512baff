"""METIS files: one line for each vertex lists its neighbours, with ids from 1 and each edge on the lines of both ends.

Source: G. Karypis, METIS manual, section on input files. The header `n m [fmt [ncon]]`, m edges; the digits of fmt say
whether there are vertex sizes, ncon vertex weights (neither is used, which a note says) and edge weights. A blank line
is an isolated vertex; lines that begin with % are comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats import records
from hpcsolve.formats.files import InputFile, decode, words, write_text
from hpcsolve.problems.graph import Graph, assembled
from hpcsolve.wording import shown

_EXAMPLE = "`VERTICES EDGES [FORMAT [CONSTRAINTS]]`"


@dataclass(frozen=True, eq=False)
class MetisLines:
    """A file without its comments.

    Attributes
    ----------
    n, edges
        As the header says.
    skipped, weighted
        How many numbers of a line come before the neighbours, and whether edges have weights.
    line
        The number of the header's line.
    text, numbers
        The lines of the vertices, and their numbers in the file.
    """

    n: int
    edges: int
    skipped: int
    weighted: bool
    line: int
    text: bytes
    numbers: NDArray[np.int64]


def read_metis(file: InputFile, directed: bool | None = None) -> Graph:
    """Return an undirected graph, in which edges without weights weigh 1.

    Raises
    ------
    InputError
        With file and line. An edge that only one end lists, or both ends with different weights, is an error too.
    """
    records.require_undirected(file, directed)
    body = _metis_lines(file)
    values, rows = _neighbours(file, body)
    width = 1 + body.weighted
    tails = rows[::width]
    lines = body.numbers[tails]
    heads = records.positions_in(file, values[::width], lines, body.n)
    proper = int(np.count_nonzero(tails != heads))
    if len(heads) != 2 * body.edges:
        records.require_count(file, 2 * body.edges, proper, "neighbours (two for each edge)", body.line)
    ones = np.ones(len(heads), dtype=np.uint64)
    weights, scale = records.weights_in(file, values[1::2] if body.weighted else ones, lines, body.n)
    graph = assembled(file.stem or "graph", body.n, tails, heads, weights, directed=True, scale=scale,
                      labels=np.arange(1, body.n + 1))
    lone = graph.arc_without_reverse()
    if lone is not None:
        a, b = lone
        where = f"(see line {body.numbers[b]})"
        message = f"vertices {a + 1} and {b + 1} do not list each other with the same weights {where}"
        raise file.error(message, int(body.numbers[a]))
    notes = ("note:   not used: the sizes or weights of vertices",) if body.skipped else ()
    return replace(graph, directed=False, parallel_arcs=graph.parallel_arcs // 2, notes=notes)


def write_metis(graph: Graph, path: str) -> None:
    """Write the neighbours of each vertex with the weights of the edges, without weights if all are 1.

    Raises
    ------
    InputError
        An arc leads one way or weighs less one way, or a weight is not a whole number above 0, which METIS requires.
    EnvironmentFault
        The file cannot be written.
    """
    if graph.directed and graph.arc_without_reverse() is not None:
        raise InputError("has arcs that lead one way, and a METIS graph is undirected; write it as .gr", graph.name)
    if graph.scale != 1 or graph.weights.dtype.kind == "f" or not graph.weights.all():
        raise InputError("a METIS graph has whole weights above 0, and some are not; write it as .gr", graph.name)
    columns = [graph.heads.astype(np.uint64) + 1, graph.weights][: 1 if (graph.weights == 1).all() else 2]
    numbers = [str(number) for number in np.stack(columns, axis=1).ravel().tolist()]
    ends = (graph.offsets * len(columns)).tolist()
    head = f"{graph.n} {graph.arcs // 2}{' 001' if len(columns) == 2 else ''}"
    lines = (" ".join(numbers[begin:end]) for begin, end in pairwise(ends))
    write_text("\n".join([*records.comment_lines(graph, "% "), head, *lines, ""]), path)


def _metis_lines(file: InputFile) -> MetisLines:
    lines = file.content.removesuffix(b"\n").split(b"\n")
    kept = [index for index, line in enumerate(lines) if not line.lstrip().startswith(b"%")]
    first = next((order for order, index in enumerate(kept) if lines[index].strip()), None)
    if first is None:
        raise file.error(f"the line {_EXAMPLE} is missing", file.last_line)
    line = kept[first] + 1
    header = words(decode(lines[line - 1]))
    if not 2 <= len(header) <= 4:
        raise file.error(f"expected {_EXAMPLE}, found {shown(' '.join(header))}", line)
    n, edges, *rest = records.header_numbers(file, header, line, _EXAMPLE)
    digits = header[2].rjust(3, "0") if rest else "000"
    if not re.fullmatch("[01]{3}", digits):
        raise file.error(f"the format {shown(header[2])} is not three digits of 0 and 1", line)
    records.require_plausible(file, n, line)
    chosen = kept[first + 1 :]
    while len(chosen) > n and not lines[chosen[-1]].strip():
        chosen.pop()
    records.require_count(file, n, len(chosen), "vertices", line)
    skipped = int(digits[0]) + int(digits[1]) * (rest[1] if len(rest) == 2 else 1)
    text = b"".join(lines[index] + b"\n" for index in chosen)
    return MetisLines(n, edges, skipped, digits[2] == "1", line, text, np.array(chosen, dtype=np.int64) + 1)


def _neighbours(file: InputFile, body: MetisLines) -> tuple[records.Numbers, NDArray[np.int64]]:
    """Return neighbours and weights in turn, and the vertex on whose line each of these numbers stands."""
    places = records.word_positions(np.frombuffer(body.text, dtype=np.uint8))
    words = len(places.starts)
    values = records.numbers_of(body.text, words, int((places.ends - places.starts).max(initial=0)))
    if values is None:
        raise _bad_word(file, body)
    entries = places.counts - body.skipped
    short = ((entries < 0) & (places.counts > 0)) | (entries % (1 + body.weighted) != 0) & (entries > 0)
    if short.any():
        vertex = int(np.argmax(short))
        message = f"{places.counts[vertex]} numbers do not fit the format that line {body.line} gives"
        raise file.error(message, int(body.numbers[vertex]))
    chosen = np.arange(words) - np.repeat(places.first, places.counts) >= body.skipped
    return values[chosen], np.repeat(np.arange(body.n), places.counts)[chosen]


def _bad_word(file: InputFile, body: MetisLines) -> InputError:
    for number, line in zip(body.numbers.tolist(), body.text.split(b"\n"), strict=False):
        for word in words(decode(line)):
            if not records.NUMBER.fullmatch(word):
                return file.error(f"expected a number, found {shown(word)}", number)
    return file.error("holds something other than numbers", body.line)
