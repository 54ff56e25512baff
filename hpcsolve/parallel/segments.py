"""Memory that the processes of a host share.

A segment is a Linux memfd, which has no name in any file system. So nothing is left behind however the processes end,
it takes no room in /dev/shm, and it is freed with the last array in it. MPI's shared windows lack the last two
properties: they lie in /dev/shm, which is small in containers (a process that touches a page beyond it is killed), and
all ranks must free them together before MPI ends.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.memory import available_to_host

T = TypeVar("T")
U = TypeVar("U")


def or_none(function: Callable[[U], T], argument: U) -> T | None:
    """Return what a function returns, or None where this system does not support it."""
    try:
        return function(argument)
    except (OSError, AttributeError):  # AttributeError: a Python built without memfd
        return None


@dataclass(frozen=True)
class Segment:
    """What another process of the host needs to map a segment.

    In another PID namespace the process number may belong to a stranger, which the inode reveals.
    """

    process: int
    descriptor: int
    inode: tuple[int, int]
    nbytes: int


def reserve_segment(nbytes: int) -> Segment:
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


def map_for_writing(segment: Segment) -> NDArray[np.uint8]:
    """Map a segment for writing, in the process that reserved it."""
    return np.frombuffer(mmap.mmap(segment.descriptor, segment.nbytes), dtype=np.uint8)


def map_for_reading(segment: Segment, protected: bool = True) -> NDArray[np.uint8]:
    """Map a segment in any process of the host, by default protected from writing, by kernels too.

    A GPU's driver locks pages only if they are not protected.

    Raises
    ------
    OSError
        If this process cannot open the segment.
    """
    descriptor = os.open(f"/proc/{segment.process}/fd/{segment.descriptor}",
                         (os.O_RDONLY if protected else os.O_RDWR) | os.O_CLOEXEC)
    try:
        if _inode(descriptor) != segment.inode:
            raise FileNotFoundError("the process number belongs to another process here")
        access = mmap.PROT_READ if protected else mmap.PROT_READ | mmap.PROT_WRITE
        return np.frombuffer(mmap.mmap(descriptor, segment.nbytes, prot=access), dtype=np.uint8)
    finally:
        os.close(descriptor)


def _inode(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
