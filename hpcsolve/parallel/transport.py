"""Moves device memory from rank to rank, beside the kernels that run meanwhile.

An exchange is what a rank sends and gets at one point of its work. It is prepared once, and may be started many times.
Each of its messages has a leg at both ends:

- `MessageLeg`: an MPI message. Where MPI takes the device's memory itself, as it does on a CPU, nothing is copied.
  Elsewhere the memory passes through page-locked host memory, copied on streams beside that of the kernels.
- `NotedOut` and `NotedIn`, on the same host: the receiving GPU copies from the memory of the sending one (CUDA IPC), or
  from page-locked memory that both processes share. MPI carries two notes only: that the memory may be read, and that
  it has been read.

The way to each other rank is chosen once, by what the driver and the MPI library say. The environment variable
HPCSOLVE_WAYS of rank 0 names those that may be chosen, such as "peer staged". Another way, such as NCCL, would be
another pair of legs.

Before other collective work a rank settles: what others wait for (a message whose memory is still being copied, a note
that memory has been read) would not be sent while this rank waits for them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device.base import DONE, HANDLE_BYTES, Buffer, Copy, Device, Mark
from hpcsolve.errors import EnvironmentFault, HpcsolveError
from hpcsolve.parallel.comm import Comm, Message, wait_until
from hpcsolve.parallel.segments import map_for_reading, map_for_writing, or_none, reserve_segment

WAYS = {"peer": "from GPU to GPU (CUDA IPC)", "mpi": "by the MPI library, which takes the memory of GPUs",
        "shared": "through page-locked memory that the ranks of a host share", "staged": "through page-locked memory"}
"""The ways of messages between GPUs, the best first, in words for the log. A CPU's memory always takes the second."""
DATA, READY, TAKEN, KINDS = range(4)
"""What a message carries. It is part of the tag."""
Part = tuple[Buffer, int]
"""Device memory, and the rank that it goes to or comes from."""


@dataclass
class DeviceMessage:
    """A message from or to a device's own memory. MPI's calls for it need the device's context."""

    device: Device
    message: Message

    def start(self) -> None:
        """Start to send it, or to receive it."""
        with self.device.current():
            self.message.start()

    def done(self) -> bool:
        """Return whether it is not under way, or no longer."""
        with self.device.current():
            return self.message.done()

    def free(self) -> None:
        """Give up the message."""
        with self.device.current():
            self.message.free()


class Leg(Protocol):
    """One message of an exchange, at one of its ends."""

    ended: bool
    """Whether what is sent may be overwritten, or the copy of what has arrived is queued."""
    owes: bool
    """Whether another rank waits for something that this rank will do without waiting for others."""

    def begin(self, mark: Mark) -> None:
        """Begin, once the work before the mark is done. The leg rests."""

    def advance(self) -> None:
        """Do what can be done now."""

    def join(self) -> None:
        """Have the device's later work wait for what has arrived."""

    def rest(self) -> None:
        """Wait until nothing of this rank's is under way. The leg has ended, and owes nothing."""


@dataclass
class MessageLeg:
    """A message by MPI.

    Attributes
    ----------
    staging
        The host memory that it passes through, or None if MPI takes the device's own.
    copy
        The copy to or from the staging, once it is queued.
    """

    view: Buffer
    message: Message
    sends: bool
    staging: NDArray[Any] | None
    copy: Copy = DONE
    mark: Mark = DONE
    owes: bool = False
    ended: bool = True

    def begin(self, mark: Mark) -> None:
        """Queue the copy of what is sent."""
        self.mark, self.copy, self.owes, self.ended = mark, DONE, True, False
        if self.staging is not None and self.sends:
            self.copy = self.view.copy_out(self.staging, mark)

    def advance(self) -> None:
        """Start the message once its memory is ready, and queue the copy of what has arrived."""
        if self.owes and (self.mark if self.staging is None else self.copy).done():
            self.message.start()
            self.owes = False
        if not self.owes and not self.ended and self.message.done():
            if self.staging is not None and not self.sends:
                self.copy = self.view.copy_in(self.staging, self.mark)
            self.ended = True

    def join(self) -> None:
        """Have the device's later work wait for what has arrived."""
        if not self.sends:
            self.copy.join()

    def rest(self) -> None:
        """Wait for the copy."""
        self.copy.wait()


@dataclass
class NotedOut:
    """Memory that another rank of the host reads.

    Attributes
    ----------
    ready, taken
        The note to that rank, and the one from it.
    staging
        The shared memory that is read, or None if it is the device's own.
    copy
        The copy to the staging, or the mark after which the device's own memory may be read.
    """

    view: Buffer
    ready: Message
    taken: Message
    staging: NDArray[Any] | None
    copy: Mark = DONE
    owes: bool = False
    ended: bool = True

    def begin(self, mark: Mark) -> None:
        """Queue the copy, and expect that the memory will be taken."""
        self.copy = mark if self.staging is None else self.view.copy_out(self.staging, mark)
        self.owes, self.ended = True, False
        self.taken.start()

    def advance(self) -> None:
        """Say that the memory may be read, once it may."""
        if self.owes and self.copy.done():
            self.ready.start()
            self.owes = False
        self.ended = not self.owes and self.ready.done() and self.taken.done()

    def join(self) -> None:
        """Do nothing: nothing arrives."""

    def rest(self) -> None:
        """Do nothing: the leg has ended with the copy."""


@dataclass
class NotedIn:
    """Memory that is filled from what another rank of the host shares.

    Attributes
    ----------
    ready, taken
        The note from that rank, and the one to it.
    note
        What `ready` brings: which memory it is.
    source
        Returns what `Buffer.copy_in` takes for a note.
    """

    view: Buffer
    ready: Message
    taken: Message
    note: NDArray[np.uint8]
    source: Callable[[bytes], NDArray[Any] | bytes]
    copy: Copy = DONE
    mark: Mark = DONE
    owes: bool = False
    ended: bool = True

    def begin(self, mark: Mark) -> None:
        """Expect that the other memory may be read."""
        self.mark, self.ended = mark, False
        self.ready.start()

    def advance(self) -> None:
        """Read the other memory once it may be read, and then say so."""
        if not self.ended and self.ready.done():
            self.copy = self.view.copy_in(self.source(self.note.tobytes()), self.mark)
            self.ended = self.owes = True
        if self.owes and self.copy.done():
            self.taken.start()
            self.owes = False

    def join(self) -> None:
        """Have the device's later work wait for the copy."""
        self.copy.join()

    def rest(self) -> None:
        """Wait until the note is sent, which is a matter of its few bytes."""
        wait_until(self.taken.done)


@dataclass
class Exchange:
    """The messages of a rank at one point of its work. `Transport.exchange` prepares it."""

    transport: Transport
    turn: int
    legs: Sequence[Leg]

    def start(self) -> None:
        """Begin. What is sent is read, and what arrives is written, once the work that is queued so far is done."""
        transport = self.transport
        if self.legs:
            transport.rest(self.turn)
            transport.under_way[self.turn] = self
            mark = transport.device.mark()
            for leg in self.legs:
                leg.begin(mark)
            transport.advance()

    def finish(self) -> None:
        """Wait for the messages. What is queued from now on may read what has arrived, and overwrite what was sent."""
        if not all(leg.ended for leg in self.legs):
            wait_until(self._ended)
        for leg in self.legs:
            leg.join()

    def _ended(self) -> bool:
        self.transport.advance()
        return all(leg.ended for leg in self.legs)


@dataclass
class Transport:
    """The ways of this rank's messages. Constructor, `reserve` and `close` are collective.

    Attributes
    ----------
    turns
        How many exchanges may be under way at a time.
    ways
        The way to each rank, a key of `WAYS`.
    shares
        Whether the ranks of a host may share memory: some ranks have a GPU.
    under_way
        The last exchange of each turn.
    staging
        For each turn the host memory that its messages pass through.
    others
        The staging of other ranks of the host, in one array.
    """

    device: Device
    comm: Comm
    turns: int = 1
    ways: list[str] = field(init=False)
    shares: bool = field(init=False)
    under_way: list[Exchange] = field(init=False)
    staging: list[NDArray[np.uint8]] = field(init=False)
    others: dict[int, NDArray[np.uint8]] = field(init=False, default_factory=dict)
    messages: list[tuple[Message, object]] = field(init=False, default_factory=list)
    memory: NDArray[np.uint8] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Choose the ways."""
        nothing = np.empty(0, np.uint8)
        self.under_way = [Exchange(self, turn, ()) for turn in range(self.turns)]
        self.staging = [nothing] * self.turns
        self.ways, self.shares = ways_of(self.device, self.comm) if self.comm.size > 1 else (["mpi"], False)

    def reserve(self, nbytes: int) -> None:
        """Take host memory for so many bytes of messages in each turn, if some pass through it. Collective.

        Ranks of a host share it where each can map that of the other. The log says which ways are taken.
        """
        if self.shares:
            self._share(nbytes)
        if "staged" in self.ways and not self.others:
            self.staging = [self.device.staging(nbytes, np.uint8) for _ in range(self.turns)]
        others = [way for rank, way in enumerate(self.ways) if rank != self.comm.rank]
        if others and self.comm.rank == 0 and self.device.info.kind != "cpu":
            said = ", ".join(f"{words} ({others.count(way)} of {len(others)})" for way, words in WAYS.items()
                             if way in others)
            line = f"messages of rank 0: {said}"
            self.device.notes += [line] if line not in self.device.notes else []

    def _share(self, nbytes: int) -> None:
        """Have the staging in a segment of memory that other ranks of the host map."""
        comm, host, whole = self.comm, socket.gethostname(), nbytes * self.turns
        own = or_none(reserve_segment, whole) if "staged" in self.ways and whole else None
        offered = comm.allgather((host, own))
        self.others = {}
        for rank, (place, segment) in enumerate(offered):
            if own and segment and place == host and rank != comm.rank and self.ways[rank] == "staged":
                other = or_none(lambda one: map_for_reading(one, protected=False), segment)
                self.others.update({} if other is None else {rank: other})
        mapped = comm.allgather(list(self.others))
        self.others = {rank: other for rank, other in self.others.items() if comm.rank in mapped[rank]}
        if own is None:
            return
        if self.others:
            memory = map_for_writing(own)
            self.memory = memory  # whose deletion unlocks the pages
            for array in (memory, *self.others.values()):
                self.device.lock(array)
            self.staging = [memory[turn * nbytes : (turn + 1) * nbytes] for turn in range(self.turns)]
            self.ways = ["shared" if rank in self.others else way for rank, way in enumerate(self.ways)]
        os.close(own.descriptor)

    def exchange(self, turn: int, outgoing: Sequence[Part], incoming: Sequence[Part]) -> Exchange:
        """Return an exchange of device memory with other ranks, at most one message to each and one from it.

        Parameters
        ----------
        turn
            Its number below `turns`, the same at the other end of each message. At any time only one exchange of each
            number may be under way.
        """
        legs, used = list[Leg](), 0
        for sends, parts in ((False, incoming), (True, outgoing)):
            for view, peer in parts:
                way, staging, place = self.ways[peer], None, turn * len(self.staging[turn]) + used
                if way == "staged" or (way == "shared" and sends):
                    staging = self.staging[turn][used : used + view.nbytes].view(view.dtype).reshape(view.shape)
                    used += view.nbytes
                if way in {"peer", "shared"}:
                    legs.append(self._noted(turn, view, peer, sends, staging, place))
                else:
                    message = self._message(turn, DATA, view if staging is None else staging, peer, sends)
                    legs.append(MessageLeg(view, message, sends, staging))
        return Exchange(self, turn, legs)

    def _noted(self, turn: int, view: Buffer, peer: int, sends: bool, staging: NDArray[Any] | None, place: int) -> Leg:
        """Return a leg of memory that the receiver reads: a GPU's, or from a place in the sender's staging."""
        note = np.zeros(HANDLE_BYTES, np.uint8)
        if sends:
            said = view.handle() if staging is None else place.to_bytes(HANDLE_BYTES, "little")
            note[:] = np.frombuffer(said, np.uint8)
        ready = self._message(turn, READY, note, peer, sends)
        taken = self._message(turn, TAKEN, np.zeros(1, np.uint8), peer, not sends)
        if sends:
            return NotedOut(view, ready, taken, staging)

        def shared(note: bytes) -> NDArray[Any]:
            first = int.from_bytes(note, "little")
            return self.others[peer][first : first + view.nbytes].view(view.dtype).reshape(view.shape)

        return NotedIn(view, ready, taken, note, shared if self.ways[peer] == "shared" else bytes)

    def _message(self, turn: int, what: int, memory: NDArray[Any] | Buffer, peer: int, sends: bool) -> Message:
        on_gpu, tag = not isinstance(memory, np.ndarray) and self.device.info.kind != "cpu", turn * KINDS + what
        given = memory if isinstance(memory, np.ndarray) else (memory.address, memory.nbytes)
        with self.device.current() if on_gpu else nullcontext():
            message = self.comm.message(given, peer, sends, tag)
        message = DeviceMessage(self.device, message) if on_gpu else message
        self.messages.append((message, memory))  # which must live as long
        return message

    def advance(self) -> None:
        """Do what can be done now for all exchanges under way."""
        for exchange in self.under_way:
            for leg in exchange.legs:
                if leg.owes or not leg.ended:
                    leg.advance()

    def settle(self) -> None:
        """Wait until no other rank waits for this one alone. To be called before other collective work."""
        wait_until(self._owes_nothing)

    def _owes_nothing(self) -> bool:
        self.advance()
        return not any(leg.owes for exchange in self.under_way for leg in exchange.legs)

    def rest(self, turn: int) -> None:
        """Wait until nothing of a turn, whose exchange is finished, is under way on this rank."""
        legs = self.under_way[turn].legs
        if any(leg.owes for leg in legs):
            self.settle()
        for leg in legs:
            leg.rest()

    def close(self) -> None:
        """Give up all messages. Afterwards no rank uses the memory of another. Collective."""
        self.free()
        if self.comm.size > 1:
            self.comm.barrier()

    def free(self) -> None:
        """Give up this rank's messages. All exchanges are finished."""
        for turn in range(self.turns):
            self.rest(turn)
        for message, _ in self.messages:
            message.free()
        self.messages, self.staging, self.others, self.memory = [], [], {}, None
        self.under_way = [Exchange(self, turn, ()) for turn in range(self.turns)]
        if "peer" in self.ways:
            self.device.forget_handles()


def ways_of(device: Device, comm: Comm) -> tuple[list[str], bool]:
    """Return the way of messages to each rank and from it, and whether ranks may share host memory. Collective.

    GPUs of a host read each other's memory if both have read, by its handle, what the other has written. An MPI library
    gets the memory of GPUs if it says that it takes it, and has brought what was in it.

    Raises
    ------
    EnvironmentFault
        HPCSOLVE_WAYS names an unknown way.
    """
    gpu, host = device.info.kind != "cpu", socket.gethostname()
    allowed = comm.bcast(os.environ.get("HPCSOLVE_WAYS", " ".join(WAYS)).split())
    if unknown := [way for way in allowed if way not in WAYS]:
        raise EnvironmentFault(f"HPCSOLVE_WAYS: {unknown[0]} is no way to send messages; choose from {', '.join(WAYS)}")
    sample = device.upload(np.array([comm.rank] if gpu else [], np.int64))
    tries = gpu and "peer" in allowed and comm.local_size > 1
    shown = comm.allgather((host, gpu, _handle(sample) if tries else b""))
    if not any(with_gpu for _, with_gpu, _ in shown):
        return ["mpi"] * comm.size, False
    reads = [gpu and place == host and rank != comm.rank and bool(handle) and _reads(device, handle, rank)
             for rank, (place, _, handle) in enumerate(shown)]
    device.forget_handles()
    all_reads = comm.allgather(reads)
    sample.free()
    said = all(comm.allgather(comm.takes_gpu_memory))  # or some ranks would try while others do not
    direct = "mpi" in allowed and said and all(comm.allgather(_arrives(device, comm)))
    own = "mpi" if direct or not gpu else "staged"
    ways = ["peer" if reads[rank] and all_reads[rank][comm.rank] else own for rank in range(comm.size)]
    return ways, "shared" in allowed


def _arrives(device: Device, comm: Comm) -> bool:
    """Return whether MPI brings the rank before this one's number from its device's memory to this one's. Collective.

    What a library says of itself may hold for another network than the one it has found.
    """
    before, after = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    out, into = device.upload(np.array([comm.rank], np.int64)), device.upload(np.array([-1], np.int64))
    with device.current():
        messages = [comm.message((buffer.address, buffer.nbytes), peer, sends, DATA)
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
