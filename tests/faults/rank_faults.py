"""The faults of one rank, and a program that is hpcsolve's command line in which a rank suffers one of them.

    mpiexec -n 4 python -m tests.faults.rank_faults SIGKILL 1 run job.toml --checkpoint-interval 0

The rank is struck at a boundary of its work, where the others wait for it, after the first checkpoint. The moment is
written into the file `struck` of the working directory. The tests under `mpiexec` (test_ranks.py) and under `srun`
(tests/slurm) start this program.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

STRUCK = "struck"
BOUNDARY = 3
"""Number of the boundary at which the rank is struck, from 1. With the interval 0 a checkpoint is written at each."""
HANG_TIMEOUT = 3
"""Seconds after which the other ranks give up a rank that is stopped (`--hang-timeout`)."""


@dataclass(frozen=True)
class Fault:
    """What happens to a rank.

    Attributes
    ----------
    strike
        Called on that rank.
    code
        The exit code of the launcher, or None if any but 0 and 75 will do: each launcher has its own for killed ranks.
    line
        Part of what must stand on standard error.
    """

    strike: Callable[[], object]
    code: int | None = None
    line: str = ""


def _kill(number: int) -> Callable[[], object]:
    return lambda: os.kill(os.getpid(), number)


def _in_a_thread() -> None:
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    time.sleep(60)


def _abort() -> None:
    from mpi4py import MPI

    MPI.COMM_WORLD.Abort(7)


FAULTS = {
    "exception": Fault(lambda: {}["nothing"], 70, "failed: KeyError('nothing')"),
    "exception in a thread": Fault(_in_a_thread, 70, "failed: ZeroDivisionError"),
    "sys.exit(3)": Fault(lambda: sys.exit(3), 70, "failed: SystemExit(3)"),
    "sys.exit(0)": Fault(lambda: sys.exit(0), 70, "failed: SystemExit(0)"),
    "os._exit(3)": Fault(lambda: os._exit(3)),
    "os._exit(0)": Fault(lambda: os._exit(0)),
    "MPI_Abort(7)": Fault(_abort, 7),
    "os.abort()": Fault(os.abort),
    "SIGSEGV": Fault(_kill(signal.SIGSEGV)),
    "SIGKILL": Fault(_kill(signal.SIGKILL)),
    "SIGSTOP": Fault(_kill(signal.SIGSTOP), 4, f"has made no progress for {HANG_TIMEOUT} s (--hang-timeout)"),
}


def main(arguments: Sequence[str]) -> int:
    """Run the command line behind the fault and its rank, and return the exit code."""
    from hpcsolve.__main__ import main as command_line
    from hpcsolve.checkpoint.checkpoints import Checkpoints, Wish
    from hpcsolve.parallel.environment import announced_rank

    fault, rank, *sys.argv[1:] = arguments
    wish, boundaries = Checkpoints.wish, iter(range(1, sys.maxsize))

    def struck(checkpoints: Checkpoints, nbytes: int = 0) -> Wish:
        if next(boundaries) == BOUNDARY and announced_rank(os.environ) == int(rank):
            Path(STRUCK).write_text(str(time.monotonic()))
            FAULTS[fault].strike()
        return wish(checkpoints, nbytes)

    Checkpoints.wish = struck  # type: ignore[method-assign]
    return command_line()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
