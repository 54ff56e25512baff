"""Why freed memory goes back to the system before MPI starts.

MPICH 5 sends 4 KiB of its heap with the address of each rank, and shortens runs of zeros. If the heap holds text
instead, such as what a compiler has printed, the lines get longer than the 1024 bytes that Slurm's PMI2 reads at once.
Then MPI_Init fails ("value not properly terminated in client request") or hangs. The system hands memory out as zeros.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress


def return_freed_memory() -> None:
    """Return freed memory of this process to the system, where the C library is glibc."""
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
