"""Decides when a proof ends early and when it is saved: `[stop]`, interruptions, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints, Wish, agreed
from hpcsolve.checkpoint.state import State
from hpcsolve.parallel.comm import Comm


@dataclass
class Watch:
    """Ends or saves a proof where that is possible: after rounds of bounds, levels and layers.

    Attributes
    ----------
    seconds
        Time limit since the start, or None.
    target
        A value, in scaled integers, that is good enough, or None.
    ended
        Why the proof ends early, in words, or "".
    complete
        False once an interruption has ended the proof.
    """

    comm: Comm
    checkpoints: Checkpoints = NONE
    seconds: float | None = None
    target: int | None = None
    ended: str = ""
    complete: bool = True
    started: float = field(default_factory=time.perf_counter)

    def left(self) -> float | None:
        """Return the seconds that are left, a little more than 0 at least, or None without a time limit."""
        return None if self.seconds is None else max(1e-3, self.seconds - (time.perf_counter() - self.started))

    def goes_on(self, upper: int | None, state: Callable[[], State] | None = None,
                nbytes: Callable[[], int] = lambda: 0) -> bool:
        """Save a checkpoint if one is due, and return whether the proof goes on. Collective.

        Parameters
        ----------
        upper
            The value of the best order so far, or None.
        state, nbytes
            What a checkpoint keeps, and about how many bytes that are of this rank. Without a state none is written
            here, and an interruption is left for the next boundary that has one.
        """
        if self.ended:
            return False
        wish = agreed(self.comm.allgather(self.checkpoints.wish(nbytes())))
        if state is not None and wish == Wish.SAVE:
            self.checkpoints.save(state(), last=False)
        if state is not None and wish == Wish.STOP:
            self._interrupted(state())
        self.ended = self.ended or self.comm.bcast(self._criterion(upper))
        return not self.ended

    def goes_on_inside(self, upper: int | None, before: State | None) -> bool:
        """Return whether the proof goes on inside a piece of work, of which no state can be saved. Collective.

        A run that is interrupted here saves the state before the piece, and does the piece again.

        Parameters
        ----------
        before
            What a checkpoint keeps: the state before this piece. Without one an interruption ends a run that has an
            order, and no checkpoint is written.
        """
        if self.ended:
            return False
        wish = agreed(self.comm.allgather(self.checkpoints.wish()))
        if wish == Wish.STOP and before is not None:
            self._interrupted(before)
        elif wish == Wish.STOP and upper is not None:
            self.ended, self.complete = "interrupted in the first bounds", False
        self.ended = self.ended or self.comm.bcast(self._criterion(upper))
        return not self.ended

    def _interrupted(self, state: State) -> None:
        self.checkpoints.save(state, last=True)
        self.ended, self.complete = f"interrupted {state.words}", False

    def _criterion(self, upper: int | None) -> str:
        """Return which criterion of `[stop]` is met, in words."""
        if self.seconds is not None and time.perf_counter() - self.started >= self.seconds:
            return f"[stop] seconds = {self.seconds:g}"
        if self.target is not None and upper is not None and upper <= self.target:
            return "[stop] target is reached"
        return ""
