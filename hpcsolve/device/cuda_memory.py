"""Typed memory of a GPU, and host memory on page boundaries. `cuda.py` has their device."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device import base
from hpcsolve.errors import HpcsolveError, LaunchError

if TYPE_CHECKING:
    from hpcsolve.device.cuda import CudaDevice

PAGE = 4096


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
        with self.device.calling(f"a copy of {self.nbytes} bytes to the GPU") as cuda:
            if self.nbytes:
                self.device.downloads.advance_until_idle()
                cuda.memcpy_htod_async(self.address, source, self.device.stream)
                self.device.stream.synchronize()

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
        with self.device.calling(f"a copy of {self.nbytes} bytes from the GPU") as cuda:
            if self.nbytes:
                self.device.downloads.advance_until_idle()
                cuda.memcpy_dtoh_async(into, self.address, self.device.stream)
                self.device.stream.synchronize()
        return base.DONE

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


def page_aligned(nbytes: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return host memory, and an array in it that starts on a page boundary and keeps the memory alive."""
    raw = np.empty(nbytes + PAGE, np.uint8)
    start = -raw.ctypes.data % PAGE
    return raw, raw[start : start + nbytes]
