"""Memory that the processes of one host read together: one fills it, the others find it by that one's descriptor.

It is Linux's own (memfd): it has no name in any file system, so nothing is left behind whatever ends the processes; it
needs no room in /dev/shm; and it goes when the last array in it goes. MPI's shared windows lack the last two: they lie
in /dev/shm, which containers keep small (what does not fit there dies when it is touched), and all ranks must free them
together, before MPI ends.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device.memory import shared_memory

BOUNDARY = 64
"""Bytes of a cache line, on which every part begins."""


@dataclass(frozen=True)
class Place:
    """Where other processes of the host find the memory, and what tells it from any other.

    A process in another PID namespace would look at a stranger's descriptor: the inode says so.
    """

    process: int
    descriptor: int
    inode: tuple[int, int]
    nbytes: int


def reserve(nbytes: int) -> Place:
    """New memory; its descriptor stays open until `os.close`.

    Raises
    ------
    OSError
        There is not so much, or this system has no such memory.
    """
    if nbytes > shared_memory():
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    descriptor = os.memfd_create("hpcsolve", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, nbytes)
    return Place(os.getpid(), descriptor, _inode(descriptor), nbytes)


def writable(place: Place) -> NDArray[np.uint8]:
    """The memory, for the process that reserved it to fill."""
    return np.frombuffer(mmap.mmap(place.descriptor, place.nbytes), dtype=np.uint8)


def readable(place: Place) -> NDArray[np.uint8]:
    """The memory, for any process of the host; nothing can write through it, kernels neither.

    Raises
    ------
    OSError
        The memory is not to be found from here.
    """
    descriptor = os.open(f"/proc/{place.process}/fd/{place.descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _inode(descriptor) != place.inode:
            raise FileNotFoundError("another process has that number here")
        return np.frombuffer(mmap.mmap(descriptor, place.nbytes, prot=mmap.PROT_READ), dtype=np.uint8)
    finally:
        os.close(descriptor)


def parts(memory: NDArray[np.uint8], lengths: Sequence[int]) -> list[NDArray[np.uint8]]:
    """Consecutive parts of these lengths, each on a boundary; `total` says how much memory they need."""
    starts = np.cumsum([0, *map(_padded, lengths)])
    return [memory[start : start + length] for start, length in zip(starts, lengths)]


def total(lengths: Sequence[int]) -> int:
    """Bytes that parts of these lengths need."""
    return sum(map(_padded, lengths))


def _padded(length: int) -> int:
    return -(-length // BOUNDARY) * BOUNDARY


def _inode(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
