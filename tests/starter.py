"""Starts the command line of hpcsolve in forks of a process that has imported it already, which saves half a second.

The first start of each command, and each start with another environment, is that of a new interpreter all the same. So
a module that lacks an import of its own is found.

    python -m tests.starter        reads requests, one JSON list on each line, and answers each with a line
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

IMPORTS = (
    "h5py", "hpcsolve.__main__", "hpcsolve.algorithms.ant_colony.solve", "hpcsolve.algorithms.held_karp.solve",
    "hpcsolve.algorithms.shortest_paths.solve", "hpcsolve.algorithms.steiner_kmb.solve", "hpcsolve.api", "hpcsolve.cli",
    "hpcsolve.device.host", "hpcsolve.formats", "hpcsolve.runner.ahead", "hpcsolve.runner.run",
    "hpcsolve.runner.verify",
)
"""What most commands import."""


class Starter:
    """A process that starts commands, one at a time, in forks of itself."""

    def __init__(self) -> None:
        self._environment, self._seen = environment(), set[str]()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.starter"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def takes(self, arguments: list[str], options: dict[str, Any]) -> bool:
        """Return whether a command may run in a fork: it has run before, in this environment."""
        command = arguments[0] if arguments else ""
        is_first = command not in self._seen
        self._seen.add(command)
        return not is_first and set(options) <= {"cwd"} and environment() == self._environment

    def run(self, arguments: list[str], timeout: float, cwd: str | Path = ".") -> subprocess.CompletedProcess[str]:
        """Run a command to its end. Raises `subprocess.TimeoutExpired`, with what was printed, after killing it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            printed = [Path(folder) / name for name in ("output", "errors")]
            request = [arguments, str(Path(cwd).absolute()), *map(str, printed), timeout]
            print(json.dumps(request), file=self._process.stdin, flush=True)
            code, late = json.loads(self._process.stdout.readline())
            output, errors = (path.read_bytes().decode() for path in printed)
        if late:
            raise subprocess.TimeoutExpired(arguments, timeout, output, errors)  # type: ignore[arg-type]
        return subprocess.CompletedProcess(["hpcsolve", *arguments], code, output, errors)

    def close(self) -> None:
        """End the process."""
        self._process.communicate("")


def environment() -> dict[str, str]:
    """Return the environment of this process, without what pytest changes for each test."""
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


def main() -> int:
    """Serve requests. In a child, return the exit code of the command."""
    for name in IMPORTS:
        importlib.import_module(name)
    gc.freeze()  # so that children copy fewer pages
    for line in sys.stdin:
        arguments, folder, output, errors, timeout = json.loads(line)
        child = os.fork()
        if child == 0:
            return command(arguments, folder, output, errors)
        print(json.dumps(ended(child, timeout)), flush=True)
    return 0


def command(arguments: list[str], folder: str, output: str, errors: str) -> int:
    """Become the process of a command, and return its exit code."""
    os.setsid()
    os.chdir(folder)
    for number, name, flags in ((0, os.devnull, os.O_RDONLY), (1, output, os.O_WRONLY | os.O_CREAT),
                                (2, errors, os.O_WRONLY | os.O_CREAT)):
        os.dup2(os.open(name, flags, 0o600), number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (it lives as long as the process)
    module = sys.modules["hpcsolve.__main__"]
    sys.argv = [str(module.__file__), *arguments]
    code: int = module.main()
    return code


def ended(child: int, timeout: float) -> tuple[int, bool]:
    """Return a child's exit code, and whether it was killed after the time-out."""
    late = []

    def kill(*_: object) -> None:
        late.append(child)
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, kill)
    signal.setitimer(signal.ITIMER_REAL, timeout)
    _, status = os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return os.waitstatus_to_exitcode(status), bool(late)


if __name__ == "__main__":
    sys.exit(main())
