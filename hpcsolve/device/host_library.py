"""Loads compiled kernel libraries, whose idle OpenMP threads must sleep."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from contextlib import suppress
from pathlib import Path

from hpcsolve.errors import ResourceError
from hpcsolve.wording import counted


def open_library(path: Path, threads: int) -> ctypes.CDLL:
    """Load a compiled library whose idle threads sleep.

    OpenMP reads OMP_WAIT_POLICY once, when the first library loads it. Without the variable, idle threads spin for
    milliseconds after each launch, and an ant colony on 4 threads took 30 times the CPU time. What the user has set
    stays.
    """
    if "OMP_WAIT_POLICY" in os.environ:
        return ctypes.CDLL(str(path))
    if threads > 1:
        _warn_of_spinning(path.parent)
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        return ctypes.CDLL(str(path))
    finally:
        del os.environ["OMP_WAIT_POLICY"]  # the environment is the calling program's


def start_threads(library: ctypes.CDLL, threads: int) -> None:
    """Start OpenMP's threads, which all launches from this thread use.

    OpenMP's library ends the process where a thread cannot be started, with exit code 1. So Python starts as many
    before, all at the same time, and OpenMP's take their place at once, before anything else takes the memory.

    Raises
    ------
    ResourceError
        They cannot be started.
    """
    end, started = threading.Event(), []
    try:
        for _ in range(threads - 1):
            thread = threading.Thread(target=end.wait)
            thread.start()
            started.append(thread)
    except (RuntimeError, MemoryError):
        what = f"{counted(threads, 'thread')} cannot be started, only {len(started) + 1}"
        raise ResourceError(f"{what}: raise the limit of processes (ulimit -u, pids of the cgroup) or of memory "
                            f"(ulimit -v), or set threads = {len(started) + 1} in the job") from None
    finally:
        end.set()
        for thread in started:
            thread.join()
    if threads > 1:
        with suppress(AttributeError):  # another compiler's OpenMP
            parallel = library["GOMP_parallel"]  # of libgomp, which the library is linked with
            nothing = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p)
            parallel(nothing, None, ctypes.c_uint(threads), ctypes.c_uint(0))  # each thread calls free(NULL)


def _warn_of_spinning(folder: Path) -> None:
    """Warn if OpenMP was loaded without a policy before the first library of this folder: its threads will spin."""
    try:
        loaded = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if "/libgomp.so" in loaded and os.path.realpath(folder) not in loaded:
        text = "OpenMP was loaded before hpcsolve, so idle threads spin and take the cores of others: start the " \
               "program with OMP_WAIT_POLICY=passive in its environment"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
