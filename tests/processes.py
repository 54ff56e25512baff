"""Runs as processes: which of them work in a folder, when they are gone, and runs that get signals."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

SECONDS_TO_BE_GONE = 10.0
"""Time in which all processes of a job must end after one of them was killed."""


def processes(folder: Path, word: bytes = b"", variable: str = "") -> list[int]:
    """Return the processes that work in a folder: the launcher, its helpers and all ranks.

    Parameters
    ----------
    word, variable
        Only those with this word in their command, and with this variable in their environment (`PMI_RANK=1`).
    """
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            if os.readlink(entry / "cwd") == str(folder) and command and word in command and (
                    not variable or variable.encode() in (entry / "environ").read_bytes().split(b"\0")):
                found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str] | None = None) -> None:
    """Wait until a condition is true, which a busy machine may take a while for, while a process goes on."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end and (process is None or process.poll() is None), "it never came true"
        time.sleep(0.02)


def wait_until_gone(folder: Path) -> None:
    """Wait until no process works in a folder. If that takes too long, kill them and fail."""
    deadline = time.monotonic() + SECONDS_TO_BE_GONE
    while left := processes(folder):
        if time.monotonic() > deadline:
            lines = [Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode() for number in left]
            for number in left:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            raise AssertionError(f"these live on: {lines}")
        time.sleep(0.05)


def signalled(command: Sequence[str | Path], folder: Path, *signals: tuple[float, int], to: int | str | None = None,
              after: str = "memory:") -> tuple[int, list[str], str]:
    """Start a run, send signals, each some seconds after the one before, and return exit code, lines and errors.

    Parameters
    ----------
    to
        None for the process itself, the number of a rank, or "all" processes of the terminal, as Ctrl-C does.
    after
        The first signal's seconds count from the line that begins so.
    """
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith(after):
                break
        for seconds, number in signals:
            time.sleep(seconds)
            if isinstance(to, int):
                os.kill(*processes(folder, variable=f"PMI_RANK={to}"), number)
            else:
                os.kill(-process.pid if to == "all" else process.pid, number)
        try:
            output, errors = process.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, [*lines, *output.splitlines(keepends=True)], errors
