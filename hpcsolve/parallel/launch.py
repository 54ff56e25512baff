"""How a run joins its ranks, and how it ends on all of them whatever happens on one.

A rank that raises an error while the others wait for its message would leave them waiting until the time limit, under
every launcher that we tried. So errors are either agreed (`agree`, `on_rank_0`: every rank raises the same one, rank 0
prints one line and all exit with its code) or they end all ranks at once (`guard`: traceback, rank, host, MPI_Abort).
"""

from __future__ import annotations

import os
import socket
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from hpcsolve.errors import EnvironmentFault, HpcsolveError
from hpcsolve.parallel import environment
from hpcsolve.parallel.printing import warn

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm
    from hpcsolve.parallel.mpi import MpiComm

T = TypeVar("T")

BUG = 70
"""Exit code of what should never happen."""

INTERRUPTED = 130
"""What shells make of Ctrl-C."""

PATIENCE = 4.0
"""Seconds that a rank with an error gives the others to come with the same one."""


HEAD_START = 2.0
"""Seconds that the others leave rank 0 to say why no rank can start; their end may be what kills it."""


def join() -> Comm:
    """The ranks of this run: `SerialComm` when alone (nothing of MPI is imported), `MpiComm` under a launcher.

    Raises
    ------
    EnvironmentFault
        The launcher started more processes than MPI sees (two different MPIs, or `srun --mpi=none`), or mpi4py or its
        MPI library is missing.
    """
    if not environment.launched(os.environ):
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
                f"understand: start it with {_right_command(mpi_library())}"
            )
        comm = MpiComm()
    except (ImportError, RuntimeError) as error:  # RuntimeError: no library found, or it did not start
        raise EnvironmentFault(
            f"started as one of several ranks, but MPI cannot be used from Python ({_one_line(error)}): "
            "`pip install mpi4py` with the MPI of this machine, or `pip install 'hpcsolve[local]'` on a workstation"
        ) from error
    problem = mismatch(comm.size, comm.mpi_library)
    if problem:
        comm.finalize()
        raise EnvironmentFault(problem)
    return comm


def mismatch(size: int, library: str) -> str:
    """What is wrong with a run of `size` ranks of `library` under this process's launcher, or nothing.

    A launcher of another MPI starts N processes that each find themselves alone, rank 0 of 1: N times the same run,
    and all of them write the same file.
    """
    sizes = environment.announced_sizes(os.environ)
    if not sizes or (size in sizes.values() and (size > 1 or max(sizes.values()) == 1)):
        return ""
    name, announced = max(sizes.items(), key=lambda item: item[1])
    launcher = environment.LAUNCHERS.get(name, "srun")
    return (
        f"{launcher} started {announced} processes ({name}={announced}), but each finds {size} in its MPI library, "
        f"{library}: they are of different MPIs; start it with {_right_command(library)}"
    )


def _right_command(library: str) -> str:
    if "Open MPI" in library:
        return "Open MPI's own mpiexec, or in a Slurm job `srun --mpi=pmix`"
    if "MPICH" in library or "MVAPICH" in library or "Intel" in library:
        return f"the mpiexec of {library}, or in a Slurm job `srun --mpi=pmi2`"
    return f"the mpiexec of {library}"


def agree(comm: Comm, error: HpcsolveError | None) -> None:
    """Raise on every rank the error of the lowest rank that has one; collective.

    Parameters
    ----------
    error
        What this rank found wrong, or None.
    """
    for found in comm.allgather(error):
        if found is not None:
            raise found


def on_rank_0(comm: Comm, function: Callable[[], T]) -> T:
    """Rank 0's `function()`, on every rank; an `HpcsolveError` in it is raised on every rank; collective."""
    value, error = _attempt(function) if comm.rank == 0 else (None, None)
    agree(comm, error)
    return comm.bcast(value)  # type: ignore[return-value]  # agreed: no error, so it is a T


def guard(main: Callable[[Comm], int], prepare: Callable[[], object] | None = None) -> int:
    """Join the ranks, run `main` on each, and return the exit code of this process: the greatest of all ranks.

    Parameters
    ----------
    main
        Gets the communicator, returns an exit code. An `HpcsolveError` that it raises must be agreed.
    prepare
        Runs on every rank before MPI starts (compilers cannot be started safely afterwards); an error in it need not
        be agreed.

    Notes
    -----
    Any other exception, `SystemExit` included, in any thread of any rank ends all ranks with `BUG`; Ctrl-C
    (`KeyboardInterrupt`) ends them with `INTERRUPTED` and one line. So does an `HpcsolveError` that only some ranks
    raise, with its own code, after `PATIENCE` seconds.
    """
    environment.set_quiet_waiting()
    early = _error_of(prepare) if prepare else None
    try:
        comm = join()
    except EnvironmentFault as fault:
        if environment.announced_rank(os.environ) == 0:
            _say(fault)
        else:
            time.sleep(HEAD_START)
        return fault.exit_code
    if comm.size == 1:
        return _guard_one(main, comm, early)
    return _guard_all(main, comm, early)  # type: ignore[arg-type]  # several ranks: join made an MpiComm


def _guard_one(main: Callable[[Comm], int], comm: Comm, early: BaseException | None) -> int:
    try:
        _raise_early(comm, early)
        return main(comm)
    except HpcsolveError as failure:
        _say(failure)
        return failure.exit_code
    except KeyboardInterrupt:
        warn("hpcsolve: interrupted")
        return INTERRUPTED
    except BaseException as bug:  # noqa: BLE001 (whatever it is, the user sees it, and the code says so)
        _say_bug(comm, bug)
        return BUG


def _guard_all(main: Callable[[Comm], int], comm: MpiComm, early: BaseException | None) -> int:
    threading.excepthook = lambda arguments: _die(comm, arguments.exc_value)
    failure: HpcsolveError | None = None
    code = BUG
    try:
        _raise_early(comm, early)
        code = main(comm)
    except HpcsolveError as raised:
        failure, code = raised, raised.exit_code
    except KeyboardInterrupt:
        _end_interrupted(comm)
    except BaseException as bug:  # noqa: BLE001 (the other ranks wait for this one, whatever stopped it)
        _die(comm, bug)
    return _meet(comm, code, failure)


def _meet(comm: MpiComm, code: int, failure: HpcsolveError | None) -> int:
    """The end of all ranks: the lowest one with an error says it, and all leave with the greatest code."""
    ends = comm.finish(code, failure is not None, None if failure is None else PATIENCE)
    lowest = comm.rank if ends is None else next((rank for rank, (_, failed) in enumerate(ends) if failed), None)
    if failure is not None and lowest == comm.rank:
        _say(failure)
    if ends is None:
        _die_alone(comm, code)
        return code
    comm.finalize()
    return max(theirs for theirs, _ in ends)


def _end_interrupted(comm: MpiComm) -> None:
    """End all ranks after Ctrl-C. Most launchers pass it to all of them: rank 0 says so, the others give it time."""
    if comm.rank != 0:
        with suppress(KeyboardInterrupt):
            time.sleep(HEAD_START)
    warn("hpcsolve: interrupted")
    comm.abort(INTERRUPTED)


def _die(comm: MpiComm, bug: BaseException | None) -> None:
    _say_bug(comm, bug)
    comm.abort(BUG)


def _die_alone(comm: MpiComm, code: int) -> None:
    warn(f"hpcsolve: rank {comm.rank} on {socket.gethostname()} failed alone; ending all ranks")
    comm.abort(code)


def _error_of(function: Callable[[], object]) -> BaseException | None:
    try:
        function()
    except BaseException as error:  # noqa: BLE001 (carried over the start of MPI, then raised)
        return error
    return None


def _raise_early(comm: Comm, early: BaseException | None) -> None:
    if early is not None and not isinstance(early, HpcsolveError):
        raise early
    agree(comm, early)


def _attempt(function: Callable[[], T]) -> tuple[T | None, HpcsolveError | None]:
    try:
        return function(), None
    except HpcsolveError as error:
        return None, error


def _say(error: HpcsolveError) -> None:
    warn(f"hpcsolve: error: {_one_line(error)}")


def _say_bug(comm: Comm, bug: BaseException | None) -> None:
    text = "".join(traceback.format_exception(bug)) if bug else ""
    place = f"rank {comm.rank} of {comm.size} on {socket.gethostname()}"
    warn(f"{text}hpcsolve: {place} failed: {bug!r}")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
