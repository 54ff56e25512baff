"""The parser of the command line, and its messages.

A mistake on the command line is reported in one line that says what was probably meant, with exit code 2.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from hpcsolve.errors import InputError
from hpcsolve.parallel import environment
from hpcsolve.wording import did_you_mean, show

RESULTS = (".h5", ".hdf5")
OTHER_WORDS = {
    "--checkpoint-every --checkpoint-seconds": "did you mean --checkpoint-interval?",
    "-n --np --ranks --procs --processes": "ranks are started by a launcher: mpiexec -n 4 hpcsolve run job.toml",
    "--time --timeout --time-limit --timelimit --max-time": "hpcsolve solve has --seconds, a job [stop] seconds",
    "--gpu --gpus": "did you mean --device cuda?", "--cpu --no-gpu": "did you mean --device cpu?",
    "--cpus --cores --jobs -j": "the threads of a rank are a key of the job: --set threads=4",
    "-f --force --replace": "did you mean --overwrite?", "-q --silent": "did you mean --quiet?",
    "-o --out --outfile": "did you mean --output?",
    "-v --verbose --debug": "all lines are printed without it; --log-dir writes those of each rank into files",
    "--resume --restart --continue": "the same command goes on from its checkpoint by itself",
}
"""Options that other programs have, several with one meaning in one text -> the end of the message about them."""


def show_on_rank_0(quiet: bool = False) -> Callable[[str], None]:
    """Return a function that prints a line on the future rank 0 and nothing on others, for use before MPI starts."""
    speaks = environment.announced_rank(os.environ) == 0 and not quiet
    return show if speaks else lambda line: None


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Raise an `InputError` that says what is wrong."""
        raise InputError(message if message.endswith("?") else f"{message}; see {self.prog} --help")

    def refuse_unknown_command(self, commands: Mapping[str, OneLineParser], words: Sequence[str]) -> None:
        """Raise an `InputError` that suggests a command, unless the first word is a command or asks for help."""
        first = words[0] if words else ""
        if first in commands or first in ("-h", "--help", "--version"):
            return
        if not first:
            self.error(f"a command is missing; the commands are {', '.join(commands)}")
        if first.startswith("-"):
            self.error(f"{first} must follow the command, as in hpcsolve run job.toml {first} ...")
        if os.path.isfile(first):
            self.error(f"{first} is a file, not a command; did you mean hpcsolve {command_for(first)} {first}?")
        hint = did_you_mean(first, commands, f"; the commands are {', '.join(commands)}")
        self.error(f"unknown command {first!r}{hint}")

    def refuse_unknown_options(self, rest: Sequence[str]) -> None:
        """Raise an `InputError` about the first unknown option or argument, unless there is none."""
        if not rest:
            return
        option = next((word for word in rest if word.startswith("-") and len(word) > 1), None)
        if option is not None:
            known = [name for action in self._actions for name in action.option_strings]
            if option in known:
                self.error(f"{option} comes after --, where every word is a file name; write it before --")
            self.error(f"unknown option {option}{_meant(option.partition('=')[0], known)}")
        if rest[0].startswith("="):
            self.error("KEY=VALUE must not contain blanks; write --set held-karp.path=open")
        self.error(f"unexpected argument {rest[0]!r}")


def _meant(option: str, known: Sequence[str]) -> str:
    """Return the end of the message about an unknown option: what may be meant, in other words or as a key of a job."""
    other = next((usual for usual, cure in OTHER_WORDS.items() if option in usual.split()), None)
    named = re.search(r"did you mean (--[a-z-]+)", OTHER_WORDS[other]) if other else None
    if other and (named is None or named[1] in known):
        return f"; {OTHER_WORDS[other]}"
    if key := _as_key(option.lstrip("-")):
        return f"; it is a key of the job: --set {key}=..."
    return did_you_mean(option, known)


def _as_key(word: str) -> str:
    """Return the dotted path of a job's key, or "" if no key has this name."""
    from hpcsolve.algorithms.base import StopCriteria
    from hpcsolve.algorithms.registry import NAMES, algorithm
    from hpcsolve.job import Settings
    from hpcsolve.job.convert import keys_of

    tables: dict[str, Any] = {"": Settings, "stop.": StopCriteria}
    tables |= {f"{name}.": algorithm(name).parameters for name in NAMES}
    return next((f"{table}{word}" for table, struct in tables.items() if word in keys_of(struct)), "")


def command_for(file: str) -> str:
    """Return the command that suits a file: a job is run, a result verified, and an instance solved."""
    if file.endswith(".toml"):
        return "run"
    return "verify" if file.endswith(RESULTS) else "solve"
