"""One run of a sweep: `hpcsolve run`, which ends as if by Ctrl-C when the sweep is gone.

Standard input is a pipe from the sweep, which sends nothing. So reading returns only when the sweep closes the pipe, or
when the process of the sweep has ended, even by SIGKILL.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from hpcsolve import cli

SECONDS_TO_END = 10.0
"""Time that the run has to write its result so far and end. After that the process is killed."""


def main() -> int:
    """Run the command line, and return its exit code."""
    sys.argv[0] = "hpcsolve"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    return cli.main(sys.argv[1:])


def _end_with_the_sweep() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(SECONDS_TO_END)
    os.kill(os.getpid(), signal.SIGKILL)
