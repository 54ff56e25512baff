"""Signals that ask a command to stop: Ctrl-C, SIGTERM and SIGUSR1, which Slurm sends before a job's time is over.

A command takes them in four ways, one after the other.

- `hpcsolve/__main__.py` blocks them before its first import, since they would end the process there.
- `signals_raise`: until the search begins they raise an exception in the main thread. So the command stops at once,
  even while it waits for a compiler or for a file system that does not answer. There is nothing to keep yet: exit code
  130 after Ctrl-C, else 75.
- `Held`: while the ranks join MPI, and when they end, the signals stay pending, since a rank that left alone there
  would leave the others waiting (launch.py).
- `Interrupts`: in the search they are noted, and it ends at its next boundary with what it has.

In a Python program `hpcsolve.solve` notes Ctrl-C in its search, and leaves the other signals alone.

Two threads end a rank that would wait forever. A rank that waits for a message looks for it in shared memory. Neither
MPICH nor Open MPI tells it that the launcher is gone, and the launcher on the first host waits until the rank has
closed its output (`end_with_parent`). MPI_Init waits for all ranks, and MPICH does not tell it that one of them has
ended before (`limited_start`).
"""

from __future__ import annotations

import functools
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

from hpcsolve.errors import EnvironmentFault, HpcsolveError, Stopped
from hpcsolve.parallel import environment
from hpcsolve.wording import warn

CTRL_C = (signal.SIGINT,)
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""The signals that stop a command."""
INTERRUPTED = 130
"""Exit code of a command that Ctrl-C has ended at once, the one that shells use."""
INTERRUPTED_LINE = "hpcsolve: interrupted"
"""Its last line on standard error."""
_IMPORTING = "<frozen importlib._bootstrap>"
"""The file of Python's functions that import modules, as their frames name it."""
SECONDS_BETWEEN_LOOKS = 0.02
"""Time after which a rank looks again whether its import has ended."""
SECONDS_TO_HANDLE = 1.0
"""Time after which a signal that the main thread has not handled is sent to it again."""
SAME_PRESS = 0.5
"""Seconds within which Ctrl-C is taken as the same press, which a terminal and a launcher may both pass on."""
SECONDS_BETWEEN_LOOKS_AT_PARENT = 0.5
SECONDS_TO_START = 300.0
"""Time that MPI has to start, from the moment at which this rank is ready. Others may still read or compile."""
SECONDS_TO_START_AFTER_SIGNAL = 4.0
"""Time that MPI has to start if this rank was asked to stop, since the other ranks then end in good order too."""
RANK_0_HEAD_START = 2.0
"""Seconds that the other ranks wait while rank 0 prints the reason of the end, because their exit may kill it."""


class Terminated(KeyboardInterrupt):
    """A signal other than Ctrl-C, which it names, has asked the command to stop before its search."""


def asked_by(number: int) -> KeyboardInterrupt:
    """Return the exception for a signal that asks to stop."""
    return KeyboardInterrupt() if number == signal.SIGINT else Terminated(signal.Signals(number).name)


def exit_code_of_signal(stop: KeyboardInterrupt) -> int:
    """Return the exit code of a command that such an exception ends."""
    return Stopped.exit_code if isinstance(stop, Terminated) else INTERRUPTED


def line_of(stop: KeyboardInterrupt) -> str:
    """Return the last line of a command that such an exception ends."""
    return f"hpcsolve: stopped by {stop}; run the same command again" if str(stop) else INTERRUPTED_LINE


@contextmanager
def signals_raise() -> Iterator[None]:
    """Let the signals raise exceptions in the main thread while the block runs.

    SIGTERM and SIGUSR1 are left alone where the program ignores them or handles them itself. After the block the
    signals are blocked and handled as before it. In another thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = (interrupt, signal.SIG_DFL)
    taken = [number for number in STOPPING if number == signal.SIGINT or signal.getsignal(number) in ours]
    previous = {number: signal.signal(number, interrupt) for number in taken}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        with _sent_again():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)  # takes those that are pending
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in previous.items():
            signal.signal(number, handler)


_handled = 0.0
"""The moment of the last call of `interrupt`, by the monotonic clock."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise the exception for a signal. During an import end the process at once instead.

    The initialization of C extensions does not expect an exception: numpy's turns it into another one or crashes. A
    rank must not end alone, so for one of several the signal comes again until the import is over.
    """
    global _handled
    _handled, stop = time.monotonic(), asked_by(number)
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            if environment.started_by_launcher(os.environ):
                threading.Timer(SECONDS_BETWEEN_LOOKS, os.kill, (os.getpid(), number)).start()
                return
            os.write(2, f"{line_of(stop)}\n".encode())
            os._exit(exit_code_of_signal(stop))
        frame = frame.f_back
    raise stop


@contextmanager
def _sent_again() -> Iterator[None]:
    """Send a signal to the main thread again, while the block runs, until `interrupt` has been called for it.

    Python notes a signal and calls its handler later. If it comes in the microseconds before a system call that waits,
    or if another thread takes it, the call goes on as if there were none, and may never return.
    """
    global _passed_on
    _passed_on = signal.set_wakeup_fd(_watched_pipe(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(_passed_on)


_passed_on = -1
"""Where the numbers of signals were written before, or -1."""


@functools.cache
def _watched_pipe() -> int:
    """Return the end of a pipe into which the numbers of signals are written. A thread reads them.

    The thread never ends, since a thread that does loads a library first, and where there is no room for it glibc ends
    the process.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def watch() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        while noted := os.read(reader, 1):  # the number of a signal, whichever thread has taken it
            if _passed_on != -1:
                os.write(_passed_on, noted)
            time.sleep(SECONDS_TO_HANDLE)
            late = noted[0] in STOPPING and time.monotonic() - _handled > 2 * SECONDS_TO_HANDLE
            if late and signal.getsignal(noted[0]) is interrupt:
                signal.pthread_kill(threading.main_thread().ident or 0, noted[0])

    threading.Thread(target=watch, name="signals", daemon=True).start()
    return writer


def let_kill(*signals: signal.Signals) -> None:
    """Let signals end this process at once, where `signals_raise` has taken them over."""
    for number in signals:
        if signal.getsignal(number) is interrupt:
            signal.signal(number, signal.SIG_DFL)


class Held:
    """Signals that are kept for later, while they must not raise anything.

    Attributes
    ----------
    asked
        The exception for the first signal, or for Ctrl-C if that has come too; None if there was none.
    """

    def __init__(self) -> None:
        self.asked: KeyboardInterrupt | None = None

    def hold(self) -> None:
        """Keep signals from now on. They stay pending, or are noted if a thread of a library takes them."""
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        for number in STOPPING:
            if signal.getsignal(number) is interrupt:
                signal.signal(number, self.note)

    def note(self, number: int, frame: FrameType | None = None) -> None:
        """Note a signal."""
        if self.asked is None or number == signal.SIGINT:
            self.asked = asked_by(number)

    def let_through(self) -> None:
        """Raise the exceptions again, at once for signals that have come meanwhile."""
        for number in STOPPING:
            if signal.getsignal(number) == self.note:
                signal.signal(number, interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        if self.asked is not None:
            raise self.asked


def end_with_parent() -> None:
    """Start a thread that ends this process when its parent, the process of the launcher on its host, has ended.

    Without a launcher this process may outlive its parent, and no thread is started.
    """
    parent = os.getppid()

    def watch() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # the main thread is to take them
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS_AT_PARENT)
        _end_process(EnvironmentFault.exit_code, f"{_this_rank()}: the launcher (process {parent}) has ended")

    if environment.started_by_launcher(os.environ):
        threading.Thread(target=watch, name="parent", daemon=True).start()


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


def _watch_start(failure: BaseException | None, held: Held, over: threading.Event) -> None:
    began, left = time.monotonic(), SECONDS_TO_START
    if isinstance(failure, KeyboardInterrupt):
        held.asked = failure
    asked = held.asked
    while left > 0:
        taken = signal.sigtimedwait(STOPPING, min(left, SECONDS_BETWEEN_LOOKS_AT_PARENT))
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
    _end_process(fault.exit_code, f"{_this_rank()}: {fault}")


def _this_rank() -> str:
    return f"rank {environment.announced_rank(os.environ)} on {socket.gethostname()}"


def _end_process(code: int, line: str) -> None:
    warn(f"hpcsolve: error: {line}")
    os._exit(code)


class Interrupts:
    """Notes signals while its block runs, so that the run can end soon with a checkpoint or the best answer so far.

    A second Ctrl-C raises `KeyboardInterrupt`. A signal that is ignored, or that the program handles itself, is left
    alone, and so are all signals outside of the main thread. The previous handlers are set again after the block.

    Parameters
    ----------
    signals
        The signals to note.
    message
        Printed on standard error at the first of them.
    clock
        Returns seconds that never run backwards.
    """

    def __init__(
        self, signals: tuple[signal.Signals, ...], message: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._signals, self._message, self._clock = signals, message, clock
        self._first: float | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def noted(self) -> bool:
        """Return whether one of the signals has come."""
        return self._first is not None

    def __enter__(self) -> Interrupts:
        """Take the signals over."""
        if threading.current_thread() is threading.main_thread():
            ours = (interrupt, signal.default_int_handler, signal.SIG_DFL)
            taken = [number for number in self._signals if signal.getsignal(number) in ours]
            self._previous = {number: signal.signal(number, self._note) for number in taken}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
                 ) -> None:
        """Give the signals back."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = self._clock()
        if self._first is None:
            self._first = now
            if self._message:  # not by `warn`: the signal may have come in the middle of a print
                with suppress(OSError):
                    os.write(2, f"{self._message}\n".encode())
        elif number == signal.SIGINT and now - self._first > SAME_PRESS:
            raise KeyboardInterrupt
