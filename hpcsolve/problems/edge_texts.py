"""What an input says of its edges beside their weights: keys, names of streets, identifiers, geometry.

No search needs it. So a graph carries it as JSON in one array of bytes, which is looked at when there is an answer, for
the edges of the answer alone. Geometry is text too: well-known text (WKT, OGC 06-103r4, section 7), as GraphML has it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

GEOMETRY = "geometry"
"""The attribute with the line of an edge, as OSMnx names it."""
EdgeData = tuple[Any, Mapping[str, Any]]
"""The key of an edge and its attributes."""
_LINE = re.compile(r"\s*LINESTRING\s*(?:Z|M|ZM)?\s*\(([^()]*)\)\s*", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class EdgeTexts:
    """The texts of the m edges that an input has, in its order, parallel ones and loops included.

    Attributes
    ----------
    tails, heads
        Shape (m,), int64: positions of the ends, as the input gives them.
    weights
        Shape (m,): the weights in the input, which tell parallel edges apart.
    text, offsets, rows
        uint8 and int64. The text of edge i, JSON `[key, attributes]`, is `text[offsets[rows[i]]:offsets[rows[i] + 1]]`.
    keyed
        Whether edges have keys, as in a multigraph.
    arcs
        Whether the input says that it has arcs, whatever a search takes them for.
    """

    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    weights: NDArray[Any]
    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    keyed: bool
    arcs: bool

    def of(self, n: int, directed: bool, tails: ArrayLike, heads: ArrayLike) -> NDArray[np.int64]:
        """Return the edge of the input between the ends of each edge of a graph: the lightest one, then the first.

        Parameters
        ----------
        n, directed
            Number of vertices of the graph, and whether its edges lead one way.

        Raises
        ------
        ValueError
            The input has no edge between two of these ends.
        """
        asked, own = _between(n, directed, tails, heads), _between(n, directed, self.tails, self.heads)
        among = np.flatnonzero(np.isin(own, asked))
        among = among[np.lexsort((among, self.weights[among], own[among]))]
        between, first = np.unique(own[among], return_index=True)
        place = np.searchsorted(between, asked)
        if len(asked) and (place.max() == len(between) or (between[place] != asked).any()):
            raise ValueError("an edge of the answer is none of the instance's file")
        found: NDArray[np.int64] = among[first[place]] if len(asked) else np.empty(0, np.int64)
        return found

    def texts(self, edges: NDArray[np.int64]) -> Iterator[tuple[str, str]]:
        """Yield the key and the attributes of some edges as JSON."""
        for begin, end in zip(self.offsets[self.rows[edges]].tolist(), self.offsets[self.rows[edges] + 1].tolist()):
            key, attributes = json.loads(self.text[begin:end].tobytes())
            yield json.dumps(key, ensure_ascii=False), json.dumps(attributes, ensure_ascii=False)


def _between(n: int, directed: bool, tails: ArrayLike, heads: ArrayLike) -> NDArray[np.int64]:
    """Return tail * n + head of each edge, of an undirected graph with the smaller end first."""
    a, b = np.asarray(tails, np.int64), np.asarray(heads, np.int64)
    return a * n + b if directed else np.minimum(a, b) * n + np.maximum(a, b)


def edge_texts(
    tails: ArrayLike, heads: ArrayLike, weights: ArrayLike | None, edge_data: Iterable[EdgeData], *, keyed: bool,
    arcs: bool,
) -> EdgeTexts:
    """Return the texts of edges, given the key and the attributes of each one. `weights` are by default 1 each.

    Edges without keys that follow each other and have one object as their attributes share a text.
    """
    texts: list[bytes] = []
    rows: list[int] = []
    before, write = None, json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    for key, attributes in edge_data:
        if key is not None or attributes is not before:
            texts.append(write([_plain(key), _plain(attributes)]).encode(errors="replace"))
        rows.append(len(texts) - 1)
        before = attributes
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(text) for text in texts], dtype=np.int64)])
    ends = np.asarray(tails, np.int64), np.asarray(heads, np.int64)
    numbers = np.ones(len(rows)) if weights is None else np.asarray(weights)
    text, own = np.frombuffer(b"".join(texts), np.uint8), np.array(rows, np.int64)
    return EdgeTexts(*ends, numbers, text, offsets, own, keyed, arcs)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: a line as WKT, no number as None, and any other object as its text."""
    if value is None or isinstance(value, (str, int)):  # most attributes, so they are tried first
        return value
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (str, int)):  # of numpy
        return value
    try:
        places = [*value.coords]
        return line_text(places) if len(places) > 1 else str(value)
    except (AttributeError, NotImplementedError, TypeError, ValueError):  # no line: a date, or a shape of many lines
        return str(value)


def line_text(places: Iterable[Iterable[float]]) -> str:
    """Return a line as WKT, with as many digits as the coordinates have: `LINESTRING (16.37 48.21, 16.4 48.2)`."""
    corners = (" ".join(repr(float(number)).removesuffix(".0") for number in place) for place in places)
    return f"LINESTRING ({', '.join(corners)})"


def line_in(text: object) -> NDArray[np.float64] | None:
    """Return the corners of a line in WKT, shape (corners, 2), at least two. None: the text is no such line."""
    found = _LINE.fullmatch(text) if isinstance(text, str) else None
    try:
        corners = [[float(number) for number in corner.split()] for corner in found[1].split(",")] if found else []
    except ValueError:
        return None
    if len(corners) < 2 or len({len(corner) for corner in corners}) > 1 or not 2 <= len(corners[0]) <= 4:
        return None
    line = np.array(corners)[:, :2]
    return line if np.isfinite(line).all() else None
