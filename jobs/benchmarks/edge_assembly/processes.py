"""Start a solver as a process of its own, and read its lines with the CPU seconds that it had used when it wrote them.

The lines go through a pseudo-terminal, since a C program keeps what it writes into a pipe until its buffer is full.
Linux only: the CPU clock of another process and its peak memory are read from the kernel.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import tempfile
import time
import tty
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.errors import EnvironmentFault

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
"""Variables of the environment with which libraries start no threads."""
UNWANTED = ("PYTHONDONTWRITEBYTECODE",)
"""Variables that a process does not inherit: with this one it would compile hpcsolve's modules anew."""
_POLL = 0.05
"""Seconds between two looks at the CPU time of a process that writes nothing."""


@dataclass(frozen=True)
class Watched:
    """What a process wrote and used.

    Attributes
    ----------
    lines
        Each line with the CPU seconds, user and system, that the process had used when it was read.
    cpu
        CPU seconds of the whole process and of its own children, from its start to its end.
    peak
        Peak of its resident memory in MiB, as it was when the last line was read or later.
    stopped
        Whether it was ended at its limit.
    """

    lines: tuple[tuple[float, str], ...]
    cpu: float
    peak: float
    stopped: bool


def watch(command: Sequence[str | Path], seconds: float, folder: Path | None = None) -> Watched:
    """Run a command to its end, or end it after so many CPU seconds.

    Parameters
    ----------
    folder
        Working folder of the process; by default that of this one.

    Raises
    ------
    EnvironmentFault
        The command cannot be started, or fails; the message quotes the end of what it printed.
    """
    words = [str(word) for word in command]
    environment = {name: text for name, text in os.environ.items() if name not in UNWANTED}
    leader, follower = pty.openpty()
    tty.setraw(follower)
    with tempfile.TemporaryFile() as errors, os.fdopen(leader, "rb", buffering=0) as output:
        try:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=follower, stderr=errors, cwd=folder,
                                       env={**environment, **ONE_THREAD})
        except OSError as error:
            raise EnvironmentFault(f"{words[0]} cannot be started: {error}") from error
        finally:
            os.close(follower)
        reader = _Reader(process.pid, output.fileno())
        try:
            stopped = reader.read(seconds)
        except BaseException:
            process.kill()
            process.wait()
            raise
        if stopped:
            process.kill()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in ((0, -signal.SIGKILL) if stopped else (0,)):
            errors.seek(0)
            printed = errors.read().decode(errors="replace").strip() or "\n".join(text for _, text in reader.lines)
            raise EnvironmentFault(f"{' '.join(words)} ended with exit code {process.returncode}: {printed[-2000:]}")
    cpu = max(used.ru_utime + used.ru_stime, reader.cpu)  # which is rounded down to 1 us
    return Watched(tuple(reader.lines), cpu, reader.peak, stopped)


class _Reader:
    """Reads the lines of a process."""

    def __init__(self, pid: int, output: int) -> None:
        self._pid, self._output, self._rest = pid, output, b""
        self.lines: list[tuple[float, str]] = []
        self.cpu = self.peak = 0.0

    def read(self, seconds: float) -> bool:
        """Read until the output ends or the process has used so many CPU seconds, and return whether it has."""
        while self.cpu < seconds:
            ready, _, _ = select.select([self._output], [], [], _POLL)
            self.cpu = _cpu_seconds(self._pid, self.cpu)
            self.peak = max(self.peak, _peak_memory(self._pid))
            if ready:
                try:
                    got = os.read(self._output, 1 << 16)
                except OSError:  # EIO: the other end is closed
                    got = b""
                if not got:
                    return False
                *whole, self._rest = (self._rest + got).split(b"\n")
                self.lines += [(self.cpu, line.decode(errors="replace").rstrip("\r")) for line in whole]
        return True


def _cpu_seconds(pid: int, before: float) -> float:
    """Return the CPU seconds of all threads of a process, or `before` if it has just ended."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid makes it; to 1 ns
    except OSError:
        return before


def _peak_memory(pid: int) -> float:
    """Return the peak of a process's resident memory in MiB, 0 if it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)
