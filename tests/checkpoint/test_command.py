"""Stopping and resuming by the command line: signals, the deadline, ranks that hang, runs that fail, refusals."""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hpcsolve.algorithms.held_karp.bounded import run as bounded
from hpcsolve.checkpoint.checkpoints import Checkpoints, Writer
from hpcsolve.checkpoint.store import State, take_lease
from hpcsolve.cli import main
from hpcsolve.errors import NoAnswer
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.parallel.interrupts import Held
from hpcsolve.runner.run import no_empty_folder_on_error
from tests.cli.seen import solution
from tests.processes import signalled

HELD_KARP = """algorithm = "held-karp"
instance = { generate = "random-matrix", n = 27, seed = 1 }
output = "out.h5"
"""
ROWS = """algorithm = "shortest-paths"
instance = { generate = "road-graph", n = 100000, seed = 1 }
output = "out.h5"
threads = 1
[shortest-paths]
engine = "near-far"
sources = [SOURCES]
targets = [5, 77, 1234]
""".replace("SOURCES", ", ".join(map(str, range(1, 2000))))
JOBS = {"held-karp": HELD_KARP, "rows": ROWS}
# Minutes on any machine: what is to be stopped must not be done before, however fast the machine is.
LONG = re.sub(r"sources = .*", 'sources = "all"', ROWS)
RUN = [sys.executable, "-m", "hpcsolve", "run", "job.toml", "--device", "cpu"]
STOPPED = re.compile(r"^stopped: after .*; the same command goes on from out\.h5\.checkpoint$", re.M)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the long job."""
    (tmp_path / "job.toml").write_text(LONG)
    return tmp_path


@pytest.fixture(scope="module")
def undisturbed(hpcsolve, tmp_path_factory):
    """Return `undisturbed(name)`, which returns the answer to one of `JOBS` by a run that nobody has stopped."""

    @functools.cache
    def solved(name):
        folder = tmp_path_factory.mktemp("undisturbed")
        (folder / "job.toml").write_text(JOBS[name])
        done = hpcsolve("run", "job.toml", "--device", "cpu", cwd=folder, timeout=200)
        assert done.returncode == 0 and "resume:" not in done.stdout
        return solution(folder / "out.h5")

    return solved


@pytest.mark.parametrize(("name", "number", "ranks", "then"), [
    ("held-karp", signal.SIGTERM, 1, 2), *(pytest.param(*case, marks=pytest.mark.slow) for case in (
        ("held-karp", signal.SIGUSR1, 3, 1), ("rows", signal.SIGINT, 1, 3), ("rows", signal.SIGUSR1, 2, 1))),
])
def test_a_signal_stops_a_run_and_the_same_command_goes_on(
    name, number, ranks, then, tmp_path, mpiexec, mpiexec_path,
    undisturbed,
):
    (tmp_path / "job.toml").write_text(JOBS[name])
    slow = [*RUN, "--set", "threads=1"]  # else a fast machine is done before the signal comes
    command = slow if ranks == 1 else [mpiexec_path, "-n", str(ranks), *slow]
    code, lines, errors = signalled(command, tmp_path, (0.2, number))
    assert code == 75 and STOPPED.search("".join(lines)), (lines, errors)
    assert "error" not in errors and "Traceback" not in errors
    assert sorted(os.listdir(tmp_path)) == ["job.toml", "out.h5.checkpoint"]
    done = mpiexec(then, "run", "job.toml", "--device", "cpu", cwd=tmp_path, timeout=200)
    assert done.returncode == 0 and re.search(r"^resume: after .*, from out\.h5\.checkpoint$", done.stdout, re.M)
    assert sorted(os.listdir(tmp_path)) == ["job.toml", "out.h5"]
    assert solution(tmp_path / "out.h5") == undisturbed(name)
    again = mpiexec(1, "run", "job.toml", "--device", "cpu", cwd=tmp_path)
    assert again.returncode == 0 and "this job is done already" in again.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_a_signal_during_the_imports_is_not_lost(number, seconds, folder):
    """The first line comes before the imports, which take half a second and more. There is nothing to keep yet."""
    code, _, errors = signalled(RUN, folder, (seconds, number), after="job:")
    name = signal.Signals(number).name
    assert (code, errors) == (75, f"hpcsolve: stopped by {name}; run the same command again\n")


def test_ctrl_c_during_the_imports_ends_at_once(folder):
    code, _, errors = signalled(RUN, folder, (0.1, signal.SIGINT), after="job:")
    assert (code, errors) == (130, "hpcsolve: interrupted\n")


def test_no_exception_of_ctrl_c_is_raised_in_an_import(tmp_path):
    """The initialization of a C extension may turn it into another one, or crash."""
    (tmp_path / "extension.py").write_text(
        "import signal\ntry: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: raise TypeError"
    )
    program = (
        "import signal; from hpcsolve.parallel.interrupts import interrupt; signal.signal(signal.SIGINT, interrupt)\n"
        "try: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: print('raised')\nimport extension"
    )
    environment = {**os.environ, "PYTHONPATH": f"{Path.cwd()}:{tmp_path}"}
    ended = subprocess.run([sys.executable, "-u", "-c", program], env=environment, capture_output=True, text=True,
                           check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "raised\n", "hpcsolve: interrupted\n")


def test_without_checkpoints_a_signal_ends_the_run(folder):
    code, _, errors = signalled([*RUN, "--checkpoint-interval", "never"], folder, (0.3, signal.SIGTERM))
    assert code == -signal.SIGTERM and sorted(os.listdir(folder)) == ["job.toml"], errors


@pytest.mark.slow
def test_deadlines(folder, hpcsolve):
    """One that is given, and the end of the Slurm job less what the job script needs to requeue it."""
    given = hpcsolve("run", "job.toml", "--device", "cpu", "--deadline", "3", cwd=folder, timeout=100)
    assert given.returncode == 75 and STOPPED.search(given.stdout), given.stdout
    environment = {**os.environ, "SLURM_JOB_END_TIME": str(int(time.time()) + 12)}
    slurm = hpcsolve("run", "job.toml", "--device", "cpu", cwd=folder, env=environment, timeout=100)
    assert slurm.returncode == 75 and STOPPED.search(slurm.stdout), slurm.stdout


def test_a_rank_that_hangs_ends_the_job(folder, mpiexec_path):
    """Every rank that waits prints its stack."""
    (folder / "job.toml").write_text(HELD_KARP.replace("n = 27", "n = 30"))
    began = time.monotonic()
    code, _, errors = signalled([mpiexec_path, "-n", "3", *RUN, "--hang-timeout", "4"], folder, (1.0, signal.SIGSTOP),
                                to=1)
    assert code == 4 and time.monotonic() - began < 40, errors
    assert re.search(r"^hpcsolve: error: rank [02] on \S+ has made no progress for 4 s \(--hang-timeout\): ", errors,
                     re.M)
    assert "hpcsolve/algorithms/held_karp/" in errors
    assert not (folder / "out.h5").exists()


@pytest.mark.slow
def test_checkpoints_elsewhere_of_another_job_and_damaged(folder, hpcsolve):
    """Each of these is one line with the way out."""
    run = ("run", "job.toml", "--device", "cpu", "--checkpoint-dir", "kept")
    stop = [sys.executable, "-m", "hpcsolve", *run, "--checkpoint-interval", "0"]
    assert signalled(stop, folder, (0.5, signal.SIGTERM))[0] == 75
    place = folder / "kept" / "out.h5.checkpoint"
    assert sorted(os.listdir(folder)) == ["job.toml", "kept"] and len(list(place.glob("*.manifest"))) in (1, 2)

    other = hpcsolve(*run, "--set", "instance.n=2000", cwd=folder)
    assert other.returncode == 2
    assert other.stderr == (
        "hpcsolve: error: kept/out.h5.checkpoint: these are checkpoints of another job or instance; choose another "
        "--output or --checkpoint-dir, or remove them with --overwrite\n")

    shutil.copytree(place, folder / "copy")
    for path in place.glob("*.manifest"):
        path.write_bytes(path.read_bytes()[:-1])
    damaged = hpcsolve(*run, cwd=folder)
    assert damaged.returncode == 5
    assert damaged.stderr.endswith(f"no checkpoint is whole; remove {place.relative_to(folder)} to begin anew\n")

    shutil.rmtree(place)
    shutil.move(folder / "copy", place)
    replaced = hpcsolve(*run, "--set", "instance.n=2000", "--overwrite", cwd=folder)
    assert replaced.returncode == 0 and not place.exists()


@pytest.mark.slow
def test_a_later_run_takes_over(folder, hpcsolve):
    """The earlier one, perhaps on a host that the network lost, writes nothing more."""
    (folder / "job.toml").write_text(HELD_KARP)
    command = [*RUN, "--checkpoint-interval", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        while not first.stdout.readline().startswith("memory:"):
            pass
        while not list(folder.glob("out.h5.checkpoint/*.manifest")):
            time.sleep(0.05)
        os.kill(first.pid, signal.SIGSTOP)
        second = hpcsolve("run", "job.toml", "--device", "cpu", cwd=folder, timeout=200)
        assert second.returncode == 0 and "resume:" in second.stdout
        before = (folder / "out.h5").read_bytes()
        os.kill(first.pid, signal.SIGCONT)
        _, errors = first.communicate(timeout=100)
    assert first.returncode == 4 and re.search(r"error: out\.h5\.checkpoint: the lease of this run is gone", errors)
    assert (folder / "out.h5").read_bytes() == before


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


@pytest.mark.parametrize("taken_over", [False, True])
def test_the_folder_of_a_failed_run(tmp_path, taken_over):
    folder, comm = tmp_path / "out.h5.checkpoint", SerialComm()
    checkpoints = Checkpoints(writer=Writer(folder, comm, take_lease(folder), "job", None))
    with pytest.raises(ZeroDivisionError), no_empty_folder_on_error(checkpoints, comm):
        if taken_over:
            later = take_lease(folder)
        raise ZeroDivisionError
    assert folder.exists() == taken_over
    if taken_over:
        later.require()


def test_a_search_without_a_tour_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    """Its checkpoint is kept for the same command. Another one is refused, and begins anew with --overwrite."""
    def ends(tsp, problem, device, comm, report, criteria, checkpoints, *others):
        checkpoints.save(State({bounded.LEVEL: 0}, [], "at 3 of 9 cities"), last=False)
        raise NoAnswer("no tour was found; allow more in [stop]")

    monkeypatch.chdir(tmp_path)
    job = HELD_KARP.replace("27", "12") + "stop = { seconds = 9 }\nheld-karp = { method = 'bounded' }\n"
    Path("job.toml").write_text(job)
    run = ["run", "job.toml", "--device", "cpu"]
    with monkeypatch.context() as patched:
        patched.setattr(bounded, "run", ends)
        assert main(run) == 3
        assert capsys.readouterr().err.strip() == (
            "hpcsolve: error: no tour was found; allow more in [stop] and begin anew with --overwrite, or go on from "
            "out.h5.checkpoint with the same command")
    more = [*run, "--set", "stop.seconds=50"]
    assert main(more) == 2 and "or remove them with --overwrite" in capsys.readouterr().err
    assert main([*more, "--overwrite"]) == 0 and not Path("out.h5.checkpoint").exists()
