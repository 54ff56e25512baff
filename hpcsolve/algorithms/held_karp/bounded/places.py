"""The problem as the bounds have it, costs by place and precedences, and the first lower bounds.

One follows from precedences: the shortest path from the depot through a chain of them and back. The relaxation forgets
precedences. Where one of them makes an order leave a group of cities at a great cost and enter it again, only this
bound contains that cost.

The other one comes with potentials of the cities of a plain tour. A city's potential is subtracted from the cost of
every arc that leaves or enters the city. Then all tours cost less by the same amount, and an arc that a good tour may
have costs little. For symmetric costs the potentials come from 1-trees (M. Held, R. M. Karp: The traveling-salesman
problem and minimum spanning trees, Operations Research 18, 1970), for others from the assignment problem. With the
reduced costs near cities are those that good tours visit one after the other. The bounds begin with the potentials as
multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.lattice.reduce import assignment_duals
from hpcsolve.algorithms.held_karp.problem import OrderProblem, SetLoads
from hpcsolve.problems.tsp import NO_ARC

NO_PATH = np.int64(1 << 60)
"""The distance where there is no path. A sum of up to seven such distances does not overflow."""
POTENTIAL_ROUNDS = 100
"""Rounds of the subgradient method. Steps fall to 0."""
POTENTIAL_UNIT = 16
"""Potentials of symmetric costs are multiples of 1 / POTENTIAL_UNIT."""
FEWEST_WITH_POTENTIALS = 20
"""Below that the bounds need no help."""
LARGEST_COST = 1 << 40
"""The largest magnitude of a cost for which potentials are computed: scipy's assignment adds costs as floats."""


@dataclass(frozen=True, eq=False)
class PlaceCosts:
    """m cities, each at one of the places 1 to m, between a start and an end at the depot.

    Attributes
    ----------
    cost
        Shape (m + 1, m, m), int64: cost[k, i, j] of the arc from city i at place k to city j at place k + 1. Row 0 of
        place 0 has the arcs from the depot, column 0 of place m those to it; the rest of both is `NO_ARC`, as is
        every arc that no order can use.
    before
        Shape (m, m), bool, transitive: before[i, j] where j comes before i.
    loads
        What the cities load, or None.
    """

    cost: NDArray[np.int64]
    before: NDArray[np.bool_]
    loads: SetLoads | None = None

    @property
    def cities(self) -> int:
        """The number m of cities beside the depot."""
        return len(self.before)

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Which arcs there are, in the shape of `cost`."""
        allowed: NDArray[np.bool_] = self.cost != NO_ARC
        return allowed

    def value(self, order: list[int]) -> int | None:
        """Return the cost of an order of all cities, or None if it uses a missing arc or breaks a constraint."""
        m, at = self.cities, np.array(order)
        arcs = self.cost[np.arange(m + 1), np.append(0, at), np.append(at, 0)]
        behind = np.tri(m, m, -1, dtype=bool).T  # at place a, b comes later
        if (arcs == NO_ARC).any() or (self.before[np.ix_(at, at)] & behind).any():
            return None
        return None if self.loads is not None and not self.loads.allow(order) else sum(map(int, arcs))

    @property
    def reversible(self) -> bool:
        """Whether every order costs the same in both directions, and may be turned round."""
        m = self.cities
        inner = self.cost[1:m]
        free = not self.before.any() and self.loads is None
        ends = np.array_equal(self.cost[0, 0], self.cost[m, :, 0])
        return free and ends and np.array_equal(inner, inner[::-1].transpose(0, 2, 1))

    def halved(self) -> PlaceCosts:
        """Return the problem with those orders alone that visit the first of two distant cities before the second.

        The other orders of a reversible problem are their reverses.
        """
        m = self.cities
        cost = np.where(self.cost[1] == NO_ARC, -1, self.cost[1])
        first, second = np.unravel_index(int(cost.argmax()), cost.shape)
        before = self.before.copy()
        before[second, first] = True
        table = self.cost.copy()
        table[1:m, second, first] = table[0, 0, second] = table[m, first, 0] = NO_ARC
        return PlaceCosts(table, before)

    @property
    def proportional(self) -> bool:
        """Whether there is no precedence, and the costs of all places are those of one place times a factor."""
        inner = self.cost[1 : self.cities]
        allowed = inner != NO_ARC
        if self.before.any() or not len(inner) or (allowed != allowed[0]).any():
            return False
        costs = np.where(allowed, inner, 0)
        largest = np.unravel_index(int(np.abs(costs[0]).argmax()), costs[0].shape)
        return all(np.array_equal(place * costs[0][largest], costs[0] * place[largest]) for place in costs)

    def nearest_neighbour(self, costs: NDArray[np.int64], first: int) -> list[int]:
        """Return the nearest-neighbour order from a first city, which keeps to precedences as far as it can.

        Parameters
        ----------
        costs
            In place of `cost`, with a large one for each missing arc.
        """
        order, left = [first], np.ones(self.cities, bool)
        left[first] = False
        for place in range(1, self.cities):
            ready = left & ~(self.before & left).any(axis=1)
            ready = ready if ready.any() else left
            order.append(int(np.where(ready, costs[place, order[-1]], NO_ARC).argmin()))
            left[order[-1]] = False
        return order


def place_costs(cost: NDArray[np.int64], before: NDArray[np.bool_] | None = None, loads: SetLoads | None = None
                ) -> PlaceCosts:
    """Return a problem without the arcs that precedences rule out.

    Parameters
    ----------
    cost
        Shape (m + 1, m + 1, m + 1), int64: cost[k, i, j] of the k-th arc of an order, from i to j; m is the depot, and
        `NO_ARC` stands where there is no arc.
    before
        Shape (m, m): before[i, j] where j comes before i. It need not be transitive.
    loads
        As `PlaceCosts` has them.
    """
    m = len(cost) - 1
    ahead = np.zeros((m, m), bool) if before is None else before.copy()
    for middle in range(m):  # the transitive closure, by Warshall
        ahead |= ahead[:, middle][:, None] & ahead[middle][None, :]
    table = np.full((m + 1, m, m), NO_ARC)
    table[1:m] = cost[1:m, :m, :m]
    table[0, 0], table[m, :, 0] = cost[0, m, :m], cost[m, :m, m]
    table[1:m, np.arange(m), np.arange(m)] = NO_ARC
    place = np.arange(m)
    allowed = (place >= ahead.sum(axis=1)[:, None]) & (place < m - ahead.sum(axis=0)[:, None])
    # No city stands between neighbours: i does not lead to j if j is before i, or a third city is between them.
    apart = ahead | ((ahead.T.astype(np.int64) @ ahead.T.astype(np.int64)) > 0)
    table[1:m][:, apart] = NO_ARC
    for k in range(m):
        table[k][:, ~allowed[:, k]] = NO_ARC
    table[m, ~allowed[:, m - 1]] = NO_ARC
    return PlaceCosts(table, ahead, loads)


def of_orders(problem: OrderProblem) -> PlaceCosts:
    """Return the problem of orders whose value is a sum of costs by place."""
    m = problem.m
    before = np.array([[problem.before[i] >> j & 1 for j in range(m)] for i in range(m)], bool).reshape(m, m)
    return place_costs(problem.cost, before, problem.loads)


def chain_bound(problem: PlaceCosts) -> int:
    """Return a lower bound of the cost of every order, at least the sum of the cheapest arcs of all places.

    The cheapest arc of each place is subtracted from the place's arcs, so that no arc is negative. An order then costs
    at least the shortest path from the depot through the cities of a chain of precedences, in its order, back to the
    depot. Between them the path may visit any cities, also repeatedly, by arcs of any places. The bound is the largest
    over all chains, plus what was subtracted.
    """
    least = problem.cost.min(axis=(1, 2), keepdims=True)
    cost = np.where(problem.allowed, problem.cost - np.where(least == NO_ARC, 0, least), NO_PATH)
    distance = cost[1 : problem.cities].min(axis=0, initial=NO_PATH)
    np.fill_diagonal(distance, 0)
    for middle in range(len(distance)):  # by Floyd and Warshall
        distance = np.minimum(distance, distance[:, middle][:, None] + distance[middle])
    reached = np.minimum(NO_PATH, (cost[0, 0][:, None] + distance).min(axis=0))  # through the worst chain
    for city in np.argsort(problem.before.sum(axis=1), kind="stable").tolist():  # after those that come before it
        through = (reached + distance[:, city])[problem.before[city]]
        reached[city] = min(NO_PATH, max(reached[city], through.max(initial=0)))
    back = np.minimum(NO_PATH, (distance + cost[-1, :, 0]).min(axis=1))
    return int((reached + back).max()) + int(least[least != NO_ARC].sum())


@dataclass(frozen=True)
class Potentials:
    """The potentials of m cities and a depot, in units of 1 / `unit`.

    Attributes
    ----------
    leave, enter
        Shape (m + 1,), int64: what is subtracted from arcs that leave and that enter a city.
    bound
        Every tour costs at least this, in the unit of costs.
    """

    leave: NDArray[np.int64]
    enter: NDArray[np.int64]
    unit: int
    bound: int

    def reduced(self, cost: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the reduced costs, in units of 1 / `unit`. The diagonal stays `NO_ARC`, and no cost is negative."""
        off = ~np.eye(len(cost), dtype=bool)
        reduced = np.where(off, cost, 0) * self.unit - self.leave[:, None] - self.enter
        return np.where(off, reduced - reduced[off].min(), NO_ARC)

    def multipliers(self, scale: int) -> NDArray[np.int64]:
        """Return the multipliers of the m cities for bounds whose costs are `scale` times those of the problem.

        There they are subtracted from arcs to a city alone, which is the same for a whole tour.
        """
        return (self.leave + self.enter)[:-1] * scale // self.unit


def complete_costs(problem: OrderProblem) -> NDArray[np.int64] | None:
    """Return the costs between all m + 1 cities, the depot last, or None.

    None stands for a problem that is not plain, that lacks arcs, or that has fewer inner cities than
    `FEWEST_WITH_POTENTIALS`.
    """
    constrained = any(problem.before) or problem.loads is not None
    if problem.by_place or constrained or problem.m < FEWEST_WITH_POTENTIALS:
        return None
    cost = problem.cost[0].copy()
    np.fill_diagonal(cost, NO_ARC)
    return cost if int((cost == NO_ARC).sum()) == len(cost) else None


def potentials(problem: OrderProblem) -> Potentials | None:
    """Return the potentials of a problem's cities, or None where there are none."""
    cost = complete_costs(problem)
    if cost is None or _too_large(cost):
        return None
    if np.array_equal(cost, cost.T):
        return _of_one_trees(cost)
    return _of_assignment(cost)


def least_tour(cost: NDArray[np.int64]) -> int | None:
    """Return a lower bound of every tour of three or more cities, or None where costs are too large.

    A missing arc counts as the dearest one. Between two cities the 1-trees take the cheaper direction.
    """
    known = cost != NO_ARC
    if not known.any() or _too_large(cost):
        return None
    complete = np.where(known, cost, cost[known].max())
    np.fill_diagonal(complete, NO_ARC)
    bound = _of_one_trees(np.minimum(complete, complete.T)).bound
    if np.array_equal(complete, complete.T):
        return bound
    assigned = _of_assignment(complete)
    return bound if assigned is None else max(bound, assigned.bound)


def _too_large(cost: NDArray[np.int64]) -> bool:
    return bool(np.abs(cost, where=cost != NO_ARC, out=np.zeros_like(cost)).max() > LARGEST_COST)


def _of_assignment(cost: NDArray[np.int64]) -> Potentials | None:
    """Return the potentials that are the dual values of the assignment problem, or None without an assignment."""
    duals = assignment_duals(cost, cost != NO_ARC)
    return None if duals is None else Potentials(*duals, 1, int(sum(map(np.sum, duals))))


def _of_one_trees(cost: NDArray[np.int64]) -> Potentials:
    """Return the potentials whose 1-tree, among `POTENTIAL_ROUNDS`, proves the best bound."""
    n = len(cost)
    scaled = np.where(cost == NO_ARC, 0, cost) * POTENTIAL_UNIT
    penalties = kept = np.zeros(n, np.int64)  # the potentials, negated: they are added
    best, first = -(1 << 62), 0
    for number in range(POTENTIAL_ROUNDS):
        weight, degree = _one_tree(scaled + penalties[:, None] + penalties)
        bound = weight - 2 * int(penalties.sum())
        if number == 0:
            first = max(1, abs(bound) // (2 * n))
        if bound > best:
            best, kept = bound, penalties
        if (degree == 2).all():  # the 1-tree is a tour, and no tour is cheaper
            break
        penalties = penalties + first * (POTENTIAL_ROUNDS - number) // POTENTIAL_ROUNDS * (degree - 2)
    return Potentials(-kept, -kept, POTENTIAL_UNIT, -(-best // POTENTIAL_UNIT))


def _one_tree(weight: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
    """Return the weight and the degrees of a minimum spanning tree of the cities but 0, with two best edges to 0."""
    n, far = len(weight), np.int64(1 << 62)
    degree = np.zeros(n, np.int64)
    nearest, least = np.ones(n, np.int64), weight[1].copy()
    least[:2] = far
    total = 0
    for _ in range(n - 2):  # Prim's algorithm
        city = int(least.argmin())
        total += int(least[city])
        degree[city] += 1
        degree[nearest[city]] += 1
        least[city] = far
        closer = (weight[city] < least) & (least < far)
        nearest[closer], least[closer] = city, weight[city, closer]
    two = np.argsort(weight[0, 1:], kind="stable")[:2] + 1
    degree[0] += 2
    degree[two] += 1
    return total + int(weight[0, two].sum()), degree
