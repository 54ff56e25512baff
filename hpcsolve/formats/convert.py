"""Converts instances between formats: what was written is read again and compared before it takes its name."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import EnvironmentFault, InputError
from hpcsolve.formats.base import Format, read_instance, recognised, write_instance
from hpcsolve.formats.files import as_text, open_file
from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS
from hpcsolve.formats.tsp.city_names import with_names
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import FORBIDDEN, Tsp

_WRONG_KIND = "of another kind of problem ({}) than the format of the target"


def convert(source: str, target: str, weight: str | None = None) -> str:
    """Write the instance in one file into another one, whose suffix says the format.

    Parameters
    ----------
    weight
        The attribute or column with the weights, as in `read_graph`.

    Returns
    -------
    str
        What was written, and what the format could not hold: `roads.csv: roads, 4 vertices, edge list; without
        coordinates`.

    Raises
    ------
    InputError
        The source cannot be read, no format that is written has the suffix, or the format cannot express costs, arcs or
        weights.
    EnvironmentFault
        The target cannot be written.
    """
    formats = _formats(source, target)
    is_tsp = formats is TSP_FORMATS
    problem = _read(source, formats, weight)
    with tempfile.TemporaryDirectory() as folder:
        written = str(Path(folder) / Path(target).name)
        write_instance(problem, written, formats)
        again, name = _reread(written, formats)
        lost = _lost_of_tsp(problem, again) if is_tsp else _lost_of_graph(problem, again)
        _moved(written, target)
    size = f"{problem.n} {'cities' if is_tsp else 'vertices'}"
    doubled = "; each edge became two arcs" if not is_tsp and again.directed > problem.directed else ""
    return f"{target}: {problem.name}, {size}, {name}{doubled}" + (f"; without {', '.join(lost)}" if lost else "")


def _formats(source: str, target: str) -> tuple[Format[Any], ...]:
    """Return the formats of the kind of problem that the target's suffix stands for, or else the source's content."""
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
        raise InputError(f"no format that is written has the suffix {suffix!r}; there are {known}", target)
    file = open_file(source)
    text = [format for formats in kinds for format in formats if not format.binary]
    binary = next((format for formats in kinds for format in formats
                   if format.binary and format.signature is not None and format.signature(file.content)), None)
    found = binary or recognised(as_text(file), text)
    return kinds[1] if any(found is format for format in kinds[1]) else kinds[0]


def _read(path: str, formats: tuple[Format[Any], ...], weight: str | None) -> Any:
    others: Sequence[Format[Any]] = GRAPH_FORMATS if formats is TSP_FORMATS else TSP_FORMATS
    options = () if formats is TSP_FORMATS else (None,)
    problem = read_instance(path, formats, others, _WRONG_KIND, *options, weight=weight).problem
    return with_names(problem) if isinstance(problem, Tsp) else problem


def _reread(path: str, formats: tuple[Format[Any], ...]) -> tuple[Any, str]:
    """Return the problem in a file that was just written, and the title of its format."""
    others: Sequence[Format[Any]] = GRAPH_FORMATS if formats is TSP_FORMATS else TSP_FORMATS
    options = () if formats is TSP_FORMATS else (None,)
    found = read_instance(path, formats, others, _WRONG_KIND, *options)
    problem = with_names(found.problem) if isinstance(found.problem, Tsp) else found.problem
    return problem, next(format.title for format in formats if format.name == found.format)


def _lost_of_tsp(tsp: Tsp, again: Tsp) -> list[str]:
    """Return what an instance lost. Raises `InputError` if it was the costs."""
    same = tsp.n == again.n and np.array_equal(tsp.cost == FORBIDDEN, again.cost == FORBIDDEN)
    arcs = tsp.cost != FORBIDDEN
    if not same or not _equal(tsp.cost[arcs], tsp.scale, again.cost[arcs], again.scale):
        raise InputError("the format cannot express its costs", tsp.name)
    return _lost_labels(tsp, again, tsp.city_names, again.city_names, np.arange(tsp.n))


def _lost_of_graph(graph: Graph, again: Graph) -> list[str]:
    """Return what a graph lost. Raises `InputError` if it was vertices, arcs or weights."""
    order = _order(graph, again)
    tails, heads = order[again.tails()], order[again.heads]
    rows = np.lexsort((heads, tails))
    same = len(order) == graph.n and graph.arcs == again.arcs and np.array_equal(tails[rows], graph.tails())
    same = same and np.array_equal(heads[rows], graph.heads) and (graph.directed <= again.directed)
    if not same or not _equal(graph.weights, graph.scale, again.weights[rows], again.scale):
        raise InputError("the format cannot express its vertices, arcs or weights", graph.name)
    place = np.argsort(order)
    lost = _lost_labels(graph, again, graph.vertex_names, again.vertex_names, place)
    if graph.terminals is not None:
        kept = again.terminals is not None and set(order[again.terminals]) == set(graph.terminals)
        lost += [] if kept else ["terminals"]
    return lost


def _order(graph: Graph, again: Graph) -> NDArray[np.int64]:
    """Return the position in `graph` of each vertex of `again`, by name or label, or its own if both changed."""
    for old, new in ((graph.vertex_names, again.vertex_names), (graph.labels.tolist(), again.labels.tolist())):
        position = {key: index for index, key in enumerate(old)}
        if len(position) == graph.n == len(new) and set(position) == set(new):
            return np.array([position[key] for key in new], dtype=np.int64)
    return np.arange(again.n)


def _lost_labels(
    old: Any, new: Any, names: Sequence[str], new_names: Sequence[str], place: NDArray[np.int64]
) -> list[str]:
    """Return which of names, labels and coordinates are not the same. `place` has the new position of each old one."""
    lost = []
    if tuple(names) != (tuple(new_names[index] for index in place) if new_names else ()):
        lost.append("names")
    if not np.array_equal(old.labels, new.labels[place]):
        lost.append("labels")
    if old.coordinates is not None:
        kept = new.coordinates is not None and np.array_equal(old.coordinates, new.coordinates[place])
        lost += [] if kept and old.coordinates_kind == new.coordinates_kind else ["coordinates"]
    return lost


def _equal(old: NDArray[Any], old_scale: int, new: NDArray[Any], new_scale: int) -> bool:
    """Return whether all numbers are the same, whatever their scales."""
    if old_scale == new_scale and old.dtype.kind == new.dtype.kind:
        return np.array_equal(old, new)
    pairs = zip(old.tolist(), new.tolist(), strict=True)
    return all(a * new_scale == b * old_scale for a, b in pairs)


def _moved(written: str, target: str) -> None:
    """Give a complete file its name, on whichever file system."""
    part = f"{target}.{os.getpid()}.part"
    try:
        shutil.copyfile(written, part)
        os.replace(part, target)
    except OSError as problem:
        if os.path.exists(part):
            os.unlink(part)
        raise EnvironmentFault(f"{target}: cannot be written: {problem.strerror}") from None
