"""Idle OpenMP threads sleep in any program that calls `hpcsolve.solve`, unless its user says otherwise."""

import os
import re
import sys

import pytest

CORES = len(os.sched_getaffinity(0))
SPINNING = "RuntimeWarning: OpenMP was loaded before hpcsolve, so idle threads spin"
PROGRAM = f"""
import ctypes, os, sys, hpcsolve
if "openmp-first" in sys.argv:
    ctypes.CDLL("libgomp.so.1")
import numpy as np
def solve(n, iterations):
    stop = {{"iterations": iterations}}
    costs = np.random.default_rng(1).integers(1, 100, (n, n))
    hpcsolve.solve(costs, "ant-colony", device="cpu", threads={min(4, CORES)}, stop=stop, bound=False)
solve(10, 1)
before = os.times()
solve(60, 50)
after = os.times()
print(after.user + after.system - before.user - before.system, os.environ.get("OMP_WAIT_POLICY"))
"""


def solved(run_process, policy, *words, **more):
    """Return CPU seconds, OMP_WAIT_POLICY afterwards and standard error of the program, started with this policy."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    environment |= more if policy is None else more | {"OMP_WAIT_POLICY": policy}
    done = run_process([sys.executable, "-c", PROGRAM, *words], timeout=200, env=environment)
    assert done.returncode == 0, done.stderr
    seconds, after = done.stdout.split()
    return float(seconds), after, done.stderr


@pytest.mark.skipif(CORES == 1, reason="one core: no thread is idle")
def test_idle_threads_take_no_time(run_process):
    """A run takes about 0.1 s of CPU time, and 3.7 s where 4 threads spin."""
    asleep, _, _ = solved(run_process, "passive")
    by_default, _, errors = solved(run_process, None)
    assert by_default < 3 * asleep + 0.3
    assert errors == "", "and nothing is warned of"


@pytest.mark.skipif(CORES == 1, reason="one core: no thread is idle")
def test_threads_that_will_spin_are_warned_of_once(run_process):
    """OpenMP that another library has loaded keeps its policy, so only the environment can put its threads to sleep."""
    asleep, _, errors = solved(run_process, "passive", "openmp-first")
    assert errors == ""
    spinning, after, errors = solved(run_process, None, "openmp-first")
    assert errors.count(SPINNING) == 1 and after == "None"
    assert spinning > asleep


@pytest.mark.parametrize(("policy", "known"), [(None, "PASSIVE"), ("passive", "PASSIVE"), ("active", "ACTIVE")])
def test_what_the_user_sets_stays(policy, known, run_process):
    """OpenMP reports the policy that it has read, and the environment of the program stays as it is."""
    _, after, errors = solved(run_process, policy, OMP_DISPLAY_ENV="true")
    assert re.findall(r"OMP_WAIT_POLICY = '(\w+)'", errors) == [known], errors
    assert after == str(policy)
