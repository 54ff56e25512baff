"""Colonies over ranks: each rank steps its own together, keeps what they found, and all agree on when to stop.

A colony's random numbers are keyed by (seed, its number), so what it finds does not depend on the rank that it is on,
nor on the colonies beside it. Everything that is kept is an array with a row a colony.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.buffers import tour_at
from hpcsolve.algorithms.base import Report, StopCriteria
from hpcsolve.device.base import Buffer
from hpcsolve.parallel.comm import Comm

NOTHING = 2**62
"""Longer than any tour."""
MOST_ROWS = 1024
"""Rows of the history before every other one is dropped."""


class Search(Protocol):
    """The colonies of one rank on its device.

    Attributes
    ----------
    buffers
        By name; among them `tours`, uint16 (colonies, ants, n), in the layout's numbers.
    """

    buffers: dict[str, Buffer]

    def construct(self, iteration: int) -> NDArray[np.uint64]:
        """All ants build their tours; the lengths, shape (colonies, ants)."""

    def learn(self, iteration: int, lengths: NDArray[np.uint64], kept: Kept) -> None:
        """Change the trails after an iteration."""


@dataclass
class Kept:
    """What some colonies have found, a row each.

    Attributes
    ----------
    numbers
        Shape (colonies,), int64: the colonies' own.
    length, tour
        The best so far, in the layout's terms: int64 (colonies,) and uint16 (colonies, n).
    iteration
        Shape (colonies,), int64: when that was found.
    """

    numbers: NDArray[np.int64]
    length: NDArray[np.int64]
    tour: NDArray[np.uint16]
    iteration: NDArray[np.int64]

    def note(self, iteration: int, lengths: NDArray[np.uint64], buffers: dict[str, Buffer]) -> None:
        """Keep an iteration's best tours where they are better; the first ant's of equals."""
        for colony, ant in enumerate(lengths.argmin(axis=1).tolist()):
            if lengths[colony, ant] < self.length[colony]:
                self.length[colony] = lengths[colony, ant]
                self.tour[colony] = tour_at(buffers, colony, ant).download()
                self.iteration[colony] = iteration


def nothing_kept(numbers: range, n: int) -> Kept:
    """The beginning."""
    colonies = len(numbers)
    return Kept(np.array(numbers, np.int64), np.full(colonies, NOTHING, np.int64),
                np.zeros((colonies, n), np.uint16), np.zeros(colonies, np.int64))  # fmt: skip


def random_keys(seed: int, numbers: range) -> NDArray[np.uint32]:
    """The keys of the colonies' random numbers, shape (colonies, 2): 64 bits of a hash of (seed, number)."""
    digests = [hashlib.sha256(f"ant-colony {seed} {number}".encode()).digest()[:8] for number in numbers]
    return np.frombuffer(b"".join(digests), "<u4").astype(np.uint32).reshape(-1, 2)


@dataclass
class History:
    """Best and sum of all lengths by iteration: every `step`-th, so that there are never many.

    Attributes
    ----------
    rows
        (iteration, seconds, best so far, sum of the iteration's lengths).
    """

    step: int = 1
    rows: list[tuple[int, float, int, int]] = field(default_factory=list)

    def note(self, iteration: int, seconds: float, best: int, total: int, last: bool) -> None:
        """Keep a row if its turn has come; the last one always."""
        if iteration % self.step and not last:
            return
        self.rows.append((iteration, seconds, best, total))
        if len(self.rows) > MOST_ROWS and not last:
            self.step *= 2
            self.rows = [row for row in self.rows if row[0] % self.step == 0]


@dataclass
class Watch:
    """When to stop, as all ranks agree; and what that costs.

    Attributes
    ----------
    target
        In the layout's lengths.
    best, improved
        The best length of all colonies, as far as this rank knows, and its iteration.
    """

    comm: Comm
    criteria: StopCriteria
    target: int | None
    started: float = field(default_factory=lambda: time.perf_counter())  # the clock of now: benchmarks change it
    seconds_wait: float = 0.0
    best: int = NOTHING
    improved: int = 0

    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.started

    def is_last(self, iteration: int, best: int) -> bool:
        """Whether the search ends with this iteration; `best`: of this rank's colonies. Collective."""
        criteria, seconds = self.criteria, self.seconds()
        if any(one is not None for one in (criteria.seconds, criteria.target, criteria.stagnation)):
            waiting = time.perf_counter()
            everybody = self.comm.allgather((best, seconds))
            self.seconds_wait += time.perf_counter() - waiting
            best, seconds = min(one for one, _ in everybody), everybody[0][1]
        if best < self.best:
            self.best, self.improved = best, iteration
        return (
            (criteria.iterations is not None and iteration + 1 >= criteria.iterations)
            or (criteria.seconds is not None and seconds >= criteria.seconds)
            or (self.target is not None and best <= self.target)
            or (criteria.stagnation is not None and iteration - self.improved >= criteria.stagnation)
        )

    def done(self, iteration: int) -> float:
        """The fraction of all iterations, or of the time, that is behind us."""
        parts = [0.0]
        if self.criteria.iterations:
            parts.append((iteration + 1) / self.criteria.iterations)
        if self.criteria.seconds:
            parts.append(self.seconds() / self.criteria.seconds)
        return min(1.0, max(parts))


def explore(search: Search | None, kept: Kept, watch: Watch, migration: int, report: Report,
            tell: Callable[[int, float], str]) -> tuple[History, int]:  # fmt: skip
    """Iterate until a limit is met; the history and the number of iterations. Collective.

    Parameters
    ----------
    search
        None on a rank without colonies.
    migration
        Iterations between migrations, 0: none.
    tell
        (best length, mean length) -> words for the progress.
    """
    history, iteration = History(), 0
    while True:
        lengths = search.construct(iteration) if search else np.empty((0, 1), np.uint64)
        if migration and iteration and iteration % migration == 0:
            migrate(search, kept, lengths, watch)
        if search:
            kept.note(iteration, lengths, search.buffers)
        best = int(kept.length.min(initial=NOTHING))
        last = watch.is_last(iteration, best)
        history.note(iteration, watch.seconds(), best, int(lengths.sum()), last)
        if lengths.size:
            pace = (iteration + 1) / watch.seconds()
            report(watch.done(iteration), f"{tell(watch.best, float(lengths.mean()))}, {pace:.3g} iterations a second")
        if last:
            return history, iteration + 1
        if search:
            search.learn(iteration, lengths, kept)
        iteration += 1


def migrate(search: Search | None, kept: Kept, lengths: NDArray[np.uint64], watch: Watch) -> None:
    """Each colony's best tour takes the place of the longest of the next colony's iteration, in a ring. Collective."""
    waiting = time.perf_counter()
    parts = watch.comm.allgather((kept.length.copy(), kept.tour.copy()))
    watch.seconds_wait += time.perf_counter() - waiting
    length, tour = (np.concatenate(columns) for columns in zip(*parts))
    for row, number in enumerate(kept.numbers.tolist()):
        ant = int(lengths[row].argmax())
        lengths[row, ant] = length[number - 1]
        if search:
            tour_at(search.buffers, row, ant).upload(tour[number - 1])
