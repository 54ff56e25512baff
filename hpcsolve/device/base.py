"""What a device can do, as algorithms see it. `host.py` and `cuda.py` implement it.

Kernels stand in `cuda_src/{file}.cu`, and are declared there alone. A launch names its arguments. A missing, unknown or
mistyped one is refused in the same way on both kinds of device (`declaration.py`), so mistakes on a GPU are found on
the CPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.errors import LaunchError

Own = TypeVar("Own", bound="Device")


@dataclass(frozen=True)
class DeviceInfo:
    """The description of a device in the log and in `/ranks`."""

    kind: str
    """`cpu` or `cuda`."""
    name: str
    uuid: str
    compiler: str
    """Name and version of the compiler that builds its kernels."""
    units: int = 1
    """Number of blocks that run at the same time: threads of a CPU, multiprocessors of a GPU."""
    threads: int = 1
    """CPU threads of the rank, for kernels that run on the CPU whatever the device."""
    memory: int = 0
    """Bytes of a GPU that were free when it was opened, the least share of all ranks, so that they plan alike. Of a CPU
    0, since its memory is divided anew for each run."""


ONE_CORE = DeviceInfo("cpu", "", "", "")
"""The device that an estimate assumes where none is open yet."""


def batches_at_once(info: DeviceInfo) -> int:
    """Return the number of batches whose results are held at a time. A GPU solves one while the last one is copied."""
    return 2 if info.kind == "cuda" else 1


class Download(Protocol):
    """A copy from the device to the host that may still be under way."""

    def wait(self) -> None:
        """Return when the copy is complete."""


class Mark(Protocol):
    """A point of the device's queue."""

    def done(self) -> bool:
        """Return whether all work before it is done."""


class Copy(Download, Mark, Protocol):
    """A copy to or from staging, or another GPU, beside the kernels."""

    def join(self) -> None:
        """Have the work that is queued from now on wait for the copy."""


@dataclass(frozen=True)
class Done:
    """A copy that was complete when it began, as a CPU's are."""

    def done(self) -> bool:
        """Return true."""
        return True

    def wait(self) -> None:
        """Return at once."""

    def join(self) -> None:
        """Do nothing."""


DONE = Done()
HANDLE_BYTES = 72
"""The driver's handle of an allocation, and the first byte in it as a word of 64 bits."""


class Buffer(Protocol):
    """Contiguous typed memory on a device."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, row-major."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""

    @property
    def device(self) -> Device:
        """The device whose memory it is."""

    @property
    def read_only(self) -> bool:
        """Whether the memory is a constant, or part of one."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""

    @property
    def address(self) -> int:
        """The address of its first element, as kernels see it."""

    def view(self, start: int, shape: int | tuple[int, ...]) -> Buffer:
        """Return a part, from element `start` of the flat buffer, which shares the memory and keeps it alive."""

    def upload(self, array: NDArray[Any]) -> None:
        """Copy an array of the host, of the same shape and dtype, into this memory."""

    def download(self, into: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return a host copy, which is `into` (same shape and dtype) if that is given."""

    def start_download(self, into: NDArray[Any]) -> Download:
        """Begin to copy into a contiguous host array (same shape and dtype). The copy follows the work queued so far.

        Kernels that are launched later may run during the copy. Until `wait` has returned, the array must not be used,
        and the buffer must not be written to. Freeing the buffer waits for the copy.
        """

    def copy_out(self, into: NDArray[Any], after: Mark) -> Copy:
        """Begin to copy into staging (same shape and dtype), once the work before a mark is done.

        Beside kernels only into memory from `Device.staging`. Other memory is filled when this returns.
        """

    def copy_in(self, source: NDArray[Any] | bytes, after: Mark) -> Copy:
        """Begin to copy from staging, or from the memory of another GPU that this `handle` names.

        As `copy_out`: once the work before a mark is done, and beside kernels.
        """

    def handle(self) -> bytes:
        """Return what another process of the host needs for `copy_in` from this memory, `HANDLE_BYTES` bytes.

        Raises
        ------
        EnvironmentFault
            The driver does not share this device's memory.
        """

    def fill(self, value: int) -> None:
        """Set every byte to `value`."""

    def free(self) -> None:
        """Free the memory now. On a view this does nothing."""


Argument: TypeAlias = int | float | Buffer | Mapping[str, "Argument"] | None
"""What a launch passes: a number, a buffer (or None where the kernel's source says NULLABLE), or for a group (a struct)
a mapping with its fields' names."""


class Kernel(Protocol):
    """A compiled kernel, ready to launch."""

    def __call__(self, grid: int, block: int, /, **arguments: Argument) -> None:
        """Start `grid` blocks of `block` threads. The call may return before they are done.

        A CPU has one thread per block, whatever `block` says. An empty grid starts nothing.

        Raises
        ------
        LaunchError
            An argument is missing, unknown or mistyped. The message names it and the kernel, and nothing has run.
        """

    def each(self, step: str, steps: range, grid: int, block: int, /, **arguments: Argument) -> None:
        """Launch the kernel once for each step, passed as the argument named `step`. Arguments are checked first."""


class Timer(Protocol):
    """A stopwatch of the device's work between points of its queue."""

    def start(self) -> None:
        """Mark the beginning."""

    def stop(self) -> None:
        """Mark the end, and add the time between to `seconds`."""

    @property
    def seconds(self) -> float:
        """The sum so far, in seconds. Reading it waits for the device."""


class Device(Protocol):
    """One rank's device, a context manager that frees everything at its end. What devices share is inherited."""

    info: DeviceInfo
    notes: list[str]
    """What the log should say about it after a run, a line each."""
    seconds_copy: float
    """Seconds that callers have waited for copies so far, without the work that was queued before these."""

    @property
    def seconds_kernel(self) -> float:
        """Seconds of all its kernels so far (and on a CPU of the functions of the host). Reading it waits for a GPU."""

    def memory_free(self) -> int:
        """Return the bytes that can be allocated now."""

    @property
    def memory_peak(self) -> int:
        """The most bytes that were allocated at a time so far."""

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Buffer:
        """Return memory with undefined content. Raises `ResourceError` where it does not fit."""

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Buffer:
        """Return memory that holds zeros."""
        buffer = self.empty(shape, dtype)
        buffer.fill(0)
        return buffer

    def upload(self, array: NDArray[Any]) -> Buffer:
        """Return a copy of a host array."""
        buffer = self.empty(array.shape, array.dtype)
        buffer.upload(array)
        return buffer

    def constant(self, array: NDArray[Any]) -> Buffer:
        """Return a table that kernels only read, and which `upload` and `fill` refuse to change.

        A GPU has a copy. A CPU reads the array itself and allocates nothing, unless the array is strided. The array
        must not change while the table is in use.
        """

    def output(self, array: NDArray[Any]) -> Buffer:
        """Return memory for results that `download(array)` brings into the array, which is contiguous.

        A GPU allocates it, with undefined content. A CPU's kernels write into the array itself.
        """

    def staging(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return a host array (pinned where that helps) that messages pass through."""

    def lock(self, array: NDArray[np.uint8]) -> bool:
        """Lock the pages of an array, as those of `staging` are. Return whether the system has done it.

        The array begins on a boundary of pages. They are unlocked when it is deleted.
        """

    def kernel(self, file: str, name: str) -> Kernel:
        """Return a kernel of `cuda_src/{file}.cu`, which is built now if no cache has it.

        Raises
        ------
        LaunchError
            The file has no kernel of that name.
        """

    def resident_blocks(self, file: str, name: str, threads: int) -> int:
        """Return how many blocks of a kernel the device works on at the same time, at least 1.

        A GPU's driver computes it from the kernel's machine code. A CPU works on one block with each of its threads.

        Parameters
        ----------
        threads
            Threads of a block.
        """

    def timer(self) -> Timer:
        """Return a stopwatch on the device's queue."""

    def mark(self) -> Copy:
        """Return a mark after all work that has been queued so far."""

    def current(self) -> AbstractContextManager[Any]:
        """Give a block in which other libraries of this process find the device, whose memory they are handed."""

    def synchronize(self) -> None:
        """Wait until the device has done all its work."""

    def forget_handles(self) -> None:
        """Give up the memory of other GPUs that `copy_in` has read. Before, no process may free what it shares."""

    def close(self) -> None:
        """Free everything."""

    def __enter__(self: Own) -> Own:
        """Return the device itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def as_shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape as a tuple, also if it is given as a length."""
    return tuple(int(n) for n in shape) if isinstance(shape, tuple) else (int(shape),)


def nbytes_of(arrays: Iterable[tuple[tuple[int, ...], DTypeLike]]) -> int:
    """Return the bytes of arrays of these shapes and types together."""
    return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in arrays)


def aligned_memory(nbytes: int, boundary: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return host memory, and an array in it that starts on a boundary of so many bytes and keeps the memory alive."""
    raw = np.empty(nbytes + boundary, np.uint8)
    start = -raw.ctypes.data % boundary
    return raw, raw[start : start + nbytes]


def check_host_array(buffer: Buffer, array: NDArray[Any], contiguous: bool = False) -> None:
    """Raise `LaunchError` unless a host array is of the buffer's shape and type, and contiguous if it must be."""
    if array.shape != buffer.shape or array.dtype != buffer.dtype or (contiguous and not array.flags.c_contiguous):
        layout = "" if array.flags.c_contiguous else " with strides"
        needed = f"a host array of type {buffer.dtype} and shape {buffer.shape} is needed"
        raise LaunchError(f"{needed}, not {array.dtype} {array.shape}{layout}")


def check_writable(buffer: Buffer) -> None:
    """Raise `LaunchError` if the buffer is a constant."""
    if buffer.read_only:
        raise LaunchError(f"a constant {buffer.dtype} {buffer.shape} cannot be written to")


def check_view(buffer: Buffer, start: int, shape: int | tuple[int, ...]) -> None:
    """Raise `LaunchError` unless these elements lie inside the buffer."""
    length, count = math.prod(buffer.shape), shape if isinstance(shape, int) else math.prod(shape)
    if start < 0 or start + count > length:
        raise LaunchError(f"elements {start} to {start + count} are not inside a buffer of {length}")
