"""A communicator whose ranks are threads of one process, for tests without MPI."""

from __future__ import annotations

import ctypes
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Queue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


@dataclass
class Mailboxes:
    """The state that the ranks of one run share."""

    size: int
    barrier: threading.Barrier = field(init=False)
    board: list[Any] = field(init=False)
    queues: dict[tuple[int, int], Queue[NDArray[Any]]] = field(init=False)
    prepared: dict[tuple[int, int, int], Queue[NDArray[Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make one queue for each pair of ranks."""
        self.barrier = threading.Barrier(self.size, timeout=60)
        self.board = [None] * self.size
        self.queues = {(a, b): Queue() for a in range(self.size) for b in range(self.size)}


    def queue(self, sender: int, receiver: int, tag: int) -> Queue[NDArray[Any]]:
        """Return the queue of prepared messages with this tag."""
        return self.prepared.setdefault((sender, receiver, tag), Queue())


@dataclass
class Arrival:
    """A message that is being received. It is taken from the queue when it is waited for."""

    queue: Queue[NDArray[Any]]
    target: NDArray[Any]

    def wait(self) -> None:
        """Fill the target with the next message, which must have its shape and type."""
        message = self.queue.get(timeout=60)
        assert message.shape == self.target.shape and message.dtype == self.target.dtype
        self.target[...] = message


class Departure:
    """A message that has been sent. It was copied at once."""

    def wait(self) -> None:
        """Return at once."""


@dataclass
class Prepared:
    """A message that may be started again. What is sent is copied at once."""

    comm: ThreadComm
    memory: NDArray[Any]
    peer: int
    sends: bool
    tag: int
    under_way: bool = False

    def start(self) -> None:
        """Send a copy, or expect a message."""
        assert not self.under_way
        if self.sends:
            self.comm.sent += self.memory.nbytes
            self.comm.shared.queue(self.comm.rank, self.peer, self.tag).put(self.memory.copy())
        self.under_way = not self.sends

    def done(self) -> bool:
        """Fill the memory if a message has arrived. A rank that has failed sends none."""
        queue = self.comm.shared.queue(self.peer, self.comm.rank, self.tag)
        if self.under_way and not queue.empty():
            message = queue.get()
            assert message.nbytes == self.memory.nbytes
            self.memory[...] = message
            self.under_way = False
        if self.comm.shared.barrier.broken:
            raise threading.BrokenBarrierError
        return not self.under_way

    def free(self) -> None:
        """Do nothing."""
        assert not self.under_way


@dataclass
class ThreadComm:
    """The communicator of one rank, which counts the bytes that it sends."""

    rank: int
    shared: Mailboxes
    sent: int = 0
    local_rank: int = 0
    local_size: int = 1
    host: str = ""
    mpi_library: str = "not started: ranks are threads"
    takes_gpu_memory: bool = False

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self.shared.size

    def allgather(self, value: T) -> list[T]:
        """Return the values of all ranks, on every rank."""
        self.shared.board[self.rank] = value
        self.shared.barrier.wait()
        values = list(self.shared.board)
        self.shared.barrier.wait()
        return values

    def bcast(self, value: T) -> T:
        """Return rank 0's value, on every rank."""
        return self.allgather(value)[0]

    def once_per_host(self, make: Callable[[], T]) -> T:
        """Return what `make` returns, with read-only arrays, as if each rank were alone on its host."""
        arrays: list[pickle.PickleBuffer] = []
        head = pickle.dumps(make(), protocol=5, buffer_callback=arrays.append)
        return pickle.loads(head, buffers=[bytes(array.raw()) for array in arrays])

    def gather(self, value: T) -> list[T] | None:
        """Return the values of all ranks on rank 0 and None on the others."""
        values = self.allgather(value)
        return values if self.rank == 0 else None

    def barrier(self) -> None:
        """Wait until every rank has called this."""
        self.shared.barrier.wait()

    def send(self, array: NDArray[Any], to: int) -> Departure:
        """Send a copy of the array."""
        self.sent += array.nbytes
        self.shared.queues[self.rank, to].put(array.copy())
        return Departure()

    def receive(self, array: NDArray[Any], source: int) -> Arrival:
        """Start to receive the next message from `source`."""
        return Arrival(self.shared.queues[source, self.rank], array)

    def message(self, memory: NDArray[Any] | tuple[int, int], peer: int, sends: bool, tag: int) -> Prepared:
        """Prepare a message from or to an array, or memory that begins at an address."""
        if isinstance(memory, tuple):
            address, nbytes = memory
            memory = np.ctypeslib.as_array((ctypes.c_ubyte * nbytes).from_address(address))
        return Prepared(self, memory.reshape(-1).view(np.uint8), peer, sends, tag)


def on_ranks(size: int, work: Callable[[ThreadComm], T]) -> list[T]:
    """Return what `work(comm)` returns on every rank, each in its own thread, or raise the first exception."""
    shared = Mailboxes(size)

    def start(rank: int) -> T:
        try:
            return work(ThreadComm(rank, shared))
        except BaseException:
            shared.barrier.abort()
            raise

    results = _in_threads(size, start)
    errors = [result for result in results if isinstance(result, BaseException)]
    if errors:
        raise next((e for e in errors if not isinstance(e, threading.BrokenBarrierError)), errors[0])
    return results


def on_hosts(hosts: list[str], work: Callable[[ThreadComm], Any]) -> list[Any]:
    """Return what `work(comm)` returns or raises on every rank. `hosts` names the host of each."""
    shared = Mailboxes(len(hosts))

    def start(rank: int) -> Any:
        local = [other for other, name in enumerate(hosts) if name == hosts[rank]]
        place = {"local_rank": local.index(rank), "local_size": len(local), "host": hosts[rank]}
        return work(ThreadComm(rank, shared, **place))  # type: ignore[arg-type]

    return _in_threads(len(hosts), start)


def _in_threads(count: int, start: Callable[[int], Any]) -> list[Any]:
    """Return what `start(number)` returns or raises, by number."""
    results: list[Any] = [None] * count

    def keep(number: int) -> None:
        try:
            results[number] = start(number)
        except BaseException as error:  # noqa: BLE001  (the caller looks at it)
            results[number] = error

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
