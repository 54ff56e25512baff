"""Converts instances between formats. The new file is read back and compared before it gets its name."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats import Format, opened, read_instance, write_instance
from hpcsolve.formats.files import write_file
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS
from hpcsolve.formats.tsplib import with_names
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import NO_ARC, Tsp
from hpcsolve.wording import counted

_WRONG_KIND = "of another kind of problem ({}) than the format of the target"


def convert(source: str, target: str, weight: str | None = None, directed: bool | None = None) -> str:
    """Write the instance in a source file to a target file, whose suffix selects the format.

    Parameters
    ----------
    weight, directed
        The attribute or column with the weights, and whether edges are arcs, as in `read_graph`.

    Returns
    -------
    str
        What was written, and what the format could not hold: `roads.csv: roads, 4 vertices, edge list; without
        coordinates`.

    Raises
    ------
    InputError
        The source cannot be read, hpcsolve writes no format with the target's suffix, that format cannot express the
        costs, arcs or weights, or `directed` is given for a travelling salesman problem.
    EnvironmentFault
        The target cannot be written.
    """
    formats = _formats(source, target)
    is_tsp = formats is TSP_FORMATS
    if is_tsp and directed is not None:
        raise InputError("directed is for graphs; a travelling salesman problem has costs both ways", source)
    problem, _ = _read(source, formats, weight, directed)
    with tempfile.TemporaryDirectory() as folder:
        written = str(Path(folder) / Path(target).name)
        write_instance(problem, written, formats)
        try:
            copy, title = _read(written, formats)
        except InputError as error:
            reason = str(error).replace(written, "the copy")
            raise InputError(f"this format cannot hold it: {reason}; choose another suffix", target) from None
        lost = _lost_of_tsp(problem, copy) if is_tsp else _lost_of_graph(problem, copy)
        write_file(Path(written).read_bytes(), target)
    size = counted(problem.n, "city" if is_tsp else "vertex")
    changed = "" if is_tsp or copy.directed == problem.directed else \
        "; each edge became two arcs" if copy.directed else "; each two arcs became an edge"
    return f"{target}: {problem.name}, {size}, {title}{changed}" + (f"; without {', '.join(lost)}" if lost else "")


def _formats(source: str, target: str) -> tuple[Format[Any], ...]:
    """Return `TSP_FORMATS` or `GRAPH_FORMATS`: the one with the target's suffix, of both the one of the source."""
    suffix = Path(target).suffix.lower()
    kinds: list[tuple[Format[Any], ...]] = [
        formats for formats in (TSP_FORMATS, GRAPH_FORMATS)
        if any(format.write is not None and suffix in format.suffixes for format in formats)
    ]
    if len(kinds) == 1:
        return kinds[0]
    if not kinds:
        everything: tuple[Format[Any], ...] = (*TSP_FORMATS, *GRAPH_FORMATS)
        known = ", ".join(f"{format.title} ({format.suffixes[0]})" for format in everything if format.write)
        raise InputError(f"hpcsolve writes no format with the suffix {suffix!r}; it writes {known}", target)
    found = opened(source, [format for formats in kinds for format in formats])[1]
    return kinds[1] if any(found is format for format in kinds[1]) else kinds[0]


def _read(
    path: str, formats: tuple[Format[Any], ...], weight: str | None = None, directed: bool | None = None
) -> tuple[Any, str]:
    """Return the problem in a file, and the title of the file's format."""
    others: Sequence[Format[Any]] = GRAPH_FORMATS if formats is TSP_FORMATS else TSP_FORMATS
    options = [] if formats is TSP_FORMATS else [directed]
    found = read_instance(path, formats, others, _WRONG_KIND, *options, weight=weight)
    problem = with_names(found.problem) if isinstance(found.problem, Tsp) else found.problem
    return problem, next(format.title for format in formats if format.name == found.format)


def _lost_of_tsp(tsp: Tsp, copy: Tsp) -> list[str]:
    """Return what the copy lacks: names, labels, coordinates. Raises `InputError` if it has other costs."""
    if tsp.n != copy.n or not (_same_points(tsp, copy) or _same_costs(tsp, copy)):
        raise InputError("the target's format cannot express its costs; choose another suffix", tsp.name)
    lost = _lost_labels(tsp, copy, tsp.city_names, copy.city_names, np.arange(tsp.n))
    if tsp.windows is not None:
        kept = tsp.windows.at(tsp.scale, copy.scale)
        same = kept is not None and copy.windows is not None and kept.as_bytes() == copy.windows.as_bytes()
        lost += [] if same else ["time windows"]
    return lost


def _same_points(tsp: Tsp, copy: Tsp) -> bool:
    """Return whether the costs are the same distances between the same coordinates."""
    if not tsp.metric or tsp.metric != copy.metric or tsp.coordinates is None or copy.coordinates is None:
        return False
    return np.array_equal(tsp.coordinates, copy.coordinates)


def _same_costs(tsp: Tsp, copy: Tsp) -> bool:
    """Return whether all costs are the same."""
    for (_, old), (_, new) in zip(tsp.row_blocks(), copy.row_blocks(), strict=True):
        arcs = old != NO_ARC
        if not (np.array_equal(arcs, new != NO_ARC) and _equal(old[arcs], tsp.scale, new[arcs], copy.scale)):
            return False
    return True


def _lost_of_graph(graph: Graph, copy: Graph) -> list[str]:
    """Return what the copy lacks: names, labels, coordinates, terminals.

    Raises
    ------
    InputError
        The copy has other vertices, arcs or weights.
    """
    order = _order(graph, copy)
    tails, heads = order[copy.tails()], order[copy.heads]
    rows = np.lexsort((heads, tails))
    same = len(order) == graph.n and graph.arcs == copy.arcs and np.array_equal(tails[rows], graph.tails())
    same = same and np.array_equal(heads[rows], graph.heads)
    if not same or not _equal(graph.weights, graph.scale, copy.weights[rows], copy.scale):
        what = "the target's format cannot express its vertices, arcs or weights; choose another suffix"
        raise InputError(what, graph.name)
    lost = _lost_labels(graph, copy, graph.vertex_names, copy.vertex_names, np.argsort(order))
    if graph.terminals is not None:
        kept = copy.terminals is not None and set(order[copy.terminals]) == set(graph.terminals)
        lost += [] if kept else ["terminals"]
    return lost


def _order(graph: Graph, copy: Graph) -> NDArray[np.int64]:
    """Return the position in `graph` of each vertex of `copy`: by name, else by label, else the same position."""
    for old, new in ((graph.vertex_names, copy.vertex_names), (graph.labels.tolist(), copy.labels.tolist())):
        position = {key: index for index, key in enumerate(old)}
        if len(position) == graph.n == len(new) and set(position) == set(new):
            return np.array([position[key] for key in new], dtype=np.int64)
    return np.arange(copy.n)


def _lost_labels(
    old: Any, new: Any, names: Sequence[str], new_names: Sequence[str], moved: NDArray[np.int64]
) -> list[str]:
    """Return which of names, labels and coordinates differ. `moved` has the new position of each old one."""
    lost = []
    if tuple(names) != (tuple(new_names[index] for index in moved) if new_names else ()):
        lost.append("names")
    if not np.array_equal(old.labels, new.labels[moved]):
        lost.append("labels")
    if old.coordinates is not None:
        kept = new.coordinates is not None and np.array_equal(old.coordinates, new.coordinates[moved])
        lost += [] if kept and old.coordinates_kind == new.coordinates_kind else ["coordinates"]
    return lost


def _equal(old: NDArray[Any], old_scale: int, new: NDArray[Any], new_scale: int) -> bool:
    """Return whether all numbers are the same, whatever their scales."""
    if old_scale == new_scale and old.dtype.kind == new.dtype.kind:
        return np.array_equal(old, new)
    pairs = zip(old.tolist(), new.tolist(), strict=True)
    return all(a * new_scale == b * old_scale for a, b in pairs)
