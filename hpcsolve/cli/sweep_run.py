"""One run of a sweep: `hpcsolve run`, which ends as if by Ctrl-C when the sweep is gone.

The sweep holds the other end of the pipe that is standard input here, and sends nothing. So reading ends when the sweep
closes the pipe, or when the sweep itself ends, by SIGKILL too.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from hpcsolve import cli

SECONDS_TO_END = 10.0
"""Time to end, and to write what there is. After that the process is killed."""


def main() -> int:
    """Run the command line, and return its exit code."""
    sys.argv[0] = "hpcsolve"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell inherits it ignored
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    return cli.main(sys.argv[1:])


def _end_with_the_sweep() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(SECONDS_TO_END)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
