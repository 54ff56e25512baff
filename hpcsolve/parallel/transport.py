"""Moves device memory from rank to rank, beside the kernels that run meanwhile.

An exchange is what a rank sends and gets at one point of its work. It is prepared once, and may be started many times.
Each of its messages has an end on two ranks, `send` and `receive`. An end is a generator that does its part step by
step, and yields what it waits for. Whoever waits for anything goes on with all ends of the rank.

MPI carries the memory itself where it takes that of the device, as it does on a CPU. Elsewhere it carries host memory
(`staged`), to and from which the device copies on streams beside that of the kernels. On the same host a GPU may copy
from the memory of another one (`peer`, by CUDA IPC), or from page-locked memory that both processes share (`shared`).
Then MPI carries two notes: where the memory may be read, and that it has been read.

The way to each other rank is chosen once, by what the driver and the MPI library say. The environment variable
HPCSOLVE_WAYS of rank 0 names those that may be chosen, such as "peer". The way that always works, `staged`, need not be
named. Another way, such as NCCL, would be another end.

Before other collective work a rank calls `flush`. What others wait for (a message whose memory is still being copied, a
note that memory has been read) would not be sent while this rank waits for them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device.base import HANDLE_BYTES, Buffer, Copy, Device, Mark
from hpcsolve.errors import EnvironmentFault, HpcsolveError, Stopped
from hpcsolve.parallel.comm import Comm, Message, wait_until
from hpcsolve.parallel.segments import map_for_reading, map_for_writing, or_none, reserve_segment
from hpcsolve.wording import counted

WAYS = {"peer": "from GPU to GPU (CUDA IPC)", "mpi": "by the MPI library, which takes the memory of GPUs",
        "shared": "through page-locked memory that the ranks of a host share", "staged": "through page-locked memory"}
"""The ways of messages between GPUs, the best first, in words for the log. A CPU's memory always takes the second."""
FORTH, BACK, TAGS = range(3)
"""Tags of MPI messages: what the sender of memory says, what the receiver says, and how many tags an exchange has."""


class Waits(Enum):
    """What an end of a message waits for."""

    DEVICE = auto()
    """This rank's device. The other rank may wait for this one."""
    PEER = auto()
    """The other rank."""
    ARRIVED = auto()
    """This rank's device, as the other rank does, but what arrives is on its way to its place already."""
    NOTHING = auto()
    """It has done its part."""


def send(view: Buffer, staging: NDArray[Any] | None, message: Message, taken: Message | None,
         after: Mark) -> Iterator[Waits]:
    """Send memory, once the work before a mark is done. At the end it may be overwritten.

    Parameters
    ----------
    staging
        Host memory that it is copied to first, or None.
    message
        The memory, or the note where it may be read.
    taken
        The note that it has been read, or None if `message` is the memory.
    """
    if taken:
        taken.start()
    copy = view.copy_out(staging, after) if staging is not None else after
    while not copy.done():
        yield Waits.DEVICE
    message.start()
    while not (message.done() and (taken is None or taken.done())):
        yield Waits.PEER


def receive(view: Buffer, source: Callable[[], NDArray[Any] | bytes] | None, message: Message, taken: Message | None,
            arrived: list[Copy], after: Mark) -> Iterator[Waits]:
    """Receive memory, once the work before a mark is done.

    Parameters
    ----------
    source
        Returns what the memory is copied from, as `Buffer.copy_in` takes it, once `message` is here. None if that is
        the memory itself.
    message, taken
        As in `send`.
    arrived
        Gets the copy, which may be under way still. Later work of the device has to wait for it.
    """
    while source is None and not after.done():
        yield Waits.DEVICE
    message.start()
    while not message.done():
        yield Waits.PEER
    if source is not None:
        copy = view.copy_in(source(), after)
        arrived.append(copy)
        if taken:
            while not copy.done():
                yield Waits.ARRIVED
            taken.start()
            while not taken.done():
                yield Waits.ARRIVED


@dataclass
class Exchange:
    """The messages of a rank at one point of its work. `Transport.exchange` prepares it.

    Attributes
    ----------
    ends
        Each begins an end of a message, which takes part once the work before a mark is done.
    under_way
        The ends that have begun, and what they wait for.
    arrived
        The copies of what has arrived.
    """

    transport: Transport
    turn: int
    ends: list[Callable[[Mark], Iterator[Waits]]] = field(default_factory=list)
    under_way: dict[Iterator[Waits], Waits] = field(default_factory=dict)
    arrived: list[Copy] = field(default_factory=list)

    def start(self) -> None:
        """Begin. What is sent is read, and what arrives is written, once the work that is queued so far is done."""
        if self.ends:
            self.transport.latest[self.turn].rest()
            self.transport.latest[self.turn] = self
            after = self.transport.device.mark()
            self.under_way = {end(after): Waits.DEVICE for end in self.ends}
            self.transport.advance([])

    def finish(self) -> None:
        """Wait for the messages. What is queued from now on may read what has arrived, and overwrite what was sent."""
        self.transport.advance([self], Waits.ARRIVED, Waits.NOTHING)
        for copy in self.arrived:
            copy.join()

    def rest(self) -> None:
        """Wait until nothing of this rank's is under way."""
        self.transport.advance([self], Waits.NOTHING)
        while self.arrived:
            self.arrived.pop().wait()


class Transport:
    """The messages of this rank's device memory. A context manager, whose constructor and end are collective.

    At the end all messages are given up, and no rank uses the memory of another. The log says which ways they took.

    Parameters
    ----------
    nbytes
        The most bytes of one exchange on this rank, of all messages to it and from it together.
    turns
        How many exchanges may be under way at a time.

    Attributes
    ----------
    ways
        The way to each other rank, a key of `WAYS`.
    staging
        The host memory that messages pass through, `nbytes` for each turn. Empty if none do.
    mapped
        By rank, the staging of other ranks of the host, if messages from them are read there.
    latest
        For each turn, the exchange that was started last.
    """

    def __init__(self, device: Device, comm: Comm, nbytes: int, turns: int = 1) -> None:
        self.device, self.comm, self.nbytes = device, comm, nbytes
        self.latest, self.messages = [Exchange(self, turn) for turn in range(turns)], list[Message]()
        self.staging, self.mapped = np.empty(0, np.uint8), dict[int, NDArray[np.uint8]]()
        self.ways, shares = ways_of(device, comm)
        if shares:
            self._share()
        if "staged" in self.ways.values() and not self.mapped:
            self.staging = device.staging(nbytes * turns, np.uint8)
        if self.ways and comm.rank == 0 and device.info.kind != "cpu":
            numbers = {way: list(self.ways.values()).count(way) for way in WAYS}
            said = [f"with {counted(number, 'rank')} {WAYS[way]}" for way, number in numbers.items() if number]
            line = f"messages of rank 0: {', '.join(said)}"
            device.notes += [line] if line not in device.notes else []

    def _share(self) -> None:
        """Have the staging in memory that other ranks of the host map, where each can map that of the other."""
        comm, host, nbytes = self.comm, socket.gethostname(), self.nbytes * len(self.latest)
        own = or_none(reserve_segment, nbytes) if "staged" in self.ways.values() and nbytes else None
        offered = comm.allgather((host, own))
        for rank, way in self.ways.items():
            place, segment = offered[rank]
            if own and segment and place == host and way == "staged":
                other = or_none(lambda one: map_for_reading(one, protected=False), segment)
                self.mapped.update({} if other is None else {rank: other})
        mapped_by = comm.allgather(list(self.mapped))
        self.mapped = {rank: other for rank, other in self.mapped.items() if comm.rank in mapped_by[rank]}
        if self.mapped and own:
            self.staging = map_for_writing(own)
            for array in (self.staging, *self.mapped.values()):
                self.device.lock(array)
            self.ways.update(dict.fromkeys(self.mapped, "shared"))
        if own:
            os.close(own.descriptor)

    def exchange(self, turn: int, outgoing: Sequence[tuple[Buffer, int]],
                 incoming: Sequence[tuple[Buffer, int]]) -> Exchange:
        """Return an exchange of device memory with other ranks, at most one message to each and one from it.

        Parameters
        ----------
        turn
            Its number below `turns`, the same at the other end of each message. At any time only one exchange of each
            number may be under way.
        outgoing, incoming
            Of each message the memory, and the rank that it goes to or comes from.
        """
        made, place = Exchange(self, turn), turn * self.nbytes
        with self._memory_for_mpi():
            for view, peer in incoming:
                made.ends.append(self._receiving(made, place, view, peer))
                place += view.nbytes
            for view, peer in outgoing:
                made.ends.append(self._sending(made, place, view, peer))
                place += view.nbytes
        return made

    def _sending(self, exchange: Exchange, place: int, view: Buffer, peer: int) -> Callable[[Mark], Iterator[Waits]]:
        """Return the end of a message to another rank. It may pass through the staging at a place."""
        way, message = self.ways[peer], partial(self._message, exchange.turn, peer)
        staging = part_like(view, self.staging, place) if way in {"staged", "shared"} else None
        if way in {"mpi", "staged"}:
            return partial(send, view, staging, message(FORTH, view if staging is None else staging, True), None)
        where = view.handle() if way == "peer" else place.to_bytes(HANDLE_BYTES, "little")
        return partial(send, view, staging, message(FORTH, np.frombuffer(where, np.uint8).copy(), True),
                       message(BACK, np.zeros(1, np.uint8), False))

    def _receiving(self, exchange: Exchange, place: int, view: Buffer, peer: int) -> Callable[[Mark], Iterator[Waits]]:
        """Return the end of a message from another rank. It may pass through the staging at a place."""
        way, message = self.ways[peer], partial(self._message, exchange.turn, peer)
        if way == "mpi":
            return partial(receive, view, None, message(FORTH, view, False), None, exchange.arrived)
        if way == "staged":
            staging = part_like(view, self.staging, place)
            return partial(receive, view, lambda: staging, message(FORTH, staging, False), None, exchange.arrived)
        where = np.zeros(HANDLE_BYTES, np.uint8)

        def shared() -> NDArray[Any]:
            return part_like(view, self.mapped[peer], int.from_bytes(where.tobytes(), "little"))

        return partial(receive, view, where.tobytes if way == "peer" else shared, message(FORTH, where, False),
                       message(BACK, np.zeros(1, np.uint8), True), exchange.arrived)

    def _message(self, turn: int, peer: int, tag: int, memory: NDArray[Any] | Buffer, sends: bool) -> Message:
        given = memory if isinstance(memory, np.ndarray) else (memory.address, memory.nbytes)
        self.messages.append(self.comm.message(given, peer, sends, turn * TAGS + tag))
        return self.messages[-1]

    def _memory_for_mpi(self) -> AbstractContextManager[Any]:
        """Give a block in which MPI may be handed the device's memory, if it takes that."""
        return self.device.current() if "mpi" in self.ways.values() else nullcontext()

    def advance(self, exchanges: Iterable[Exchange], *until: Waits) -> None:
        """Go on with all ends under way, at least once, until those of these exchanges wait for one of these."""

        def reached() -> bool:
            with self._memory_for_mpi():
                for ends in [exchange.under_way for exchange in self.latest]:
                    for end in ends:
                        ends[end] = next(end, Waits.NOTHING)
            return all(waits in until for exchange in exchanges for waits in exchange.under_way.values())

        wait_until(reached)

    def flush(self) -> None:
        """Wait until no other rank waits for this one alone. To be called before other collective work."""
        self.advance(self.latest, Waits.PEER, Waits.NOTHING)

    def forget(self) -> None:
        """Wait until nothing of this rank's is under way, and give up its messages. Exchanges must be prepared anew."""
        for exchange in self.latest:
            exchange.rest()
        with self._memory_for_mpi():
            for message in self.messages:
                message.free()
        self.latest, self.messages = [Exchange(self, exchange.turn) for exchange in self.latest], []

    def __enter__(self) -> Transport:
        """Return the transport."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Give up all messages. Collective, unless another error than `Stopped` ends the run."""
        if error is None or isinstance(error, HpcsolveError):
            self.forget()
            self.staging, self.mapped = np.empty(0, np.uint8), {}
            if "peer" in self.ways.values():
                self.device.forget_handles()
        if error is None or isinstance(error, Stopped):  # which all ranks raise
            self.comm.barrier()


def part_like(view: Buffer, memory: NDArray[np.uint8], place: int) -> NDArray[Any]:
    """Return the part of host memory from a place on that is of the shape and type of device memory."""
    return memory[place : place + view.nbytes].view(view.dtype).reshape(view.shape)


def ways_of(device: Device, comm: Comm) -> tuple[dict[int, str], bool]:
    """Return the way of messages to and from each other rank, and whether ranks may share host memory. Collective.

    GPUs of a host read each other's memory if both have read, by its handle, what the other has written. An MPI library
    gets the memory of GPUs if it says that it takes it, and has brought what was in it.

    Raises
    ------
    EnvironmentFault
        HPCSOLVE_WAYS names an unknown way.
    """
    allowed = comm.bcast(os.environ.get("HPCSOLVE_WAYS", " ".join(WAYS)).split())
    if unknown := [way for way in allowed if way not in WAYS]:
        raise EnvironmentFault(f"HPCSOLVE_WAYS: {unknown[0]} is no way to send messages; choose from {', '.join(WAYS)}")
    gpu, others = device.info.kind != "cpu", [rank for rank in range(comm.size) if rank != comm.rank]
    if not others or not any(comm.allgather(gpu)):
        return dict.fromkeys(others, "mpi"), False
    sample, host = device.upload(np.array([comm.rank], np.int64)), socket.gethostname()
    tries = gpu and "peer" in allowed and comm.local_size > 1
    shown = comm.allgather((host, _handle(sample) if tries else b""))
    read = [rank for rank, (place, handle) in enumerate(shown)
            if tries and place == host and rank != comm.rank and handle and _reads(device, handle, rank)]
    device.forget_handles()
    read_by = comm.allgather(read)
    sample.free()
    said = all(comm.allgather(comm.takes_gpu_memory))  # or some ranks would try while others do not
    direct = "mpi" in allowed and said and all(comm.allgather(_arrives(device, comm)))
    otherwise = "mpi" if direct or not gpu else "staged"
    ways = {rank: "peer" if rank in read and comm.rank in read_by[rank] else otherwise for rank in others}
    return ways, "shared" in allowed


def _arrives(device: Device, comm: Comm) -> bool:
    """Return whether MPI brings the rank before this one's number from its device's memory to this one's. Collective.

    What a library says of itself may hold for another network than the one it has found.
    """
    before, after = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    out, into = device.upload(np.array([comm.rank], np.int64)), device.upload(np.array([-1], np.int64))
    with device.current():
        messages = [comm.message((buffer.address, buffer.nbytes), peer, sends, FORTH)
                    for buffer, peer, sends in ((into, before, False), (out, after, True))]
        for message in messages:
            message.start()
        for message in messages:
            wait_until(message.done)
            message.free()
    arrived = bool(into.download()[0] == before)
    for buffer in (out, into):
        buffer.free()
    return arrived


def _handle(buffer: Buffer) -> bytes:
    """Return the handle of memory, empty if the driver does not share it."""
    try:
        return buffer.handle()
    except HpcsolveError:
        return b""


def _reads(device: Device, handle: bytes, expected: int) -> bool:
    """Return whether a device reads what another one has written."""
    into = device.zeros(1, np.int64)
    try:
        into.fill(0xFF)
        into.copy_in(handle, device.mark()).wait()
        return bool(into.download()[0] == expected)
    except HpcsolveError:
        return False
    finally:
        into.free()
