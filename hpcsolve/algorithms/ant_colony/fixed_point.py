"""Trails as integers: their unit, so that none overflows, and what an ant lays (cuda_src/ant_trails.cuh)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

MOST_RATIO = 1024
"""A tour that is shorter than the nearest-neighbour tour by more than this counts as one that is not."""


@dataclass(frozen=True)
class Unit:
    """The unit of trails: the nearest-neighbour tour's deposit is 2^bits.

    Attributes
    ----------
    reference
        That tour's length.
    shortest
        The length from which on a tour lays no more.
    rho
        Share of a trail that evaporates in an iteration.
    """

    bits: int
    reference: int
    shortest: int
    rho: Fraction

    @property
    def keep(self) -> int:
        """What evaporation leaves, in units of 2^-32."""
        return min(int((1 - self.rho) * 2**32), 2**32 - 1)

    @property
    def first_pheromone(self) -> int:
        """1 / (rho * reference), where the trails begin."""
        return int((1 << self.bits) / self.rho)

    def deposits(self, lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """What tours of these lengths lay on each of their arcs: reference / length, rounded down.

        The division is done with as many bits as fit 64, so that numpy's integers will do.
        """
        spare = max(0, self.bits + self.reference.bit_length() - 63)
        dividend = np.uint64(self.reference << (self.bits - spare))
        return dividend // np.maximum(lengths, np.uint64(self.shortest)) << np.uint64(spare)

    def deposit(self, length: int) -> int:
        """The same for one tour, exact."""
        return (self.reference << self.bits) // max(length, self.shortest)


def unit_of(reference: int, bound: int, n: int, layers: int, rho: float) -> Unit:
    """The finest unit in which no trail can pass 2^64.

    Parameters
    ----------
    reference, bound
        Lengths of the nearest-neighbour tour, and a lower bound of all tours'.
    layers
        Ants that may lay on one arc in one iteration.
    rho
        Evaporation. Trails then stay below (n + layers * reference / bound) / rho deposits of the reference, the first
        trails of a whole row included.
    """
    exact = Fraction(rho)
    shortest = max(bound, reference // MOST_RATIO, 1)
    most = (n + Fraction(layers * reference, shortest)) / exact
    bits = max(b for b in range(63) if most * (1 << b) < 1 << 64)
    return Unit(bits, reference, shortest, exact)
