"""Ranks through MPI. The only module that imports mpi4py; importing it does not start MPI, `MpiComm()` does."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import mpi4py
import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import HpcsolveError
from hpcsolve.parallel import host_memory

mpi4py.rc.initialize = False
mpi4py.rc.finalize = False
from mpi4py import MPI  # noqa: E402  (the two lines above come first: else the import starts MPI)

T = TypeVar("T")
U = TypeVar("U")

PIECE = 1 << 30
"""Most bytes of one MPI message: MPI counts in 32-bit integers, and many libraries break at 2^31."""

SHARED_FROM = 1 << 20
"""Bytes from which an array lies once a host."""

LAST_WORDS = 0.5
"""Seconds between a rank's last line and the end of all: mpiexec drops what it has not passed on by then."""


class MpiRequest:
    """A message under way, in pieces; keeps the array alive until it is done."""

    def __init__(self, requests: Sequence[MPI.Request], array: NDArray[Any], receives: bool) -> None:
        self._requests = list(requests)
        self._array = array
        self._receives = receives

    def wait(self) -> None:
        """Return once the message has left (send) or has arrived (receive)."""
        statuses = [MPI.Status() for _ in self._requests]
        MPI.Request.Waitall(self._requests, statuses)
        if self._receives:
            arrived = sum(status.Get_count(MPI.BYTE) for status in statuses)
            if arrived != self._array.nbytes:
                raise RuntimeError(f"a message of {arrived} bytes came where {self._array.nbytes} were awaited")
        self._requests = []


@dataclass(frozen=True)
class Circle:
    """Ranks among which a value travels, from the first of them.

    Attributes
    ----------
    firsts
        Of each of their hosts the first rank; on the other ranks this has no meaning.
    crowded
        Whether any host has several of them.
    """

    ranks: MPI.Comm
    firsts: MPI.Comm
    crowded: bool


class MpiComm:
    """All ranks that one launcher started. See `comm.Comm` for the members that algorithms use.

    Attributes
    ----------
    rank, size, local_rank, local_size
        Numbers in the whole run and on this host.
    mpi_library
        Name and version of the MPI library, one line.
    """

    def __init__(self, piece: int = PIECE, shared_from: int = SHARED_FROM) -> None:
        if not MPI.Is_initialized():
            with warnings.catch_warnings():  # mpi4py's guess at a wrong launcher; `launch.mismatch` says it better
                warnings.simplefilter("ignore", RuntimeWarning)
                MPI.Init_thread(MPI.THREAD_FUNNELED)
        self._world = MPI.COMM_WORLD.Dup()
        self._apart = MPI.COMM_WORLD.Dup()  # for messages that an algorithm's receive must not catch
        host = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()
        self.local_rank, self.local_size = host.Get_rank(), host.Get_size()
        self._all = Circle(self._apart, self._world.Split(self.local_rank), max(self.allgather(self.local_size)) > 1)
        self._host = Circle(host, MPI.COMM_SELF, self.local_size > 1)
        self.mpi_library = mpi_library()
        self._piece, self._shared_from = piece, shared_from

    def bcast(self, value: T) -> T:
        """Rank 0's value, on every rank. Arrays inside it travel by themselves, in pieces, and may be of any size.

        Those of `shared_from` bytes and more lie once on each host with several ranks, and are read-only on all ranks,
        rank 0 included, whose own one can go.
        """
        received: T = self._spread(value, self._all)
        return received

    def once_a_host(self, make: Callable[[], T]) -> T:
        """What `make()` returns on the first rank of this host, on all ranks of the host. Arrays as of `bcast`.

        Raises
        ------
        HpcsolveError
            That of the lowest rank with one, on every rank of the run.
        """
        value: T | None = None
        error: HpcsolveError | None = None
        if self.local_rank == 0:
            try:
                value = make()
            except HpcsolveError as raised:
                error = raised
        for found in self.allgather(error):
            if found is not None:
                raise found
        made: T = self._spread(value, self._host)
        return made

    def gather(self, value: T) -> list[T] | None:
        """On rank 0 every rank's value in rank order, elsewhere None. For small values: 2 GiB all together at most."""
        return self._world.gather(value)

    def allgather(self, value: T) -> list[T]:
        """Every rank's value in rank order, on every rank. For small values: 2 GiB all together at most."""
        return self._world.allgather(value)

    def barrier(self) -> None:
        """Return once every rank has come here."""
        self._world.Barrier()

    def send(self, array: NDArray[Any], to: int) -> MpiRequest:
        """Start to send a contiguous array; messages between two ranks arrive in the order sent."""
        return self._send(self._world, array, to)

    def receive(self, array: NDArray[Any], source: int) -> MpiRequest:
        """Start to fill a contiguous array with the next message of `source`; its size must match."""
        return self._receive(self._world, array, source)

    def _spread(self, value: Any, circle: Circle) -> Any:
        """The value of the first rank of a circle, on all its ranks.

        Along binomial trees of plain messages: where ranks outnumber cores, MPICH's own broadcast of 24 MB to 3 ranks
        took 4.4 s, this 0.02 s.
        """
        first = circle.ranks.Get_rank() == 0
        own = _frames(value) if first else []
        lengths = circle.ranks.bcast([len(frame) for frame in own])
        shared = self._reserve([length for length in lengths if length >= self._shared_from], circle)
        spaces, frames = iter(shared), []
        for number, length in enumerate(lengths):
            if shared and length >= self._shared_from:
                space, frame = next(spaces)
                if first:
                    space[...] = own[number]
                if self.local_rank == 0:
                    self._pass(circle.firsts, space)
            else:
                frame = own[number] if first else np.empty(length, dtype=np.uint8)
                self._pass(circle.ranks, frame)
            frames.append(frame)
        if shared:
            self._host.ranks.Barrier()  # now all is filled
        elif first:
            return value
        return MPI.pickle.loads_oob(frames[0], frames[1:])

    def _reserve(self, lengths: Sequence[int], circle: Circle) -> list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
        """Memory of each host of a circle: what its first rank fills, and what its ranks read, in parts.

        Empty where there is nothing to share, or some rank of the circle cannot see its host's memory.
        """
        if not lengths or not circle.crowded:
            return []
        host, nbytes = self._host.ranks, host_memory.total(lengths)
        place = host.bcast(_tried(host_memory.reserve, nbytes) if self.local_rank == 0 else None)
        reading = _tried(host_memory.readable, place) if place else None
        filling = _tried(host_memory.writable, place) if place and self.local_rank == 0 else reading  # only that one
        seen = all(circle.ranks.allgather(reading is not None and filling is not None))
        if place and self.local_rank == 0:
            os.close(place.descriptor)
        if not seen or reading is None or filling is None:
            return []
        return list(zip(host_memory.parts(filling, lengths), host_memory.parts(reading, lengths), strict=True))

    def _pass(self, group: MPI.Comm, frame: NDArray[np.uint8]) -> None:
        """Fill the frame of every rank of a group with that of its first one."""
        parent, children = tree(group.Get_rank(), group.Get_size())
        if group.Get_rank() != 0:
            self._receive(group, frame, parent).wait()
        for request in [self._send(group, frame, child) for child in children]:
            request.wait()

    def _send(self, group: MPI.Comm, array: NDArray[Any], to: int) -> MpiRequest:
        parts = _pieces(_as_bytes(array), self._piece)
        return MpiRequest([group.Isend([part, MPI.BYTE], dest=to) for part in parts], array, False)

    def _receive(self, group: MPI.Comm, array: NDArray[Any], source: int) -> MpiRequest:
        parts = _pieces(_as_bytes(array), self._piece)
        return MpiRequest([group.Irecv([part, MPI.BYTE], source=source) for part in parts], array, True)

    def finish(self, code: int, failed: bool, patience: float | None) -> list[tuple[int, bool]] | None:
        """Meet the other ranks at the end of the run.

        Parameters
        ----------
        code, failed
            This rank's exit code, and whether an error brought it here.
        patience
            Seconds to wait for the others; None: for ever.

        Returns
        -------
        list of (int, bool) or None
            Every rank's code and failure; None if some did not come in time.
        """
        mine, all_ranks = np.array([code, failed], dtype=np.int32), np.empty((self.size, 2), dtype=np.int32)
        request = self._apart.Iallgather([mine, MPI.INT], [all_ranks, 2, MPI.INT])
        deadline = math.inf if patience is None else time.monotonic() + patience
        while not request.Test():
            if time.monotonic() > deadline:
                return None
            time.sleep(0.001)
        return [(int(theirs), bool(broken)) for theirs, broken in all_ranks]

    def finalize(self) -> None:
        """Leave MPI; the process goes on alone."""
        MPI.Finalize()

    def abort(self, code: int) -> None:
        """End all ranks at once."""
        with suppress(OSError):  # a closed pipe, a full disk: there is nobody to tell
            sys.stdout.flush()
            sys.stderr.flush()
        time.sleep(LAST_WORDS)
        MPI.COMM_WORLD.Abort(code)
        os._exit(code)  # some libraries return


def mpi_library() -> str:
    """Name and version of the MPI library, one line; MPI need not run."""
    words = MPI.Get_library_version().split(",")[0].split("\n")[0].strip("\0").split()
    return " ".join(words).replace("MPICH Version:", "MPICH")


def speaks_pmix() -> bool:
    """Whether a PMIx launcher can start this library; an MPICH built without PMIx aborts in MPI_Init there."""
    words = MPI.Get_library_version()
    return not words.startswith("MPICH") or "--with-pmix" in words


def tree(rank: int, size: int) -> tuple[int, list[int]]:
    """Parent and children of a rank in the binomial tree under rank 0, its own parent; the longest branch first."""
    lowest_bit = rank & -rank or 1 << size.bit_length()
    steps = [1 << bit for bit in reversed(range(lowest_bit.bit_length() - 1))]
    return rank & (rank - 1), [rank + step for step in steps if rank + step < size]


def _frames(value: object) -> list[NDArray[np.uint8]]:
    """A value in bytes: what describes it, and the arrays in it, as they lie."""
    parts: tuple[Any, list[Any]] = MPI.pickle.dumps_oob(value)
    return [np.frombuffer(part, dtype=np.uint8) for part in (parts[0], *parts[1])]


def _tried(function: Callable[[U], T], argument: U) -> T | None:
    """What a function returns; None where this system refuses it."""
    try:
        return function(argument)
    except (OSError, AttributeError):  # AttributeError: a Python built without memfd
        return None


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    if not array.flags.c_contiguous:
        raise ValueError("only contiguous arrays can be sent or received")
    return array.reshape(-1).view(np.uint8)


def _pieces(data: NDArray[np.uint8], piece: int) -> list[NDArray[np.uint8]]:
    """At least one, so that an empty message is a message too."""
    return [data[start : start + piece] for start in range(0, max(len(data), 1), piece)]
