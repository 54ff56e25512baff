"""Which cities each city remembers in the relaxation (cuda_src/held_karp/bounds.cu): colours, slots and masks.

All is in integers, so that every machine chooses the same slots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts
from hpcsolve.problems.tsp import FORBIDDEN

WISH = 1 << 20
"""The unit of wishes, which say how useful it is that a city is remembered at another one."""
SWEEPS = 20
"""The most rounds over all cities in which colours are improved."""


@dataclass(frozen=True)
class Slots:
    """The memory of every city, as the kernels have it.

    Attributes
    ----------
    memory
        Shape (m, slots), uint8: the city that each city remembers in each slot; m where there is none.
    keep, put
        Shape (m, m), uint32: the masks of each arc.
    barred, barred_past
        Shape (m,), uint32: for completions and for beginnings, the slots of the city itself and of the cities that
        precedence excludes from the visited part.
    own
        Shape (m,), uint32: the slot of the city itself.
    """

    memory: NDArray[np.uint8]
    keep: NDArray[np.uint32]
    put: NDArray[np.uint32]
    barred: NDArray[np.uint32]
    barred_past: NDArray[np.uint32]
    own: NDArray[np.uint32]

    @property
    def count(self) -> int:
        """Number of slots."""
        return len(self.memory[0])


def first_wishes(problem: PlaceCosts) -> NDArray[np.int64]:
    """Return the wish of each city to remember each other one, shape (m, m): the nearest ones most."""
    m = problem.cities
    middle = problem.cost[m // 2]
    near = np.minimum(middle, middle.T)
    np.fill_diagonal(near, FORBIDDEN)
    rank = np.argsort(np.argsort(near, axis=1, kind="stable"), axis=1, kind="stable")
    wishes = WISH // (2 + rank)
    np.fill_diagonal(wishes, 0)
    return wishes


def learn(wishes: NDArray[np.int64], problem: PlaceCosts, path: list[int]) -> None:
    """Raise the wishes of the cities between two visits of a relaxed tour to one city to remember that city.

    The second visit may also be one to a city that must come before it.
    """
    at = np.array(path, np.int64)
    again = np.triu((at[:, None] == at) | problem.before[np.ix_(at, at)], 1)
    for a in np.flatnonzero(again.any(axis=1)).tolist():
        b, city = int(again[a].argmax()), path[a]
        between = [c for c in path[a + 1 : b + 1] if c != city]
        np.add.at(wishes, (between, city), 3 * WISH // (10 * (b - a)))


def colours(wishes: NDArray[np.int64], count: int, old: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return a colour for each city, if possible another one than those of the cities that it should remember."""
    m = len(wishes)
    clash = wishes + wishes.T
    for row in wishes:
        clash += np.minimum(row[:, None], row[None, :])
    np.fill_diagonal(clash, 0)
    chosen = np.full(m, -1) if old is None else np.where(old < count, old, -1)
    for _ in range(SWEEPS):
        before = chosen.copy()
        for city in range(m):
            bad = np.zeros(count, np.int64)
            coloured = chosen >= 0
            np.add.at(bad, chosen[coloured], clash[city, coloured])
            best = int(bad.argmin())
            if chosen[city] < 0 or bad[best] < bad[chosen[city]]:
                chosen[city] = best
        if np.array_equal(before, chosen):
            break
    return chosen


def make_slots(problem: PlaceCosts, wishes: NDArray[np.int64], chosen: NDArray[np.int64], count: int) -> Slots:
    """Return the slots of cities with these colours. Of each colour a city remembers the one with its largest wish."""
    m = len(wishes)
    memory = np.full((m, count), m, np.uint8)
    for slot in range(count):
        members = np.flatnonzero(chosen == slot)
        if len(members):
            memory[:, slot] = members[wishes[:, members].argmax(axis=1)]
    memory[np.arange(m), chosen] = np.arange(m)
    return with_memory(problem, memory)


def with_memory(problem: PlaceCosts, memory: NDArray[np.uint8]) -> Slots:
    """Return the slots of cities with these memories (`Slots.memory`)."""
    m, count = memory.shape
    bit = np.uint32(1) << np.arange(count, dtype=np.uint32)
    city = np.arange(m)[:, None]
    same = (memory[:, None] == memory[None, :]) & (memory < m)[:, None] & (memory != city)[:, None]
    put = memory[None, :] == city[:, :, None]
    own = memory == city
    # Column m of both is a city that is never there.
    before, after = (np.pad(table, ((0, 0), (0, 1))) for table in (problem.before, problem.before.T))
    return Slots(memory, *(_mask(table, bit) for table in (
        same, put, own | np.take_along_axis(after, memory.astype(np.int64), axis=1),
        own | np.take_along_axis(before, memory.astype(np.int64), axis=1), own)))


def _mask(flags: NDArray[np.bool_], bit: NDArray[np.uint32]) -> NDArray[np.uint32]:
    mask: NDArray[np.uint32] = (flags * bit).sum(axis=-1, dtype=np.uint32)
    return mask
