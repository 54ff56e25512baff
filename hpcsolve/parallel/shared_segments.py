"""Memory segments that the processes of one host share.

One process fills a segment, and the others map it read-only. A segment is a Linux memfd, which has no name in any file
system. So nothing is left behind however the processes end, it takes no room in /dev/shm, and it is freed with the last
array in it. MPI's shared windows lack the last two properties: they lie in /dev/shm, which is small in containers (a
process that touches a page beyond it is killed), and all ranks must free them together before MPI ends.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.memory import available_to_host

BOUNDARY = 64
"""Bytes of a cache line. Every part of a segment begins on a multiple of it."""


@dataclass(frozen=True)
class Segment:
    """What another process of the host needs to map a segment.

    In another PID namespace the process number may belong to a stranger, which the inode reveals.
    """

    process: int
    descriptor: int
    inode: tuple[int, int]
    nbytes: int


def reserve(nbytes: int) -> Segment:
    """Make a new segment, whose descriptor stays open until the caller closes it with `os.close`.

    Raises
    ------
    OSError
        If the host has too little memory, or its kernel has no memfd.
    """
    if nbytes > available_to_host():
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    descriptor = os.memfd_create("hpcsolve", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, nbytes)
    return Segment(os.getpid(), descriptor, _inode(descriptor), nbytes)


def writable(segment: Segment) -> NDArray[np.uint8]:
    """Map a segment for writing, in the process that reserved it."""
    return np.frombuffer(mmap.mmap(segment.descriptor, segment.nbytes), dtype=np.uint8)


def readable(segment: Segment) -> NDArray[np.uint8]:
    """Map a segment in any process of the host, protected from writing, by kernels too.

    Raises
    ------
    OSError
        If this process cannot open the segment.
    """
    descriptor = os.open(f"/proc/{segment.process}/fd/{segment.descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _inode(descriptor) != segment.inode:
            raise FileNotFoundError("the process number belongs to another process here")
        return np.frombuffer(mmap.mmap(descriptor, segment.nbytes, prot=mmap.PROT_READ), dtype=np.uint8)
    finally:
        os.close(descriptor)


def parts(memory: NDArray[np.uint8], lengths: Sequence[int]) -> list[NDArray[np.uint8]]:
    """Return consecutive parts of the memory with these lengths in bytes, each aligned to `BOUNDARY`."""
    starts = np.cumsum([0, *map(_padded, lengths)])
    return [memory[start : start + length] for start, length in zip(starts, lengths)]


def total(lengths: Sequence[int]) -> int:
    """Return the number of bytes that `parts` of these lengths need."""
    return sum(map(_padded, lengths))


def _padded(length: int) -> int:
    return -(-length // BOUNDARY) * BOUNDARY


def _inode(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
