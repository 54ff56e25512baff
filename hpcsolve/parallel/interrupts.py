"""Signals that ask a run to stop: Ctrl-C, SIGTERM and SIGUSR1, which Slurm sends before a job's time is over.

The command line blocks them before its first import (`hpcsolve/__main__.py`), since a signal during an import would end
the process. Ctrl-C is let through again once the command begins. The others stay pending, and the run looks for them at
its boundaries (`Interrupts.noted`). Children inherit blocked signals, so compilers unblock them (device/build.py). In a
Python program nothing is blocked: `hpcsolve.solve` notes Ctrl-C by a handler, and leaves the others alone.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

CTRL_C = (signal.SIGINT,)
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""The signals that stop a run of the command line."""
INTERRUPTED = 130
"""Exit code of a command that Ctrl-C has ended at once, the one that shells use."""
INTERRUPTED_LINE = "hpcsolve: interrupted"
"""Its last line on standard error."""
_IMPORTING = "<frozen importlib._bootstrap>"
"""The file of Python's functions that import modules, as their frames name it."""
SAME_PRESS = 0.5
"""Seconds within which Ctrl-C is taken as the same press, which a terminal and a launcher may both pass on."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise `KeyboardInterrupt`, but end the process at once if Ctrl-C comes during an import.

    The initialization of C extensions does not expect an exception: numpy's turns it into another one or crashes.
    """
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            os.write(2, f"{INTERRUPTED_LINE}\n".encode())
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


def release(*signals: signal.Signals) -> None:
    """Unblock signals in this thread, which takes those that are pending."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


class Interrupts:
    """Notes signals while its block runs, so that the run can end soon with a checkpoint or the best answer so far.

    A second Ctrl-C raises `KeyboardInterrupt`. A signal that is ignored, or that the program handles itself, is left
    alone, and so are all signals outside of the main thread. The previous handlers are set again after the block.

    Parameters
    ----------
    signals
        The signals to note.
    message
        Printed on standard error at the first of them.
    clock
        Returns seconds that never run backwards.
    """

    def __init__(
        self, signals: tuple[signal.Signals, ...], message: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._signals, self._message, self._clock = signals, message, clock
        self._first: float | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def noted(self) -> bool:
        """Return whether one of the signals has come."""
        if self._first is None and pending(self._signals):
            self._begin(self._clock())
        return self._first is not None

    def __enter__(self) -> Interrupts:
        """Take the signals over."""
        if threading.current_thread() is threading.main_thread():
            ours = (interrupt, signal.default_int_handler, signal.SIG_DFL)
            taken = [number for number in self._signals if signal.getsignal(number) in ours]
            self._previous = {number: signal.signal(number, self._note) for number in taken}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
                 ) -> None:
        """Give the signals back."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = self._clock()
        if self._first is None:
            self._begin(now)
        elif number == signal.SIGINT and now - self._first > SAME_PRESS:
            raise KeyboardInterrupt

    def _begin(self, now: float) -> None:
        self._first = now
        if self._message:  # not by `warn`: the signal may have come in the middle of a print
            with suppress(OSError):
                os.write(2, f"{self._message}\n".encode())


def pending(signals: tuple[signal.Signals, ...] = STOPPING) -> bool:
    """Return whether any of these signals has come while it was blocked."""
    return not signal.sigpending().isdisjoint(signals)
