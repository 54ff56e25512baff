"""Which time windows contradict each other: a set that leaves no tour, from which no window can be left out.

Such a set is found by leaving windows out of all of them, many at first and fewer where that makes a tour possible.
That there is no tour with the windows that are left is often clear from what they imply (`tightened`), and else proven
as the whole problem was. The number of proofs is limited, not their time, so that a job always has the same answer. A
window that could not be left out for want of a proof remains, and the set may then have a smaller one in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.places import least_tour
from hpcsolve.algorithms.held_karp.bounded.windows import shortest_times, tightened, timed_orders
from hpcsolve.algorithms.held_karp.problem import OrderProblem, order_problem
from hpcsolve.problems.questions import TourQuestion, Windows
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.tsp import Tsp

MOST_PROOFS = 30
"""The most problems that are solved to find a set."""


@dataclass(frozen=True, eq=False)
class Contradiction:
    """Windows that leave no tour.

    Attributes
    ----------
    cities
        int32, ascending: positions of the cities whose windows these are. Empty if there is no tour without windows.
    smallest
        Whether it is proven that the windows of all but one of these cities leave a tour, whichever that one is.
    """

    cities: NDArray[np.int32]
    smallest: bool


@dataclass(frozen=True)
class TooLong:
    """More time than there is between the departure from the first city and the latest end, in scaled integers.

    Attributes
    ----------
    travel
        Lower bound of the sum of the legs' times.
    service
        The sum of the services that must end in that time.
    """

    travel: int
    service: int


def too_long(problem: OrderProblem) -> TooLong | None:
    """Return what takes longer than the windows of the first and the last city leave, or None if that is not clear.

    The bound is that of a plain tour of the legs' least times, so the other windows and constraints do not matter.
    """
    own, windows = problem.core, problem.core.question.windows
    if windows is None or problem.latest is None or problem.m < 2 or problem.latest[-1] >= LARGEST_SUM:
        return None
    service = int(windows.service[[*own.before, *own.cities]].sum())
    begin = int(windows.earliest[list(own.before)].sum())
    travel = least_tour(own.cost)
    return None if travel is None or begin + travel + service <= problem.latest[-1] else TooLong(travel, service)


def contradiction(
    tsp: Tsp, question: TourQuestion, has_tour: Callable[[TourQuestion], bool | None],
    among: Iterable[int] | None = None,
) -> Contradiction:
    """Return windows that contradict each other, of a question with windows that has no tour.

    Parameters
    ----------
    has_tour
        Returns whether a question of objective "finish" has a tour, or None if that is not found out.
    among
        Cities whose windows alone are known to leave no tour, by default all.
    """
    windows = question.windows
    assert windows is not None
    sure, proofs = True, 0

    def leave_none(cities: Iterable[int]) -> bool:
        """Return whether the windows of some cities alone leave no tour, as far as that is proven."""
        nonlocal sure, proofs
        asked = replace(question, objective="finish", windows=_of_cities(windows, sorted(cities)))
        timed = timed_orders(order_problem(tsp, asked))
        if tightened(timed, timed.horizon(), shortest_times(timed)) is None:
            return True
        proofs += 1
        found = has_tour(asked) if proofs <= MOST_PROOFS else None
        sure &= found is not None or count > 1  # several at once are tried again one by one
        return found is False

    limited = (windows.earliest > 0) | (windows.latest < LARGEST_SUM)
    if among is not None:
        limited &= np.isin(np.arange(tsp.n), list(among))
    length = np.minimum(windows.latest, LARGEST_SUM) - windows.earliest
    left = [int(city) for city in np.argsort(-length, kind="stable") if limited[city]]  # long ones go first
    needed: list[int] = []
    count = max(1, len(left))
    while left:
        count = min(count, len(left))
        if leave_none([*left[count:], *needed]):
            left, count = left[count:], 2 * count
        elif count > 1:
            count //= 2
        else:
            needed.append(left.pop(0))
    return Contradiction(np.array(sorted(needed), np.int32), sure)


def _of_cities(windows: Windows, cities: list[int]) -> Windows:
    """Return the windows of some cities, and all services."""
    earliest, latest = np.zeros_like(windows.earliest), np.full_like(windows.latest, LARGEST_SUM)
    earliest[cities], latest[cities] = windows.earliest[cities], windows.latest[cities]
    return Windows(earliest, latest, windows.service)
