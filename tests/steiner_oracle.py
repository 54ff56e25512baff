"""The least Steiner tree by Dreyfus and Wagner's recursion over sets of terminals: slow, short, exact."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_build import from_edges
from tests.oracles import least_distances


def least_tree(graph: Graph) -> int | None:
    """Return the weight of a minimum Steiner tree, None if there is none; for eight terminals or so."""
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
def steiner_graphs(draw: st.DrawFn, most: int = 11, terminals: int = 5, largest: int = 20) -> Graph:
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
