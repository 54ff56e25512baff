"""Ends a rank that would wait forever: its launcher has ended, or MPI does not start.

A rank that waits for a message looks for it in shared memory. Neither MPICH nor Open MPI tells it that the launcher is
gone, and the launcher on the first host waits until the rank has closed its output. MPI_Init waits for all ranks, and
MPICH does not tell it that one of them has ended before.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from hpcsolve.errors import EnvironmentFault, HpcsolveError
from hpcsolve.parallel import environment
from hpcsolve.parallel.interrupts import STOPPING, Held, exit_code_of_signal, line_of
from hpcsolve.parallel.printing import warn

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_START = 300.0
"""Time that MPI has to start, from the moment at which this rank is ready. Others may still read or compile."""
SECONDS_TO_START_AFTER_SIGNAL = 4.0
"""Time that MPI has to start if this rank was asked to stop, since the other ranks then end in good order too."""
RANK_0_HEAD_START = 2.0
"""Seconds that the other ranks wait while rank 0 prints the reason of the end, because their exit may kill it."""


def end_with_parent() -> None:
    """Start a thread that ends this process when its parent, the process of the launcher on its host, has ended.

    Without a launcher this process may outlive its parent, and no thread is started.
    """
    if environment.started_by_launcher(os.environ):
        parent = os.getppid()
        threading.Thread(target=_watch_parent, args=(parent,), name="parent", daemon=True).start()


@contextmanager
def limited_start(failure: BaseException | None, held: Held) -> Iterator[None]:
    """End this process if the block, in which MPI starts, takes too long.

    Parameters
    ----------
    failure
        What has ended the work of this rank before, or None.
    held
        Keeps the signals, which are noted there.
    """
    over = threading.Event()
    if environment.started_by_launcher(os.environ):
        threading.Thread(target=_watch_start, args=(failure, held, over), name="start", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _watch_parent(parent: int) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # the main thread is to take them
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    _end(EnvironmentFault.exit_code, f"{_this_rank()}: the launcher (process {parent}) has ended")


def _watch_start(failure: BaseException | None, held: Held, over: threading.Event) -> None:
    began, left = time.monotonic(), SECONDS_TO_START
    if isinstance(failure, KeyboardInterrupt):
        held.asked = failure
    asked = held.asked
    while left > 0:
        taken = signal.sigtimedwait(STOPPING, min(left, SECONDS_BETWEEN_LOOKS))
        if over.is_set():
            if taken is not None:
                os.kill(os.getpid(), taken.si_signo)  # it was not meant for this thread any more
            return
        if taken is not None:
            held.note(taken.si_signo)
        if asked is None and held.asked is not None:
            asked, began = held.asked, time.monotonic()
        left = began + (SECONDS_TO_START if asked is None else SECONDS_TO_START_AFTER_SIGNAL) - time.monotonic()
    if environment.announced_rank(os.environ) != 0 and over.wait(RANK_0_HEAD_START):
        return
    if held.asked is not None:
        warn(line_of(held.asked))
        os._exit(exit_code_of_signal(held.asked))
    late = f"MPI has not started within {SECONDS_TO_START:g} s: another rank has ended, or is not ready"
    fault = failure if isinstance(failure, HpcsolveError) else EnvironmentFault(late)
    _end(fault.exit_code, f"{_this_rank()}: {fault}")


def _this_rank() -> str:
    return f"rank {environment.announced_rank(os.environ)} on {socket.gethostname()}"


def _end(code: int, line: str) -> None:
    warn(f"hpcsolve: error: {line}")
    os._exit(code)
