"""Shows the progress of a run: on a terminal a bar, elsewhere a line every few seconds with the time that is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import IO, Any

from hpcsolve.output.heartbeat import INTERVAL, heartbeat
from hpcsolve.output.log import Log

BAR, BAR_OF_UNKNOWN = "{percentage:3.0f}%|{bar}| {elapsed}<{remaining} {postfix}", "{elapsed} {postfix}"
"""What tqdm shows where the amount of work is known, and where it is unknown."""


class Progress:
    """A `Report` (algorithms/base.py) that shows the progress. Most calls do nothing, so they are cheap.

    Where no call comes for a while, the last one is shown again with the time that has passed.

    Parameters
    ----------
    log
        Prints the lines. A log that does not print shows no progress.
    stream
        If this is a terminal, a bar is drawn on it instead.
    clock
        Returns seconds that never run backwards.
    """

    def __init__(
        self, log: Log, stream: IO[str] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        stream = sys.stderr if stream is None else stream  # the present one, which programs may have replaced
        self._log = log
        self._clock = clock
        self._started = self._shown = clock()
        self._last = 0.0, ""
        self._bar: Any = None
        self._beats = ExitStack()
        if log.prints and not log.quiet and stream is not None and stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=1.0, file=stream, leave=False, bar_format=BAR)
        else:
            self._beats.enter_context(heartbeat(log.say, lambda _: self._due()))

    def __call__(self, done: float, message: str = "") -> None:
        """Show that the fraction `done` of all work, 0 to 1 or `UNKNOWN`, is done."""
        if self._bar is not None:
            self._bar.bar_format = BAR if done >= 0 else BAR_OF_UNKNOWN
            self._bar.set_postfix_str(message, refresh=False)
            self._bar.update(max(0.0, min(done, 1.0) - self._bar.n))
            return
        self._last = done, message
        if line := self._due():
            self._log.say(line)

    def _due(self) -> str:
        """Return a line if it is time for one, else ""."""
        now = self._clock()
        if now - self._shown < INTERVAL:
            return ""
        self._shown = now
        return progress_line(self._last[0], now - self._started, self._last[1])

    def __enter__(self) -> Progress:
        """Return the progress itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Remove the bar, or end the lines."""
        self._beats.close()
        if self._bar is not None:
            self._bar.close()


def progress_line(done: float, seconds: float, message: str = "") -> str:
    """Return `42 % after 12 s, about 17 s to go`, or `after 12 s` if `done` is `UNKNOWN`."""
    end = f": {message}" if message else ""
    if done < 0:
        return f"after {duration(seconds)}{end}"
    left = f", about {duration(seconds * (1 - done) / done)} to go" if 0 < done <= 1 else ""
    return f"{100 * done:3.0f} % after {duration(seconds)}{left}{end}"


def duration(seconds: float) -> str:
    """Return a time in words: `0.031 s`, `12 s`, `3 min 20 s`, `2 h 05 min`."""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 100 else f"{hours / 24:.3g} days"
