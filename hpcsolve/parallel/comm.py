"""The communicator as algorithms see it, its version for a single rank, which needs no MPI, and shares of ranks."""

from __future__ import annotations

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


class Comm(Protocol):
    """All ranks of a run. Every rank must make the same collective calls in the same order."""

    rank: int
    size: int
    local_rank: int
    """This rank's number among the ranks on the same host."""
    local_size: int
    mpi_library: str
    """Name and version of the MPI library that joins the ranks, or why there is none. It is one line."""

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


class SerialComm:
    """The communicator of a run with a single rank."""

    rank = 0
    size = 1
    local_rank = 0
    local_size = 1
    mpi_library = "not started: one process"

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
