"""An instance as the ants' kernels have it: renumbered, in 32-bit costs, with the unit of pheromone, and its buffers.

Cities are numbered along a nearest-neighbour tour. Then the cities that an ant has visited have numbers close together,
and whole words of the set of unvisited cities become empty early. Results have the instance's own numbers again.

Pheromone is counted in integers (cuda_src/ants/pheromone.cuh), in a unit in which no arc's pheromone overflows. The
shapes of a search's named buffers say to the byte how much memory a run takes before it allocates any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.ant_colony.parameters import HEAD, Parameters
from hpcsolve.algorithms.tours.cities import nearest_neighbour_tour
from hpcsolve.device.base import Buffer, Device
from hpcsolve.problems.tsp import NO_ARC, Tsp

MOST_LISTED = 128
"""The most cities in a list of nearest cities."""
HEURISTIC_BITS = 30
GUARD = 0.1
"""Added to every cost before a division by it, since costs may be 0."""
ROWS_AT_ONCE = 256
LEAST_PHEROMONE = 1 << 16
"""The least that an arc keeps (`least_pheromone` in cuda_src/ants/pheromone.cuh)."""
MOST_RATIO = 1024
"""The deposit stops growing where a tour is shorter than the nearest-neighbour tour by more than this factor."""
ANT_THREADS = 32
"""Threads of a block that constructs tours. A warp is one ant."""
Shapes = Mapping[str, tuple[tuple[int, ...], DTypeLike]]


@dataclass(frozen=True)
class AntInstance:
    """An instance as the ants' kernels have it.

    Attributes
    ----------
    order
        Shape (n,): for each number here, the city's position in the instance.
    cost
        Shape (n, n), int32: at least 0, and 0 on the diagonal; the instance's costs less the offset.
    offset
        The least cost if that is negative, else 0.
    symmetric
        Whether every arc costs the same both ways.
    nearest
        Shape (n, list_width(n)), uint16: the nearest cities of each, by (cost, number). The city itself fills
        the rest of a list.
    greedy_length, bound
        The length of the nearest-neighbour tour, and a lower bound on that of any tour, by `cost` and at least 1.
    """

    order: NDArray[np.int64]
    cost: NDArray[np.int32]
    offset: int
    symmetric: bool
    nearest: NDArray[np.uint16]
    greedy_length: int
    bound: int

    @property
    def n(self) -> int:
        """Number of cities."""
        return len(self.order)

    @property
    def shift(self) -> int:
        """What is added to the length of a tour by `cost`, to get its cost in the instance."""
        return self.n * self.offset


def ant_instance(tsp: Tsp) -> AntInstance:
    """Return an instance as the kernels have it, its cities numbered along a nearest-neighbour tour.

    Integers alone are compared, so it is the same on all ranks.
    """
    order = nearest_neighbour_tour(tsp.cost)
    offset = min(0, int(tsp.cost.min()))
    cost = np.empty((tsp.n, tsp.n), np.int32)
    for rows in _stripes(tsp.n):
        np.subtract(tsp.cost[np.ix_(order[rows], order)], offset, out=cost[rows], casting="unsafe")
    np.fill_diagonal(cost, 0)
    nearest = nearest_cities(cost)
    greedy = int(np.take_along_axis(cost, np.roll(np.arange(tsp.n), -1)[:, None], axis=1).sum(dtype=np.int64))
    # A tour costs half the two cheapest arcs of every city at least, or the cheapest one if costs are asymmetric.
    arcs = np.take_along_axis(cost, nearest[:, : 2 if tsp.symmetric else 1].astype(np.int64), axis=1)
    bound = max(1, int(arcs.sum(dtype=np.int64)) // int(arcs.shape[1]))
    return AntInstance(order, cost, offset, tsp.symmetric, nearest, max(1, greedy), bound)


def list_width(n: int) -> int:
    """Return the width of the lists of nearest cities, a multiple of 32."""
    return HEAD * -(-min(n - 1, MOST_LISTED) // HEAD)


def nearest_cities(cost: NDArray[np.int32]) -> NDArray[np.uint16]:
    """Return the lists of `AntInstance.nearest`."""
    n, width = len(cost), min(len(cost) - 1, MOST_LISTED)
    nearest = np.repeat(np.arange(n, dtype=np.uint16)[:, None], list_width(n), axis=1)
    for rows in _stripes(n):
        keys = cost[rows].astype(np.int64) * n + np.arange(n)
        keys[np.arange(len(keys)), np.arange(n)[rows]] = NO_ARC
        nearest[rows, :width] = np.sort(np.partition(keys, width - 1, axis=1)[:, :width], axis=1) % n
    return nearest


def _stripes(n: int) -> Iterator[slice]:
    return (slice(first, min(first + ROWS_AT_ONCE, n)) for first in range(0, n, ROWS_AT_ONCE))


@dataclass(frozen=True)
class Powers:
    """Numbers from powers of floats, whose last bits differ between machines, so that rank 0 computes them for all.

    Attributes
    ----------
    heuristic
        Of ant-system `heuristic_table`; of mmas shape (n, 32), uint32: that of the arcs to the candidates, 0 where
        there are fewer.
    lowest_share
        Of mmas: the lower bound of pheromone, in units of 2^-32 of the upper bound. With local search it is 1 / 2n of
        the upper one. Without it, it is such that a colony that has converged constructs its best tour with
        probability 0.05.
    """

    heuristic: NDArray[np.uint32]
    lowest_share: int = 0


def powers(instance: AntInstance, parameters: Parameters) -> Powers:
    """Return the heuristic and the bounds of pheromone of a job. Called on rank 0 alone."""
    n, candidates = instance.n, parameters.candidates
    if parameters.variant == "ant-system":
        return Powers(heuristic_table(instance, parameters.beta))
    nearest = instance.nearest[:, :HEAD].astype(np.int64)
    table = _nearness(instance, slice(None), np.take_along_axis(instance.cost, nearest, axis=1), parameters.beta)
    table[:, min(candidates, n - 1) :] = 0
    if parameters.local_search_of(instance.symmetric) != "none":
        return Powers(table, 2**32 // (2 * n))
    right = 0.05 ** (1 / n)  # the probability of the right choice at every step
    share = (1 - right) / (right * (candidates + 1) / 2)
    return Powers(table, min(2**32, int(share * 2**32)))


def heuristic_table(instance: AntInstance, beta: float) -> NDArray[np.uint32]:
    """Return the heuristic of all arcs, shape (n, n): (cheapest of the row / cost) ^ beta in 30 bits.

    It is at least 1, and 0 on the diagonal.
    """
    table = np.empty((instance.n, instance.n), np.uint32)
    for rows in _stripes(instance.n):
        table[rows] = _nearness(instance, rows, instance.cost[rows], beta)
    np.fill_diagonal(table, 0)
    return table


def _nearness(instance: AntInstance, rows: slice, cost: NDArray[np.int32], beta: float) -> NDArray[np.uint32]:
    cheapest = np.take_along_axis(instance.cost[rows], instance.nearest[rows, :1].astype(np.int64), axis=1)
    nearness = ((cheapest + GUARD) / (cost + GUARD)) ** beta * 2.0**HEURISTIC_BITS
    return np.clip(np.floor(nearness), 1, 2**HEURISTIC_BITS).astype(np.uint32)


@dataclass(frozen=True)
class Unit:
    """The unit of pheromone, in which the nearest-neighbour tour's deposit is 2^bits.

    Attributes
    ----------
    bits
        Binary logarithm of the nearest-neighbour tour's deposit.
    reference
        The length of the nearest-neighbour tour.
    shortest
        Shorter tours deposit no more than one of this length.
    rho
        Share of the pheromone that evaporates in an iteration.
    """

    bits: int
    reference: int
    shortest: int
    rho: Fraction

    @property
    def keep(self) -> int:
        """The share that evaporation leaves, in units of 2^-32."""
        return min(int((1 - self.rho) * 2**32), 2**32 - 1)

    @property
    def first_pheromone(self) -> int:
        """The pheromone of every arc at the beginning, 1 / (rho * reference)."""
        return int((1 << self.bits) / self.rho)

    def deposits(self, lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return what tours of these lengths deposit on each of their arcs: reference / length, rounded down.

        The dividend is cut to 63 bits, so that numpy's integers can be used.
        """
        spare = max(0, self.bits + self.reference.bit_length() - 63)
        dividend = np.uint64(self.reference << (self.bits - spare))
        return dividend // np.maximum(lengths, np.uint64(self.shortest)) << np.uint64(spare)

    def deposit(self, length: int) -> int:
        """Return the deposit of one tour on each of its arcs, exactly."""
        return (self.reference << self.bits) // max(length, self.shortest)


def unit_of(reference: int, bound: int, n: int, depositors: int, rho: float) -> Unit:
    """Return the finest unit in which no pheromone can reach 2^64.

    Pheromone stays below (n + depositors * reference / bound) / rho deposits of the reference. That holds for a whole
    row at the beginning too.

    Parameters
    ----------
    reference, bound
        The length of the nearest-neighbour tour, and a lower bound on the length of any tour.
    depositors
        Ants that may deposit on one arc in one iteration.
    rho
        Share of the pheromone that evaporates in an iteration.
    """
    exact = Fraction(rho)
    shortest = max(bound, reference // MOST_RATIO, 1)
    most = (n + Fraction(depositors * reference, shortest)) / exact
    bits = max(b for b in range(63) if most * (1 << b) < 1 << 64)
    return Unit(bits, reference, shortest, exact)


def nbytes(shapes: Shapes) -> int:
    """Return the bytes of all buffers."""
    return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())


def allocated(device: Device, shapes: Shapes) -> dict[str, Buffer]:
    """Return the buffers, with undefined content."""
    return {name: device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}
