"""The communicator as algorithms see it, its version for a single rank, which needs no MPI, and shares of ranks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")


class Request(Protocol):
    """A message that is being sent or received."""

    def wait(self) -> None:
        """Wait until the array may be reused (send) or is filled (receive)."""


class Message(Protocol):
    """A message that may be sent, or received, many times, from or to the same memory."""

    def start(self) -> None:
        """Start to send it, or to receive it. It must not be under way."""

    def done(self) -> bool:
        """Return whether it is not under way, or no longer."""

    def free(self) -> None:
        """Give up the message, which is not under way."""


class Comm(Protocol):
    """All ranks of a run. Every rank must make the same collective calls in the same order."""

    rank: int
    size: int
    local_rank: int
    """This rank's number among the ranks on the same host."""
    local_size: int
    mpi_library: str
    """Name and version of the MPI library that joins the ranks, or why there is none. It is one line."""
    takes_gpu_memory: bool
    """Whether the library says that a message may lie in a GPU's memory."""

    def bcast(self, value: T) -> T:
        """Return rank 0's value on every rank.

        Any picklable object will do. Large arrays in it may come back read-only, also on rank 0.
        """

    def once_per_host(self, make: Callable[[], T]) -> T:
        """Call `make` on one rank of each host and return its value on all ranks of that host.

        All ranks of the run must call this. Large arrays in the value may lie in memory that the ranks share, and may
        be read-only. An `HpcsolveError` in `make` is raised on every rank of the run. Any other exception must end all
        ranks, as it does under `launch.guard`.
        """

    def gather(self, value: T) -> list[T] | None:
        """Return the values of all ranks, in rank order, on rank 0 and None on the others."""

    def allgather(self, value: T) -> list[T]:
        """Return the values of all ranks, in rank order, on every rank."""

    def barrier(self) -> None:
        """Wait until every rank has called this."""

    def send(self, array: NDArray[Any], to: int) -> Request:
        """Start to send a contiguous array. Messages between two ranks arrive in the order in which they were sent."""

    def receive(self, array: NDArray[Any], source: int) -> Request:
        """Start to fill a contiguous array with the next message from `source`, whose size must match."""

    def message(self, memory: NDArray[Any] | tuple[int, int], peer: int, sends: bool, tag: int) -> Message:
        """Prepare a message to or from another rank, which meets one of the same tag and size there.

        Parameters
        ----------
        memory
            A contiguous array, or address and bytes of device memory, which must stay until the message is freed.
        """


class Mpi4pyComm(Protocol):
    """A communicator of mpi4py, as far as its callers need to know it. `MpiComm` is made of one."""

    def Get_size(self) -> int:
        """Return the number of its ranks."""

    def Is_inter(self) -> bool:
        """Return whether it joins two groups of ranks."""


class SerialComm:
    """The communicator of a run with a single rank."""

    rank = 0
    size = 1
    local_rank = 0
    local_size = 1
    mpi_library = "not started: one process"
    takes_gpu_memory = False

    def bcast(self, value: T) -> T:
        """Return the value."""
        return value

    def once_per_host(self, make: Callable[[], T]) -> T:
        """Return what `make` returns."""
        return make()

    def gather(self, value: T) -> list[T] | None:
        """Return a list of the value alone."""
        return [value]

    def allgather(self, value: T) -> list[T]:
        """Return a list of the value alone."""
        return [value]

    def barrier(self) -> None:
        """Return at once."""

    def send(self, array: NDArray[Any], to: int) -> Request:
        """Raise an error, since there is no other rank."""
        raise AssertionError("a single rank cannot send")

    def receive(self, array: NDArray[Any], source: int) -> Request:
        """Raise an error, since there is no other rank."""
        raise AssertionError("a single rank cannot receive")

    def message(self, memory: NDArray[Any] | tuple[int, int], peer: int, sends: bool, tag: int) -> Message:
        """Raise an error, since there is no other rank."""
        raise AssertionError("a single rank has no messages")


SECONDS_POLLING = 0.001
"""How long a rank polls without a pause. Afterwards it sleeps between two polls."""
LONGEST_SLEEP = 0.002
"""Most seconds of such a sleep. It is short because a large message may need both ranks awake for each of its parts."""


def wait_until(ended: Callable[[], bool]) -> None:
    """Return once `ended` returns true, late by at most an eighth of the time waited, and at most `LONGEST_SLEEP`."""
    started = time.perf_counter()
    while not ended():
        waited = time.perf_counter() - started
        if waited < SECONDS_POLLING:
            os.sched_yield()
        else:
            time.sleep(min(waited / 8, LONGEST_SLEEP))


def agree_minimum(comm: Comm, value: int) -> int:
    """Return the smallest value of all ranks, on every rank. Integers may have any size."""
    return min(comm.allgather(value))


def even_shares(n: int, size: int) -> list[range]:
    """Return a contiguous range of the items 0..n-1 for each of `size` ranks, whose lengths differ by at most one.

    The ranges are in order, the longer ones first. A rank without work gets an empty range.
    """
    if n < 0 or size < 1:
        raise ValueError(f"cannot split {n} items among {size} ranks")
    short, longer = divmod(n, size)
    starts = [rank * short + min(rank, longer) for rank in range(size + 1)]
    return [range(start, stop) for start, stop in pairwise(starts)]
