"""Ctrl-C and SIGTERM in a run that has an answer which should not be lost."""

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
CTRL_C_AND_TERM = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
SAME_PRESS = 0.5
"""Seconds within which Ctrl-C is taken as the same press, which a terminal and a launcher may both pass on."""


class Interrupts:
    """Notes Ctrl-C and SIGTERM while its block runs, so that the run can end soon with the best answer so far.

    A second Ctrl-C raises `KeyboardInterrupt`. A signal that is ignored, or that the program handles itself, is left
    alone, and so are all signals outside of the main thread. The previous handlers come back after the block.

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
        return self._first is not None

    def __enter__(self) -> Interrupts:
        """Take the signals over."""
        if threading.current_thread() is threading.main_thread():
            ours = (signal.default_int_handler, signal.SIG_DFL)
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
            self._first = now
            if self._message:  # not by `warn`: the signal may have come in the middle of a print
                with suppress(OSError):
                    os.write(2, f"{self._message}\n".encode())
        elif number == signal.SIGINT and now - self._first > SAME_PRESS:
            raise KeyboardInterrupt
