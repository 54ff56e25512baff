"""What several commands share: the declaration of a command, common options, and running on rank 0."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hpcsolve.errors import InputError
from hpcsolve.parallel import environment
from hpcsolve.parallel.printing import show

DEVICES = "auto, cpu, cuda, cuda:1 or a GPU's UUID"


def add_command(
    commands: Any, name: str, command: Callable[[argparse.Namespace], int], text: str
) -> argparse.ArgumentParser:
    """Declare a command, and return the parser to which its options are added.

    Parameters
    ----------
    commands
        What `add_subparsers` returned.
    command
        Runs the command, given the options, and returns the exit code.
    text
        What the command does, for `--help`.
    """
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.set_defaults(command=command)
    return parser


def add_job(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that take a job file."""
    parser.add_argument("job", metavar="JOB.toml", help="a job file, or a result file whose job is run again")
    add_set(parser, "set a key of the job to another value; may be repeated")


def add_set(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the option `--set`, which `text` explains."""
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=text)


def on_rank_0(command: Callable[[], int], prepare: Callable[[], None] | None = None) -> int:
    """Run a command that needs no other rank on rank 0 alone, even under mpiexec, and return its exit code."""
    from hpcsolve.parallel import launch

    return launch.guard(lambda comm: launch.on_rank_0(comm, command), prepare)


def show_on_rank_0(quiet: bool = False) -> Callable[[str], None]:
    """Return a function that prints a line on the future rank 0 and nothing on others, for use before MPI starts."""
    speaks = environment.announced_rank(os.environ) == 0 and not quiet
    return show if speaks else lambda line: None


def require_new(options: argparse.Namespace) -> None:
    """Raise an `InputError` if the output file exists and `--overwrite` is not given, or if it is no regular file."""
    from hpcsolve.replacing import require_replaceable

    require_replaceable(options.output)
    if os.path.exists(options.output) and not options.overwrite:
        raise InputError(f"{options.output}: the file exists; choose another one, or replace it with --overwrite")


def seconds(text: str) -> float:
    """Return a time limit in seconds, which must be above 0."""
    with suppress(ValueError):
        if 0 < (limit := float(text)) < float("inf"):
            return limit
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")


def interval(text: str) -> float:
    """Return the seconds between checkpoints, at least 0, or infinity for `never`."""
    if text == "never":
        return math.inf
    with suppress(ValueError):
        if 0 <= (found := float(text)) < math.inf:
            return found
    raise argparse.ArgumentTypeError(f"{text!r} is neither a number of seconds, at least 0, nor `never`")


def not_negative(text: str) -> int:
    """Return the number in a text, which must be at least 0."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def at_least_one(text: str) -> int:
    """Return the number in a text, which must be at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
