"""What algorithms call at the boundaries of their work: is it time to save, or to stop?

An algorithm whose ranks exchange messages at its boundaries anyway sends their wishes along (`Checkpoints.wish`), takes
the common decision (`agreed`) and saves (`Checkpoints.save`). Others call `Boundary.reached` after each piece of work.
All times are monotonic.

`Pace` says when a checkpoint is due, and when a run must stop to be done before its deadline. A `Watchdog` ends a run
that makes no progress, because one of its ranks is stopped or the network between them is cut: MPI does not notice
either of them, and the other ranks would wait until the time limit of the job. A `Writer` writes a generation: a data
file on each rank, then the manifest on rank 0.
"""

from __future__ import annotations

import faulthandler
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import TypeVar

import hpcsolve
from hpcsolve.checkpoint import store
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import Lease, LeaseLost, State
from hpcsolve.errors import EnvironmentFault, InputError, Stopped, agree
from hpcsolve.parallel.comm import Comm
from hpcsolve.replacing import way_out

SHARE = 0.02
"""Share of the run's time that checkpoints take by default."""
LEAST_INTERVAL = 30.0
"""Default minimum of the seconds between two checkpoints."""
FIRST_RATE = 2e8
"""Assumed write rate of a rank in bytes per second, until its first checkpoint is measured."""
SECONDS_BETWEEN = 0.1
"""About how many seconds apart the ranks agree, if pieces of work are shorter than that."""
SECONDS_TO_END = 2.0
"""Assumed seconds from the end of the last checkpoint to the end of the process."""
SECONDS_FOR_ERROR = 10.0
"""Time that the error has to end all ranks. Then this process ends at once, whatever holds it up, with exit code 1."""
STANDARD_ERROR = 2
T = TypeVar("T")


class Wish(IntEnum):
    """What a rank wants at a boundary. `agreed` says what all ranks do."""

    GO_ON = 0
    SAVE = 1
    STOP = 2


@dataclass
class Pace:
    """The clock of a run on rank 0.

    Attributes
    ----------
    interval
        Seconds between checkpoints; None: chosen so that checkpoints take `SHARE` of the time.
    deadline
        When the run must be over, on the same clock; None: never.
    clock
        Returns seconds that never run backwards.
    last, looked
        When the last checkpoint ended, and when `look` was last called.
    gap
        Longest time between two looks so far, which is the longest piece of work.
    cost
        Bytes and seconds of the last checkpoint; None: there was none yet.
    """

    interval: float | None = None
    deadline: float | None = None
    clock: Callable[[], float] = time.monotonic
    last: float = field(init=False)
    looked: float = field(init=False)
    gap: float = 0.0
    cost: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        """Start the clock."""
        self.last = self.looked = self.clock()

    def look(self) -> float:
        """Return the time, and note the longest time between two looks."""
        now = self.clock()
        self.gap, self.looked = max(self.gap, now - self.looked), now
        return now

    def note_save(self, nbytes: int, seconds: float) -> None:
        """Note the size and the time of a checkpoint that has just ended."""
        self.cost = nbytes, seconds
        self.last = self.looked = self.clock()

    def expected(self, nbytes: int) -> float:
        """Return the expected seconds of a checkpoint with so many bytes of this rank."""
        if self.cost is None:
            return nbytes / FIRST_RATE
        before, seconds = self.cost
        return seconds * max(1.0, nbytes / max(before, 1))

    def is_due(self, now: float, nbytes: int) -> bool:
        """Return whether it is time for a checkpoint."""
        wait = max(LEAST_INTERVAL, self.expected(nbytes) / SHARE) if self.interval is None else self.interval
        return now - self.last >= wait

    def must_stop(self, now: float, nbytes: int) -> bool:
        """Return whether the run must stop now to meet its deadline, since the next piece of work may take too long."""
        if self.deadline is None:
            return False
        return now + self.gap + self.expected(nbytes) + SECONDS_TO_END >= self.deadline


@dataclass(eq=False)
class Checkpoints:
    """The checkpoints of a run, and the reasons to stop it.

    Attributes
    ----------
    interrupted
        Returns whether this rank was asked to end the run.
    saved
        The checkpoint from which the run goes on, or None if it starts anew. The same on every rank.
    writer
        Writes the checkpoints; None: none are written.
    pace
        The clock.
    note, warn
        Called with a line about each checkpoint, and about each that could not be written.
    watchdog
        Ends the run if a rank reaches no boundary for too long; None: nothing does.
    stopping
        Whether this rank has wished to stop.
    begun
        When the time of `[stop] seconds` began, on the clock `time.perf_counter`; None: when the search begins.
    """

    interrupted: Callable[[], bool] = lambda: False
    saved: Saved | None = None
    writer: Writer | None = None
    pace: Pace = field(default_factory=Pace)
    note: Callable[[str], None] = lambda line: None
    warn: Callable[[str], None] = lambda line: None
    watchdog: Watchdog | None = None
    stopping: bool = False
    begun: float | None = None

    def clock(self) -> float:
        """Return when the time of `[stop] seconds` began, which is now if it begins with the search."""
        return time.perf_counter() if self.begun is None else self.begun

    @property
    def asks_ranks(self) -> bool:
        """Whether `Boundary` must ask the ranks for their wishes. Without a writer and a watch it need not."""
        return self.writer is not None or self.watchdog is not None

    def wish(self, nbytes: int = 0) -> Wish:
        """Return what this rank wants now, when its share of the state has so many bytes."""
        if self.watchdog is not None:
            self.watchdog.note_progress()
        now = self.pace.look()
        if self.stopping or self.interrupted() or self.pace.must_stop(now, nbytes if self.writer else 0):
            self.stopping = True
            return Wish.STOP
        return Wish.SAVE if self.writer and self.pace.is_due(now, nbytes) else Wish.GO_ON

    def save(self, state: State, last: bool) -> None:
        """Write a checkpoint, if this run writes any. Collective.

        Parameters
        ----------
        last
            Whether the run stops here.

        Raises
        ------
        LeaseLost
            A later run of the job has taken over.
        EnvironmentFault
            The checkpoint cannot be written, the run stops here, and there is no earlier one.
        """
        if self.writer is None:
            return
        started = time.perf_counter()
        try:
            self.writer.write(state)
        except LeaseLost:
            raise
        except EnvironmentFault as fault:
            if last and not self.writer.has_any:
                raise
            rest = "the checkpoint before remains" if self.writer.has_any else "the run goes on"
            self.warn(f"hpcsolve: no checkpoint was written: {fault}; {rest}")
        else:
            self.note(f"checkpoint: {state.words}, {state.nbytes} bytes of this rank in "
                      f"{time.perf_counter() - started:.3g} s")
        self.pace.note_save(state.nbytes, time.perf_counter() - started)


NONE = Checkpoints()
"""The checkpoints of a run that nobody stops and that writes none."""


def without_writer(checkpoints: Checkpoints) -> Checkpoints:
    """Return checkpoints that end the work as these do, but neither save nor resume anything."""
    return replace(checkpoints, writer=None, saved=None)


def agreed(wishes: list[Wish]) -> Wish:
    """Return what all ranks do: stop if any of them wants to, else what rank 0 wants, whose clock counts."""
    return Wish.STOP if Wish.STOP in wishes else wishes[0]


class Boundary:
    """The boundaries between a run's pieces of work, at some of which the ranks agree on whether to save or to stop.

    Parameters
    ----------
    synchronize
        Called before the ranks agree, so that work does not pile up in a device's queue.

    Attributes
    ----------
    number
        Number of the last piece of work, from 0.
    """

    def __init__(self, comm: Comm, checkpoints: Checkpoints, synchronize: Callable[[], None] = lambda: None) -> None:
        self._comm, self._checkpoints, self._synchronize = comm, checkpoints, synchronize
        self._started, self._next, self.number = time.perf_counter(), 0, -1

    def reached(self, state: Callable[[], State], nbytes: Callable[[], int] = lambda: 0) -> None:
        """Save or stop if it is time. Collective: each rank calls it after the same number of pieces.

        Parameters
        ----------
        state
            Returns the state. Called only if the state is saved.
        nbytes
            Returns the approximate bytes of this rank's share of the state. Called only when the ranks agree.

        Raises
        ------
        Stopped
            A rank was asked to stop, or the deadline is near. The state is saved.
        """
        self.number += 1
        if not self._checkpoints.asks_ranks or self.number < self._next:
            return
        self._synchronize()
        votes = self._comm.allgather((self._checkpoints.wish(nbytes()), time.perf_counter() - self._started))
        self._next = next_agreement(self.number, votes[0][1])
        wish = agreed([vote for vote, _ in votes])
        if wish != Wish.GO_ON:
            now = state()
            self._checkpoints.save(now, last=wish == Wish.STOP)
            if wish == Wish.STOP:
                raise Stopped(now.words)

    def while_any(
        self, waiting: list[T], state: Callable[[], State], nbytes: Callable[[], int] = lambda: 0
    ) -> Iterator[T]:
        """Take and yield this rank's pieces of work, the last one first, until no rank has any.

        After each piece `reached` is called with the same `state` and `nbytes`. Collective.
        """
        while self._any(bool(waiting)):
            if waiting:
                yield waiting.pop()
            self.reached(state, nbytes)

    def _any(self, busy: bool) -> bool:
        return any(self._comm.allgather(busy)) if self._checkpoints.asks_ranks else busy


def next_agreement(number: int, seconds: float) -> int:
    """Return the number of the piece of work after which the ranks agree next, about `SECONDS_BETWEEN` later.

    It is at most twice as far from the start as the present one, since the pace is not yet well known at the beginning.

    Parameters
    ----------
    number
        Number of the piece of work that has just ended, from 0.
    seconds
        Seconds since the start.
    """
    done = number + 1
    return done + int(done * min(1.0, SECONDS_BETWEEN / max(seconds, 1e-9)))


class Watchdog:
    """A thread that raises an error, which ends all ranks (`launch.guard`), when there was no progress for too long.

    Parameters
    ----------
    seconds
        The longest time without progress.
    name
        This process, for the message.
    """

    def __init__(self, seconds: float, name: str) -> None:
        self._seconds, self._name = seconds, name
        self._last, self._over = time.monotonic(), threading.Event()

    def note_progress(self) -> None:
        """Begin to wait anew."""
        self._last = time.monotonic()
        # For calls that keep Python from running, such as a write to a disk that hangs.
        faulthandler.dump_traceback_later(self._seconds + SECONDS_FOR_ERROR, exit=True, file=STANDARD_ERROR)

    def start(self) -> None:
        """Begin to wait for progress."""
        self.note_progress()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Wait no longer."""
        self._over.set()
        faulthandler.cancel_dump_traceback_later()

    def _watch(self) -> None:
        """Print all stacks of this process and raise `EnvironmentFault` when there was no progress for too long."""
        while (left := self._last + self._seconds - time.monotonic()) > 0:
            if self._over.wait(left):
                return
        faulthandler.dump_traceback(file=STANDARD_ERROR)
        raise EnvironmentFault(f"{self._name} has made no progress for {self._seconds:g} s (--hang-timeout): a rank or "
                               "the network does not answer, or a piece of work takes longer; the stacks are above")


@contextmanager
def watched(seconds: float | None, name: str) -> Iterator[Watchdog | None]:
    """Provide a watchdog for the block, or None if there is no limit to the seconds without progress."""
    if seconds is None:
        yield None
        return
    watchdog = Watchdog(seconds, name)
    watchdog.start()
    try:
        yield watchdog
    finally:
        watchdog.stop()


class Writer:
    """Writes the checkpoints of a run into a folder. The constructor is collective.

    Parameters
    ----------
    lease
        The lease of the folder on rank 0, else None.
    job
        The hash of the job and its instance.
    saved
        The generation from which this run goes on, or None.
    """

    def __init__(self, folder: Path, comm: Comm, lease: Lease | None, job: str, saved: Saved | None) -> None:
        self.folder, self._comm, self._lease, self._job = folder, comm, lease, job
        self._kept = [saved.manifest] if saved else []
        last = max(store.generations(folder), default=0) if comm.rank == 0 else 0
        self._token, self._generation = comm.bcast((lease.token if lease else "", last))

    @property
    def has_any(self) -> bool:
        """Whether there is a generation to go on from."""
        return bool(self._kept)

    def write(self, state: State) -> None:
        """Write a generation, unless the last one has the same numbers, in which different states differ. Collective.

        Raises
        ------
        LeaseLost
            A later run of the job has taken over.
        EnvironmentFault
            The disk is full, the manifest's name is taken, ... The generations before remain.
        """
        if self._comm.bcast(bool(self._kept) and self._kept[-1].numbers == state.numbers):
            return
        self._generation += 1
        name = store.data_name(self._generation, self._token, self._comm.rank)
        fault, file = None, None
        try:
            file = store.write_data(self.folder, name, state.parts)
        except OSError as error:
            fault = _write_fault(self.folder, error)
            with suppress(OSError):  # the first fault is the one to report
                (self.folder / name).unlink()
        agree(self._comm, fault)
        files = self._comm.allgather(file)
        manifest = store.Manifest(self._job, hpcsolve.__version__, self._generation, dict(state.numbers), state.words,
                                  tuple(file for file in files if file is not None))
        manifest = self._comm.bcast(manifest)
        agree(self._comm, self._commit(manifest) if self._comm.rank == 0 else None)
        self._kept = [*self._kept, manifest][-store.KEPT :]
        if self._comm.rank == 0:
            with suppress(OSError):  # tried again after the next checkpoint
                store.forget(self.folder, self._kept)

    def _commit(self, manifest: store.Manifest) -> EnvironmentFault | None:
        """Write the manifest, and return the fault if that failed."""
        try:
            self.require_lease()
            for file in manifest.files:
                if (self.folder / file.name).stat().st_size != file.size:
                    return EnvironmentFault(f"{self.folder / file.name}: its size is not that of what was written; "
                                            "choose another --checkpoint-dir")
            store.write_manifest(self.folder, manifest)
        except FileNotFoundError:
            return EnvironmentFault(f"{self.folder} is not the same folder on all hosts; choose another one with "
                                    "--checkpoint-dir")
        except OSError as error:
            return _write_fault(self.folder, error)
        except InputError:  # which is no mistake in the job, and must not end it
            return EnvironmentFault(f"{self.folder}: what is no regular file has the name of the next manifest; choose "
                                    "another --checkpoint-dir")
        except EnvironmentFault as fault:
            return fault
        return None

    def require_lease(self) -> None:
        """Raise `LeaseLost` if a later run of the job has taken over. Called on rank 0."""
        if self._lease is not None:
            self._lease.require()


def remove_checkpoints(folder: Path, warn: Callable[[str], None]) -> None:
    """Remove all checkpoints in a folder. Called on rank 0."""
    try:
        store.remove(folder)
    except OSError as error:
        warn(f"hpcsolve: {folder}: cannot be removed: {error.strerror}; remove it yourself")


def _write_fault(folder: Path, error: OSError) -> EnvironmentFault:
    return EnvironmentFault(f"{folder}: {error.strerror}; {way_out(error, '--checkpoint-dir')}")
