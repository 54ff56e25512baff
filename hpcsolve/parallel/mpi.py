"""The communicator through MPI. Only this module imports mpi4py, and only `MpiComm()` starts MPI.

A rank waits for others mostly asleep: MPI itself waits by polling, which takes a core that the others may need.

Large arrays in broadcast values lie in memory segments that the processes of a host share (segments.py). One process
fills a segment, and the others map it read-only.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import mpi4py
import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import HpcsolveError, InputError, agree
from hpcsolve.parallel.comm import wait_until
from hpcsolve.parallel.segments import map_for_reading, map_for_writing, or_none, reserve_segment

mpi4py.rc.initialize = False
mpi4py.rc.finalize = False
from mpi4py import MPI  # noqa: E402  (without the two lines above the import would start MPI)

T = TypeVar("T")
U = TypeVar("U")
Bytes: TypeAlias = NDArray[np.uint8]
PIECE = 1 << 30
"""Largest MPI message in bytes. Libraries before MPI 4 count in 32-bit integers, and fail at 2^31."""
SHARED_FROM = 1 << 20
"""Size in bytes from which the ranks of a host share one copy of an array."""
SECONDS_TO_PRINT = 0.5
"""Time between a rank's last line and MPI_Abort. By then mpiexec must have passed the line on, or it is lost."""
BOUNDARY = 64
"""Bytes of a cache line. Every part of a segment begins on a multiple of it."""


def duplicate(given: object) -> MpiComm:
    """Return a communicator of hpcsolve with the ranks of one of mpi4py, which is duplicated. Collective.

    Raises
    ------
    InputError
        It is no communicator of mpi4py, or this process is no rank of it, or it joins two groups.
    """
    if not isinstance(given, MPI.Comm):
        raise InputError(f"comm: {type(given).__name__} is no communicator of mpi4py {mpi4py.__version__}")
    if given == MPI.COMM_NULL:
        raise InputError("comm: MPI.COMM_NULL, so this process is no rank of the communicator: call solve on its ranks "
                         "alone")
    if given.Is_inter():
        raise InputError("comm: an intercommunicator joins two groups of ranks: give one with all ranks in a group, as "
                         "comm.Merge() does")
    return MpiComm(given=given)


def mpi_library() -> str:
    """Return name and version of the MPI library in one line. MPI need not have started."""
    words = MPI.Get_library_version().split(",")[0].split("\n")[0].strip("\0").split()
    return " ".join(words).replace("MPICH Version:", "MPICH")


def speaks_pmix() -> bool:
    """Return whether a PMIx launcher can start this MPI library. MPICH without PMIx would abort in MPI_Init."""
    words = MPI.Get_library_version()
    return not words.startswith("MPICH") or "--with-pmix" in words


@dataclass(frozen=True)
class BroadcastGroup:
    """Ranks that receive a value from the first of them.

    Attributes
    ----------
    ranks
        All of them.
    leaders
        The first rank of each of their hosts. Meaningless on the other ranks.
    hosts_shared
        Whether any host has several of them.
    """

    ranks: MPI.Comm
    leaders: MPI.Comm
    hosts_shared: bool


class MpiComm:
    """All ranks that one launcher started, or those of a caller's communicator. `comm.Comm` documents the members.

    Parameters
    ----------
    given
        The caller's communicator, which is duplicated. None: all ranks, for which MPI is started if it has not been.
    piece, shared_from
        As `PIECE` and `SHARED_FROM`, smaller in tests.

    Attributes
    ----------
    rank, size, local_rank, local_size
        Number of this rank and number of ranks, in the run and on this host.
    mpi_library
        Name and version of the MPI library, in one line.
    takes_gpu_memory
        Whether the library says so.
    """

    def __init__(self, piece: int = PIECE, shared_from: int = SHARED_FROM, given: MPI.Comm | None = None) -> None:
        if given is None and not MPI.Is_initialized():
            call_with_own_heap(_initialize)
        ranks: MPI.Comm = MPI.COMM_WORLD if given is None else given
        self._world = ranks.Dup()
        self._internal = ranks.Dup()  # for messages that an algorithm's receive must not catch
        self._messages = ranks.Dup()  # for those that are prepared, which have tags
        self._ends = ranks.Dup()  # for `finish`, which a rank may call while others are in another collective
        host = self._world.Split_type(MPI.COMM_TYPE_SHARED)
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()
        self.local_rank, self.local_size = host.Get_rank(), host.Get_size()
        leaders, hosts_shared = self._world.Split(self.local_rank), max(self.allgather(self.local_size)) > 1
        self._all = BroadcastGroup(self._internal, leaders, hosts_shared)
        self._host = BroadcastGroup(host, MPI.COMM_SELF, self.local_size > 1)
        self.mpi_library, self.takes_gpu_memory = mpi_library(), takes_gpu_memory()
        self._piece, self._shared_from = piece, shared_from

    def bcast(self, value: T) -> T:
        """Return rank 0's value on every rank. Arrays in it may be of any size.

        On a host with several ranks, arrays of at least `shared_from` bytes are stored once and are read-only. Rank 0
        gets such a shared copy too, so that its own array can be freed.
        """
        received: T = self._broadcast(value, self._all)
        return received

    def once_per_host(self, make: Callable[[], T]) -> T:
        """Call `make` on the first rank of each host and return its value, as `bcast` does, on all ranks of that host.

        Raises
        ------
        HpcsolveError
            On every rank of the run, that of the lowest rank whose `make` raised one.
        """
        value: T | None = None
        error: HpcsolveError | None = None
        if self.local_rank == 0:
            try:
                value = make()
            except HpcsolveError as raised:
                error = raised
        agree(self, error)
        made: T = self._broadcast(value, self._host)
        return made

    def gather(self, value: T) -> list[T] | None:
        """Return the values of all ranks, together at most 2 GiB, in rank order on rank 0 and None on the others."""
        self.barrier()
        return self._world.gather(value)

    def allgather(self, value: T) -> list[T]:
        """Return the values of all ranks, together at most 2 GiB, in rank order on every rank."""
        self.barrier()
        return self._world.allgather(value)

    def barrier(self) -> None:
        """Wait until every rank has called this."""
        _barrier(self._world)

    def send(self, array: NDArray[Any], to: int) -> MpiRequest:
        """Start to send a contiguous array. Messages between two ranks arrive in the order in which they were sent."""
        return self._send(self._world, array, to)

    def receive(self, array: NDArray[Any], source: int) -> MpiRequest:
        """Start to fill a contiguous array with the next message from `source`, whose size must match."""
        return self._receive(self._world, array, source)

    def message(self, memory: NDArray[Any] | tuple[int, int], peer: int, sends: bool, tag: int) -> MpiMessage:
        """Prepare a message to or from another rank, which meets one of the same tag and size there."""
        given = _bytes_of(memory) if isinstance(memory, np.ndarray) else MPI.buffer.fromaddress(*memory)
        prepare = self._messages.Send_init if sends else self._messages.Recv_init
        return MpiMessage([prepare(part, peer, tag) for part in self._pieces(given)], given, not sends)

    def _broadcast(self, value: Any, group: BroadcastGroup) -> Any:
        """Return the value of the first rank of a group on all its ranks.

        The value travels along binomial trees of plain messages. Where ranks outnumbered cores, MPICH's own broadcast
        of 24 MB to 3 ranks took 4.4 s, and this one 0.02 s.
        """
        first = group.ranks.Get_rank() == 0
        own: list[Any] = []  # the pickle, and the bytes of the arrays in it, which are not copied
        if first:
            parts: tuple[Any, list[Any]] = MPI.pickle.dumps_oob(value)
            own = [np.frombuffer(part, dtype=np.uint8) for part in (parts[0], *parts[1])]
        _barrier(group.ranks)
        lengths = group.ranks.bcast([len(frame) for frame in own])
        shared = self._reserve([length for length in lengths if length >= self._shared_from], group)
        spaces, frames = iter(shared), []
        for number, length in enumerate(lengths):
            if shared and length >= self._shared_from:
                space, frame = next(spaces)
                if first:
                    space[...] = own[number]
                if self.local_rank == 0:
                    self._pass_down(group.leaders, space)
            else:
                frame = own[number] if first else np.empty(length, dtype=np.uint8)
                self._pass_down(group.ranks, frame)
            frames.append(frame)
        if shared:
            _barrier(self._host.ranks)  # wait until the shared memory of this host is filled
        elif first:
            return value
        return MPI.pickle.loads_oob(frames[0], frames[1:])

    def _reserve(self, lengths: Sequence[int], group: BroadcastGroup) -> list[tuple[Bytes, Bytes]]:
        """Reserve memory for arrays of these lengths in bytes, which the ranks of each host share.

        Returns
        -------
        list of (array, array)
            For each array the bytes to fill, meant for the first rank of the host, and the bytes to read. Empty if
            there is nothing to share, or some rank of the group cannot map its host's memory.
        """
        if not lengths or not group.hosts_shared:
            return []
        host, nbytes = self._host.ranks, aligned_bytes(lengths)
        segment = host.bcast(or_none(reserve_segment, nbytes) if self.local_rank == 0 else None)
        reading = or_none(map_for_reading, segment) if segment else None
        filling = or_none(map_for_writing, segment) if segment and self.local_rank == 0 else reading
        seen = all(group.ranks.allgather(reading is not None and filling is not None))
        if segment and self.local_rank == 0:
            os.close(segment.descriptor)
        if not seen or reading is None or filling is None:
            return []
        return list(zip(aligned_parts(filling, lengths), aligned_parts(reading, lengths), strict=True))

    def _pass_down(self, ranks: MPI.Comm, frame: Bytes) -> None:
        """Fill the frames of all ranks with that of the first one, along a binomial tree."""
        parent, children = binomial_tree(ranks.Get_rank(), ranks.Get_size())
        if ranks.Get_rank() != 0:
            self._receive(ranks, frame, parent).wait()
        for request in [self._send(ranks, frame, child) for child in children]:
            request.wait()

    def _send(self, ranks: MPI.Comm, array: NDArray[Any], to: int) -> MpiRequest:
        return MpiRequest([ranks.Isend(part, dest=to) for part in self._pieces(_bytes_of(array))], array, False)

    def _receive(self, ranks: MPI.Comm, array: NDArray[Any], source: int) -> MpiRequest:
        return MpiRequest([ranks.Irecv(part, source=source) for part in self._pieces(_bytes_of(array))], array, True)

    def _pieces(self, data: Bytes | MPI.buffer) -> list[tuple[Bytes | MPI.buffer, MPI.Datatype]]:
        """Return memory in pieces, at least one, so that an empty message is sent too."""
        return [(data[start : start + self._piece], MPI.BYTE) for start in range(0, max(len(data), 1), self._piece)]

    def finish(self, code: int, failed: bool, patience: float | None) -> list[tuple[int, bool]] | None:
        """Exchange exit codes with the other ranks at the end of the run.

        Parameters
        ----------
        code, failed
            This rank's exit code, and whether an error ended its work.
        patience
            Seconds to wait for the others. None waits without limit.

        Returns
        -------
        list of (int, bool) or None
            Code and failure of every rank, or None if some rank did not answer in time.
        """
        mine, all_ranks = np.array([code, failed], dtype=np.int32), np.empty((self.size, 2), dtype=np.int32)
        request = self._ends.Iallgather([mine, MPI.INT], [all_ranks, 2, MPI.INT])
        deadline = math.inf if patience is None else time.monotonic() + patience
        while not request.Test():
            if time.monotonic() > deadline:
                return None
            time.sleep(0.001)
        return [(int(theirs), bool(broken)) for theirs, broken in all_ranks]

    def free(self) -> None:
        """Give up its communicators, of which MPI libraries have some thousand at most. Collective."""
        for ranks in (self._world, self._internal, self._messages, self._ends, self._host.ranks, self._all.leaders):
            ranks.Free()

    def finalize(self) -> None:
        """End MPI in this process, which goes on without it."""
        _library().MPI_Finalize()

    def abort(self, code: int) -> None:
        """End all ranks at once."""
        with suppress(OSError):  # a closed pipe or a full disk: the error cannot be reported anywhere
            sys.stdout.flush()
            sys.stderr.flush()
        time.sleep(SECONDS_TO_PRINT)
        MPI.COMM_WORLD.Abort(code)
        os._exit(code)  # in some libraries Abort returns


def call_with_own_heap(initialize: Callable[[], object], environment: Mapping[str, str] = os.environ) -> None:
    """Call a function that starts MPI, in a new thread if Slurm's PMI2 has started this process.

    MPICH 5 sends 4 KiB of its heap with the address of each rank, and shortens runs of zeros. If other text lies there,
    such as what a compiler has printed, lines get longer than the 1024 bytes that Slurm's PMI2 reads at once, and
    MPI_Init fails ("value not properly terminated in client request") or hangs. The C library gives each thread a heap
    of its own, and that of a new thread is empty.
    """
    if "PMI_FD" in environment and "SLURM_STEP_ID" in environment:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(initialize).result()
    else:
        initialize()


def _initialize() -> None:
    """Start MPI for calls by any thread, one at a time, as mpi4py does: errors raise exceptions."""
    provided = ctypes.c_int()
    if code := _library().MPI_Init_thread(None, None, MPI.THREAD_SERIALIZED, ctypes.byref(provided)):
        raise RuntimeError(f"MPI_Init_thread returned {code}")
    for comm in (MPI.COMM_WORLD, MPI.COMM_SELF):
        comm.Set_errhandler(MPI.ERRORS_RETURN)


def _library() -> ctypes.CDLL:
    """Return the MPI library of mpi4py, to start and end MPI where Python's other threads must run meanwhile.

    MPI_Init and MPI_Finalize may wait for a rank that never comes. mpi4py calls them without releasing Python's lock,
    so the threads that end a rank then (interrupts.py) would wait too.
    """
    return ctypes.CDLL(MPI.__file__)


def takes_gpu_memory() -> bool:
    """Return whether the MPI library says that it takes memory of NVIDIA's GPUs.

    MPICH and Open MPI, and what derives from them, have a function for it, which knows how the library was built, and
    in MPICH also whether its variables allow it.
    """
    try:
        return bool(_library().MPIX_Query_cuda_support() == 1)
    except AttributeError:
        return False


def _bytes_of(array: NDArray[Any]) -> Bytes:
    """Return the bytes of a contiguous array."""
    if not array.flags.c_contiguous:
        raise ValueError("only contiguous arrays can be sent or received")
    return array.reshape(-1).view(np.uint8)


class MpiMessage:
    """A message, in pieces, that may be started again. See `comm.Message`."""

    def __init__(self, requests: Sequence[MPI.Prequest], memory: Bytes | MPI.buffer, receives: bool) -> None:
        self._requests, self._memory, self._receives = list(requests), memory, receives
        self._statuses = [MPI.Status() for _ in requests]
        self._under_way = False

    def start(self) -> None:
        """Start to send or to receive."""
        MPI.Prequest.Startall(self._requests)
        self._under_way = True

    def done(self) -> bool:
        """Return whether it is not under way, or no longer."""
        if self._under_way and MPI.Request.Testall(self._requests, self._statuses):
            self._under_way = False
            arrived = sum(status.Get_count(MPI.BYTE) for status in self._statuses) if self._receives else 0
            if self._receives and arrived != len(self._memory):
                raise RuntimeError(f"received a message of {arrived} bytes instead of {len(self._memory)}")
        return not self._under_way

    def free(self) -> None:
        """Give up the message."""
        for request in self._requests:
            request.Free()
        self._requests = []


class MpiRequest:
    """A message that is being sent or received in pieces. It keeps the array alive."""

    def __init__(self, requests: Sequence[MPI.Request], array: NDArray[Any], receives: bool) -> None:
        self._requests = list(requests)
        self._array = array
        self._receives = receives

    def wait(self) -> None:
        """Wait until the array may be reused (send) or is filled (receive)."""
        statuses = [MPI.Status() for _ in self._requests]
        wait_until(lambda: MPI.Request.Testall(self._requests, statuses))
        if self._receives:
            arrived = sum(status.Get_count(MPI.BYTE) for status in statuses)
            if arrived != self._array.nbytes:
                raise RuntimeError(f"received a message of {arrived} bytes instead of {self._array.nbytes}")
        self._requests = []


def _barrier(ranks: MPI.Comm) -> None:
    """Wait until every rank has called this. A collective operation of MPI that follows then need not wait."""
    wait_until(ranks.Ibarrier().Test)


def binomial_tree(rank: int, size: int) -> tuple[int, list[int]]:
    """Return the parent and the children, largest subtree first, of a rank in the binomial tree with root 0."""
    lowest_bit = rank & -rank or 1 << size.bit_length()
    steps = [1 << bit for bit in reversed(range(lowest_bit.bit_length() - 1))]
    return rank & (rank - 1), [rank + step for step in steps if rank + step < size]


def aligned_parts(memory: NDArray[np.uint8], lengths: Sequence[int]) -> list[NDArray[np.uint8]]:
    """Return consecutive parts of the memory with these lengths in bytes, each aligned to `BOUNDARY`."""
    starts = np.cumsum([0, *map(_padded, lengths)])
    return [memory[start : start + length] for start, length in zip(starts, lengths)]


def aligned_bytes(lengths: Sequence[int]) -> int:
    """Return the number of bytes that `aligned_parts` of these lengths need."""
    return sum(map(_padded, lengths))


def _padded(length: int) -> int:
    return -(-length // BOUNDARY) * BOUNDARY
