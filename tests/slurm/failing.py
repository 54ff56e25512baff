"""hpcsolve's command line, of which one rank fails in the middle of the work.

    srun ... python -m tests.slurm.failing FAULT run JOB.toml ...

Rank 1 fails at its 20th boundary, while the others wait for its message, and writes the time into the file `failed-at`.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hpcsolve.__main__ import main
from hpcsolve.checkpoint.checkpoints import Checkpoints, Wish

RANK, BOUNDARY = 1, 20
STAMP = "failed-at"


def signalled(number: signal.Signals) -> Callable[[], None]:
    """Return what sends a signal to this process."""
    return lambda: os.kill(os.getpid(), number)


FAULTS: dict[str, Callable[[], object]] = {
    "raises": lambda: {}["nothing"],
    "sys.exit(3)": lambda: sys.exit(3),
    "sys.exit(0)": lambda: sys.exit(0),
    "os._exit(3)": lambda: os._exit(3),
    "os._exit(0)": lambda: os._exit(0),
    "SIGKILL": signalled(signal.SIGKILL),
    "SIGSEGV": signalled(signal.SIGSEGV),
    "SIGSTOP": signalled(signal.SIGSTOP),
}


def failing(wish: Callable[..., Wish], fault: Callable[[], object]) -> Callable[..., Wish]:
    """Return `Checkpoints.wish` with a fault in it."""
    calls = iter(range(BOUNDARY))

    def wish_or_fail(checkpoints: Checkpoints, nbytes: int = 0) -> Wish:
        if next(calls, None) is None:
            Path(STAMP).write_text(str(time.time()))
            fault()
        return wish(checkpoints, nbytes)

    return wish_or_fail


if __name__ == "__main__":
    name = sys.argv.pop(1)
    if os.environ["SLURM_PROCID"] == str(RANK):
        Checkpoints.wish = failing(Checkpoints.wish, FAULTS[name])  # type: ignore[method-assign]
    sys.exit(main())
