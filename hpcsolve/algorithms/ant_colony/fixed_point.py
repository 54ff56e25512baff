"""Pheromone as integers: a unit in which no arc's pheromone overflows, and deposits (cuda_src/ants/pheromone.cuh)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

LEAST_PHEROMONE = 1 << 16
"""The least that an arc keeps (`least_pheromone` in cuda_src/ants/pheromone.cuh)."""
MOST_RATIO = 1024
"""The deposit stops growing where a tour is shorter than the nearest-neighbour tour by more than this factor."""


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
