"""What readers and writers of graphs share: checked columns of vertices and weights, header numbers, lines of arcs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.decimal_text import decimal
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.graph.lines import Numbers
from hpcsolve.problems.decimals import BadNumber, shown
from hpcsolve.problems.graph import LARGEST_ORDER, Graph
from hpcsolve.problems.graph_build import EITHER_WEIGHT, opposite_arcs
from hpcsolve.problems.weights import Weights, exact_weights

_SMALL_ORDER = 1 << 20
"""Number of vertices that a file of any size may have, since isolated vertices take no room in it."""


def positions_in(
    file: InputFile, values: Numbers, lines: NDArray[np.int64], n: int, first: int = 1
) -> NDArray[np.int64]:
    """Return the positions 0..n-1 of a column of vertices that the file counts from `first`.

    Raises
    ------
    InputError
        With file and line: a vertex is out of range or not a whole number.
    """
    wrong = (values < first) | (values >= n + first)
    if values.dtype.kind == "f":
        wrong |= np.floor(values) != values
    if wrong.any():
        index = int(np.argmax(wrong))
        what = f"vertex {values[index]:.16g}" if values.dtype.kind == "f" else f"vertex {values[index]}"
        raise file.error(f"{what} is not a whole number from {first} to {n - 1 + first}", int(lines[index]))
    return values.astype(np.int64) - first


def weights_in(file: InputFile, values: Numbers, lines: NDArray[np.int64], n: int) -> tuple[Weights, int]:
    """Return a column of weights in the form that `Graph` has, and their scale.

    Raises
    ------
    InputError
        With file and line: a weight is negative, infinite or too large.
    """
    try:
        return exact_weights(values, n)
    except BadNumber as problem:
        raise file.error(f"the weight {problem.reason}", int(lines[problem.index])) from None


def header_numbers(file: InputFile, texts: list[str], line: int, example: str) -> list[int]:
    """Return the whole numbers of a header.

    Raises
    ------
    InputError
        One of them is not a whole number; the message says that the line should look like `example`.
    """
    for text in texts:
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
            raise file.error(f"expected {example}, found {shown(text)}", line)
    return [int(text) for text in texts]


def require_plausible(file: InputFile, n: int, line: int | None, size: int | None = None) -> None:
    """Refuse a number of vertices that no file of this size has, before anything is allocated for them.

    Parameters
    ----------
    size
        The size in bytes; by default that of the file.

    Raises
    ------
    InputError
        With file and line.
    """
    size = len(file.content) if size is None else size
    if not 0 <= n <= min(max(_SMALL_ORDER, size), LARGEST_ORDER):
        raise file.error(f"the header says {n} vertices, too many for {size} bytes; it may be damaged", line)


def require_count(file: InputFile, stated: int, count: int, what: str, line: int | None) -> None:
    """Refuse a file whose header gives another number of records than there are.

    Raises
    ------
    InputError
        With file and line of the header.
    """
    if stated != count:
        hint = "; it may be truncated" if count < stated else ""
        raise file.error(f"the header says {stated} {what}, but the file has {count}{hint}", line)


def require_undirected(file: InputFile, directed: bool | None) -> None:
    """Refuse `directed = true` for a file whose format has only edges. Raises `InputError`."""
    if directed:
        raise file.error("a graph in this format is undirected; remove directed = true")


def require_one_weight(
    file: InputFile, n: int, ends: tuple[NDArray[np.int64], NDArray[np.int64]], weights: tuple[Weights, int],
    lines: NDArray[np.int64], names: Any, way_out: str = f"{EITHER_WEIGHT} (--set instance.directed=false)",
) -> None:
    """Refuse edges that are there in both directions with different weights, as if they were arcs.

    Parameters
    ----------
    ends, weights
        Tails and heads (positions); weights and their scale.
    names
        Names or labels of the vertices, by position.
    way_out
        The end of the message.

    Raises
    ------
    InputError
        With file and both lines.
    """
    found = opposite_arcs(n, *ends, weights[0])
    if found is None:
        return
    (one, weight), (other, other_weight) = (
        (f"from {names[ends[0][arc]]} to {names[ends[1][arc]]}", weight_text(weights[0][arc].item(), weights[1]))
        for arc in found)
    message = f"the weight {other} is {other_weight}, but {one} it is {weight} (line {lines[found[0]]})"
    raise file.error(f"{message}; {way_out}", int(lines[found[1]]))


def arc_lines(graph: Graph, prefix: str, chosen: NDArray[np.int64]) -> Iterator[str]:
    """Yield a line for each chosen arc: the prefix, the tail and the head from 1, the exact weight."""
    tails, heads, weights = graph.tails()[chosen] + 1, graph.heads[chosen] + 1, graph.weights[chosen]
    for tail, head, weight in zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True):
        yield f"{prefix}{tail} {head} {weight_text(weight, graph.scale)}"


def comment_lines(graph: Graph, prefix: str) -> list[str]:
    """Return the graph's name and comment as lines that begin with this prefix."""
    return [f"{prefix}{line}" for line in [graph.name, *graph.comment.splitlines()] if line.strip()]


def weight_text(weight: int | float, scale: int) -> str:
    """Return a weight in the unit of the input, as text that reads back exactly. Floats have scale 1."""
    return decimal(weight, scale) if isinstance(weight, int) else repr(weight)
