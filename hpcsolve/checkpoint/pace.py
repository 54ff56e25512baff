"""When a checkpoint is due, and when a run must stop to be done before its deadline. All times are monotonic."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

SHARE = 0.02
"""Share of the run's time that checkpoints take by default."""
LEAST_INTERVAL = 30.0
"""Default minimum of the seconds between two checkpoints."""
FIRST_RATE = 2e8
"""Assumed write rate of a rank in bytes per second, until its first checkpoint is measured."""
SECONDS_BETWEEN = 0.1
"""About how many seconds apart the ranks agree, if pieces of work are shorter than that."""
SECONDS_TO_END = 2.0
"""Assumed seconds from the end of the last checkpoint to the end of the process."""


@dataclass
class Pace:
    """The clock of a run on rank 0.

    Attributes
    ----------
    interval
        Seconds between checkpoints; None: chosen so that checkpoints take `SHARE` of the time.
    deadline
        When the run must be over, on the same clock; None: never.
    clock
        Returns seconds that never run backwards.
    last, looked
        When the last checkpoint ended, and when `look` was last called.
    gap
        Longest time between two looks so far, which is the longest piece of work.
    cost
        Bytes and seconds of the last checkpoint; None: there was none yet.
    """

    interval: float | None = None
    deadline: float | None = None
    clock: Callable[[], float] = time.monotonic
    last: float = field(init=False)
    looked: float = field(init=False)
    gap: float = 0.0
    cost: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        """Start the clock."""
        self.last = self.looked = self.clock()

    def look(self) -> float:
        """Return the time, and note the longest time between two looks."""
        now = self.clock()
        self.gap, self.looked = max(self.gap, now - self.looked), now
        return now

    def note_save(self, nbytes: int, seconds: float) -> None:
        """Note the size and the time of a checkpoint that has just ended."""
        self.cost = nbytes, seconds
        self.last = self.looked = self.clock()

    def expected(self, nbytes: int) -> float:
        """Return the expected seconds of a checkpoint with so many bytes of this rank."""
        if self.cost is None:
            return nbytes / FIRST_RATE
        before, seconds = self.cost
        return seconds * max(1.0, nbytes / max(before, 1))

    def is_due(self, now: float, nbytes: int) -> bool:
        """Return whether it is time for a checkpoint."""
        wait = max(LEAST_INTERVAL, self.expected(nbytes) / SHARE) if self.interval is None else self.interval
        return now - self.last >= wait

    def must_stop(self, now: float, nbytes: int) -> bool:
        """Return whether the run must stop now to meet its deadline, since the next piece of work may take too long."""
        if self.deadline is None:
            return False
        return now + self.gap + self.expected(nbytes) + SECONDS_TO_END >= self.deadline


def next_agreement(number: int, seconds: float) -> int:
    """Return the number of the piece of work after which the ranks agree next, about `SECONDS_BETWEEN` later.

    It is at most twice as far from the start as the present one, since the pace is not yet well known at the beginning.

    Parameters
    ----------
    number
        Number of the piece of work that has just ended, from 0.
    seconds
        Seconds since the start.
    """
    done = number + 1
    return done + int(done * min(1.0, SECONDS_BETWEEN / max(seconds, 1e-9)))
