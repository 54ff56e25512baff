"""The least Steiner tree by Dreyfus and Wagner's recursion over sets of terminals: slow, short, exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hpcsolve.algorithms.steiner_kmb.network import PATHS, network
from hpcsolve.algorithms.steiner_kmb.reductions import SteinerState
from hpcsolve.problems.graph import from_edges
from tests.oracles import least_distances


def least_tree(graph):
    """Return the weight of a minimum Steiner tree of eight terminals or so, None if there is none."""
    assert graph.terminals is not None
    distance = [least_distances(graph, [v]) for v in range(graph.n)]
    first, *others = graph.terminals.tolist()
    infinite = 1 << 80
    # best[s][v]: the weight of the lightest tree that joins v and the terminals of the set s
    best = {1 << i: [infinite if distance[t][v] is None else distance[t][v] for v in range(graph.n)]
            for i, t in enumerate(others)}
    for whole in range(1, 1 << len(others)):
        if whole in best:
            continue
        halves = [s for s in range(1, whole) if s & whole == s and s < whole ^ s]
        met = [min(best[s][v] + best[whole ^ s][v] for s in halves) for v in range(graph.n)]
        best[whole] = [
            min(met[u] + d for u in range(graph.n) if (d := distance[u][v]) is not None) for v in range(graph.n)
        ]
    found = best[(1 << len(others)) - 1][first] if others else 0
    return None if found >= infinite else int(found)


@st.composite
def steiner_graphs(draw, most=11, terminals=5, largest=20):
    """Return graphs with loops, parallel edges, weights of 0, chains, leaves, and components without terminals."""
    n = draw(st.integers(1, most))
    vertex, weight = st.integers(0, n - 1), st.integers(0, largest)
    tree = [(draw(st.integers(max(0, v - 3), v - 1)), v, draw(weight)) for v in range(1, n)]
    more = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=2 * n))
    apart = [(n, n + 1, 1), (n + 1, n + 2, 2), (n + 2, n, 0)] if draw(st.booleans()) else []
    edges = np.array([*tree, *more, *apart], np.int64).reshape(-1, 3)
    chosen = draw(st.lists(vertex, min_size=1, max_size=terminals, unique=True))
    order = draw(st.permutations(range(n + 3)))
    place = np.array(order)
    ends = place[edges[:, 0]], place[edges[:, 1]]
    return from_edges(*ends, edges[:, 2], n=n + 3, terminals=place[chosen], labels=np.arange(100, 103 + n))


def tiny_graph(seed):
    """Return a connected graph of 3 to 12 vertices. The seed decides on ties, weights of 0, and terminals."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 13))
    k, top = int(rng.integers(1, min(n, 9) + 1)), int(rng.choice([1, 3, 20, 1000]))
    more = int(rng.integers(0, 2 * n + 1))
    v = np.arange(1, n)
    ends = np.concatenate([[rng.integers(0, v), v], rng.integers(0, n, (2, more))], axis=1)
    weights = rng.integers(int(rng.integers(0, 2)), top + 1, n - 1 + more)
    return from_edges(*ends, weights, n=n, terminals=rng.choice(n, k, replace=False))


def least_weight(graph):
    """Return the weight of a minimum Steiner tree by trying all sets of Steiner vertices: their spanning trees (numpy).

    It has nothing in common with any solver. A set of vertices needs a spanning tree of its own to count.
    """
    assert graph.terminals is not None
    others = np.setdiff1d(np.arange(graph.n), graph.terminals)
    near = np.full((graph.n, graph.n), 1 << 40)
    np.minimum.at(near, (graph.tails(), graph.heads), graph.weights.astype(np.int64))
    sets = (np.arange(1 << len(others))[:, None] >> np.arange(len(others))) & 1
    inside = np.zeros((len(sets), graph.n), dtype=bool)
    inside[:, graph.terminals], inside[:, others] = True, sets > 0
    reached = np.zeros_like(inside)  # Prim's algorithm for all sets at once
    start = int(graph.terminals[0])
    reached[:, start] = True
    distance, total, rows = np.tile(near[start], (len(sets), 1)), np.zeros(len(sets), np.int64), np.arange(len(sets))
    for _ in range(graph.n - 1):
        open_ = np.where(inside & ~reached, distance, 1 << 50)
        v = open_.argmin(axis=1)
        busy = open_[rows, v] < 1 << 50
        total += np.where(busy, open_[rows, v], 0)
        reached[rows[busy], v[busy]] = True
        distance = np.where(busy[:, None], np.minimum(distance, near[v]), distance)
    return int(total.min())


def hypercube(dimension, terminals, seed=1, high=110):
    """Return a hypercube with weights from 100 to `high`. No two terminals are adjacent."""
    n, rng = 1 << dimension, np.random.default_rng(seed)
    tails = np.repeat(np.arange(n), dimension)
    heads = tails ^ np.tile(1 << np.arange(dimension), n)
    once = tails < heads
    weights = rng.integers(100, high + 1, int(once.sum()))
    even = np.flatnonzero([v.bit_count() % 2 == 0 for v in range(n)])
    return from_edges(tails[once], heads[once], weights, terminals=rng.choice(even, terminals, replace=False), n=n)


def hardly_shrunk(now, whole, *_):
    """Return a graph after the reductions of mode fast, and a tree that no bound proves: in tests, for `shrunk`."""
    net = network(now.smaller.graph, whole.device)
    tree = net.locally_best(net.improved(net.shortest_path_tree()), kinds=(PATHS,))
    return SteinerState(now.smaller, replace(now.bound, value=0)).with_tree(tree, whole)
