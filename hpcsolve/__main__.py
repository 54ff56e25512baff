"""The command line, as `hpcsolve` and as `python -m hpcsolve`."""

import gc
import signal
import sys

STOPPABLE = ("run", "solve", "sweep --run")
"""The commands, one with an option, that end with a checkpoint when they are asked to stop."""

OBJECTS_A_COLLECTION = 100_000
"""New objects after which Python searches for garbage cycles. Imports make many objects and no garbage: with Python's
default, 700, the searches take a tenth of the time of the imports."""


def main() -> int:
    """Run the command that the arguments name and return its exit code."""
    gc.set_threshold(OBJECTS_A_COLLECTION)
    command, *options = sys.argv[1:] or [""]
    names = (command, *(f"{command} {option.partition('=')[0]}" for option in options))
    if not set(STOPPABLE).isdisjoint(names):  # before the imports: see hpcsolve/parallel/interrupts.py
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1))
    from hpcsolve import cli

    code = cli.main()
    gc.freeze()  # else Python searches all objects for garbage cycles, several times, before the process ends
    return code


if __name__ == "__main__":
    sys.exit(main())
