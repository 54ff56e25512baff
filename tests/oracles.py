"""Slow and short programs that find answers in another way than the code that tests compare with them."""

from __future__ import annotations

import heapq
from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import NO_ARC


def cost_of(cost: NDArray[np.int64], tour: list[int], closed: bool = True) -> int | None:
    """Return the cost of a tour in Python integers, None if it uses a forbidden arc."""
    arcs = [int(cost[a, b]) for a, b in pairwise([*tour, tour[0]] if closed else tour)]
    return None if NO_ARC in arcs else sum(arcs)


def brute_force(
    cost: NDArray[np.int64], closed: bool = True, start: int | None = None, end: int | None = None
) -> int | None:
    """Return the least cost over all orders of the cities, None if every one uses a forbidden arc."""
    n = len(cost)
    if n == 1:
        return 0
    fixed = (0,) if closed else ()
    values = [
        value
        for order in permutations([c for c in range(n) if c not in fixed])
        if (start is None or closed or order[0] == start) and (end is None or order[-1] == end)
        and (value := cost_of(cost, [*fixed, *order], closed)) is not None
    ]
    return min(values, default=None)


def pull_table(cost: NDArray[np.int64]) -> dict[tuple[int, int], float]:
    """Return the table of Bellman's recursion as it stands in the textbook.

    (set of cities, city outside) -> the cost of the cheapest path from the last row's city through the set to the city,
    infinite where there is none.
    """
    m = len(cost) - 1
    distance = np.where(cost == NO_ARC, np.inf, cost.astype(float)).tolist()
    table: dict[tuple[int, int], float] = {}
    for whole in range(1 << m):
        members = [i for i in range(m) if whole >> i & 1]
        for j in [*(j for j in range(m) if not whole >> j & 1), m]:
            through = (table[whole ^ 1 << i, i] + distance[i][j] for i in members)
            table[whole, j] = min(through) if members else distance[m][j]
    return table


def textbook_optimum(cost: NDArray[np.int64]) -> int | None:
    """Return the cost of the cheapest tour by the table, exact below 2^53, or None if there is none."""
    m = len(cost) - 1
    value = pull_table(cost)[(1 << m) - 1, m]
    return None if value == np.inf else int(value)


def least_distances(graph: Graph, seeds: list[int]) -> list[int | float | None]:
    """Return distances by Dijkstra's algorithm in Python's own numbers, None for unreached vertices."""
    distance: list[int | float | None] = [None] * graph.n
    heap: list[tuple[int | float, int]] = [(0, s) for s in seeds]
    while heap:
        here, u = heapq.heappop(heap)
        if distance[u] is not None:
            continue
        distance[u] = here
        for a in range(graph.offsets[u], graph.offsets[u + 1]):
            heapq.heappush(heap, (here + graph.weights[a].item(), int(graph.heads[a])))
    return distance


def smallest_predecessors(graph: Graph, seeds: list[int], distance: list[int | float | None]) -> list[int]:
    """Return predecessors by their definition, -1 for seeds and unreached vertices.

    The predecessor is the smallest u with a tight arc to the vertex and a smaller distance. If there is none, it is the
    smallest u at the same distance that is one arc nearer to a vertex with such a predecessor, or to a seed.
    """
    fitting: list[list[int]] = [[] for _ in range(graph.n)]
    for u, v, weight in zip(graph.tails().tolist(), graph.heads.tolist(), graph.weights.tolist()):
        if distance[u] is not None and distance[v] is not None and distance[u] + weight == distance[v]:  # type: ignore[operator]
            fitting[v].append(u)
    below = [[u for u in fitting[v] if distance[u] < distance[v]] for v in range(graph.n)]  # type: ignore[operator]
    hops = [0 if below[v] or v in seeds else None for v in range(graph.n)]
    while True:
        found = {v: 1 + min(h) for v in range(graph.n) if hops[v] is None
                 and (h := [x for u in fitting[v] if (x := hops[u]) is not None])}
        if not found:
            break
        for v, steps in found.items():
            hops[v] = steps
    beside = [[u for u in fitting[v] if hops[v] and hops[u] == hops[v] - 1] for v in range(graph.n)]  # type: ignore[operator]
    return [-1 if v in seeds else min(below[v] or beside[v], default=-1) for v in range(graph.n)]


def query_answers(
    graph: Graph, pairs: list[tuple[int, int]], cutoff: int | None = None
) -> list[tuple[int | float | None, list[int]]]:
    """Return the distance and the path of each pair of labels, which count from 1 (None and [] if there is none)."""
    answers: list[tuple[int | float | None, list[int]]] = []
    for source, target in np.array(pairs) - 1:
        distance = least_distances(graph, [source])
        before, path = smallest_predecessors(graph, [source], distance), [int(target)]
        if distance[target] is None or (cutoff is not None and distance[target] > cutoff):
            answers.append((None, []))
            continue
        while path[0] != source:
            path.insert(0, before[path[0]])
        answers.append((distance[target], [vertex + 1 for vertex in path]))
    return answers
