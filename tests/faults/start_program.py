"""hpcsolve's command line, in which one rank starts otherwise than the others.

    mpiexec -n 3 python -m tests.faults.start_program 1 "os._exit(3)" run job.toml

The statement is executed on that rank before the command line. MPI has less time to start than for users.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence

import hpcsolve
from hpcsolve.__main__ import main as command_line
from hpcsolve.device import build
from hpcsolve.parallel import interrupts
from hpcsolve.parallel.environment import announced_rank
from hpcsolve.runner import ahead

SECONDS_TO_START = "SECONDS_TO_START"
"""The variable of the environment for the time that MPI has to start. Without it no busy machine is too slow."""
NAMES = {"ahead": ahead, "build": build, "hpcsolve": hpcsolve, "os": os, "signal": signal, "sys": sys, "time": time}
"""What the statement may use."""


def main(arguments: Sequence[str]) -> int:
    """Run the command line behind the rank and the statement, and return the exit code."""
    rank, statement, *sys.argv[1:] = arguments
    interrupts.SECONDS_TO_START = float(os.environ.get(SECONDS_TO_START, "60"))
    if announced_rank(os.environ) == int(rank):
        exec(statement, NAMES)
    return command_line()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
