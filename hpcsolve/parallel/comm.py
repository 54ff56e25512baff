"""What an algorithm may ask of the other ranks, and the one-rank case, which needs no MPI."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

T = TypeVar("T")


class Request(Protocol):
    """A message under way."""

    def wait(self) -> None:
        """Return once the message has left (send) or has arrived (receive)."""


class Comm(Protocol):
    """A group of ranks. Collective calls are made by all ranks in the same order."""

    rank: int
    size: int
    local_rank: int
    """Number of this rank among those on the same host."""
    local_size: int

    def bcast(self, value: T) -> T:
        """Rank 0's value, on every rank (any picklable object). Large arrays in it may be read-only, on rank 0 too."""

    def once_a_host(self, make: Callable[[], T]) -> T:
        """What `make()` returns on one rank of this host, on all its ranks; collective among all ranks of the run.

        Large arrays in it may lie in memory that the ranks share, and be read-only. An `HpcsolveError` in `make` is
        raised on every rank of the run; any other exception must end them all (`launch.guard` does).
        """

    def gather(self, value: T) -> list[T] | None:
        """On rank 0 every rank's value in rank order, elsewhere None."""

    def allgather(self, value: T) -> list[T]:
        """Every rank's value in rank order, on every rank."""

    def barrier(self) -> None:
        """Return once every rank has come here."""

    def send(self, array: NDArray[Any], to: int) -> Request:
        """Start to send a contiguous array; messages between two ranks arrive in the order sent."""

    def receive(self, array: NDArray[Any], source: int) -> Request:
        """Start to fill a contiguous array with the next message of `source`; its size must match."""


class SerialComm:
    """One rank."""

    rank = 0
    size = 1
    local_rank = 0
    local_size = 1

    def bcast(self, value: T) -> T:
        """The value."""
        return value

    def once_a_host(self, make: Callable[[], T]) -> T:
        """What `make` returns."""
        return make()

    def gather(self, value: T) -> list[T] | None:
        """The value, alone."""
        return [value]

    def allgather(self, value: T) -> list[T]:
        """The value, alone."""
        return [value]

    def barrier(self) -> None:
        """Return at once."""

    def send(self, array: NDArray[Any], to: int) -> Request:
        """Never called: there is no other rank."""
        raise AssertionError("one rank has nobody to send to")

    def receive(self, array: NDArray[Any], source: int) -> Request:
        """Never called: there is no other rank."""
        raise AssertionError("one rank has nobody to receive from")


def agree_minimum(comm: Comm, value: int) -> int:
    """The least value of all ranks, on every rank; integers of any size."""
    return min(comm.allgather(value))
