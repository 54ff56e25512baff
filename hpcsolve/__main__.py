"""The command line, as `hpcsolve` and as `python -m hpcsolve`."""

import gc
import signal
import sys

OBJECTS_A_COLLECTION = 100_000
"""New objects after which Python searches for garbage cycles. Imports make many objects and no garbage: with Python's
default, 700, the searches take a tenth of the time of the imports."""


def main() -> int:
    """Run the command that the arguments name and return its exit code."""
    gc.set_threshold(OBJECTS_A_COLLECTION)
    # Before the imports, during which they would end the process: see hpcsolve/parallel/interrupts.py.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1))
    from hpcsolve import cli

    code = cli.main()
    gc.freeze()  # else Python searches all objects for garbage cycles, several times, before the process ends
    return code


if __name__ == "__main__":
    sys.exit(main())
