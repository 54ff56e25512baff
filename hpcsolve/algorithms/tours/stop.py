"""When a search for tours ends, on which all ranks agree, and the history of what it found."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints, Wish, agreed, next_agreement
from hpcsolve.parallel.comm import Comm
from hpcsolve.wording import counted

NO_TOUR = 2**62
"""A length above that of any tour."""
MOST_ROWS = 1024
"""Rows of the history above which every other one is dropped."""


@dataclass
class History:
    """The best length and the sum of all lengths of every `step`-th iteration, so that there are never many rows.

    Attributes
    ----------
    rows
        (iteration, seconds, best so far, sum of the iteration's lengths).
    """

    step: int = 1
    rows: list[tuple[int, float, int, int]] = field(default_factory=list)

    def note(self, iteration: int, seconds: float, best: int, total: int, last: bool) -> None:
        """Add a row if it is its turn, or if it is the last."""
        if iteration % self.step and not last:
            return
        self.rows.append((iteration, seconds, best, total))
        if len(self.rows) > MOST_ROWS and not last:
            self.step *= 2
            self.rows = [row for row in self.rows if row[0] % self.step == 0]


def merged(histories: Sequence[History]) -> tuple[list[tuple[int, int, int]], list[float]]:
    """Return all ranks' rows together, (iteration, best so far, sum of lengths), and the seconds of the first rank."""
    rows = [(at[0][0], min(row[2] for row in at), sum(row[3] for row in at))
            for at in zip(*(history.rows for history in histories))]
    return rows, [row[1] for row in histories[0].rows]


@dataclass
class SearchStop:
    """The decision when the search ends, on which all ranks agree.

    Attributes
    ----------
    shift
        What is added to a length of the search to get the cost in the instance, both in scaled integers.
    scale
        A cost in the instance's own unit is `cost / scale`.
    unit
        What an iteration is called: "iteration", "generation", "round".
    checkpoints, nbytes
        Whether this rank was asked to end the run, or whether it is time to save so many bytes.
    wish
        What all ranks do after this iteration.
    best, improved
        The best length of all ranks that this rank knows of, and its iteration.
    has_bound, bound
        Whether rank 0 computes a lower bound of every tour's cost; and that bound, which the other ranks learn when
        they first agree. None until then, and where there is none.
    reason, complete
        Why the search ended, in words; False if an interruption ended it.
    agreement
        The next iteration after which the ranks agree, if no criterion makes them agree after each.
    """

    comm: Comm
    criteria: StopCriteria
    shift: int = 0
    scale: int = 1
    unit: str = "iteration"
    checkpoints: Checkpoints = NONE
    nbytes: int = 0
    started: float = field(default_factory=lambda: time.perf_counter())  # looked up when called: benchmarks replace it
    seconds_wait: float = 0.0
    wish: Wish = Wish.GO_ON
    best: int = NO_TOUR
    improved: int = 0
    has_bound: bool = False
    bound: int | None = None
    reason: str = ""
    complete: bool = True
    agreement: int = 0

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.started

    def own_unit(self, length: float) -> float:
        """Return the cost of a length in the instance's own unit."""
        return (length + self.shift) / self.scale

    def is_last(self, iteration: int, best: int, ended: str = "", work: str = "", ask: bool = False) -> bool:
        """Return whether the search ends with this iteration. Collective.

        Parameters
        ----------
        iteration
            From 0; -1 before the first one.
        best
            The best length of this rank.
        ended
            Why the search has come to its end by itself, "" if it has not. The same on all ranks.
        work
            What has been done, in words; by default the number of iterations.
        ask
            Whether the ranks agree now, whatever the criteria.
        """
        criteria, seconds, self.wish = self.criteria, self.seconds(), Wish.GO_ON
        always = any(one is not None for one in (criteria.seconds, criteria.target, criteria.stagnation))
        if always or self.has_bound or ask or iteration >= self.agreement:
            waiting = time.perf_counter()
            all_ranks = self.comm.allgather((best, seconds, self.checkpoints.wish(self.nbytes), self.bound))
            self.seconds_wait += time.perf_counter() - waiting
            _, seconds, _, self.bound = all_ranks[0]
            best = min(one for one, *_ in all_ranks)
            self.wish = agreed([one for _, _, one, _ in all_ranks])
            self.agreement = next_agreement(iteration, seconds)
        if best < self.best:
            self.best, self.improved = best, iteration
        asked = self.wish == Wish.STOP
        work = work or counted(iteration + 1, self.unit)
        met = self._criterion(iteration, best, seconds, work) or (ended and f"{ended} after {work}, {seconds:.3g} s")
        self.complete = bool(met) or not asked
        self.reason = met or (f"interrupted after {work}, {seconds:.3g} s" if asked else "")
        return bool(self.reason)

    def _criterion(self, iteration: int, best: int, seconds: float, work: str) -> str:
        """Return the criterion that is met after this iteration and so much work (`12 iterations`), or ""."""
        criteria, cost = self.criteria, best + self.shift
        if self.bound is not None and cost <= self.bound:
            return f"the lower bound is reached, so the tour is optimal, after {work}"
        if criteria.iterations is not None and iteration + 1 >= criteria.iterations:
            return f"{work} done after {seconds:.3g} s"
        if criteria.seconds is not None and seconds >= criteria.seconds:
            return f"{criteria.seconds:g} s reached after {work}"
        target = criteria.scaled_target(self.scale)
        if target is not None and cost <= target:
            return f"target {criteria.target:.10g} reached after {work}"
        if criteria.gap is not None and self.bound is not None and cost <= criteria.good_enough(self.bound):
            return f"gap {criteria.gap:g} reached after {work}"
        if criteria.stagnation is not None and iteration - self.improved >= criteria.stagnation:
            return f"no better tour in {counted(criteria.stagnation, self.unit)}, after {work}"
        return ""

    def done(self, iteration: int) -> float:
        """Return the fraction of all iterations, or of the time, that is done."""
        parts = [0.0]
        if self.criteria.iterations:
            parts.append((iteration + 1) / self.criteria.iterations)
        if self.criteria.seconds:
            parts.append(self.seconds() / self.criteria.seconds)
        return min(1.0, max(parts))

