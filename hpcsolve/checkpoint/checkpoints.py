"""What algorithms call at the boundaries of their work: is it time to save, or to stop?

An algorithm whose ranks exchange messages at its boundaries anyway sends their wishes along (`Checkpoints.wish`), takes
the common decision (`agreed`) and saves (`Checkpoints.save`). Others call `Boundary.reached` after each piece of work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeVar

from hpcsolve.checkpoint.lease import LeaseLost
from hpcsolve.checkpoint.pace import Pace, next_agreement
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.state import State
from hpcsolve.checkpoint.watchdog import Watchdog
from hpcsolve.checkpoint.writer import Writer
from hpcsolve.errors import EnvironmentFault, Stopped
from hpcsolve.parallel.comm import Comm

T = TypeVar("T")


class Wish(IntEnum):
    """What a rank wants at a boundary. `agreed` says what all ranks do."""

    GO_ON = 0
    SAVE = 1
    STOP = 2


def never() -> bool:
    """Return False, since nobody interrupts the run."""
    return False


def ignore(line: str) -> None:
    """Ignore a line."""


@dataclass(eq=False)
class Checkpoints:
    """The checkpoints of a run, and the reasons to stop it.

    Attributes
    ----------
    interrupted
        Returns whether this rank was asked to end the run.
    saved
        The checkpoint from which the run goes on, or None if it starts anew. The same on every rank.
    writer
        Writes the checkpoints; None: none are written.
    pace
        The clock.
    note, warn
        Called with a line about each checkpoint, and about each that could not be written.
    watchdog
        Ends the run if a rank reaches no boundary for too long; None: nothing does.
    stopping
        Whether this rank has wished to stop.
    begun
        When the time of `[stop] seconds` began, on the clock `time.perf_counter`; None: when the search begins.
    """

    interrupted: Callable[[], bool] = never
    saved: Saved | None = None
    writer: Writer | None = None
    pace: Pace = field(default_factory=Pace)
    note: Callable[[str], None] = ignore
    warn: Callable[[str], None] = ignore
    watchdog: Watchdog | None = None
    stopping: bool = False
    begun: float | None = None

    def clock(self) -> float:
        """Return when the time of `[stop] seconds` began, which is now if it begins with the search."""
        return time.perf_counter() if self.begun is None else self.begun

    @property
    def asks_ranks(self) -> bool:
        """Whether `Boundary` must ask the ranks for their wishes. Without a writer and a watch it need not."""
        return self.writer is not None or self.watchdog is not None

    def wish(self, nbytes: int = 0) -> Wish:
        """Return what this rank wants now, when its share of the state has so many bytes."""
        if self.watchdog is not None:
            self.watchdog.note_progress()
        now = self.pace.look()
        if self.stopping or self.interrupted() or self.pace.must_stop(now, nbytes if self.writer else 0):
            self.stopping = True
            return Wish.STOP
        return Wish.SAVE if self.writer and self.pace.is_due(now, nbytes) else Wish.GO_ON

    def save(self, state: State, last: bool) -> None:
        """Write a checkpoint, if this run writes any. Collective.

        Parameters
        ----------
        last
            Whether the run stops here.

        Raises
        ------
        LeaseLost
            A later run of the job has taken over.
        EnvironmentFault
            The checkpoint cannot be written, the run stops here, and there is no earlier one.
        """
        if self.writer is None:
            return
        started = time.perf_counter()
        try:
            self.writer.write(state)
        except LeaseLost:
            raise
        except EnvironmentFault as fault:
            if last and not self.writer.has_any:
                raise
            rest = "the checkpoint before remains" if self.writer.has_any else "the run goes on"
            self.warn(f"hpcsolve: no checkpoint was written: {fault}; {rest}")
        else:
            self.note(f"checkpoint: {state.words}, {state.nbytes} bytes of this rank in "
                      f"{time.perf_counter() - started:.3g} s")
        self.pace.note_save(state.nbytes, time.perf_counter() - started)


NONE = Checkpoints()
"""The checkpoints of a run that nobody stops and that writes none."""


def without_writer(checkpoints: Checkpoints) -> Checkpoints:
    """Return checkpoints that end the work as these do, but neither save nor resume anything."""
    return replace(checkpoints, writer=None, saved=None)


class Boundary:
    """The boundaries between a run's pieces of work, at some of which the ranks agree on whether to save or to stop.

    Parameters
    ----------
    synchronize
        Called before the ranks agree, so that work does not pile up in a device's queue.

    Attributes
    ----------
    number
        Number of the last piece of work, from 0.
    """

    def __init__(self, comm: Comm, checkpoints: Checkpoints, synchronize: Callable[[], None] = lambda: None) -> None:
        self._comm, self._checkpoints, self._synchronize = comm, checkpoints, synchronize
        self._started, self._next, self.number = time.perf_counter(), 0, -1

    def reached(self, state: Callable[[], State], nbytes: Callable[[], int] = lambda: 0) -> None:
        """Save or stop if it is time. Collective: each rank calls it after the same number of pieces.

        Parameters
        ----------
        state
            Returns the state. Called only if the state is saved.
        nbytes
            Returns the approximate bytes of this rank's share of the state. Called only when the ranks agree.

        Raises
        ------
        Stopped
            A rank was asked to stop, or the deadline is near. The state is saved.
        """
        self.number += 1
        if not self._checkpoints.asks_ranks or self.number < self._next:
            return
        self._synchronize()
        votes = self._comm.allgather((self._checkpoints.wish(nbytes()), time.perf_counter() - self._started))
        self._next = next_agreement(self.number, votes[0][1])
        wish = agreed([vote for vote, _ in votes])
        if wish != Wish.GO_ON:
            now = state()
            self._checkpoints.save(now, last=wish == Wish.STOP)
            if wish == Wish.STOP:
                raise Stopped(now.words)

    def while_any(
        self, waiting: list[T], state: Callable[[], State], nbytes: Callable[[], int] = lambda: 0
    ) -> Iterator[T]:
        """Take and yield this rank's pieces of work, the last one first, until no rank has any.

        After each piece `reached` is called with the same `state` and `nbytes`. Collective.
        """
        while self._any(bool(waiting)):
            if waiting:
                yield waiting.pop()
            self.reached(state, nbytes)

    def _any(self, busy: bool) -> bool:
        return any(self._comm.allgather(busy)) if self._checkpoints.asks_ranks else busy


def agreed(wishes: list[Wish]) -> Wish:
    """Return what all ranks do: stop if any of them wants to, else what rank 0 wants, whose clock counts."""
    return Wish.STOP if Wish.STOP in wishes else wishes[0]
