"""What a device can do. `host.py` and `cuda.py` implement it; algorithms know nothing else.

Kernels stand in `cuda_src/FILE.cu`. A launch names sizes and buffers in the kernel's own order; the signature, one
numpy type code an argument and a `*` behind a pointer's (`"i4 i4 u2* u2*"`), is checked on both devices alike, so that
a mistake found on the CPU is the same mistake on a GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.errors import HpcsolveError


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


class LaunchError(HpcsolveError):
    """A kernel was launched with arguments that it does not take: a bug of ours."""


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


class Kernel(Protocol):
    """A compiled kernel, ready to launch."""

    def __call__(self, grid: int, block: int, *arguments: int | Buffer) -> None:
        """Start `grid` blocks of `block` threads (a CPU has one thread a block, whatever `block` says); may return
        before they are done. Nothing happens for an empty grid."""

    def each(self, steps: range, grid: int, block: int, *arguments: int | Buffer | EllipsisType) -> None:
        """Launch once for every step, which takes the place of the argument `...`; the others are looked at once."""


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

    def kernel(self, file: str, name: str, signature: str) -> Kernel:
        """The kernel `name` of `cuda_src/{file}.cu`, built now if no cache has it."""

    def timer(self) -> Timer:
        """A stopwatch on the device's queue."""

    def synchronize(self) -> None:
        """Wait until the device has nothing left to do."""

    def close(self) -> None:
        """Give everything back."""

    def __enter__(self) -> Device: ...

    def __exit__(self, *_: object) -> None: ...


def check_arguments(name: str, signature: str, arguments: tuple[int | Buffer, ...], device: Device) -> None:
    """Raise `LaunchError` unless the arguments are what the signature says and lie on the device."""
    codes = signature.split()
    if len(codes) != len(arguments):
        raise LaunchError(f"{name} takes {len(codes)} arguments, not {len(arguments)}")
    for position, (code, argument) in enumerate(zip(codes, arguments)):
        if isinstance(argument, (int, np.integer)):
            wrong = code.endswith("*") or not _fits(int(argument), np.dtype(code))
        else:
            typed = code.endswith("*") and np.dtype(code.rstrip("*")) == argument.dtype
            wrong = not typed or argument.device is not device
        if wrong:
            raise LaunchError(f"{name}: argument {position} must be {code} on this device, not {argument!r}")


def check_steps(
    name: str, signature: str, steps: range, arguments: tuple[int | Buffer | EllipsisType, ...], device: Device
) -> int:
    """The place of the `...` among the arguments; raises as `check_arguments`, with every step in its place."""
    places = [place for place, argument in enumerate(arguments) if argument is ...]
    if len(places) != 1:
        raise LaunchError(f"{name}: one argument must be ..., not {len(places)}")
    for step in {steps[0], steps[-1]}:
        filled = tuple(step if isinstance(argument, EllipsisType) else argument for argument in arguments)
        check_arguments(name, signature, filled, device)
    return places[0]


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


def _fits(value: int, dtype: np.dtype[Any]) -> bool:
    if dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return bool(limits.min <= value <= limits.max)
