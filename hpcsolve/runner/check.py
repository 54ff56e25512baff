"""The answer checked in plain numpy: the cost added up from the instance's own matrix, nothing of the solver used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcsolve.output.contents import Contents
from hpcsolve.problems.tsp import Tsp, check_tour, positions
from hpcsolve.runner.collect import own_unit


@dataclass(frozen=True)
class Verdict:
    """What a check found.

    Attributes
    ----------
    passed
        None where there is nothing to check: that no tour exists has no short certificate.
    reason
        In words.
    """

    passed: bool | None
    reason: str

    def __str__(self) -> str:
        """`PASS (...)`, `FAIL (...)`."""
        return f"{'NOT CHECKED' if self.passed is None else 'PASS' if self.passed else 'FAIL'} ({self.reason})"


def check_answer(tsp: Tsp, parameters: Any, tour: Any, cost: int | None) -> Verdict:
    """Check a tour and its cost.

    Parameters
    ----------
    parameters
        The algorithm's; `path`, `start` and `end` count where it has them.
    tour
        Positions, or None if it is claimed that there is no tour.
    cost
        What the solver says, in scaled integers.
    """
    if tour is None:
        return Verdict(None, "that there is no tour cannot be checked without solving it again")
    path = getattr(parameters, "path", "cycle")
    ends = [_position(tsp, getattr(parameters, key, None)) for key in ("start", "end")]
    try:
        actual = check_tour(tsp, np.asarray(tour), path, *ends)
    except ValueError as error:
        return Verdict(False, str(error))
    if actual != cost:
        return Verdict(False, f"the tour costs {actual}, not {cost}")
    return Verdict(True, "every city once, the cost added up from the instance")


def check_contents(contents: Contents, tsp: Tsp, parameters: Any) -> Verdict:
    """Check what a result file holds."""
    if contents.value("solution", "infeasible"):
        return check_answer(tsp, parameters, None, None)
    tour, cost = contents.value("solution", "tour"), contents.value("solution", "cost")
    if tour is None or cost is None:
        return Verdict(False, "/solution has no tour or no cost")
    stated = contents.attributes.get("cost")
    if stated != own_unit(int(cost), tsp.scale):
        return Verdict(False, f"the attribute cost is {stated}, /solution/cost {cost} at scale {tsp.scale}")
    return check_answer(tsp, parameters, tour, int(cost))


def _position(tsp: Tsp, label: int | None) -> int | None:
    return None if label is None else int(positions(tsp, [label])[0])
