"""A rank that is not ready, or not the same as the others, ends the job before it has begun."""

import os
import signal
import socket
import time

import pytest

import hpcsolve as package
from tests.faults.conftest import ALL_FAULTS, require
from tests.faults.start_program import SECONDS_TO_START

JOB = """algorithm = "held-karp"
instance = { generate = "random-matrix", n = 8, seed = 1 }
output = "out.h5"
device = "cpu"
"""
RUN = ("run", "job.toml", "--checkpoint-interval", "20")
SECONDS = 40.0
"""Time that starting and ending may take on a busy machine. Without the limits it would be endless."""
HERE = f"rank 1 on {socket.gethostname()}"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with a job."""
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "other.toml").write_text(JOB.replace("n = 8", "n = 9"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def started(mpi, statement, *words):
    """Return exit code and hpcsolve's lines on standard error of a run whose rank 1 of 3 starts otherwise."""
    began = time.monotonic()
    done = mpi.start(3, "-m", "tests.faults.start_program", "1", statement, *(words or RUN))
    assert time.monotonic() - began < SECONDS, done.stderr
    assert "Traceback" not in done.stderr
    return done.returncode, [line for line in done.stderr.splitlines() if line.startswith("hpcsolve: ")]


GONE = ["os._exit(0)", "os._exit(3)", "ahead.prepare_run = lambda *_: os._exit(0)"]


@pytest.mark.parametrize("statement", GONE if ALL_FAULTS else GONE[1:2])
def test_a_rank_that_ends_before_mpi_ends_the_others(statement, mpis, folder, monkeypatch):
    """Under MPICH alone: Open MPI's launcher ends them itself. MPICH's combines the exit codes, or kills the others."""
    monkeypatch.setenv(SECONDS_TO_START, "3")
    code, lines = started(require(mpis, "MPICH"), statement)
    assert code in (4, 4 | 3, signal.SIGKILL)
    assert lines[0].endswith(": MPI has not started within 3 s: another rank has ended, or is not ready")
    assert sorted(os.listdir(folder)) == ["job.toml", "other.toml"]


DIFFERENT = {
    "hpcsolve.__version__ = '0.0.9'": f'version: "0.0.9" instead of "{package.__version__}"',
    "build.target_key = lambda: 'ab12'": 'kernels: "ab12" instead of "',
    "sys.argv += ['--set', 'seed=2']": "seed: 2 instead of 1",
    "sys.argv += ['--set', 'held-karp.path=open']": 'held-karp.path: "open" instead of "cycle"',
    "sys.argv += ['--set', 'exact=true']": "exact: true instead of false",
    "sys.argv[2] = 'other.toml'": "instance.n: 9 instead of 8",
    "sys.argv[-1] = 'never'": "--checkpoint-interval: Infinity instead of 20.0",
    "sys.argv += ['--checkpoint-dir', 'kept']": '--checkpoint-dir: "kept" instead of nothing',
    "sys.argv += ['--deadline', '9']": "--deadline: 9.0 instead of nothing",
    "sys.argv += ['--hang-timeout', '9']": "--hang-timeout: 9.0 instead of nothing",
    "sys.argv += ['--overwrite']": "--overwrite: true instead of false",
    "sys.argv += ['--output', 'b.h5']": 'output: "b.h5" instead of "out.h5"',
    "sys.argv[1:] = ['info']": "algorithm: nothing instead of \"held-karp\"",
}
SOME = [("MPICH", next(iter(DIFFERENT))), ("Open MPI", list(DIFFERENT)[2]), ("MPICH", list(DIFFERENT)[6])]
CASES = [(mpi, statement) for statement in DIFFERENT for mpi in ("MPICH", "Open MPI")]


@pytest.mark.parametrize(("name", "statement"), CASES if ALL_FAULTS else [CASES[0], CASES[5], CASES[12]])
def test_ranks_that_differ_end_with_one_line(name, statement, mpis, folder):
    code, lines = started(require(mpis, name), statement)
    assert code == 4 and len(lines) == 1, lines
    assert lines[0].startswith(f"hpcsolve: error: {HERE} differs from rank 0 in {DIFFERENT[statement]}")
    assert lines[0].endswith("; start all ranks with the same command and installation")
    assert sorted(os.listdir(folder)) == ["job.toml", "other.toml"]


MISTAKEN = {
    "sys.argv += ['--overwite']": "unknown option --overwite; did you mean --overwrite?",
    "sys.argv[2] = 'gone.toml'": "gone.toml: cannot be read: No such file or directory; did you mean other.toml?",
}


@pytest.mark.parametrize("statement", MISTAKEN if ALL_FAULTS else list(MISTAKEN)[:1])
def test_a_mistake_of_one_rank_names_it(statement, mpis):
    code, lines = started(require(mpis, "MPICH"), statement)
    assert (code, lines) == (2, [f"hpcsolve: error: {HERE}: {MISTAKEN[statement]}"])


def test_what_belongs_to_a_host_may_differ(mpis, folder):
    """Another device by name, threads, a log folder, the folder of the job file, and where the command runs."""
    (folder / "copy").mkdir()
    (folder / "copy" / "job.toml").write_text(JOB.replace("cpu", "auto"))
    words = "['run', '../copy/job.toml', '--set', 'threads=2', '--quiet', '--checkpoint-interval', '20']"
    code, lines = started(require(mpis, "MPICH"), f"os.mkdir('here'); os.chdir('here'); sys.argv[1:] = {words}")
    assert (code, lines) == (0, [])
    assert (folder / "out.h5").exists()


ASKED = {"SIGINT": (130, "hpcsolve: interrupted"),
         "SIGTERM": (75, "hpcsolve: stopped by SIGTERM; run the same command again"),
         "SIGUSR1": (75, "hpcsolve: stopped by SIGUSR1; run the same command again")}


@pytest.mark.parametrize("name", ["MPICH", "Open MPI"])
@pytest.mark.parametrize("asked", ASKED if ALL_FAULTS else ["SIGINT"])
def test_a_signal_to_one_rank_before_mpi_ends_all(asked, name, mpis):
    """While it reads or compiles. The others learn it when they have joined."""
    statement = f"ahead.prepare_run = lambda *_: os.kill(os.getpid(), signal.{asked})"
    assert started(require(mpis, name), statement) == (ASKED[asked][0], [ASKED[asked][1]])


@pytest.mark.parametrize("asked", ASKED if ALL_FAULTS else ["SIGUSR1"])
def test_a_signal_while_mpi_starts(asked, mpis):
    """The other ranks do not come, and MPICH's launcher kills them, which may be its exit code."""
    later = f"subprocess.Popen(['sh', '-c', f'sleep 0.3; kill -s {asked[3:]} {{os.getpid()}}'])"
    others = "os.environ.get('PMI_RANK') == '1' or time.sleep(30)"
    statement = f"import subprocess; ahead.prepare_run = lambda *_: [{later}]"
    mpi, began = require(mpis, "MPICH"), time.monotonic()
    program = ("import sys, os, time; from hpcsolve.parallel import launch; from tests.faults import start_program; "
               f"join = launch.join; launch.join = lambda: [{others}, join()][1]; "
               "sys.exit(start_program.main(sys.argv[1:]))")
    done = mpi.start(3, "-c", program, "1", statement, *RUN)
    assert done.returncode in (ASKED[asked][0], signal.SIGKILL)
    assert ASKED[asked][1] in done.stderr.splitlines(), done.stderr
    assert time.monotonic() - began < 5 + SECONDS
