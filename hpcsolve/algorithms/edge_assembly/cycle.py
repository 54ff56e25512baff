"""Brings every question about a tour to a cycle through all nodes that keeps some fixed edges, and back.

Forced edges form chains of cities. Where costs are symmetric a chain is contracted to its two ends, which a fixed edge
joins, so no search sees the cities inside. Where costs are asymmetric a chain is contracted to one city: it is entered
where the chain begins and left where it ends. An open path is closed. If both of its ends are given, the closing edge
is forced. If an end is free, the path passes through one more city, whose edges cost nothing and whose edge to the given
end, if there is one, is forced. That city has no coordinates, so such an instance has a matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC, Tsp

Positions = NDArray[np.int64]
FEWEST_NODES = 5
"""Of fewer nodes all cycles are looked at."""


class ChainError(ValueError):
    """Forced edges that no tour keeps.

    Attributes
    ----------
    city
        A position that they say too much of, or None if they close a cycle.
    """

    def __init__(self, city: int | None) -> None:
        super().__init__("forced edges that no tour keeps")
        self.city = city


def chains_of(n: int, edges: Iterable[tuple[int, int]], directed: bool) -> list[list[int]]:
    """Return the chains of two or more cities that edges between n cities form, by their smallest end.

    A cycle through all cities is returned as a chain without one of its edges.

    Parameters
    ----------
    directed
        Whether (a, b) leads from a to b. Else (b, a) is the same edge.

    Raises
    ------
    ChainError
        A city is in three edges, or in two that lead the same way; or some edges close a cycle without all cities.
    """
    beside: dict[int, list[int]] = {}
    entered: set[int] = set()
    part: dict[int, int] = {}

    def root(city: int) -> int:
        while part.setdefault(city, city) != city:
            part[city] = part.setdefault(part[city], part[city])
            city = part[city]
        return city

    taken = set()
    for edge in edges:
        a, b = edge if directed else sorted(edge)
        if (a, b) in taken:
            continue
        taken.add((a, b))
        for city, full in ((a, len(beside.get(a, ())) == (1 if directed else 2)),
                           (b, b in entered if directed else len(beside.get(b, ())) == 2)):
            if full:
                raise ChainError(city)
        if root(a) == root(b):
            if len(taken) < n:
                raise ChainError(None)
            continue  # it closes a cycle through all cities
        part[root(a)] = root(b)
        beside.setdefault(a, []).append(b)
        if directed:
            entered.add(b)
        else:
            beside.setdefault(b, []).append(a)
    if directed:
        firsts = sorted(city for city in beside if city not in entered)
    else:
        firsts = sorted(city for city, others in beside.items() if len(others) == 1)
    found, done = [], set()
    for first in firsts:
        if first in done:
            continue
        chain, before = [first], -1
        while after := [city for city in beside.get(chain[-1], ()) if city != before]:
            before = chain[-1]
            chain.append(after[0])
        done.add(chain[-1])
        found.append(chain)
    return found


@dataclass(frozen=True, eq=False)
class Cycle:
    """An instance whose cycles through all nodes and some fixed edges stand for the tours that answer a question.

    Attributes
    ----------
    whole, question
        The instance and the question.
    tsp
        The instance that is searched. Its positions are the nodes.
    fixed
        Pairs of nodes that are neighbours in every cycle. No node is in two of them.
    city
        Shape (nodes,): the city of each node in `whole`, of a chain its first city; `whole.n` is the city that closes an
        open path.
    chains
        The cities of each fixed pair, from one end to the other; where costs are asymmetric those of each node in
        `chained`.
    chained
        The nodes that stand for chains, where costs are asymmetric.
    shift
        The cost of a tour less that of its cycle.
    """

    whole: Tsp
    question: TourQuestion
    tsp: Tsp
    fixed: tuple[tuple[int, int], ...]
    city: Positions
    chains: tuple[Positions, ...]
    chained: Positions
    shift: int

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.city)

    def tour_of(self, cycle: Positions) -> NDArray[np.int32]:
        """Return the tour of `whole` for which a cycle stands, in its order and from its first city.

        Where costs are symmetric, a tour whose direction is free leads first to the smaller one of two neighbours.
        """
        order = self._expanded(np.asarray(cycle, np.int64))
        asked, n, symmetric = self.question, self.whole.n, self.whole.symmetric
        if len(order) > n:  # an open path with a free end
            order = np.roll(order, -int((order == n).argmax()))[1:]
            given = asked.start is not None or asked.end is not None
            wrong = (asked.start not in (None, order[0]) or asked.end not in (None, order[-1])) if given else (
                order[0] > order[-1])
            backwards = symmetric and bool(wrong)
            return (order[::-1] if backwards else order).astype(np.int32)
        order = np.roll(order, -int((order == (asked.start or 0)).argmax()))
        wrong = order[1:2] > order[-1:] if asked.path == "cycle" else order[-1:] != asked.end
        if symmetric and wrong.any():
            order[1:] = order[:0:-1].copy()
        return order.astype(np.int32)

    def cycle_of(self, tour: Positions) -> Positions:
        """Return the cycle that stands for a tour of `whole` which answers the question."""
        node = np.full(self.whole.n + 1, -1)
        node[self.city] = np.arange(self.nodes)
        closing = self.nodes > 0 and bool((self.city == self.whole.n).any())
        nodes = node[np.append(tour, self.whole.n) if closing else np.asarray(tour)]
        found: Positions = nodes[nodes >= 0]
        return found

    def _expanded(self, cycle: Positions) -> Positions:
        """Return the cities of a cycle, those inside of chains too."""
        cities = self.city[cycle]
        if len(self.chained):
            first = {int(chain[0]): chain for chain in self.chains}
            return np.concatenate([first.get(city, np.array([city])) for city in cities.tolist()])
        inner = {ends: chain for chain in self.chains if len(chain) > 2
                 for ends in ((int(chain[0]), int(chain[-1])), (int(chain[-1]), int(chain[0])))}
        if not inner:
            return cities
        pieces: list[Positions] = []
        for a, b in zip(cities.tolist(), np.roll(cities, -1).tolist()):
            chain = inner.get((a, b))
            pieces.append(np.array([a]))
            if chain is not None and not (len(cities) == 2 and len(pieces) > 2):  # between two nodes there are two edges
                pieces.append(chain[1:-1] if chain[0] == a else chain[-2:0:-1])
        return np.concatenate(pieces)

    def best_of_few(self) -> tuple[int, NDArray[np.int32]]:
        """Return the least cost and the first tour of this cost, of fewer than `FEWEST_NODES` nodes."""
        pairs = {frozenset(pair) for pair in self.fixed}
        best: tuple[int, NDArray[np.int32]] | None = None
        for rest in permutations(range(1, self.nodes)):
            cycle = (0, *rest)
            beside = {frozenset(pair) for pair in zip(cycle, (*rest, 0))}
            if pairs <= beside:
                tour = self.tour_of(np.array(cycle))
                cost = sum(self.question.legs_of(self.whole, tour).tolist())
                if best is None or cost < best[0]:
                    best = cost, tour
        assert best is not None
        return best


def cycle_for(tsp: Tsp, question: TourQuestion) -> Cycle:
    """Return the cycle for a question. Raises `ChainError` if its forced edges contradict each other or its ends."""
    n, directed, edges, closing = tsp.n, not tsp.symmetric, list(question.forced), None
    free = question.path == "open" and (question.start is None or question.end is None)
    cities = n + 1 if free else n
    if free:
        edges += [] if question.start is None else [(n, question.start)]
        edges += [] if question.end is None else [(question.end, n)]
    elif question.path == "open":
        assert question.start is not None and question.end is not None
        closing = question.end, question.start
        along = [edge for edge in edges if edge == closing or (not directed and edge == closing[::-1])]
        if along and n > 2:
            raise ChainError(None)  # it would close the path
        edges = [edge for edge in edges if edge not in along] + [closing]
    chains = tuple(np.array(chain) for chain in chains_of(cities, edges, directed))
    kept = np.ones(cities, bool)
    for chain in chains:
        kept[chain[1:] if directed else chain[1:-1]] = False
    city = np.flatnonzero(kept)
    node = np.full(cities, -1)
    node[city] = np.arange(len(city))
    smaller = _contracted(tsp, city, chains if directed else (), free)
    fixed = () if directed else tuple((int(node[chain[0]]), int(node[chain[-1]])) for chain in chains)
    unpaid = () if closing is None else (closing,) if directed else (closing, closing[::-1])
    inside = sum(_cost(tsp, a, b) for chain in chains for a, b in zip(chain[:-1].tolist(), chain[1:].tolist())
                 if n not in (a, b) and (a, b) not in unpaid)
    outside = sum(_cost(smaller, a, b) for a, b in fixed)
    chained = node[[chain[0] for chain in chains]] if directed else np.empty(0, np.int64)
    return Cycle(tsp, question, smaller, fixed, city, chains, chained, inside - outside)


def _cost(tsp: Tsp, a: int, b: int) -> int:
    return int(tsp.between(a, b))


def _contracted(tsp: Tsp, city: Positions, chains: Sequence[Positions], free: bool) -> Tsp:
    """Return the instance of some cities, with chains in the place of their first cities, and the closing one last."""
    if not chains and not free:
        if len(city) == tsp.n:
            return tsp
        if tsp.metric and tsp.coordinates is not None:
            return replace(tsp, coordinates=tsp.coordinates[city], labels=tsp.labels[city], city_names=())
    leaves = city.copy()
    last = {int(chain[0]): int(chain[-1]) for chain in chains}
    for place, one in enumerate(city.tolist()):
        leaves[place] = last.get(one, one)
    inner_tails, inner_heads = leaves < tsp.n, city < tsp.n
    cost = np.zeros((len(city), len(city)), np.int64)
    cost[np.ix_(inner_tails, inner_heads)] = tsp.cost[np.ix_(leaves[inner_tails], city[inner_heads])]
    np.fill_diagonal(cost, NO_ARC)
    return replace(tsp, matrix=cost, metric="", coordinates=None, labels=np.arange(len(city)), city_names=(),
                   rounding=None)
