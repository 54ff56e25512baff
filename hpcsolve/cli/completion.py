"""`hpcsolve completion`: prints a completion file for a shell."""

from __future__ import annotations

import argparse
from typing import Any

from hpcsolve.cli.options import add_command, on_rank_0
from hpcsolve.errors import EnvironmentFault
from hpcsolve.parallel.printing import show

SHELLS = ("bash", "zsh", "fish")
FILES = ("FILE", "JOB.toml", "SWEEP.toml", "RESULT.h5", "A", "B")
"""The metavars in `--help` that stand for a file."""
FOLDERS = ("FOLDER",)


def add(commands: Any) -> None:
    """Declare the command and its options."""
    text = "print a completion file; docs/running.md says where to put it"
    parser = add_command(commands, "completion", _completion, text)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def _completion(options: argparse.Namespace) -> int:
    def completion() -> int:
        try:
            import shtab
        except ImportError:
            raise EnvironmentFault("shtab is not installed: pip install shtab") from None
        from hpcsolve.cli import command_parser

        parser, commands = command_parser()
        for each in commands.values():
            for action in each._actions:
                _describe(action, shtab.FILE, shtab.DIRECTORY)
        show(shtab.complete(parser, options.shell).rstrip())
        return 0

    return on_rank_0(completion)


def _describe(action: argparse.Action, file: Any, folder: Any) -> None:
    """Tell shtab how to complete an argument: with one of some names, with a file, or with a folder."""
    from hpcsolve.algorithms.registry import NAMES
    from hpcsolve.job.examples import examples
    from hpcsolve.job.generators import makers
    from hpcsolve.runner.kinds import MODULES

    if action.dest == "algorithm":
        action.choices = NAMES
    elif action.dest == "example":
        action.choices = list(examples())
    elif action.metavar == "KIND":
        action.choices = [name for kind in MODULES for name in makers(kind)]
    elif action.metavar in FILES:
        action.complete = file  # type: ignore[attr-defined]  # where shtab looks
    elif action.metavar in FOLDERS:
        action.complete = folder  # type: ignore[attr-defined]  # where shtab looks
