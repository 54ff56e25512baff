"""Reports mistakes on the command line: one line that says what was probably meant, and exit code 2."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import NoReturn

from hpcsolve.errors import InputError
from hpcsolve.wording import did_you_mean

RESULTS = (".h5", ".hdf5")


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise an `InputError` that says what is wrong."""
        raise InputError(message if message.endswith("?") else f"{message}; see {self.prog} --help")


def refuse_unknown_command(parser: OneLineParser, commands: Mapping[str, OneLineParser], words: Sequence[str]) -> None:
    """Raise an `InputError` that suggests a command, unless the first word is a command or asks for help."""
    first = words[0] if words else ""
    if first in commands or first in ("-h", "--help", "--version"):
        return
    if not first:
        parser.error(f"a command is missing; the commands are {', '.join(commands)}")
    if first.startswith("-"):
        parser.error(f"{first} must follow the command, as in hpcsolve run job.toml {first} ...")
    if os.path.isfile(first):
        parser.error(f"{first} is a file, not a command; did you mean hpcsolve {command_for(first)} {first}?")
    hint = did_you_mean(first, commands, f"; the commands are {', '.join(commands)}")
    parser.error(f"unknown command {first!r}{hint}")


def refuse_unknown_options(parser: OneLineParser, rest: Sequence[str]) -> None:
    """Raise an `InputError` about the first unknown option or argument, unless there is none."""
    if not rest:
        return
    option = next((word for word in rest if word.startswith("-") and len(word) > 1), None)
    if option is not None:
        known = [name for action in parser._actions for name in action.option_strings]
        if option in known:
            parser.error(f"{option} stands behind --, where words are files; write it before --")
        parser.error(f"unknown option {option}{did_you_mean(option.partition('=')[0], known)}")
    if rest[0].startswith("="):
        parser.error("KEY=VALUE must not contain blanks; write --set held-karp.path=open")
    parser.error(f"unexpected argument {rest[0]!r}")


def command_for(file: str) -> str:
    """Return the command that suits a file: a job is run, a result verified, and an instance solved."""
    if file.endswith(".toml"):
        return "run"
    return "verify" if file.endswith(RESULTS) else "solve"
