"""Runs commands of hpcsolve in the process of the tests: a hundredth of a second, where a new process takes a half."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def commands_in_process() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return `run(words, cwd=".")`, which runs the command line as a process of its own would run it."""
    from hpcsolve.cli import main

    def run(words: Sequence[str], cwd: str | Path = ".") -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            with _streams(output.fileno(), errors.fileno()), _left_as_it_was(cwd, ["hpcsolve", *words]):
                try:
                    code = main(list(words))
                except SystemExit as end:
                    code = end.code if isinstance(end.code, int) else int(end.code is not None)
            output.seek(0), errors.seek(0)
            return subprocess.CompletedProcess(["hpcsolve", *words], code, output.read().decode(),
                                               errors.read().decode())

    return run


@contextmanager
def _streams(output: int, errors: int) -> Iterator[None]:
    """Let files take what the block prints, also from C, with nothing to read."""
    with open(os.devnull, "rb") as nothing:
        targets = {0: nothing.fileno(), 1: output, 2: errors}
        before, streams = {number: os.dup(number) for number in targets}, (sys.stdin, sys.stdout, sys.stderr)
        try:
            for number, target in targets.items():
                os.dup2(target, number)
            sys.stdin = open(0, closefd=False)  # noqa: SIM115 (closed below)
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115
            yield
        finally:
            for own in (sys.stdin, sys.stdout, sys.stderr):
                own.close()
            sys.stdin, sys.stdout, sys.stderr = streams
            for number, kept in before.items():
                os.dup2(kept, number)
                os.close(kept)


@contextmanager
def _left_as_it_was(cwd: str | Path, arguments: list[str]) -> Iterator[None]:
    """Run the block in a folder, with these arguments. Afterwards restore what a command changes in its process."""
    folder, before, variables = os.getcwd(), sys.argv, dict(os.environ)
    hook, mask = threading.excepthook, signal.pthread_sigmask(signal.SIG_BLOCK, ())
    handlers: dict[signal.Signals, Any] = {number: signal.getsignal(number) for number in
                                           (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)}
    os.chdir(cwd)
    sys.argv = arguments
    try:
        yield
    finally:
        os.chdir(folder)
        sys.argv, threading.excepthook = before, hook
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name in os.environ.keys() - variables.keys():
            del os.environ[name]
        os.environ.update(variables)
