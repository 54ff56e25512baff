"""What the benchmarks' command lines share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from hpcsolve.errors import HpcsolveError


def add_charts(command: argparse.ArgumentParser) -> None:
    """The option `--charts`."""
    command.add_argument("--charts", metavar="FOLDER", help="draw the results into it, .svg (needs matplotlib)")


def end_with(main: Callable[[], int]) -> NoReturn:
    """Run it and end the process: with its exit code, or with one line of what went wrong."""
    try:
        sys.exit(main())
    except HpcsolveError as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
