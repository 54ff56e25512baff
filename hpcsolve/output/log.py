"""The lines that a run prints: rank 0 on standard output, and with `--log-dir` every rank in a file of its own."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from hpcsolve.errors import EnvironmentFault
from hpcsolve.parallel.printing import show, warn


class Log:
    """Prints lines for people, and keeps them in a file.

    Parameters
    ----------
    rank
        Only rank 0 prints.
    quiet
        Print the answer alone.
    folder
        For one file per rank; None: no files.
    """

    def __init__(self, rank: int = 0, quiet: bool = False, folder: str | None = None) -> None:
        self.prints = rank == 0
        self.quiet = quiet
        self._file: IO[str] | None = None
        if folder is not None:
            self._file = _open(Path(folder) / f"rank-{rank:04d}.log")

    def say(self, line: str) -> None:
        """Print a line about the run."""
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise EnvironmentFault(f"{path}: cannot be written: {error.strerror}; choose another --log-dir") from None
