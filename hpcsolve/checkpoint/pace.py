"""When a checkpoint is due, and when a run must stop to be done before its deadline. All times are monotonic."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

SHARE = 0.02
"""The share of the time that checkpoints take by default."""
LEAST_INTERVAL = 30.0
"""Seconds between two checkpoints at least, by default."""
FIRST_RATE = 2e8
"""Bytes a second that a rank is taken to write, before it has written any."""
SECONDS_BETWEEN = 0.1
"""Seconds after which the ranks agree again, where nothing needs it sooner."""
SECONDS_TO_END = 2.0
"""Time from the end of the last checkpoint to that of the process."""


@dataclass
class Pace:
    """The clock of a run on rank 0.

    Attributes
    ----------
    interval
        Seconds between checkpoints; None: as long as makes their cost `SHARE` of the time.
    deadline
        When the run must be over, on the same clock; None: never.
    clock
        Returns seconds that never run backwards.
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

    def saved(self, nbytes: int, seconds: float) -> None:
        """Note what a checkpoint took, which has just been written."""
        self.cost = nbytes, seconds
        self.last = self.looked = self.clock()

    def expected(self, nbytes: int) -> float:
        """Return the seconds that a checkpoint of so many bytes (of this rank) will take."""
        if self.cost is None:
            return nbytes / FIRST_RATE
        before, seconds = self.cost
        return seconds * max(1.0, nbytes / max(before, 1))

    def is_due(self, now: float, nbytes: int) -> bool:
        """Return whether it is time for a checkpoint."""
        wait = max(LEAST_INTERVAL, self.expected(nbytes) / SHARE) if self.interval is None else self.interval
        return now - self.last >= wait

    def is_late(self, now: float, nbytes: int) -> bool:
        """Return whether the run must stop here, since after the next piece of work it might be too late."""
        if self.deadline is None:
            return False
        return now + self.gap + self.expected(nbytes) + SECONDS_TO_END >= self.deadline


def next_agreement(number: int, seconds: float) -> int:
    """Return the piece of work that ends about `SECONDS_BETWEEN` later at the present pace. Each gap at most doubles.

    Parameters
    ----------
    number
        Of the piece of work that has just ended, from 0.
    seconds
        Since the start.
    """
    done = number + 1
    return done + int(done * min(1.0, SECONDS_BETWEEN / max(seconds, 1e-9)))
