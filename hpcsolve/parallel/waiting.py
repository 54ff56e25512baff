"""Waits for other ranks mostly asleep. MPI itself waits by polling, which takes a core that the others may need."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

SECONDS_POLLING = 0.001
"""How long a rank polls without a pause. Afterwards it sleeps between two polls."""

LONGEST_SLEEP = 0.002
"""Most seconds of such a sleep. It is short because a large message may need both ranks awake for each of its parts."""


def wait_until(ended: Callable[[], bool]) -> None:
    """Return once `ended` returns true, late by at most an eighth of the time waited, and at most `LONGEST_SLEEP`."""
    started = time.perf_counter()
    while not ended():
        waited = time.perf_counter() - started
        if waited < SECONDS_POLLING:
            os.sched_yield()
        else:
            time.sleep(min(waited / 8, LONGEST_SLEEP))
