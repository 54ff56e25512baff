"""What a run prints: its lines, its progress, and in a long phase a line every few seconds.

Rank 0 prints the lines on standard output, and with `--log-dir` each rank writes them to a file. Progress is a bar on a
terminal, elsewhere a line every few seconds with the time that is left.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from hpcsolve.errors import EnvironmentFault
from hpcsolve.output.json_text import json_text
from hpcsolve.replacing import require_replaceable
from hpcsolve.wording import show, visible, warn

INTERVAL = 5.0
"""Seconds between two lines."""
Say = Callable[[str], None]
"""A function that takes a line and may print it, such as `Log.say`."""
BAR, BAR_OF_UNKNOWN = "{percentage:3.0f}%|{bar}| {elapsed}<{remaining} {postfix}", "{elapsed} {postfix}"
"""What tqdm shows where the amount of work is known, and where it is unknown."""
SCREEN = (80, 24)
"""Columns and rows of a terminal that does not say how large it is, as in containers and over serial lines."""


class Log:
    """Prints the lines of a run, and writes them to a log file.

    Parameters
    ----------
    rank
        Only rank 0 prints.
    quiet
        Print nothing but the answer.
    as_json
        Print the answer as JSON alone (`values`), in place of its lines.
    folder
        Folder of the log files, one per rank, or None for no files.
    """

    def __init__(self, rank: int = 0, quiet: bool = False, folder: str | None = None, as_json: bool = False) -> None:
        self.prints = rank == 0
        self.quiet = quiet or as_json
        self.as_json = as_json
        self._file: IO[str] | None = None
        if folder is not None:
            self._file = opened(Path(folder) / f"rank-{rank:04d}.log")

    def say(self, line: str) -> None:
        """Print a line about the run, unless quiet."""
        self._write(line, self.prints and not self.quiet)

    def answer(self, line: str) -> None:
        """Print a line of the answer, which `--quiet` does not hide."""
        self._write(line, self.prints and not self.as_json)

    def values(self, values: Mapping[str, Any]) -> None:
        """Print the answer as JSON, if it is asked for."""
        if self.prints and self.as_json:
            show(json_text(values))

    def note(self, line: str) -> None:
        """Write a line to this rank's file only."""
        self._write(line, False)

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()
            self._file = None

    def _write(self, line: str, on_screen: bool) -> None:
        line = visible(line).replace("\n", " ")  # names come from files
        if on_screen:
            show(line)
        if self._file:
            self._write_to_file(self._file, line)

    def _write_to_file(self, file: IO[str], line: str) -> None:
        """Write a line to the file. If the disk is full the log ends, and the run goes on."""
        try:
            print(time.strftime("%Y-%m-%dT%H:%M:%S"), line, file=file, flush=True)
        except OSError as error:
            self._file = None
            warn(f"hpcsolve: {file.name}: {error.strerror}; the log ends here, the run goes on")
            with suppress(OSError):
                file.close()


def opened(path: Path) -> IO[str]:
    """Open a log file to append to it. A link is refused, since lines would be added to a file of another name."""
    require_replaceable(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        return open(handle, "a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise EnvironmentFault(f"{path}: cannot be written: {error.strerror}; choose another --log-dir") from None


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
        self.tqdm_bar: Any = None
        self._beats = ExitStack()
        if log.prints and not log.quiet and stream is not None and stream.isatty():
            from tqdm import tqdm

            columns, rows = screen_of(stream)
            self.tqdm_bar = tqdm(total=1.0, file=stream, leave=False, bar_format=BAR, ncols=columns, nrows=rows)
        else:
            self._beats.enter_context(heartbeat(log.say, lambda _: self._due()))

    def __call__(self, done: float, message: str = "") -> None:
        """Show that the fraction `done` of all work, 0 to 1 or `UNKNOWN`, is done."""
        if self.tqdm_bar is not None:
            self.tqdm_bar.bar_format = BAR if done >= 0 else BAR_OF_UNKNOWN
            self.tqdm_bar.set_postfix_str(message, refresh=False)
            self.tqdm_bar.update(max(0.0, min(done, 1.0) - self.tqdm_bar.n))
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
        if self.tqdm_bar is not None:
            self.tqdm_bar.close()


def screen_of(stream: IO[str]) -> tuple[int, int]:
    """Return columns and rows of a terminal, `SCREEN` where it does not say them: tqdm shows no bar in 0 rows."""
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):  # it has no file, or is none
        columns = rows = 0
    return columns or SCREEN[0], rows or SCREEN[1]


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
