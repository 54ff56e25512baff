"""Time windows of cities: when each may be served, and how given times become integers beside the costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.rounding import (
    LARGEST_SUM,
    NO_ARC,
    BadNumber,
    Costs,
    exact_from_texts,
    largest_cost,
)


@dataclass(frozen=True, eq=False)
class Windows:
    """When cities may be served: int64 of shape (n,), each in scaled integers.

    A traveller who arrives before `earliest` waits; service begins by `latest` and takes `service`. The return to the
    first city must be by its `latest` too. `LARGEST_SUM` stands for a window that never ends.
    """

    earliest: NDArray[np.int64]
    latest: NDArray[np.int64]
    service: NDArray[np.int64]

    def at(self, scale: int, other: int) -> Windows | None:
        """Return the windows over another scale than their own, or None if they have more decimals or are too large."""
        found = []
        for times in (self.earliest, self.latest, self.service):
            ends = times < LARGEST_SUM
            if scale <= other:
                factor, rest = other // scale, 0
                fits = int(times[ends].max(initial=0)) * factor < LARGEST_SUM
                moved = np.where(ends, np.where(ends, times, 0) * (factor if fits else 0), LARGEST_SUM)
            else:
                moved, rests = np.divmod(times, scale // other)
                moved, rest, fits = np.where(ends, moved, LARGEST_SUM), int(rests[ends].any()), True
            if rest or not fits:
                return None
            found.append(moved)
        return Windows(*found)

    def as_bytes(self) -> bytes:
        """Return the times as little-endian integers, for a hash."""
        return b"".join(times.astype("<i8").tobytes() for times in (self.earliest, self.latest, self.service))


def all_day(n: int) -> Windows:
    """Return windows of n cities that are always open, without service."""
    none = np.zeros(n, np.int64)
    return Windows(none, np.full(n, LARGEST_SUM), none)


def windows_beside(costs: Costs, n: int, texts: Sequence[str]) -> tuple[Costs, Windows]:
    """Return the costs and the windows of n cities, as integers with one scale, the smallest one.

    Parameters
    ----------
    texts
        Decimal numbers: n times `earliest`, n times `latest`, n times `service`. `inf` is a window that never ends.

    Raises
    ------
    BadNumber
        With the index of the text: it is no number, negative, has too many digits beside the costs, or is later than
        the end of its window.
    """
    found = exact_from_texts(texts, LARGEST_SUM)
    known = found.values != NO_ARC
    for index in np.flatnonzero(known & (found.values < 0)).tolist():
        raise BadNumber(index, "is negative; times are counted from 0")
    for index in np.flatnonzero(~known).tolist():
        if index // n != 1:
            raise BadNumber(index, "is infinite; only a window's end may be")
    scale = max(costs.scale, found.scale)
    values = costs.at(scale, largest_cost(n)) if costs.rounding is None else None
    times = found.at(scale, LARGEST_SUM)
    if costs.rounding is not None and scale == costs.scale:
        values = costs.values
    if values is None or times is None:
        index = int(np.argmax([_decimals(text) for text in texts]))
        raise BadNumber(index, f"has too many decimals beside the costs: {texts[index]}; round the times")
    earliest, latest, service = np.where(known, times, LARGEST_SUM).reshape(3, n)
    for city in np.flatnonzero(earliest > latest).tolist():
        raise BadNumber(city, f"is after the end of the window, {texts[n + city]}; a window must not end before it "
                              "begins")
    return Costs(values, scale, costs.rounding), Windows(earliest, latest, service)


def _decimals(text: str) -> int:
    """Return how many digits a text has behind its point."""
    return len(text.partition(".")[2])
