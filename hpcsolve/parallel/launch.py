"""How a process joins the ranks of its run, and how all ranks end whatever happens on one of them.

Under every launcher that we tried, a rank that raises an error leaves the others waiting for its message until the time
limit. So an error is either agreed on or ends all ranks at once. With `agree` and `on_rank_0` every rank raises the
same error, one rank prints it in one line, and all exit with its code. Under `guard` any other exception prints its
traceback, rank and host, and calls MPI_Abort.

Ranks that were started with another version, other kernels, another job or other options would either wait for each
other without end, or compute half of one answer and half of another. So each rank sends one small record when it joins,
and all of them end with the same line if two differ. Devices, threads, logs and the variables of hosts may differ.

Nothing here is imported with numpy or mpi4py: what runs before them must start without them.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import hpcsolve
from hpcsolve.errors import EnvironmentFault, HpcsolveError, InputError, Stopped, agree
from hpcsolve.memory import lack_of_memory
from hpcsolve.parallel import environment, interrupts
from hpcsolve.wording import warn

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm, Mpi4pyComm
    from hpcsolve.parallel.mpi import MpiComm

T = TypeVar("T")
BUG = HpcsolveError.exit_code
"""Exit code of a bug in hpcsolve."""
STOPPED_EARLY = Stopped.exit_code
"""Exit code of a run that was asked to stop: a checkpoint or the best answer is written (`EX_TEMPFAIL`: try again)."""
PATIENCE_AFTER_ERROR = 4.0
"""Seconds that a rank with an error leaves the other ranks to end too."""
PATIENCE_AFTER_SIGNAL = 1.5
"""Seconds that a rank which a signal has ended leaves the others to end too. Launchers pass signals on to all."""
LONGEST = 60
"""A value of more characters is shortened in a record, to its beginning and a hash."""
NOT_SET = "nothing"


def guard(main: Callable[[Comm], int], prepare: Callable[[], Mapping[str, Any] | None] | None = None) -> int:
    """Join the ranks, run `main` on each, and return the greatest exit code of all ranks.

    Afterwards the signals that stop a command are blocked, since there is nothing left to stop.

    Parameters
    ----------
    main
        Takes the communicator and returns an exit code. An `HpcsolveError` that it raises must be agreed on.
    prepare
        Called on every rank before MPI starts, since compilers cannot be started safely afterwards. It may return what
        all ranks must have in common, as names and plain values: ranks that differ all end with one line. An error in
        it need not be agreed on.

    Notes
    -----
    Any other exception in any thread of any rank, `SystemExit` included, ends all ranks with `BUG`. A signal
    (`KeyboardInterrupt`) ends them with its code and one line. An `HpcsolveError` that only some ranks raise ends them
    with its own code after `PATIENCE_AFTER_ERROR`, and at once if another thread than the main one raises it. A rank
    whose launcher has ended ends too, and so does one whose MPI does not start.
    """
    environment.set_quiet_waiting()
    interrupts.end_with_parent()
    terms, early = _prepared(prepare)
    held = interrupts.Held()
    held.hold()
    try:
        with interrupts.limited_start(early, held):
            comm = join()
            early = _agreed(comm, early, held, terms)
    except EnvironmentFault as fault:
        return end_without_mpi(fault)
    return _guarded(main, comm, early, held)


def fail(error: BaseException) -> int:
    """End all ranks with an error that this rank has found before it could call `guard`, and return the exit code."""

    def prepare() -> NoReturn:
        raise error

    return guard(lambda comm: BUG, prepare)


def _prepared(prepare: Callable[[], Mapping[str, Any] | None] | None) -> tuple[Mapping[str, Any], BaseException | None]:
    """Return what all ranks must have in common, and the exception of `prepare`."""
    try:
        return (prepare() if prepare else None) or {}, None
    except BaseException as error:  # noqa: BLE001 (raised again once MPI has started)
        return {}, lack_of_memory(error) or error


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
        from hpcsolve.parallel.comm import SerialComm

        return SerialComm()
    return _join_mpi()


@contextmanager
def ranks_of(given: Comm | Mpi4pyComm | None) -> Iterator[Comm]:
    """Give the communicator of the ranks that a caller names: that of `join`, one of mpi4py, or None for this process.

    Of a communicator of mpi4py it is a duplicate, so that no message of the caller's is mixed up with ours. It is freed
    after the block, unless the block ends with an error that other ranks may not have.

    Raises
    ------
    InputError
        It is something else, or as `mpi.duplicate`.
    """
    from hpcsolve.parallel.comm import SerialComm

    if given is None:
        yield SerialComm()
    elif hasattr(given, "once_per_host"):
        yield cast("Comm", given)
    elif hasattr(given, "Is_inter"):
        from hpcsolve.parallel.mpi import duplicate

        comm = duplicate(given)
        try:
            yield comm
        except HpcsolveError:
            comm.free()
            raise
        comm.free()
    else:
        raise InputError("comm: expected a communicator of mpi4py or what hpcsolve.join() returns, got "
                         f"{type(given).__name__}; leave it out")


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


def end_without_mpi(fault: HpcsolveError) -> int:
    """Print on rank 0 why no rank can start MPI, and return the exit code."""
    if environment.announced_rank(os.environ) == 0:
        _print_error(fault)
    else:
        time.sleep(interrupts.RANK_0_HEAD_START)
    return fault.exit_code


def _agreed(
    comm: Comm, early: BaseException | None, held: interrupts.Held, terms: Mapping[str, Any]
) -> BaseException | None:
    """Return what ends the work of this rank before it begins, or None. All ranks agree on it, unless it is a bug."""

    if early is None or isinstance(early, (HpcsolveError, KeyboardInterrupt)):
        try:
            agree_at_start(comm, early, held, terms)
        except (HpcsolveError, KeyboardInterrupt) as agreed:
            return agreed
    return early


def agree_at_start(
    comm: Comm, failure: HpcsolveError | KeyboardInterrupt | None, held: interrupts.Held, terms: Mapping[str, Any]
) -> None:
    """Make sure that all ranks are ready to work on the same. Collective.

    Parameters
    ----------
    failure
        What has ended the work of this rank before it joined, or None.
    held
        The signals that have come meanwhile.
    terms
        What must be equal on all ranks: names and plain values, such as those of a job's table.

    Raises
    ------
    KeyboardInterrupt
        A rank was asked to stop.
    HpcsolveError
        That of the lowest rank that has one. It names the rank unless all have the same.
    EnvironmentFault
        The terms, the version or the kernels of a rank differ from those of rank 0.
    """
    from hpcsolve.device.build import target_key  # brings the compilers

    record: dict[str, str] = {}
    if comm.size > 1 and failure is None:
        try:
            record = record_of({"version": hpcsolve.__version__, "kernels": target_key(), **terms})
        except HpcsolveError as error:
            failure = error
    mine: dict[str, Any] = {"host": socket.gethostname(), "failure": failure or held.asked, "record": record}
    reports = comm.allgather(mine)
    failures = [report["failure"] for report in reports]
    stops = [one for one in failures if isinstance(one, KeyboardInterrupt)]
    if stops:
        raise min(stops, key=lambda stop: isinstance(stop, interrupts.Terminated))  # Ctrl-C before the others
    if len({repr(one) for one in failures}) == 1 and failures[0] is not None:
        raise failures[0]
    for rank, report in enumerate(reports):
        if report["failure"] is not None:
            raise type(report["failure"])(f"rank {rank} on {report['host']}: {report['failure']}")
    for rank, report in enumerate(reports):
        if said := difference(report["record"], reports[0]["record"]):
            raise EnvironmentFault(f"rank {rank} on {report['host']} differs from rank 0 in {said}; start all ranks "
                                   "with the same command and installation")


def record_of(terms: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return short texts of values by name. Tables in tables have dotted names."""
    import hashlib

    found: dict[str, str] = {}
    for name, value in terms.items():
        if isinstance(value, Mapping):
            found |= record_of(value, f"{prefix}{name}.")
        elif value is not None:
            text = json.dumps(value, ensure_ascii=False)
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
            found[prefix + name] = text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}... (SHA-256 {digest})"
    return found


def difference(record: Mapping[str, str], first: Mapping[str, str]) -> str:
    """Return the first name whose value is not that of the first rank, with both values, or "" if there is none."""
    names: Sequence[str] = [*first, *(name for name in record if name not in first)]
    differing = next((name for name in names if record.get(name) != first.get(name)), None)
    if differing is None:
        return ""
    return f"{differing}: {record.get(differing, NOT_SET)} instead of {first.get(differing, NOT_SET)}"


def _guarded(main: Callable[[Comm], int], comm: Comm, early: BaseException | None, held: interrupts.Held) -> int:
    """Run `main` on this rank and end in good order with all ranks, or at once where this rank has found a bug."""
    alone = comm.size == 1
    abort = os._exit if alone else comm.abort  # type: ignore[attr-defined]  # several ranks: join made an MpiComm
    threading.excepthook = lambda arguments: abort(_code_of(comm, arguments.exc_value))
    failure: HpcsolveError | KeyboardInterrupt | None = None
    try:
        code = _run_main(main, comm, early, held)
    except (HpcsolveError, KeyboardInterrupt) as raised:
        failure = raised
        code = interrupts.exit_code_of_signal(raised) if isinstance(raised, KeyboardInterrupt) else raised.exit_code
    except BaseException as bug:  # noqa: BLE001 (the user sees it whatever it is, and other ranks wait for this one)
        code = _code_of(comm, bug)
        if not alone:
            abort(code)
        return code
    held.hold()
    if not alone:
        return _finish(comm, code, failure)  # type: ignore[arg-type]
    if failure is not None:
        _print_error(failure)
    return code


def _run_main(main: Callable[[Comm], int], comm: Comm, early: BaseException | None, held: interrupts.Held) -> int:
    """Return the exit code of `main`, or raise what came before. A lack of memory becomes an `HpcsolveError`.

    Signals are let through for as long as `main` works. Afterwards they are held, also SIGTERM, with which
    `srun --kill-on-bad-exit` ends the ranks that exit a moment after the first.
    """
    if early is not None:
        raise early
    try:
        held.let_through()
        return main(comm)
    except Exception as error:
        lack = lack_of_memory(error)
        if lack is None:
            raise
        raise lack from error
    finally:
        held.hold()


def _finish(comm: MpiComm, code: int, failure: HpcsolveError | KeyboardInterrupt | None) -> int:
    """End all ranks with the greatest exit code, after the lowest rank with an error has printed it."""
    if failure is None:
        patience = None
    else:
        patience = PATIENCE_AFTER_SIGNAL if isinstance(failure, KeyboardInterrupt) else PATIENCE_AFTER_ERROR
    ends = comm.finish(code, failure is not None, patience)  # exit code and failure of each rank
    if ends is None:
        assert failure is not None  # without one this rank waits for the others
        return _end_alone(comm, code, failure)
    lowest = next((rank for rank, (_, failed) in enumerate(ends) if failed), None)
    if failure is not None and lowest == comm.rank:
        _print_error(failure)
    comm.finalize()
    return max(theirs for theirs, _ in ends)


def _end_alone(comm: MpiComm, code: int, failure: HpcsolveError | KeyboardInterrupt) -> int:
    """End all ranks with an error of this rank, since the others have not come to the end too."""
    stopped = isinstance(failure, KeyboardInterrupt)
    if stopped and comm.rank != 0:
        time.sleep(interrupts.RANK_0_HEAD_START)  # rank 0 may print the line, and end all
    _print_error(failure)
    if not stopped:
        warn(f"hpcsolve: rank {comm.rank} on {socket.gethostname()} raised this error alone; ending all ranks")
    comm.abort(code)
    return code


def _code_of(comm: Comm, error: BaseException | None) -> int:
    """Print an error that ends all ranks, and return its exit code."""
    failure = error if isinstance(error, HpcsolveError) else lack_of_memory(error)
    if failure is None:
        text = "".join(traceback.format_exception(error)) if error else ""
        where = f"rank {comm.rank} of {comm.size} on {socket.gethostname()}"
        warn(f"{text}hpcsolve: {where} failed: {error!r}")
        return BUG
    _print_error(failure)
    return failure.exit_code


def _print_error(failure: HpcsolveError | KeyboardInterrupt) -> None:
    if isinstance(failure, KeyboardInterrupt):
        warn(interrupts.line_of(failure))
    else:
        warn(f"hpcsolve: error: {_one_line(failure)}")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def on_rank_0(comm: Comm, function: Callable[[], T]) -> T:
    """Return the value of a function called on rank 0, or raise its `HpcsolveError`, on every rank."""
    value, error = _attempt(function) if comm.rank == 0 else (None, None)
    agree(comm, error)
    return comm.bcast(value)  # type: ignore[return-value]  # agreed: no error, so it is a T


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
