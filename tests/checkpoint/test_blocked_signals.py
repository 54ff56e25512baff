"""Signals are blocked before anything is imported, for the commands that end with a checkpoint, and for no others."""

import sys

import pytest

PROGRAM = """
import signal, sys, types
seen = types.ModuleType("hpcsolve.cli")
seen.main = lambda: print(sorted(number.name for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())))
import hpcsolve
sys.modules["hpcsolve.cli"] = hpcsolve.cli = seen
from hpcsolve.__main__ import main
main()
"""
BLOCKED = "['SIGINT', 'SIGTERM', 'SIGUSR1']"


@pytest.mark.parametrize(
    ("words", "blocked"),
    [
        (["run", "job.toml"], BLOCKED),
        (["solve", "a.tsp"], BLOCKED),
        (["sweep", "sweep.toml", "--run", "3"], BLOCKED),
        (["sweep", "--run=3", "sweep.toml"], BLOCKED),
        (["sweep", "sweep.toml"], "[]"),
        (["verify", "--run"], "[]"),
        ([], "[]"),
    ],
    ids=" ".join,
)
def test_signals_are_blocked_before_the_imports(words, blocked, run_process):
    done = run_process([sys.executable, "-c", PROGRAM, *words], timeout=60)
    assert (done.stdout, done.stderr) == (f"{blocked}\n", "")
