"""Ends a rank whose parent, the process of the launcher on its host, has ended.

A rank that waits for a message looks for it in shared memory, and would do so forever: neither MPICH nor Open MPI tells
it that the launcher is gone, and the launcher on the first host waits until the rank has closed its output.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hpcsolve.parallel import environment
from hpcsolve.parallel.printing import warn

SECONDS_BETWEEN_LOOKS = 0.5
ORPHANED = 4
"""Exit code of a rank without a launcher, that of all faults of the environment."""
PR_SET_PDEATHSIG = 1
"""The operation of Linux's prctl that asks for a signal when the parent ends."""


def end_with_parent() -> int | None:
    """Start a thread that ends this process when its parent has ended.

    Returns
    -------
    int or None
        The parent, or None without a launcher: then this process may outlive its parent, and no thread is started.
    """
    if not environment.started_by_launcher(os.environ):
        return None
    parent = os.getppid()
    threading.Thread(target=_watch, args=(parent,), name="parent", daemon=True).start()
    return parent


@contextmanager
def killed_with(parent: int | None) -> Iterator[None]:
    """Let the system kill this process if its parent ends while the block runs, in which no other thread may run.

    MPI_Init and MPI_Finalize are such blocks. More is not asked for, since the system would do the same when only that
    thread of the parent ends which has started this process.
    """
    if parent is None:
        yield
        return
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        _end(parent)
    try:
        yield
    finally:
        prctl(PR_SET_PDEATHSIG, 0)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    _end(parent)


def _end(parent: int) -> None:
    rank = environment.announced_rank(os.environ)
    warn(f"hpcsolve: error: rank {rank} on {socket.gethostname()}: the launcher (process {parent}) has ended")
    os._exit(ORPHANED)
