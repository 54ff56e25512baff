"""The numbers of a result that tables show: bounds, gap, time, check."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hpcsolve.analysis.load import Result
from hpcsolve.analysis.phases import seconds_by_phase
from hpcsolve.analysis.plot.needs import kind_of_answer
from hpcsolve.analysis.plot.texts import number
from hpcsolve.answers.rounding import at_most, bound_of, cost_of, downward, upward
from hpcsolve.output.log import duration
from hpcsolve.output.schema import answer_in
from hpcsolve.wording import counted, size

NONE = "-"
"""What a table shows where a result has no such number."""


@dataclass(frozen=True)
class Bounds:
    """What is proven about the optimum, in the instance's own unit, with NaN for what is not known.

    Attributes
    ----------
    lower
        No answer costs less.
    upper
        The cost of this answer, so the optimum is not greater.
    """

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """Upper bound on the relative gap: (upper - lower) / lower."""
        if self.lower == self.upper:
            return 0.0
        return (self.upper - self.lower) / self.lower if self.lower > 0 else math.nan


def bounds_of(result: Result) -> Bounds:
    """Return the bounds on the optimum."""
    lower, cost = bound_of(result.contents), cost_of(result.contents)
    return Bounds(math.nan if lower is None else downward(lower), result.cost if cost is None else upward(cost))


def name_of(result: Result) -> str:
    """Return the name of the instance."""
    return str(result.contents.value("instance", "name")) or "unnamed"


def size_of(result: Result) -> str:
    """Return `27 cities`, or `2000 vertices`."""
    return counted(result.n, "city" if kind_of_answer(result) == "tour" else "vertex")


def answer_of(result: Result) -> str:
    """Return the answer in a few words."""
    answer = answer_in(result.contents)
    assert answer is not None  # `load` has checked it
    return answer.summary(result.contents)


def check_of(result: Result) -> str:
    """Return whether the answer passed its check: `passed`, `FAILED`, or `nothing to check`."""
    return "nothing to check" if result.infeasible else "passed" if result.verified else "FAILED"


def ranks_of(result: Result) -> int:
    """Return the number of ranks that solved the problem."""
    return len(result.table("ranks")["host"])


def seconds_of(result: Result) -> float:
    """Return the seconds of the run, on the slowest rank."""
    return float(np.sum(list(seconds_by_phase(result).values()), axis=0).max())


def shown(value: float) -> str:
    """Return a number, or a dash for NaN."""
    return NONE if math.isnan(value) else number(value)


def percent(part: float) -> str:
    """Return `3.4 %`, or a dash for NaN."""
    return NONE if math.isnan(part) else f"{100 * part:.3g} %"


def gap_in_words(bounds: Bounds) -> str:
    """Return the gap as `3.4 %`, rounded up, or a dash for NaN."""
    return NONE if math.isnan(bounds.gap) else f"{at_most(100 * Fraction(repr(bounds.gap)), 3)} %"


HEADS = ("file", "instance", "size", "algorithm", "cost", "lower bound", "gap at most", "ranks", "seconds", "check")


def row_of(file: str, result: Result) -> list[str]:
    """Return the row of a result in the summary, whose columns are `HEADS`."""
    bounds = bounds_of(result)
    return [
        file, name_of(result), size_of(result), result.algorithm, shown(bounds.upper), shown(bounds.lower),
        gap_in_words(bounds), str(ranks_of(result)), f"{seconds_of(result):.3g}", check_of(result),
    ]


def rank_rows(result: Result) -> list[list[str]]:
    """Return a row for each rank: where it ran, memory, messages, and the seconds of each phase."""
    table, phases = result.table("ranks"), seconds_by_phase(result)
    devices = [str(device).partition(":")[0] for device in table["device"]]  # without the reason
    return [
        [str(rank), str(table["host"][rank]), devices[rank], size(int(table["peak_bytes"][rank])),
         size(int(table["bytes_sent"][rank])), *(duration(float(seconds[rank])) for seconds in phases.values())]
        for rank in range(ranks_of(result))
    ]
