"""Signals are blocked before anything is imported."""

import sys

PROGRAM = """
import signal, sys, types
seen = types.ModuleType("hpcsolve.cli")
seen.main = lambda: print(sorted(number.name for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())))
import hpcsolve
sys.modules["hpcsolve.cli"] = hpcsolve.cli = seen
from hpcsolve.__main__ import main
main()
"""


def test_signals_are_blocked_before_the_imports(run_process):
    done = run_process([sys.executable, "-c", PROGRAM, "run", "job.toml"], timeout=60)
    assert (done.stdout, done.stderr) == ("['SIGINT', 'SIGTERM', 'SIGUSR1']\n", "")
