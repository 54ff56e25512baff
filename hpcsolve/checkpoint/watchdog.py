"""Ends a run that makes no progress, because one of its ranks is stopped or the network between them is cut.

MPI does not notice either of them: the other ranks would wait until the time limit of the job.
"""

from __future__ import annotations

import faulthandler
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hpcsolve.errors import EnvironmentFault

SECONDS_TO_END = 10.0
"""Time that the error has to end all ranks. Then this process ends at once, whatever holds it up, with exit code 1."""
STANDARD_ERROR = 2


class Watchdog:
    """A thread that raises an error, which ends all ranks (`launch.guard`), when there was no progress for too long.

    Parameters
    ----------
    seconds
        The longest time without progress.
    name
        This process, for the message.
    """

    def __init__(self, seconds: float, name: str) -> None:
        self._seconds, self._name = seconds, name
        self._last, self._over = time.monotonic(), threading.Event()

    def note_progress(self) -> None:
        """Begin to wait anew."""
        self._last = time.monotonic()
        # For calls that keep Python from running, such as a write to a disk that hangs.
        faulthandler.dump_traceback_later(self._seconds + SECONDS_TO_END, exit=True, file=STANDARD_ERROR)

    def start(self) -> None:
        """Begin to wait for progress."""
        self.note_progress()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Wait no longer."""
        self._over.set()
        faulthandler.cancel_dump_traceback_later()

    def _watch(self) -> None:
        """Print all stacks of this process and raise `EnvironmentFault` when there was no progress for too long."""
        while (left := self._last + self._seconds - time.monotonic()) > 0:
            if self._over.wait(left):
                return
        faulthandler.dump_traceback(file=STANDARD_ERROR)
        raise EnvironmentFault(f"{self._name} has made no progress for {self._seconds:g} s (--hang-timeout): a rank or "
                               "the network does not answer, or a piece of work takes longer; the stacks are above")


@contextmanager
def watched(seconds: float | None, name: str) -> Iterator[Watchdog | None]:
    """Provide a watchdog for the block, or None if there is no limit to the seconds without progress."""
    if seconds is None:
        yield None
        return
    watchdog = Watchdog(seconds, name)
    watchdog.start()
    try:
        yield watchdog
    finally:
        watchdog.stop()
