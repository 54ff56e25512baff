"""Instances from objects of other libraries and back: networkx, sparse matrices of scipy, DataFrames of pandas.

Networkx and pandas are not imported here unless an instance is turned into one of networkx.
"""

from __future__ import annotations

import importlib
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems import geographic
from hpcsolve.problems.edge_texts import EdgeData, edge_texts
from hpcsolve.problems.graph import Graph, from_edges
from hpcsolve.problems.labels import is_integer, is_real
from hpcsolve.problems.notes import ONE_WAY, not_used, one_way_notes, read_note
from hpcsolve.problems.plane_points import AXES, from_points_in_plane, has_plane_columns
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import Tsp, from_matrix
from hpcsolve.wording import shown

OSMNX_UNITS: Mapping[str, str] = {"length": "m", "travel_time": "s"}
"""Attributes of OSMnx's edges -> their units, as its documentation has them (`osmnx.distance`, `osmnx.routing`)."""


def from_networkx(
    graph: Any, weight: str | None = "weight", *, directed: bool | None = None, name: str = "", file: bool = False,
    stated: bool = True, edge_data: Sequence[EdgeData] | None = None,
) -> Graph:
    """Return the graph of a networkx graph, directed or not, with or without parallel edges.

    If all nodes are integers, they are the labels; else the labels are 0..n-1, and the nodes' texts are the names.
    Coordinates are what `node_places` finds. Weights have a unit in graphs of OSMnx alone: those that have a `crs`, and
    an `osmid` at every edge.

    Parameters
    ----------
    weight
        The attribute with the weights, which every edge must have. None: each edge weighs 1, and so it does by default
        if no edge has any attribute that is a number, as in networkx.
    directed
        False takes each arc as an edge, whose weight is the smaller one of both directions; by default as the graph is.
    file
        Whether the graph was read from a file, so that messages name the key of a job.
    stated
        Whether the file says if it has arcs or edges. If not, `graph` has them as arcs, which are taken as edges.
    edge_data
        What the input says of each edge, by default what `edge_data_of` finds.

    Raises
    ------
    InputError
        Edges lack the attribute, or it is not a number; the graph has edges, and `directed` is true; or as in
        `from_edges`. The message names an edge.
    """
    if directed and not graph.is_directed():
        raise InputError("a graph with edges, not arcs, is undirected; remove directed = true", name)
    title = name or str(getattr(graph, "name", "")) or "graph"
    nodes = list(graph.nodes)
    position = {node: index for index, node in enumerate(nodes)}
    tails, heads, attributes = zip(*graph.edges(data=True)) if graph.size() else ((), (), ())
    values = _edge_values(tails, heads, attributes, weight, title, file)
    coordinates, kind = node_places(graph)
    arcs = directed if directed is not None else graph.is_directed() if stated else None
    labelled = all(map(is_integer, nodes))
    converted = from_edges(
        [position[node] for node in tails], [position[node] for node in heads], values,
        n=len(nodes), directed=arcs, name=title,
        labels=[int(node) for node in nodes] if labelled else None,
        vertex_names=() if labelled else tuple(map(str, nodes)),
    )
    one_way = [data[ONE_WAY] for data in attributes if ONE_WAY in data]
    notes = () if graph.is_directed() and stated else one_way_notes("attribute", one_way, directed, stated)
    if weight and tails and not values:
        notes += (read_note("each edge weighs 1, since edges have no numbers"),)
    edge_data, texts = edge_data_of(graph) if edge_data is None else edge_data, None
    if graph.is_multigraph() or any(key != weight for _, data in edge_data for key in data):
        a, b = ([position[node] for node in ends] for ends in (tails, heads))
        texts = edge_texts(a, b, values, edge_data, keyed=graph.is_multigraph(), arcs=graph.is_directed() and stated)
    of_osmnx = "crs" in graph.graph and all("osmid" in data for data in attributes)
    unit = OSMNX_UNITS.get(weight or "", "") if of_osmnx and values else ""
    return replace(converted, coordinates=coordinates, coordinates_kind=kind, notes=notes, edge_texts=texts, unit=unit)


def edge_data_of(graph: Any) -> list[EdgeData]:
    """Return the key, None if it has none, and the attributes of each edge of a graph of networkx, in its order."""
    if graph.is_multigraph():
        return [(key, data) for *_, key, data in graph.edges(keys=True, data=True)]
    return [(None, data) for *_, data in graph.edges(data=True)]


def _edge_values(
    tails: Sequence[Any], heads: Sequence[Any], attributes: Sequence[Mapping[str, Any]], weight: str | None, name: str,
    file: bool,
) -> list[Any] | None:
    """Return the weight of each edge, or None if each one weighs 1."""
    values = [] if weight is None else [data[weight] for data in attributes if weight in data]
    if len(values) == len(attributes):
        for index, value in enumerate(values):
            if not isinstance(value, numbers.Number):
                what = "is None" if value is None else f"is a {type(value).__name__}, {value!r:.40}"
                raise InputError(f"{weight!r} of the edge {tails[index]} - {heads[index]} {what}; give a number", name)
        return values or None
    if values:
        index = next(index for index, data in enumerate(attributes) if weight not in data)
        what = f"the edge {tails[index]} - {heads[index]} has no attribute {weight!r}, which other edges have"
        raise InputError(f"{what}; give it to every edge, or choose another one with weight{'' if file else '='}", name)
    if weight is not None:
        _refuse_other_weights(attributes, weight, name, file)
    return None


def _refuse_other_weights(attributes: Sequence[Mapping[str, Any]], weight: str, name: str, file: bool) -> None:
    """Refuse a weight that no edge has, unless it is the default and edges have no numbers at all."""
    found = {key: value for data in attributes for key, value in data.items() if is_real(value)}
    if not found and weight == "weight":
        return
    others = sorted(found, key=lambda key: (isinstance(found[key], numbers.Integral), key))  # lengths before ids
    has = f"edges have {', '.join(others)}" if found else "edges have no attribute that is a number"
    if file:
        choice = f"choose with weight, as in --set instance.weight={others[0]}" if found else "leave weight out"
    else:
        choice = f'choose with weight=, as in weight="{others[0]}"' if found else "remove weight="
        choice += ", or weight=None for 1 each"
    raise InputError(f"no edge has the attribute {weight!r}; {has}: {choice}", name)


def node_places(graph: Any) -> tuple[NDArray[np.float64] | None, str]:
    """Return the coordinates of the nodes of a graph of networkx, shape (n, 2 or 3), and their kind.

    They are `lat` and `lon`; or `x` and `y`, which are degrees if the attribute `crs` of the graph says so, as OSMnx
    writes it; or `pos`. The coordinates are None if a node has none.

    Raises
    ------
    InputError
        Latitudes or longitudes are out of range.
    """
    nodes = [data for _, data in graph.nodes(data=True)]
    for north in geographic.LATITUDE:
        for east in geographic.LONGITUDE:
            places = _table([[data.get(north), data.get(east)] for data in nodes])
            if places is not None:
                return _degrees(places), geographic.DEGREES
    places = _table([[data.get("x"), data.get("y")] for data in nodes])
    if places is not None:
        degrees = any(mark in str(graph.graph.get("crs", "")).lower() for mark in ("4326", "crs84"))
        return (_degrees(places[:, ::-1].copy()), geographic.DEGREES) if degrees else (places, "")
    return _table([data.get("pos") for data in nodes]), ""


def _table(rows: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return numbers as an array, or None if one is missing or something else."""
    if not rows or not all(isinstance(row, (list, tuple, np.ndarray)) and len(row) in (2, 3) for row in rows):
        return None
    if len({len(row) for row in rows}) > 1 or not all(is_real(cell) for row in rows for cell in row):
        return None
    table = np.array([[float(cell) for cell in row] for row in rows])
    return table if np.isfinite(table).all() else None


def _degrees(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return latitudes and longitudes. Raises `InputError` if they cannot be degrees."""
    for place in places.tolist():
        for value, what in zip(place, ("latitude", "longitude")):
            wrong = geographic.out_of_range(value, what)
            if wrong:
                raise InputError(wrong)
    return places


def to_networkx(graph: Graph) -> Any:
    """Return a `networkx.Graph` or `DiGraph` whose nodes are names or labels, with weights in the unit of the input.

    Raises
    ------
    InputError
        networkx is not installed.
    """
    try:
        # Imported by name, since networkx is optional and only this function needs it.
        networkx = importlib.import_module("networkx")
    except ImportError:
        raise InputError("networkx is not installed: pip install networkx") from None
    result = networkx.DiGraph() if graph.directed else networkx.Graph()
    nodes = list(graph.vertex_names) or graph.labels.tolist()
    result.add_nodes_from(nodes)
    tails, once = graph.tails(), graph.once()
    weights = graph.weights[once] if graph.scale == 1 else graph.weights[once] / graph.scale
    ends = zip(tails[once].tolist(), graph.heads[once].tolist(), weights.tolist(), strict=True)
    result.add_weighted_edges_from((nodes[a], nodes[b], value) for a, b, value in ends)
    return result


def from_scipy(matrix: Any, *, directed: bool | None = True, name: str = "graph") -> Graph:
    """Return the graph of a sparse matrix. Stored zeros are arcs of weight 0, as in `scipy.sparse.csgraph`.

    Parameters
    ----------
    matrix
        Shape (n, n), in any of scipy's sparse formats; entry (u, v) is the weight of the arc from u to v.
    directed
        If False, each stored entry is an edge, and the least one of (u, v) and (v, u) counts; if None it is an edge,
        too, but (u, v) and (v, u) must not differ.

    Raises
    ------
    InputError
        The matrix is not sparse or not square; or as in `from_edges`.
    """
    if not hasattr(matrix, "tocoo"):
        raise InputError(f"from_scipy takes a sparse matrix, not {type(matrix).__name__}", name)
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"the matrix has shape {matrix.shape}; it must be square", name)
    entries = matrix.tocoo()
    return from_edges(entries.row, entries.col, entries.data, n=int(matrix.shape[0]), directed=directed, name=name)


def to_scipy(graph: Graph) -> Any:
    """Return a `scipy.sparse.csr_array` of shape (n, n), with the weights in the unit of the input."""
    return graph.sparse_matrix(graph.weights if graph.scale == 1 else graph.weights / graph.scale)


def is_data_frame(problem: object) -> bool:
    """Return whether an object is a table with an index and columns, as pandas has it."""
    return hasattr(problem, "columns") and hasattr(problem, "index") and hasattr(problem, "to_numpy")


def from_data_frame(
    frame: Any, precision: Precision | None = None, name: str = "DataFrame", speed: float | None = None
) -> Tsp:
    """Return the problem of a DataFrame.

    Parameters
    ----------
    frame
        Either a square matrix of costs, from the row's city to the column's, whose index equals its columns: integers
        are the labels of the cities, other values their names. Or a table with columns of latitudes and longitudes, as
        in `formats.places`, or with columns x and y, in a plane. An index of texts gives the names if no column does.
    precision
        As in `from_matrix`.
    speed
        With one, columns of time windows are used, so that no note names them.

    Raises
    ------
    InputError
        Index and columns differ, or as in `from_matrix`, `from_places` and `from_points_in_plane`.
    """
    titles = list(frame.columns)
    if geographic.has_place_columns(titles):
        return _places(frame, name, speed)
    if has_plane_columns(titles) and titles != list(frame.index):
        return _points(frame, name, precision)
    labels = _labels(frame, name)
    if all(map(is_integer, labels)):
        tsp = from_matrix(frame.to_numpy(), name, precision=precision)
        return replace(tsp, labels=np.array(labels, dtype=np.int64))
    return from_matrix(frame.to_numpy(), name, city_names=[str(label) for label in labels], precision=precision)


def _labels(frame: Any, name: str) -> list[Any]:
    """Return the labels of the rows, which must be those of the columns in the same order, each one once."""
    rows, columns = list(frame.index), list(frame.columns)
    if rows == columns:
        if all(map(is_integer, rows)) and len(set(rows)) < len(rows):
            raise InputError("two cities have the same number in the index of the DataFrame; give each its own", name)
        return rows
    if len(rows) != len(columns):
        raise InputError(f"the DataFrame has {len(rows)} rows and {len(columns)} columns; the matrix is square", name)
    first = next(i for i, (row, column) in enumerate(zip(rows, columns)) if row != column)
    what = f"row {first} of the DataFrame is {shown(str(rows[first]))}, column {first} {shown(str(columns[first]))}"
    cure = "order them with df.loc[df.columns]" if set(rows) == set(columns) else "set df.index = df.columns"
    raise InputError(f"{what}; the cities must be the same in both: {cure}", name)


def _places(frame: Any, name: str, speed: float | None) -> Tsp:
    try:
        columns, times = geographic.place_columns(list(frame.columns)), geographic.time_columns(frame.columns, speed)
    except ValueError as problem:
        raise InputError(str(problem), name) from None
    latitude, longitude = (frame.iloc[:, column].to_numpy() for column in (columns.latitude, columns.longitude))
    names, labels = _names_and_labels(frame, columns.name, columns.label, name)
    notes = not_used(columns.unused(list(frame.columns), times))
    return geographic.from_places(latitude, longitude, name, city_names=names, labels=labels, notes=notes)


def _points(frame: Any, name: str, precision: Precision | None) -> Tsp:
    words = [str(title).strip().lower() for title in frame.columns]
    naming = next((words.index(title) for title in geographic.NAME if title in words), None)
    label = next((words.index(title) for title in geographic.LABEL if title in words), None)
    axes = [words.index(axis) for axis in AXES]
    names, labels = _names_and_labels(frame, naming, label, name)
    unused = [title for at, title in enumerate(frame.columns) if at not in (*axes, naming, label)]
    return from_points_in_plane(
        frame.iloc[:, axes].to_numpy(), name, city_names=names, labels=range(1, len(frame) + 1) if labels is None else
        labels, precision=precision, notes=not_used(unused),
    )


def _names_and_labels(frame: Any, naming: int | None, label: int | None, name: str) -> tuple[list[str], Any]:
    """Return the names of the rows, or none, and their numbers, or None. Raises `InputError`: a name is missing."""
    index = frame.index.tolist()
    names = index if all(isinstance(title, str) for title in index) else []
    if naming is not None:
        names = frame.iloc[:, naming].tolist()
    ids = [] if label is None else frame.iloc[:, label].tolist()
    for position, text in enumerate(names):
        if text is None or text != text or not str(text).strip():
            raise InputError(f"place {position} has no name", name)
    return [str(text) for text in names], ids if ids and all(map(is_integer, ids)) else None
