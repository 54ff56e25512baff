"""Ranks as threads of one process: the Comm protocol without MPI, for tests of what travels between ranks."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Queue
from typing import Any, TypeVar

from numpy.typing import NDArray

T = TypeVar("T")


@dataclass
class Mailboxes:
    """What the ranks of one run share."""

    size: int
    barrier: threading.Barrier = field(init=False)
    board: list[Any] = field(init=False)
    queues: dict[tuple[int, int], Queue[NDArray[Any]]] = field(init=False)

    def __post_init__(self) -> None:
        """One queue a pair of ranks."""
        self.barrier = threading.Barrier(self.size, timeout=60)
        self.board = [None] * self.size
        self.queues = {(a, b): Queue() for a in range(self.size) for b in range(self.size)}


@dataclass
class Arrival:
    """A receive: it takes the next message when it is waited for, as receives between two ranks are in order."""

    queue: Queue[NDArray[Any]]
    target: NDArray[Any]

    def wait(self) -> None:
        """Fill the target; a message of another size is a mistake."""
        message = self.queue.get(timeout=60)
        assert message.shape == self.target.shape and message.dtype == self.target.dtype
        self.target[...] = message


class Departure:
    """A send: the message was copied when it left."""

    def wait(self) -> None:
        """Nothing to wait for."""


@dataclass
class ThreadComm:
    """One rank; counts the bytes that it sends."""

    rank: int
    shared: Mailboxes
    sent: int = 0
    local_rank: int = 0
    local_size: int = 1

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.shared.size

    def allgather(self, value: T) -> list[T]:
        """Everybody's value."""
        self.shared.board[self.rank] = value
        self.shared.barrier.wait()
        values = list(self.shared.board)
        self.shared.barrier.wait()
        return values

    def bcast(self, value: T) -> T:
        """Rank 0's value."""
        return self.allgather(value)[0]

    def once_per_host(self, make: Callable[[], T]) -> T:
        """Every rank is a host of its own; arrays come read-only, as they may from any communicator."""
        arrays: list[pickle.PickleBuffer] = []
        head = pickle.dumps(make(), protocol=5, buffer_callback=arrays.append)
        return pickle.loads(head, buffers=[bytes(array.raw()) for array in arrays])

    def gather(self, value: T) -> list[T] | None:
        """Everybody's value, on rank 0."""
        values = self.allgather(value)
        return values if self.rank == 0 else None

    def barrier(self) -> None:
        """Meet."""
        self.shared.barrier.wait()

    def send(self, array: NDArray[Any], to: int) -> Departure:
        """Copy and go on."""
        self.sent += array.nbytes
        self.shared.queues[self.rank, to].put(array.copy())
        return Departure()

    def receive(self, array: NDArray[Any], source: int) -> Arrival:
        """The next message of `source`."""
        return Arrival(self.shared.queues[source, self.rank], array)


def on_ranks(size: int, work: Callable[[ThreadComm], T]) -> list[T]:
    """`work(comm)` of every rank, each in its own thread; the first exception is raised here."""
    shared = Mailboxes(size)
    results: list[Any] = [None] * size
    errors: list[BaseException] = []

    def start(rank: int) -> None:
        try:
            results[rank] = work(ThreadComm(rank, shared))
        except BaseException as error:  # noqa: BLE001  (raised below)
            errors.append(error)
            shared.barrier.abort()

    threads = [threading.Thread(target=start, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((e for e in errors if not isinstance(e, threading.BrokenBarrierError)), errors[0])
    return results
