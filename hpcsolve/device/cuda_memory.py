"""Typed memory of a GPU, and copies from it to the host, beside kernels. `cuda.py` has their device.

A GPU copies at full speed into page-locked memory only, and locking the pages of a large array takes longer than
copying it. So a large download passes through a few locked pieces: the GPU fills them one after the other, on a stream
beside that of the kernels, and threads of the host move them to where they belong. Only the calling thread speaks to
the driver. Whenever it waits for the GPU, it advances the downloads: it gives filled pieces to the threads and has the
GPU fill others. So rows come down while the next searches run.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device import base
from hpcsolve.device.select import load_library
from hpcsolve.errors import EnvironmentFault, HpcsolveError, LaunchError

if TYPE_CHECKING:
    from hpcsolve.device.cuda import CudaDevice


@dataclass(eq=False)
class Allocation:
    """GPU memory that a buffer and its views share. `pointer` is PyCUDA's, and None once it is freed."""

    device: CudaDevice
    pointer: Any
    nbytes: int
    address: int = field(init=False)

    def __post_init__(self) -> None:
        """Look up the address once: launches need it often."""
        self.address = int(self.pointer)

    def __del__(self) -> None:
        """Free the memory when nothing refers to it any more. An error is seen at the next call."""
        with suppress(HpcsolveError):
            self.device.release(self)


class IpcHandle(ctypes.Structure):
    """CUDA's handle of an allocation, for other processes."""

    _fields_ = (("reserved", ctypes.c_ubyte * 64),)


@dataclass(eq=False)
class CudaMark:
    """An event that has been recorded, after a copy or on the kernels' stream. See `base.Copy`."""

    device: CudaDevice
    event: Any

    def done(self) -> bool:
        """Return whether the event has been reached."""
        with self.device.calling("a copy"):
            return bool(self.event.query())

    def wait(self) -> None:
        """Wait for the event, and for nothing that was queued after it."""
        with self.device.calling("a copy"):
            self.event.synchronize()

    def join(self) -> None:
        """Have the kernels' stream wait for the event."""
        with self.device.calling("a copy"):
            self.device.stream.wait_for_event(self.event)

    def __del__(self) -> None:
        """Let the event be used again."""
        self.device.context.spare.append(self.event)


@dataclass(eq=False)
class CudaBuffer:
    """Typed GPU memory. See `base.Buffer`.

    Attributes
    ----------
    offset
        First byte, counted from the beginning of the allocation.
    owns_memory
        Whether `free` frees the allocation, as it does not on a view.
    """

    device: CudaDevice
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    allocation: Allocation
    offset: int = 0
    owns_memory: bool = True
    read_only: bool = False

    def __repr__(self) -> str:
        """Return a short description, for messages."""
        return f"<{self.dtype} {self.shape} on {self.device.gpu}>"

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def address(self) -> int:
        """The address of its first element on the GPU. Raises `LaunchError` once it is freed."""
        if self.allocation.pointer is None:
            raise LaunchError(f"{self!r} was freed")
        return self.allocation.address + self.offset

    def view(self, start: int, shape: int | tuple[int, ...]) -> CudaBuffer:
        """Return a part that shares the memory. Raises `LaunchError` if it is not inside."""
        base.check_view(self, start, shape)
        offset = self.offset + start * self.dtype.itemsize
        return CudaBuffer(self.device, base.as_shape(shape), self.dtype, self.allocation, offset, False, self.read_only)

    def upload(self, array: NDArray[Any]) -> None:
        """Copy `array` into it. The array may change as soon as this returns."""
        base.check_writable(self)
        base.check_host_array(self, array)
        source = np.asarray(array, order="C")
        with self.device.copying(self.nbytes, "to") as cuda:
            if self.nbytes:
                cuda.memcpy_htod_async(self.address, source, self.device.stream)

    def download(self, into: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return a copy, which is `into` (contiguous) if that is given."""
        target = np.empty(self.shape, self.dtype) if into is None else into
        self.start_download(target).wait()
        return target

    def start_download(self, into: NDArray[Any]) -> base.Download:
        """Begin a copy into a contiguous array. A small one is complete when this returns."""
        base.check_host_array(self, into, contiguous=True)
        if started := self.device.downloads.start(self, into):
            return started
        with self.device.copying(self.nbytes, "from") as cuda:
            if self.nbytes:
                cuda.memcpy_dtoh_async(into, self.address, self.device.stream)
        return base.DONE

    def copy_out(self, into: NDArray[Any], after: base.Mark) -> base.Copy:
        """Queue a copy into page-locked memory on the stream of copies from the GPU."""
        base.check_host_array(self, into, contiguous=True)
        if not self.device.is_locked(into):
            self.download(into)
            return base.DONE
        return self._copied(after, OUT, lambda cuda, stream: cuda.memcpy_dtoh_async(into, self.address, stream))

    def copy_in(self, source: NDArray[Any] | bytes, after: base.Mark) -> base.Copy:
        """Queue a copy from page-locked memory, or from another GPU, on the stream of copies to this GPU."""
        if isinstance(source, bytes):
            start = self.device.opened(source)
            return self._copied(after, IN, lambda cuda, stream: cuda.memcpy_dtod_async(self.address, start, self.nbytes,
                                                                                       stream))
        base.check_host_array(self, source, contiguous=True)
        if not self.device.is_locked(source):
            self.upload(source)
            return base.DONE
        return self._copied(after, IN, lambda cuda, stream: cuda.memcpy_htod_async(self.address, source, stream))

    def _copied(self, after: base.Mark, way: int, queue: Callable[[Any, Any], None]) -> base.Copy:
        """Queue a copy after a mark on one of the device's streams for copies."""
        with self.device.calling(f"a copy of {self.nbytes} bytes") as cuda:
            stream = self.device.copies[way] = self.device.copies[way] or cuda.Stream()
            if isinstance(after, CudaMark):
                stream.wait_for_event(after.event)
            if self.nbytes:
                queue(cuda, stream)
            return CudaMark(self.device, self.device.context.mark(stream))

    def handle(self) -> bytes:
        """Return the driver's handle of the allocation, and this buffer's first byte in it."""
        made, start = IpcHandle(), ctypes.c_ulonglong(self.allocation.address)
        with self.device.calling("sharing memory"):
            error = load_library().cuIpcGetMemHandle(ctypes.byref(made), start)
        if error:
            raise EnvironmentFault(f"{self.device.gpu} does not share its memory (CUDA error {error})")
        return bytes(made.reserved) + self.offset.to_bytes(8, "little")

    def fill(self, value: int) -> None:
        """Set every byte to `value`."""
        base.check_writable(self)
        with self.device.calling(f"filling {self.nbytes} bytes") as cuda:
            if self.nbytes:
                cuda.memset_d8_async(self.address, value, self.nbytes, self.device.stream)

    def free(self) -> None:
        """Free the memory when the GPU has done what is queued."""
        if self.owns_memory:
            self.device.release(self.allocation)


OUT, IN = range(2)
"""The device's streams for copies from it and to it, which may run side by side."""
PIECE_BYTES = 1 << 22
MOST_PIECES = 8
MOST_THREADS = 4
"""The most host threads that move pieces. One thread copies at about a quarter of the speed of today's PCIe buses."""


@dataclass(eq=False)
class Piece:
    """Page-locked memory that parts of downloads pass through.

    Attributes
    ----------
    filled
        The event after the GPU's copy into it.
    download, target
        The download that it holds a part of, and the bytes of the host array where that part belongs.
    moved
        The copy to `target`, by a thread.
    """

    memory: NDArray[np.uint8]
    filled: Any
    download: CudaDownload | None = None
    target: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    moved: Future[None] = field(default_factory=Future)


@dataclass(eq=False)
class CudaDownload:
    """A download under way. See `base.Download`.

    Attributes
    ----------
    buffer
        The source; None once all of it is in the target.
    ready
        The event after the work that was queued before the download.
    requested, missing
        Bytes whose copy into a piece has been queued, and bytes that are not in the target yet.
    """

    downloads: Downloads
    buffer: CudaBuffer | None
    target: NDArray[np.uint8]
    ready: Any
    requested: int = 0
    missing: int = 0

    def wait(self) -> None:
        """Return when the download is complete."""
        self.downloads.finish(self)


@dataclass(eq=False)
class Downloads:
    """The downloads of a device, in the order in which they began.

    Attributes
    ----------
    most
        The most pieces that may be allocated; fewer once the system has refused to lock one.
    pieces
        All pieces.
    free
        Pieces without content.
    waiting
        Downloads of which some bytes have not been requested.
    filling, moving
        Pieces that the GPU fills, and pieces that threads move, oldest first.
    """

    device: CudaDevice
    piece_bytes: int = PIECE_BYTES
    most: int = MOST_PIECES
    stream: Any = None
    threads: ThreadPoolExecutor | None = None
    pieces: list[Piece] = field(default_factory=list)
    free: list[Piece] = field(default_factory=list)
    waiting: deque[CudaDownload] = field(default_factory=deque)
    filling: deque[Piece] = field(default_factory=deque)
    moving: deque[Piece] = field(default_factory=deque)

    def start(self, buffer: CudaBuffer, into: NDArray[Any]) -> CudaDownload | None:
        """Begin a download into a contiguous array, or return None if a plain copy serves as well.

        That is so if the array is small or its pages are locked, or if no memory can be locked.
        """
        small = 4 * buffer.nbytes < self.piece_bytes
        if small or self.device.is_locked(into) or not (self.pieces or self._add_piece()):
            return None
        with self.device.calling(_what(buffer.nbytes)):
            ready = self.device.context.mark(self.device.stream)
            target = into.reshape(-1).view(np.uint8)
            download = CudaDownload(self, buffer, target, ready, missing=buffer.nbytes)
            self.waiting.append(download)
            self._request()
        return download

    def finish(self, download: CudaDownload) -> None:
        """Wait for all of a download."""
        with self.device.calling(_what(len(download.target))):
            while download.missing and not download.ready.query():
                self._advance()
            started = time.perf_counter()
            while download.missing:
                self._advance()
            self.device.seconds_copy += time.perf_counter() - started

    def finish_from(self, allocation: Allocation) -> None:
        """Wait for all downloads from this memory."""
        for download in {id(each): each for each in self._under_way()}.values():
            if download.buffer and download.buffer.allocation is allocation:
                self.finish(download)

    def advance_until_idle(self) -> None:
        """Advance downloads until none is left, or the kernels' stream is idle. The context must be current."""
        if self.filling or self.waiting:
            done = self.device.context.mark(self.device.stream)
            while (self.filling or self.waiting) and not done.query():
                self._advance()
            self.device.context.spare.append(done)

    def stop(self) -> None:
        """Give up the downloads under way, and end the threads. Afterwards the pieces are not in use."""
        if self.stream and self.device.is_open:
            with suppress(EnvironmentFault), self.device.calling("ending copies"):
                self.stream.synchronize()
        if self.threads:
            self.threads.shutdown()
        self.waiting.clear()
        self.filling.clear()
        self.moving.clear()

    def clear(self) -> None:
        """Give the pieces back, which unlocks their memory."""
        self.pieces.clear()
        self.free.clear()
        self.most, self.stream = 0, None

    def _under_way(self) -> list[CudaDownload]:
        return [*(piece.download for piece in (*self.filling, *self.moving) if piece.download), *self.waiting]

    def _advance(self) -> None:
        """Wait until the oldest piece is filled and have it moved, or wait until it is moved. Then request more."""
        if self.filling:
            piece = self.filling.popleft()
            piece.filled.synchronize()
            self.threads = self.threads or ThreadPoolExecutor(min(MOST_THREADS, self.device.threads))
            piece.moved = self.threads.submit(np.copyto, piece.target, piece.memory[: len(piece.target)])
            self.moving.append(piece)
        else:
            self.moving[0].moved.result()
        self._request()

    def _request(self) -> None:
        """Queue copies into all free pieces, as far as there are bytes to copy."""
        while self.moving and self.moving[0].moved.done():
            self._recycle(self.moving.popleft())
        while self.waiting and (self.free or self._add_piece()):
            download, piece = self.waiting[0], self.free.pop()
            assert download.buffer is not None
            if not download.requested:
                self.stream.wait_for_event(download.ready)
            piece.download, piece.target = download, download.target[download.requested :][: self.piece_bytes]
            memory = piece.memory[: len(piece.target)]
            self.device.cuda.memcpy_dtoh_async(memory, download.buffer.address + download.requested, self.stream)
            piece.filled.record(self.stream)
            self.filling.append(piece)
            download.requested += len(piece.target)
            if download.requested == len(download.target):
                self.waiting.popleft()

    def _recycle(self, piece: Piece) -> None:
        """Make a piece free again whose content has been moved to its target."""
        piece.moved.result()
        download, piece.download = piece.download, None
        assert download is not None
        download.missing -= len(piece.target)
        if not download.missing:
            download.buffer = None
            self.device.context.spare.append(download.ready)
        piece.target = piece.target[:0]
        self.free.append(piece)

    def _add_piece(self) -> bool:
        """Allocate another piece if `most` allows it and its memory can be locked. Return whether it was allocated."""
        if len(self.pieces) >= self.most:
            return False
        memory, locked = self.device.locked(self.piece_bytes)
        if not locked:
            self.most = len(self.pieces)
            self.device.notes.append(
                f"{self.device.gpu}: only {self.most * self.piece_bytes} bytes of host memory could be page-locked, so "
                "copies from the GPU are slower (ulimit -l shows the limit)"
            )
            return False
        with self.device.calling("making a stream") as cuda:
            self.stream = self.stream or cuda.Stream()
            self.pieces.append(Piece(memory, cuda.Event()))
        self.free.append(self.pieces[-1])
        return True


def _what(nbytes: int) -> str:
    return f"a copy of {nbytes} bytes from the GPU"
