"""The same graph with its vertices in another order, or with its arcs reversed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import with_rows


def reversed_graph(graph: Graph) -> Graph:
    """Return the graph with every arc reversed. An undirected graph is its own reverse."""
    if not graph.directed:
        return graph
    return with_rows(graph, graph.heads.astype(np.int64), graph.tails().astype(np.int64))


def same_arcs(graph: Graph, other: Graph) -> bool:
    """Return whether two graphs have the same arcs, with the same weights."""
    pairs = ((graph.offsets, other.offsets), (graph.heads, other.heads), (graph.weights, other.weights))
    return all(np.array_equal(own, others) for own, others in pairs)


def undirected(graph: Graph) -> Graph:
    """Return a graph that has every arc in both directions, with the same weight, as an undirected one.

    Raises
    ------
    InputError
        An arc has no reverse of the same weight. The message names its ends.
    """
    lone = arc_without_reverse(graph)
    if lone is None:
        return replace(graph, directed=False)
    a, b = graph.labels[list(lone)]
    message = f"the arcs between the vertices {a} and {b} differ in the two directions"
    raise InputError(f"{message}; an undirected graph is needed", graph.name)


def arc_without_reverse(graph: Graph) -> tuple[int, int] | None:
    """Return the ends (positions) of the first arc that has no reverse of the same weight, or None."""
    back = reversed_graph(graph)
    tails, others = graph.tails(), back.tails()
    same = (tails == others) & (graph.heads == back.heads) & (graph.weights == back.weights)
    if same.all():
        return None
    index = int(np.argmin(same))
    tail, head = min((tails[index], graph.heads[index]), (others[index], back.heads[index]))
    return int(tail), int(head)


def spatial_order(graph: Graph) -> NDArray[np.int64]:
    """Return an order of the vertices in which neighbours stand near each other, for `permuted`.

    Returns
    -------
    order
        Shape (n,), int64: the position of the vertex that comes k-th. It follows a Z-order curve through the first two
        coordinates; without coordinates it is reverse Cuthill-McKee (scipy). Ties are broken by position.
    """
    if graph.coordinates is not None:
        return z_order(graph.coordinates)
    if graph.arcs == 0 or graph.arcs > np.iinfo(np.int32).max:
        return np.arange(graph.n, dtype=np.int64)
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    pattern = np.ones(graph.arcs, dtype=np.int8)
    rows = csr_matrix((pattern, graph.heads, graph.offsets.astype(np.int32)), shape=(graph.n, graph.n))
    return np.asarray(reverse_cuthill_mckee(rows, symmetric_mode=not graph.directed), dtype=np.int64)


def z_order(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order of points along a Z-order curve, by the bits of x and y in turn, with ties broken by position.

    Parameters
    ----------
    points
        Shape (n, 2 or more), finite; the first two columns count, in 2^31 steps of the longer side.
    """
    if not len(points):
        return np.empty(0, dtype=np.int64)
    low = points[:, :2].min(axis=0)
    side = float((points[:, :2].max(axis=0) - low).max())
    steps = ((points[:, :2] - low) * ((2**31 - 1) / side) if side > 0 else points[:, :2] * 0).astype(np.uint64)
    return np.argsort(_spread(steps[:, 0]) | _spread(steps[:, 1]) << np.uint64(1), kind="stable")


def permuted(graph: Graph, order: ArrayLike, labels: NDArray[np.int64] | None = None) -> Graph:
    """Return the graph with its vertices in another order. Labels, coordinates and terminals move with them.

    Parameters
    ----------
    order
        Shape (n,): the position in `graph` of the vertex that comes k-th; `order[p]` maps new positions back.
    labels
        Labels of the vertices in their new order, by default their old ones.

    Raises
    ------
    ValueError
        The order is no permutation of 0..n-1.
    """
    old = np.asarray(order, dtype=np.int64)
    if old.shape != (graph.n,) or not np.array_equal(np.sort(old), np.arange(graph.n)):
        raise ValueError(f"the order must be a permutation of 0 to {graph.n - 1}")
    new = np.empty(graph.n, dtype=np.int64)
    new[old] = np.arange(graph.n)
    names = graph.vertex_names
    return with_rows(
        graph, new[graph.tails()], new[graph.heads], labels=graph.labels[old] if labels is None else labels,
        coordinates=None if graph.coordinates is None else graph.coordinates[old],
        terminals=None if graph.terminals is None else new[graph.terminals],
        vertex_names=tuple(names[position] for position in old) if names else (),
    )


def _spread(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the lower 32 bits of each value, with a zero bit between any two."""
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF), (8, 0x00FF00FF00FF00FF), (4, 0x0F0F0F0F0F0F0F0F), (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        values = (values | values << np.uint64(shift)) & np.uint64(mask)
    return values
