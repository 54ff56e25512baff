"""How a rank waits for others. MPI's own waiting takes all of a core, which may be what the other rank lacks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

SECONDS_ASKING = 0.001
"""How long a rank asks all the time whether a message has come, before it sleeps between two questions."""

LONGEST_SLEEP = 0.002
"""Most seconds of such a sleep, because a large message may need both ranks to be awake for each of its parts."""


def wait_until(ended: Callable[[], bool]) -> None:
    """Return when a function returns true, which may be late by an eighth of the time waited or `LONGEST_SLEEP`."""
    started = time.perf_counter()
    while not ended():
        waited = time.perf_counter() - started
        if waited < SECONDS_ASKING:
            os.sched_yield()
        else:
            time.sleep(min(waited / 8, LONGEST_SLEEP))
