"""METIS: the neighbours of each vertex on a line, ids from 1, each edge on both its ends' lines.

Source: G. Karypis, METIS manual, section on input files. The header `n m [fmt [ncon]]`, m edges; the digits of fmt say
whether there are vertex sizes, ncon vertex weights (both skipped) and edge weights. A blank line is a vertex alone,
lines that begin with % are comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.base import Source, decode, words
from hpcsolve.formats.lines import (
    NUMBER,
    Numbers,
    header_numbers,
    numbers_of,
    positions_in,
    require_count,
    require_plausible,
    scanned,
    weights_in,
)
from hpcsolve.problems.decimals import shown
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import assembled
from hpcsolve.problems.graph_order import arc_without_reverse

_EXAMPLE = "`VERTICES EDGES [FORMAT [CONSTRAINTS]]`"


@dataclass(frozen=True, eq=False)
class Body:
    """A file without its comments: the header's numbers, the vertices' lines, and the number of each in the file."""

    n: int
    edges: int
    skipped: int
    weighted: bool
    line: int
    text: bytes
    numbers: NDArray[np.int64]


def read_metis(source: Source) -> Graph:
    """Read an undirected graph; without edge weights each weighs 1.

    Raises
    ------
    InputError
        With file and line; an edge that only one of its ends lists, or with two weights.
    """
    body = _body(source)
    values, rows = _neighbours(source, body)
    width = 1 + body.weighted
    tails = rows[::width]
    lines = body.numbers[tails]
    heads = positions_in(source, values[::width], lines, body.n)
    proper = int(np.count_nonzero(tails != heads))
    if len(heads) != 2 * body.edges:
        require_count(source, 2 * body.edges, proper, "neighbours (two an edge)", body.line)
    ones = np.ones(len(heads), dtype=np.uint64)
    weights, scale = weights_in(source, values[1::2] if body.weighted else ones, lines, body.n)
    graph = assembled(source.stem or "graph", body.n, tails, heads, weights, directed=True, scale=scale,
                      labels=np.arange(1, body.n + 1))  # fmt: skip
    lone = arc_without_reverse(graph)
    if lone is not None:
        a, b = lone
        where = f"(see line {body.numbers[b]})"
        message = f"vertices {a + 1} and {b + 1} do not list each other with the same weights {where}"
        raise source.error(message, int(body.numbers[a]))
    return replace(graph, directed=False, parallel_arcs=graph.parallel_arcs // 2)


def _body(source: Source) -> Body:
    lines = source.content.removesuffix(b"\n").split(b"\n")
    kept = [index for index, line in enumerate(lines) if not line.lstrip().startswith(b"%")]
    first = next((place for place, index in enumerate(kept) if lines[index].strip()), None)
    if first is None:
        raise source.error(f"the line {_EXAMPLE} is missing", source.last_line)
    line = kept[first] + 1
    header = words(decode(lines[line - 1]))
    if not 2 <= len(header) <= 4:
        raise source.error(f"expected {_EXAMPLE}, found {shown(' '.join(header))}", line)
    n, edges, *rest = header_numbers(source, header, line, _EXAMPLE)
    digits = header[2].rjust(3, "0") if rest else "000"
    if not re.fullmatch("[01]{3}", digits):
        raise source.error(f"the format {shown(header[2])} is not three digits of 0 and 1", line)
    require_plausible(source, n, line)
    chosen = kept[first + 1 :]
    while len(chosen) > n and not lines[chosen[-1]].strip():
        chosen.pop()
    require_count(source, n, len(chosen), "vertices", line)
    skipped = int(digits[0]) + int(digits[1]) * (rest[1] if len(rest) == 2 else 1)
    text = b"".join(lines[index] + b"\n" for index in chosen)
    return Body(n, edges, skipped, digits[2] == "1", line, text, np.array(chosen, dtype=np.int64) + 1)


def _neighbours(source: Source, body: Body) -> tuple[Numbers, NDArray[np.int64]]:
    """The words of neighbours and their weights in turn, and the vertex that each belongs to."""
    scan = scanned(np.frombuffer(body.text, dtype=np.uint8))
    words = len(scan.starts)
    values = numbers_of(body.text, words, int((scan.ends - scan.starts).max(initial=0)))
    if values is None:
        raise _bad_word(source, body)
    entries = scan.counts - body.skipped
    short = ((entries < 0) & (scan.counts > 0)) | (entries % (1 + body.weighted) != 0) & (entries > 0)
    if short.any():
        vertex = int(np.argmax(short))
        message = f"{scan.counts[vertex]} numbers do not fit the format on line {body.line}"
        raise source.error(message, int(body.numbers[vertex]))
    wanted = np.arange(words) - np.repeat(scan.first, scan.counts) >= body.skipped
    return values[wanted], np.repeat(np.arange(body.n), scan.counts)[wanted]


def _bad_word(source: Source, body: Body) -> InputError:
    for number, line in zip(body.numbers.tolist(), body.text.split(b"\n"), strict=False):
        for word in words(decode(line)):
            if not NUMBER.fullmatch(word):
                return source.error(f"expected a number, found {shown(word)}", number)
    return source.error("holds something else than numbers", body.line)
