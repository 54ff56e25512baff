"""The communicator as algorithms see it, and its version for a single rank, which needs no MPI."""

from __future__ import annotations

from collections.abc import Callable
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
