"""Ctrl-C and SIGTERM in a search that has an answer: it is checked and written, and the same job may replace it."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import hpcsolve as package
from hpcsolve.output.reader import read_result
from tests.processes import signalled

ANTS = """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 60, seed = 1 }
output = "out.h5"
ant-colony.bound = false
[stop]
seconds = 50
"""
TREE = """algorithm = "steiner-kmb"
instance = { generate = "road-steiner", n = 6000, terminals = 300, seed = 2 }
output = "out.h5"
[steiner-kmb]
mode = "best"
shakes = 100000
"""
BOUNDS = """algorithm = "held-karp"
instance = { generate = "uniform-tsp", n = 100, seed = 1 }
output = "out.h5"
[stop]
seconds = 50
"""
JOBS = {"ants": ANTS, "tree": TREE, "bounds": BOUNDS}
HPCSOLVE = [sys.executable, "-m", "hpcsolve"]
MESSAGE = "hpcsolve: interrupted: the best answer so far will be written; another Ctrl-C ends the run at once\n"


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the jobs."""
    for name, job in JOBS.items():
        (tmp_path / f"{name}.toml").write_text(job)
    return tmp_path


def require_incomplete(folder, lines, hpcsolve):
    """Check the file and the lines of an interrupted run."""
    assert any(line.startswith("stopped: interrupted ") for line in lines), lines
    assert any(line.startswith("check:  PASS") for line in lines)
    assert lines[-1] == "file:   out.h5, not complete: the same job will run again and replace it\n"
    result = package.load(folder / "out.h5")
    assert result.verified and not result.complete
    done = hpcsolve("verify", "out.h5", cwd=folder)
    assert done.returncode == 0 and "check:  PASS" in done.stdout and "not complete" in done.stdout
    assert sorted(os.listdir(folder)) == ["ants.toml", "bounds.toml", "out.h5", "out.h5.checkpoint", "tree.toml"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("job", JOBS)
@pytest.mark.slow
def test_one_process_writes_its_best(job, number, folder, hpcsolve, test_device):
    """A second SIGTERM makes no difference. One press of Ctrl-C may come twice within a moment."""
    command = [*HPCSOLVE, "run", f"{job}.toml", "--device", test_device]
    code, lines, errors = signalled(command, folder, (1.0, number), (0.05, number))
    assert (code, errors) == (75, MESSAGE), lines
    require_incomplete(folder, lines, hpcsolve)


@pytest.mark.parametrize(
    ("job", "count", "number", "to"),
    [("ants", 1, signal.SIGINT, None), ("ants", 2, signal.SIGINT, None), ("tree", 3, signal.SIGTERM, None),
     ("ants", 3, signal.SIGTERM, 2), ("tree", 4, signal.SIGINT, 1), ("ants", 4, signal.SIGTERM, 0),
     ("bounds", 2, signal.SIGINT, 1)],
)
@pytest.mark.slow
def test_ranks_agree(job, count, number, to, mpiexec_path, folder, hpcsolve):
    """The signal goes to mpiexec, which passes it on to all ranks, or to one rank."""
    command = [mpiexec_path, "-n", str(count), *HPCSOLVE, "run", f"{job}.toml", "--device", "cpu"]
    code, lines, errors = signalled(command, folder, (1.0, number), to=to)
    assert code == 75, (lines, errors)
    assert errors == (MESSAGE if to in (None, 0) else "")
    require_incomplete(folder, lines, hpcsolve)


def test_ranks_agree_without_a_criterion_that_needs_it(mpiexec_path, folder, hpcsolve):
    """With a number of iterations alone no rank needs to hear of the others, unless one is interrupted."""
    four = ANTS.replace("ant-colony.bound", "ant-colony.colonies = 4\nant-colony.bound")
    (folder / "ants.toml").write_text(four.replace("seconds = 50", "iterations = 10000000"))
    command = [mpiexec_path, "-n", "3", *HPCSOLVE, "run", "ants.toml", "--device", "cpu"]
    code, lines, errors = signalled(command, folder, (1.5, signal.SIGTERM), to=1)
    assert (code, errors) == (75, ""), lines
    require_incomplete(folder, lines, hpcsolve)


def test_a_second_ctrl_c_ends_at_once(folder):
    """Even where checking and writing would take long."""
    program = "import sys, time, hpcsolve.runner.conclude as c; c.check_answer = lambda *_: time.sleep(60); "
    program += "from hpcsolve.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "run", "ants.toml", "--device", "cpu"]
    started = time.monotonic()
    code, _, errors = signalled(command, folder, (1.0, signal.SIGINT), (1.0, signal.SIGINT))
    assert (code, errors) == (130, f"{MESSAGE}hpcsolve: interrupted\n")
    assert time.monotonic() - started < 10
    assert sorted(os.listdir(folder)) == ["ants.toml", "bounds.toml", "out.h5.checkpoint", "tree.toml"]


def test_the_same_job_replaces_an_incomplete_result(folder, hpcsolve):
    """Until then nothing is lost: a worse answer does not replace a better one."""
    run = [*HPCSOLVE, "run", "ants.toml", "--device", "cpu"]
    assert signalled(run, folder, (1.0, signal.SIGINT))[0] == 75
    first = (folder / "out.h5").read_bytes()
    shutil.rmtree(folder / "out.h5.checkpoint")  # else the run goes on from there, and finds a better one
    code, lines, _ = signalled(run, folder, (0.3, signal.SIGINT))
    assert code == 75 and (folder / "out.h5").read_bytes() == first
    cost = read_result(folder / "out.h5").attributes["cost"]
    assert lines[-1] == f"file:   out.h5 keeps the result of an earlier run (cost {cost}, not complete)\n"
    assert f"output: out.h5 holds a result of this job, cost {cost}, not complete; " in "".join(lines)
    (folder / "quick.toml").write_text(ANTS.replace("seconds = 50", "iterations = 30"))
    for _ in range(2):
        done = hpcsolve("run", "quick.toml", "--device", "cpu", "--overwrite", cwd=folder)
        assert done.returncode == 0 and "stopped: 30 iterations done after " in done.stdout
    assert read_result(folder / "out.h5").attributes["complete"]


def test_an_incomplete_result_never_replaces_a_complete_one(folder, hpcsolve):
    """Not even with --overwrite: a user may start the run again and think better of it."""
    job = ANTS.replace("seconds = 50", "seconds = 3")
    (folder / "ants.toml").write_text(job)
    done = hpcsolve("run", "ants.toml", "--device", "cpu", cwd=folder)
    assert done.returncode == 0 and "stopped: 3 s reached after " in done.stdout
    before = (folder / "out.h5").read_bytes()
    run = [*HPCSOLVE, "run", "ants.toml", "--device", "cpu", "--overwrite"]
    code, lines, _ = signalled(run, folder, (0.3, signal.SIGINT))
    assert code == 75 and "(cost " in lines[-1] and lines[-1].endswith(", complete)\n")
    assert (folder / "out.h5").read_bytes() == before
    again = hpcsolve("run", "ants.toml", "--device", "cpu", cwd=folder)
    assert again.returncode == 0 and "this job is done already" in again.stdout


PROGRAM = """
import signal, sys, threading, time, os
import numpy as np
import hpcsolve
own = (lambda *_: None) if sys.argv[1] == "own" else signal.getsignal(signal.SIGINT)
signal.signal(signal.SIGINT, own)
costs = np.random.default_rng(1).integers(1, 100, (60, 60))
hpcsolve.solve(costs, "ant-colony", device="cpu", stop={"iterations": 1})  # compiles the kernels
def press():
    for _ in range(int(float(sys.argv[2]) / 0.1)):  # until the search has begun
        time.sleep(0.1)
        if signal.getsignal(signal.SIGINT) is not own:
            break
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    # Without the bound, which proves the tour optimal within half a second, and so would end the search before.
    found = hpcsolve.solve(costs, "ant-colony", device="cpu", bound=False, stop={"seconds": float(sys.argv[3])},
                           output="out.h5")
    print("solved", found.complete)
except hpcsolve.Interrupted as stopped:
    result = stopped.result
    print("interrupted", result.complete, result.verified, len(result.tour), isinstance(stopped, KeyboardInterrupt))
except KeyboardInterrupt:
    print("lost")
print(signal.getsignal(signal.SIGINT) is own, signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
"""


@pytest.mark.parametrize(("handler", "said"), [("default", "interrupted False True 60 True"), ("own", "solved True")])
@pytest.mark.slow
def test_solve_in_a_program(handler, said, folder, run_process, hpcsolve):
    """The exception carries the best. A program's own handler stays in force, and handlers are as before afterwards."""
    until_pressed, seconds = ("60", "60") if handler == "default" else ("1.5", "4")
    done = run_process([sys.executable, "-c", PROGRAM, handler, until_pressed, seconds], timeout=150, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [said, "True True"]
    assert package.load(folder / "out.h5").complete == (handler == "own")


def test_solve_in_a_thread(folder):
    """Where no handler may be installed, `solve` works as ever."""
    costs = "[[0, 1, 9, 9], [9, 0, 1, 9], [9, 9, 0, 1], [1, 9, 9, 0]]"
    call = f"print(hpcsolve.solve({costs}, 'ant-colony', device='cpu', stop={{'iterations': 5}}).cost)"
    program = f"import threading, hpcsolve\nthread = threading.Thread(target=lambda: {call})\n"
    program += "thread.start()\nthread.join()\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=folder)
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr
