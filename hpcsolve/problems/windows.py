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
        """Return the windows in units of 1 / `other` instead of 1 / `scale`, both powers of ten.

        It is None if a time is no integer then, or too large.
        """
        found = []
        for times in (self.earliest, self.latest, self.service):
            finite = times < LARGEST_SUM
            ends = np.where(finite, times, 0)
            if int(ends.max(initial=0)) * other >= LARGEST_SUM * scale or (ends % max(1, scale // other)).any():
                return None
            moved = ends * (other // scale) if scale <= other else ends // (scale // other)
            found.append(np.where(finite, moved, LARGEST_SUM))
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
        With the index of the text: it is no number, negative, has too many digits beside the costs, is too large beside
        costs with many digits, or is later than the end of its window.
    """
    found = exact_from_texts(texts, LARGEST_SUM)
    known = found.values != NO_ARC
    if (negative := known & (found.values < 0)).any():
        raise BadNumber(int(negative.argmax()), "is negative; times are counted from 0")
    if (endless := ~known & (np.arange(len(texts)) // n != 1)).any():
        raise BadNumber(int(endless.argmax()), "is infinite; only a window's end may be")
    scale = max(costs.scale, found.scale)
    same = costs.values if scale == costs.scale else None  # rounded costs keep their scale
    values = same if costs.rounding is not None else costs.at(scale, largest_cost(n))
    times = found.at(scale, LARGEST_SUM)
    if times is None:
        index = int(np.where(known, found.values, -1).argmax())
        decimals = len(str(costs.scale)) - 1
        raise BadNumber(index, f"is too large beside costs with {decimals} decimals: {texts[index]}; round the costs")
    if values is None:
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
