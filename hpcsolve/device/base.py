"""What a device can do. `host.py` and `cuda.py` implement it; algorithms know nothing else.

Kernels stand in `cuda_src/FILE.cu`, and are declared there alone. A launch names its arguments; a missing, unknown or
mistyped one is refused on both devices alike (`declaration.py`), so that a mistake found on the CPU is the same mistake
on a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.errors import LaunchError


@dataclass(frozen=True)
class DeviceInfo:
    """What the log and `/ranks` say of a device."""

    kind: str
    """`cpu` or `cuda`."""
    name: str
    uuid: str
    compiler: str
    """Name and version of the compiler that builds its kernels."""
    units: int = 1
    """What works on blocks at the same time: threads of a CPU, multiprocessors of a GPU."""


ONE_CORE = DeviceInfo("cpu", "", "", "")
"""What an estimate takes a rank's device for, if nothing better is known."""


class Buffer(Protocol):
    """Typed memory on a device, contiguous."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape, row-major."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""

    @property
    def device(self) -> Device:
        """Where it lies."""

    @property
    def read_only(self) -> bool:
        """Whether it is (part of) a constant."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""

    @property
    def address(self) -> int:
        """Where it starts, as kernels see it."""

    def view(self, start: int, shape: int | tuple[int, ...]) -> Buffer:
        """A part of it, from element `start` of the flat buffer; it shares the memory and keeps it alive."""

    def upload(self, array: NDArray[Any]) -> None:
        """Copy a host array of the same shape and dtype into it."""

    def download(self, into: NDArray[Any] | None = None) -> NDArray[Any]:
        """A host copy, in `into` (same shape and dtype) if that is given."""

    def fill(self, value: int) -> None:
        """Set every byte to `value`."""

    def free(self) -> None:
        """Give the memory back now; a view cannot."""


Argument: TypeAlias = int | float | Buffer | Mapping[str, "Argument"] | None
"""What a launch passes: a number, a buffer (or None where the kernel's source says NULLABLE), or for a group (a struct)
a mapping with its fields' names."""


class Kernel(Protocol):
    """A compiled kernel, ready to launch."""

    def __call__(self, grid: int, block: int, /, *positional: Argument, **arguments: Argument) -> None:
        """Start `grid` blocks of `block` threads (a CPU has one thread a block, whatever `block` says); may return
        before they are done. Nothing happens for an empty grid.

        Raises
        ------
        LaunchError
            Naming the kernel and the argument that is missing, unknown or mistyped; nothing has run.
        """

    def each(self, step: str, steps: range, grid: int, block: int, /, **arguments: Argument) -> None:
        """Launch once for every step, which is the argument named `step`; the others are looked at once."""


class Timer(Protocol):
    """Seconds that the device spent between two points of its queue."""

    def start(self) -> None:
        """Mark the beginning."""

    def stop(self) -> None:
        """Mark the end, and add the time between to `seconds`."""

    @property
    def seconds(self) -> float:
        """The sum so far; waits for the device."""


class Device(Protocol):
    """One rank's device. A context manager: leaving it gives everything back."""

    info: DeviceInfo

    def memory_free(self) -> int:
        """Bytes that can be allocated now."""

    @property
    def memory_peak(self) -> int:
        """Most bytes allocated at a time so far."""

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Buffer:
        """Memory with undefined content; `ResourceError` where it does not fit."""

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Buffer:
        """Memory that holds zeros."""

    def upload(self, array: NDArray[Any]) -> Buffer:
        """A copy of a host array."""

    def constant(self, array: NDArray[Any]) -> Buffer:
        """A table that kernels only read; `upload` and `fill` refuse it. The array must not change while it is in use.

        A GPU has a copy. A CPU reads the array itself and allocates nothing, unless it is strided.
        """

    def output(self, array: NDArray[Any]) -> Buffer:
        """Memory for results that belong in `array` (contiguous): `download(array)` brings them there.

        A GPU allocates it, with undefined content. A CPU's kernels write into the array itself.
        """

    def staging(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """A host array (pinned where that helps) that messages pass through."""

    def kernel(self, file: str, name: str) -> Kernel:
        """The kernel `name` of `cuda_src/{file}.cu`, built now if no cache has it; `LaunchError` if there is none."""

    def timer(self) -> Timer:
        """A stopwatch on the device's queue."""

    def synchronize(self) -> None:
        """Wait until the device has nothing left to do."""

    def close(self) -> None:
        """Give everything back."""

    def __enter__(self) -> Device: ...

    def __exit__(self, *_: object) -> None: ...


def check_host_array(buffer: Buffer, array: NDArray[Any], contiguous: bool = False) -> None:
    """Raise `LaunchError` unless a host array is of the buffer's shape and type, and contiguous if it must be."""
    if array.shape != buffer.shape or array.dtype != buffer.dtype or (contiguous and not array.flags.c_contiguous):
        layout = "" if array.flags.c_contiguous else " with strides"
        raise LaunchError(f"a {buffer.dtype} {buffer.shape} is needed, not a {array.dtype} {array.shape}{layout}")


def check_writable(buffer: Buffer) -> None:
    """Raise `LaunchError` if it is a constant."""
    if buffer.read_only:
        raise LaunchError(f"a constant {buffer.dtype} {buffer.shape} cannot be written to")


def check_view(buffer: Buffer, start: int, shape: int | tuple[int, ...]) -> None:
    """Raise `LaunchError` unless these elements lie inside the buffer."""
    length, count = math.prod(buffer.shape), shape if isinstance(shape, int) else math.prod(shape)
    if start < 0 or start + count > length:
        raise LaunchError(f"elements {start} to {start + count} are not inside a buffer of {length}")

