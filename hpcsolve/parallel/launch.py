"""How a process joins the ranks of its run, and how all ranks end whatever happens on one of them.

Under every launcher that we tried, a rank that raises an error leaves the others waiting for its message until the time
limit. So an error is either agreed on or ends all ranks at once. With `agree` and `on_rank_0` every rank raises the
same error, one rank prints it in one line, and all exit with its code. Under `guard` any other exception prints its
traceback, rank and host, and calls MPI_Abort.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from hpcsolve.errors import EnvironmentFault, HpcsolveError, agree
from hpcsolve.memory import lack_of_memory
from hpcsolve.parallel import environment
from hpcsolve.parallel.interrupts import INTERRUPTED, INTERRUPTED_LINE
from hpcsolve.parallel.parent import end_with_parent, killed_with
from hpcsolve.parallel.printing import warn

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm
    from hpcsolve.parallel.mpi import MpiComm

T = TypeVar("T")

BUG = 70
"""Exit code of a bug in hpcsolve."""

STOPPED_EARLY = 75
"""Exit code of a run that was asked to stop: a checkpoint or the best answer is written (`EX_TEMPFAIL`: try again)."""

SECONDS_TO_AGREE = 4.0
"""Time that a rank with an error leaves the other ranks to end too."""

RANK_0_HEAD_START = 2.0
"""Seconds that the other ranks wait while rank 0 prints the reason of the end, because their exit may kill it."""


def join() -> Comm:
    """Return the communicator of this run, a `SerialComm` for one process and an `MpiComm` under a launcher.

    MPI is imported only under a launcher.

    Raises
    ------
    EnvironmentFault
        If the launcher started more processes than MPI finds (the launcher of another MPI, or `srun --mpi=none`), or
        mpi4py or its MPI library is missing.
    """
    if not environment.started_by_launcher(os.environ):
        from hpcsolve.parallel.comm import SerialComm  # brings numpy

        return SerialComm()
    return _join_mpi()


def _join_mpi() -> MpiComm:
    environment.set_quiet_waiting()
    try:
        from hpcsolve.parallel.mpi import MpiComm, mpi_library, speaks_pmix  # brings mpi4py

        if environment.pmix_only(os.environ) and not speaks_pmix():
            raise EnvironmentFault(
                f"started by a PMIx launcher (Open MPI's mpiexec or srun --mpi=pmix), which {mpi_library()} does not "
                f"support: use {_right_command(mpi_library())}"
            )
        comm = MpiComm()
    except (ImportError, RuntimeError) as error:  # RuntimeError: the library is missing or did not start
        raise EnvironmentFault(
            f"started as one of several ranks, but MPI cannot be used from Python ({_one_line(error)}): "
            "run `pip install mpi4py` with this machine's MPI, or `pip install mpi4py mpich` on a workstation"
        ) from error
    problem = mismatch(comm.size, comm.mpi_library)
    if problem:
        comm.finalize()
        raise EnvironmentFault(problem)
    return comm


def mismatch(size: int, library: str) -> str:
    """Say in what `size`, the number of ranks that an MPI library finds, contradicts this process's launcher.

    The launcher of another MPI starts N processes that each believe to be rank 0 of 1. The same run would then be made
    N times, and all of them would write the same file.

    Returns
    -------
    str
        The contradiction and what to do about it, empty if there is none.
    """
    sizes = environment.announced_sizes(os.environ)
    if not sizes or (size in sizes.values() and (size > 1 or max(sizes.values()) == 1)):
        return ""
    name, announced = max(sizes.items(), key=lambda item: item[1])
    launcher = environment.LAUNCHERS.get(name, "srun")
    return (
        f"{launcher} started {announced} processes ({name}={announced}), but the MPI library of each, {library}, finds "
        f"{size}: the launcher belongs to another MPI; use {_right_command(library)}"
    )


def _right_command(library: str) -> str:
    """Return the launcher to use with an MPI library."""
    if "Open MPI" in library:
        return "Open MPI's own mpiexec, or in a Slurm job `srun --mpi=pmix`"
    if "MPICH" in library or "MVAPICH" in library or "Intel" in library:
        return f"the mpiexec of {library}, or in a Slurm job `srun --mpi=pmi2`"
    return f"the mpiexec of {library}"


def on_rank_0(comm: Comm, function: Callable[[], T]) -> T:
    """Return the value of a function called on rank 0, or raise its `HpcsolveError`, on every rank."""
    value, error = _attempt(function) if comm.rank == 0 else (None, None)
    agree(comm, error)
    return comm.bcast(value)  # type: ignore[return-value]  # agreed: no error, so it is a T


def guard(main: Callable[[Comm], int], prepare: Callable[[], object] | None = None) -> int:
    """Join the ranks, run `main` on each, and return the greatest exit code of all ranks.

    Parameters
    ----------
    main
        Takes the communicator and returns an exit code. An `HpcsolveError` that it raises must be agreed on.
    prepare
        Called on every rank before MPI starts, since compilers cannot be started safely afterwards. An error in it
        need not be agreed on.

    Notes
    -----
    Any other exception in any thread of any rank, `SystemExit` included, ends all ranks with `BUG`. Ctrl-C
    (`KeyboardInterrupt`) ends them with `INTERRUPTED` and one line. An `HpcsolveError` that only some ranks raise ends
    them with its own code after `SECONDS_TO_AGREE`, and at once if another thread than the main one raises it. A rank
    whose launcher has ended ends too.
    """
    environment.set_quiet_waiting()
    parent = end_with_parent()
    early = _caught(prepare) if prepare else None
    try:
        with killed_with(parent):
            comm = join()
    except EnvironmentFault as fault:
        if environment.announced_rank(os.environ) == 0:
            _print_error(fault)
        else:
            _keep_exit_code()
            time.sleep(RANK_0_HEAD_START)
        return fault.exit_code
    if comm.size == 1:
        return _guard_one(main, comm, early)
    return _guard_all(main, comm, early, parent)  # type: ignore[arg-type]  # several ranks: join made an MpiComm


def _guard_one(main: Callable[[Comm], int], comm: Comm, early: BaseException | None) -> int:
    threading.excepthook = lambda arguments: os._exit(_code_of(comm, arguments.exc_value))
    try:
        _raise_early(comm, early)
        return main(comm)
    except HpcsolveError as failure:
        _print_error(failure)
        return failure.exit_code
    except KeyboardInterrupt:
        warn(INTERRUPTED_LINE)
        return INTERRUPTED
    except BaseException as bug:  # noqa: BLE001 (the user sees it whatever it is, and the exit code says so)
        return _code_of(comm, bug)


def _guard_all(main: Callable[[Comm], int], comm: MpiComm, early: BaseException | None, parent: int | None) -> int:
    threading.excepthook = lambda arguments: comm.abort(_code_of(comm, arguments.exc_value))
    failure: HpcsolveError | None = None
    code = BUG
    try:
        _raise_early(comm, early)
        code = main(comm)
    except HpcsolveError as raised:
        failure, code = raised, raised.exit_code
    except KeyboardInterrupt:
        _end_interrupted(comm)
    except BaseException as bug:  # noqa: BLE001 (the other ranks wait for this one whatever stopped it)
        failure = lack_of_memory(bug)
        if failure is None:
            comm.abort(_code_of(comm, bug))
        else:
            code = failure.exit_code
    return _finish(comm, code, failure, parent)


def _finish(comm: MpiComm, code: int, failure: HpcsolveError | None, parent: int | None) -> int:
    """End all ranks with the greatest exit code, after the lowest rank with an error has printed it."""
    ends = comm.finish(code, failure is not None, None if failure is None else SECONDS_TO_AGREE)
    lowest = comm.rank if ends is None else next((rank for rank, (_, failed) in enumerate(ends) if failed), None)
    if failure is not None and lowest == comm.rank:
        _print_error(failure)
    if ends is None:
        _abort_alone(comm, code)
        return code
    _keep_exit_code()
    with killed_with(parent):
        comm.finalize()
    return max(theirs for theirs, _ in ends)


def _keep_exit_code() -> None:
    """Ignore the SIGTERM with which `srun --kill-on-bad-exit` ends the ranks that exit a moment after the first.

    Otherwise the job would have the exit code 143 instead of that of all ranks.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _end_interrupted(comm: MpiComm) -> None:
    """End all ranks after Ctrl-C, which most launchers pass on to all of them, with one line from rank 0."""
    if comm.rank != 0:
        with suppress(KeyboardInterrupt):
            time.sleep(RANK_0_HEAD_START)
    warn(INTERRUPTED_LINE)
    comm.abort(INTERRUPTED)


def _code_of(comm: Comm, error: BaseException | None) -> int:
    """Print an error that ends all ranks, and return its exit code."""
    failure = error if isinstance(error, HpcsolveError) else lack_of_memory(error)
    if failure is None:
        _print_bug(comm, error)
        return BUG
    _print_error(failure)
    return failure.exit_code


def _abort_alone(comm: MpiComm, code: int) -> None:
    warn(f"hpcsolve: rank {comm.rank} on {socket.gethostname()} raised this error alone; ending all ranks")
    comm.abort(code)


def _caught(function: Callable[[], object]) -> BaseException | None:
    """Call a function and return the exception that it raises, or None."""
    try:
        function()
    except BaseException as error:  # noqa: BLE001 (raised again once MPI has started)
        return lack_of_memory(error) or error
    return None


def _raise_early(comm: Comm, early: BaseException | None) -> None:
    if early is not None and not isinstance(early, HpcsolveError):
        raise early
    agree(comm, early)


def _attempt(function: Callable[[], T]) -> tuple[T | None, HpcsolveError | None]:
    """Call a function and return its value or its `HpcsolveError`, which also stands for a lack of memory."""
    try:
        return function(), None
    except HpcsolveError as error:
        return None, error
    except Exception as error:
        lack = lack_of_memory(error)
        if lack is None:
            raise
        return None, lack


def _print_error(error: HpcsolveError) -> None:
    warn(f"hpcsolve: error: {_one_line(error)}")


def _print_bug(comm: Comm, bug: BaseException | None) -> None:
    text = "".join(traceback.format_exception(bug)) if bug else ""
    where = f"rank {comm.rank} of {comm.size} on {socket.gethostname()}"
    warn(f"{text}hpcsolve: {where} failed: {bug!r}")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
