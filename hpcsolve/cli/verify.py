"""`hpcsolve verify`: checks the answers in result files again."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0
from hpcsolve.errors import HpcsolveError, InputError
from hpcsolve.parallel.printing import show

CHECK_FAILED = 1


def add(commands: Any) -> None:
    """Declare the command and its options."""
    parser = add_command(commands, "verify", _verify, "check the answers in result files, in plain numpy")
    parser.add_argument("results", metavar="RESULT.h5", nargs="+", help="with several, one line is printed for each")
    parser.add_argument("--again", action="store_true",
                        help="search again by other means, where that is the only proof; may take as long as the run")
    parser.add_argument("--instance", metavar="FILE", help="the instance, if it has moved; with one result only")


def _verify(options: argparse.Namespace) -> int:
    return on_rank_0(lambda: _verify_one(options) if len(options.results) == 1 else _verify_all(options))


def _verify_one(options: argparse.Namespace) -> int:
    from hpcsolve.output.schema import answer_lines
    from hpcsolve.runner.verify import verify_file

    path = options.results[0]
    contents, verdict = verify_file(path, options.instance, again=options.again)
    show("\n".join([*answer_lines(contents, path), f"check:  {verdict}"]))
    return CHECK_FAILED if verdict.passed is False else 0


def _verify_all(options: argparse.Namespace) -> int:
    """Print a line for each file, and return the greatest exit code of all."""
    if options.instance is not None:
        raise InputError("--instance goes with one RESULT.h5, not with several; verify them one at a time")
    return max([_verify_in_a_line(path, options.again) for path in options.results])


def _verify_in_a_line(path: str, again: bool) -> int:
    from hpcsolve.runner.verify import verify_file

    try:
        _, verdict = verify_file(path, again=again)
    except HpcsolveError as error:
        show(f"{path}: ERROR ({' '.join(str(error).split()).removeprefix(f'{path}: ')})")
        return error.exit_code
    show(f"{path}: {verdict}")
    return CHECK_FAILED if verdict.passed is False else 0
