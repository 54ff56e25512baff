"""The lines of a run: rank 0 prints them on standard output, and with `--log-dir` each rank writes them to a file."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from hpcsolve.errors import EnvironmentFault
from hpcsolve.parallel.printing import show, warn
from hpcsolve.replacing import require_replaceable
from hpcsolve.wording import visible


class Log:
    """Prints the lines of a run, and writes them to a log file.

    Parameters
    ----------
    rank
        Only rank 0 prints.
    quiet
        Print nothing but the answer.
    folder
        Folder of the log files, one per rank, or None for no files.
    """

    def __init__(self, rank: int = 0, quiet: bool = False, folder: str | None = None) -> None:
        self.prints = rank == 0
        self.quiet = quiet
        self._file: IO[str] | None = None
        if folder is not None:
            self._file = _open(Path(folder) / f"rank-{rank:04d}.log")

    def say(self, line: str) -> None:
        """Print a line about the run, unless quiet."""
        self._write(line, self.prints and not self.quiet)

    def answer(self, line: str) -> None:
        """Print a line of the answer, which `--quiet` does not hide."""
        self._write(line, self.prints)

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


def _open(path: Path) -> IO[str]:
    """Open a log file to append to it. A link is refused, since lines would be added to a file of another name."""
    require_replaceable(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        return open(handle, "a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise EnvironmentFault(f"{path}: cannot be written: {error.strerror}; choose another --log-dir") from None
