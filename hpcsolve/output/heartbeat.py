"""Prints a line every few seconds in a long phase, so that no user waits in front of a silent screen."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERVAL = 5.0
"""Seconds between two lines."""

Say = Callable[[str], None]
"""A function that takes a line and may print it, such as `Log.say`."""


def say_nothing(line: str) -> None:
    """Print nothing."""


@contextmanager
def heartbeat(say: Say, line: Callable[[float], str], interval: float = INTERVAL) -> Iterator[None]:
    """Print a line every few seconds while the block runs, from a thread of its own.

    Parameters
    ----------
    line
        Returns the line, or "" for none, given the seconds since the block began. Called in that thread.
    """
    ended, started = threading.Event(), time.monotonic()

    def beat() -> None:
        while not ended.wait(interval):
            text = line(time.monotonic() - started)
            if text:
                say(text)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
