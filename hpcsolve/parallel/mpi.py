"""Ranks through MPI. The only module that imports mpi4py; importing it does not start MPI, `MpiComm()` does."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

import mpi4py
import numpy as np
from numpy.typing import NDArray

mpi4py.rc.initialize = False
mpi4py.rc.finalize = False
from mpi4py import MPI  # noqa: E402  (the two lines above come first: else the import starts MPI)

T = TypeVar("T")

PIECE = 1 << 30
"""Most bytes of one MPI message: MPI counts in 32-bit integers, and many libraries break at 2^31."""

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


class MpiComm:
    """All ranks that one launcher started. See `comm.Comm` for the members that algorithms use.

    Attributes
    ----------
    rank, size, local_rank, local_size
        Numbers in the whole run and on this host.
    library
        Name and version of the MPI library, one line.
    """

    def __init__(self, piece: int = PIECE) -> None:
        if not MPI.Is_initialized():
            with warnings.catch_warnings():  # mpi4py's guess at a wrong launcher; `launch.mismatch` says it better
                warnings.simplefilter("ignore", RuntimeWarning)
                MPI.Init_thread(MPI.THREAD_FUNNELED)
        self._world = MPI.COMM_WORLD.Dup()
        self._apart = MPI.COMM_WORLD.Dup()  # for messages that an algorithm's receive must not catch
        node = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()
        self.local_rank, self.local_size = node.Get_rank(), node.Get_size()
        node.Free()
        self.library = library()
        self._piece = piece

    def bcast(self, value: T) -> T:
        """Rank 0's value, on every rank. Arrays inside it travel by themselves, in pieces, and may be of any size.

        Along a binomial tree of plain messages: where ranks outnumber cores, MPICH's own broadcast of 24 MB to 3 ranks
        took 4.4 s, this 0.02 s.
        """
        parts: tuple[Any, list[Any]] = MPI.pickle.dumps_oob(value) if self.rank == 0 else (b"", [])
        frames = [np.frombuffer(part, dtype=np.uint8) for part in (parts[0], *parts[1])]
        lengths = self._world.bcast([len(frame) for frame in frames])
        if self.rank != 0:
            frames = [np.empty(length, dtype=np.uint8) for length in lengths]
        parent, children = tree(self.rank, self.size)
        for frame in frames:
            if self.rank != 0:
                self._receive(self._apart, frame, parent).wait()
            for request in [self._send(self._apart, frame, child) for child in children]:
                request.wait()
        if self.rank == 0:
            return value
        received: T = MPI.pickle.loads_oob(frames[0], frames[1:])
        return received

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

    def _send(self, group: MPI.Intracomm, array: NDArray[Any], to: int) -> MpiRequest:
        parts = _pieces(_as_bytes(array), self._piece)
        return MpiRequest([group.Isend([part, MPI.BYTE], dest=to) for part in parts], array, False)

    def _receive(self, group: MPI.Intracomm, array: NDArray[Any], source: int) -> MpiRequest:
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


def library() -> str:
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


def _as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    if not array.flags.c_contiguous:
        raise ValueError("only contiguous arrays can be sent or received")
    return array.reshape(-1).view(np.uint8)


def _pieces(data: NDArray[np.uint8], piece: int) -> list[NDArray[np.uint8]]:
    """At least one, so that an empty message is a message too."""
    return [data[start : start + piece] for start in range(0, max(len(data), 1), piece)]
