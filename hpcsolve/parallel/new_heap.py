"""Starts MPI with a heap of its own where Slurm's PMI2 is the launcher.

MPICH 5 sends 4 KiB of its heap with the address of each rank, and shortens runs of zeros. If other text lies there,
such as what a compiler has printed, lines get longer than the 1024 bytes that Slurm's PMI2 reads at once, and MPI_Init
fails ("value not properly terminated in client request") or hangs. The C library gives each thread a heap of its own,
and that of a new thread is empty.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping


def start(initialize: Callable[[], object], environment: Mapping[str, str] = os.environ) -> None:
    """Call a function that starts MPI, in a new thread if Slurm's PMI2 has started this process."""
    if "PMI_FD" in environment and "SLURM_STEP_ID" in environment:
        in_new_thread(initialize)
    else:
        initialize()


def in_new_thread(function: Callable[[], object]) -> None:
    """Call a function in a new thread, and raise here what it raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:  # noqa: BLE001 (the caller gets it)
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
