"""Cities that the table of an algorithm names: the ends of a tour, and pairs. An error names the key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hpcsolve.errors import InputError
from hpcsolve.problems.tsp import Tsp

City = int | str
"""A city by its label or name."""


class WithEnds(Protocol):
    """The keys of a table that say where a tour begins and ends."""

    @property
    def path(self) -> str:
        """The key `path`: "cycle" or "open"."""

    @property
    def start(self) -> City | None:
        """The key `start`."""

    @property
    def end(self) -> City | None:
        """The key `end`."""


def position_of(tsp: Tsp, city: City, key: str) -> int:
    """Return the position of a city in the instance, from 0.

    Parameters
    ----------
    key
        The key that names it, with its table: `held-karp.start`.
    """
    try:
        return int(tsp.positions([city])[0])
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


def pairs_of(tsp: Tsp, given: Sequence[tuple[City, City]], key: str) -> tuple[tuple[int, int], ...]:
    """Return the positions of pairs of different cities.

    Raises
    ------
    InputError
        A city is not one of the instance's, or a pair names one city twice.
    """
    try:
        positions = tsp.positions([city for pair in given for city in pair]).reshape(-1, 2).tolist()
    except InputError as error:
        raise InputError(f"{key}: {error}") from None
    found = tuple((a, b) for a, b in positions)
    for (a, b), pair in zip(found, given):
        if a == b:
            raise InputError(f"{key}: {list(pair)} names one city twice")
    return found


def ends_of(tsp: Tsp, parameters: WithEnds, table: str) -> tuple[int | None, int | None]:
    """Return the positions of the first and the last city of a tour, None where they are free.

    Raises
    ------
    InputError
        A city is not one of the instance's, a cycle has an end, or a path ends where it starts.
    """
    start, end = (None if city is None else position_of(tsp, city, f"{table}.{key}")
                  for key, city in (("start", parameters.start), ("end", parameters.end)))
    if parameters.path == "cycle" and end is not None:
        raise InputError(f'{table}.end: a cycle ends where it starts; remove it or set path = "open"')
    if start is not None and start == end:
        if tsp.n > 1:
            raise InputError(f"{table}.end: an open path cannot end in the city where it starts")
        end = None  # one city is both ends
    return start, end
