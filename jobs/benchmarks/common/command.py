"""What the command lines of all benchmarks share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from hpcsolve.errors import HpcsolveError


def new_parser(package: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser whose usage line names `python -m PACKAGE` and whose description is printed as it stands."""
    return argparse.ArgumentParser(prog=f"python -m {package}", description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def add_charts(command: argparse.ArgumentParser) -> None:
    """Add the option `--charts`."""
    command.add_argument("--charts", metavar="FOLDER", help="also draw the results as .svg files (needs matplotlib)")


def add_repeats(command: argparse.ArgumentParser, count: int) -> None:
    """Add the option `--repeats` with this default."""
    text = f"runs of each measurement, of which the best counts (default {count})"
    command.add_argument("--repeats", type=int, default=count, metavar="N", help=text)


def end_with(main: Callable[[], int], package: str) -> NoReturn:
    """Run `main` and end the process with its exit code, or with one line that says what went wrong."""
    try:
        sys.exit(main())
    except HpcsolveError as error:
        print(f"{package}: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
