"""The command line, as `hpcsolve` and as `python -m hpcsolve`."""

import signal
import sys

STOPPABLE = ("run", "solve")
"""The commands that end with a checkpoint when they are asked to stop."""


def main() -> int:
    """Run the command that the arguments name and return its exit code."""
    if len(sys.argv) > 1 and sys.argv[1] in STOPPABLE:  # before the imports: see hpcsolve/parallel/interrupts.py
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1))
    from hpcsolve import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
