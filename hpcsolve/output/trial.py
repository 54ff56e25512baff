"""Tries files without a seal in a child process first, since damaged bytes can crash libhdf5 and the process with it.

A file loses its seal when another tool opens it to change it, or when its end is cut off. Files of early versions of
hpcsolve have none either. So a file without a seal is read all the same, if libhdf5 survives that.
"""

from __future__ import annotations

import os
import signal
import subprocess
from functools import lru_cache

from hpcsolve.errors import DamagedFileError
from hpcsolve.isolated import python_command

PROGRAM = """
import resource, sys, time
name, seconds = sys.argv[1:]
from hpcsolve.output.reader import read_all
end = int(time.process_time()) + int(seconds)
resource.setrlimit(resource.RLIMIT_CPU, (end, end + 1))
read_all(name)
"""
"""What the child runs."""
SECONDS = 60.0
"""Time that the child has for a small file, whose disk may be slow."""
CPU_SECONDS = 2
"""CPU time that it has for a small file, imports apart. A damaged file may keep libhdf5 busy for ever."""
BYTES_A_SECOND = 1 << 24
"""Pace at which the child reads a large file, at least."""


def require_readable(name: str) -> None:
    """Make sure that libhdf5 can read a file without a crash, by letting a child process read it.

    Raises
    ------
    DamagedFileError
        libhdf5 crashes when it reads this file, or does not come to an end. Errors that it reports are ignored, since
        the caller meets them again.
    """
    state = os.stat(name)
    if said := _failure(os.path.abspath(name), state.st_size, state.st_mtime_ns):
        raise DamagedFileError(f"{name}: damaged: {said}")


@lru_cache(maxsize=1000)  # a command opens a file several times, and one trial of the same bytes is enough
def _failure(path: str, size: int, changed: int) -> str:
    """Return what went wrong in the child, or an empty text. `changed` is the time of the last change."""
    timeout, cpu_seconds = SECONDS + size / BYTES_A_SECOND, CPU_SECONDS + size // BYTES_A_SECOND
    command = python_command(PROGRAM, path, str(cpu_seconds))
    try:
        code = subprocess.run(command, capture_output=True, timeout=timeout, check=False).returncode
    except subprocess.TimeoutExpired:
        return f"libhdf5 did not read it within {timeout:.0f} s"
    if code == -signal.SIGXCPU:
        return f"libhdf5 did not read it within {cpu_seconds} s of CPU time"
    return f"libhdf5 crashes when it reads it ({signal.Signals(-code).name})" if code < 0 else ""
