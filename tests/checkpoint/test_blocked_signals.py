"""Signals are blocked before anything is imported and while a compiler is started, and come again if they are lost."""

import signal
import sys

import pytest

from hpcsolve.parallel.interrupts import Held

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


FORK = """
import os, signal, subprocess, sys
from hpcsolve.device.compiler import compiler_identity
from hpcsolve.parallel.interrupts import signals_raise
os.register_at_fork(after_in_HOOK=lambda: os.kill(os.getpid(), signal.SIGTERM))
try:
    with signals_raise():
        print(compiler_identity("g++")[:0])
except KeyboardInterrupt as stop:
    print(stop)
"""


@pytest.mark.parametrize(("hook", "said"), [("parent", "SIGTERM\n"), ("child", "\n")])
def test_a_signal_in_a_hook_of_fork_is_not_lost(hook, said, run_process):
    """Python ignores exceptions there. In the child it ends the compiler, which then says nothing."""
    done = run_process([sys.executable, "-c", FORK.replace("HOOK", hook)], timeout=60)
    assert (done.stdout, done.stderr) == (said, "")


LOST = """
import os, signal, threading, time
from hpcsolve.parallel.interrupts import signals_raise
silent, _ = os.pipe()
def take():
    time.sleep(0.3)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
threading.Thread(target=take).start()
try:
    with signals_raise():
        os.read(silent, 1)
except KeyboardInterrupt as stop:
    print(stop)
"""


def test_a_signal_that_another_thread_takes_ends_a_read(run_process):
    """Nothing wakes the main thread then, as where a signal comes in the moment before a call that waits."""
    done = run_process([sys.executable, "-c", LOST], timeout=30)
    assert (done.stdout, done.stderr) == ("SIGTERM\n", "")


def test_ctrl_c_counts_more_than_a_signal_before_it():
    held = Held()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
        held.note(number)
    assert type(held.asked) is KeyboardInterrupt
