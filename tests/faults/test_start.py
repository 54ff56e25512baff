"""A job ends before it has begun if ranks are not ready or not the same, and ends with its launcher."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

import hpcsolve as package
from tests.conftest import run
from tests.faults.conftest import ALL_FAULTS, require
from tests.faults.start_program import SECONDS_TO_START
from tests.processes import processes, wait_until_gone

JOB = """algorithm = "held-karp"
instance = { generate = "random-matrix", n = 8, seed = 1 }
output = "out.h5"
device = "cpu"
"""
RUN = ("run", "job.toml", "--checkpoint-interval", "20")
SECONDS = 40.0
"""Time that starting and ending may take on a busy machine. Without the limits it would be endless."""
HERE = f"rank 1 on {socket.gethostname()}"


@pytest.fixture
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
@pytest.mark.usefixtures("folder")
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
@pytest.mark.usefixtures("folder")
def test_a_signal_to_one_rank_before_mpi_ends_all(asked, name, mpis):
    """While it reads or compiles. The others learn it when they have joined."""
    statement = f"ahead.prepare_run = lambda *_: os.kill(os.getpid(), signal.{asked})"
    assert started(require(mpis, name), statement) == (ASKED[asked][0], [ASKED[asked][1]])


@pytest.mark.parametrize("asked", ASKED if ALL_FAULTS else ["SIGUSR1"])
@pytest.mark.usefixtures("folder")
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


PROGRAM = """
import os, sys, time
from hpcsolve.parallel.launch import guard

def main(comm):
    os.write(1, b"joined\\n")  # in one piece, also with PYTHONUNBUFFERED
    if comm.rank == 1:
        time.sleep(60)
    comm.barrier()
    return 0

sys.exit(guard(main))
"""
VICTIMS = [("MPICH", "hydra_pmi_proxy"), ("MPICH", "mpiexec"), ("Open MPI", "prterun")]


@pytest.mark.parametrize(("name", "victim"), VICTIMS)
def test_a_process_of_the_launcher_is_killed(name, victim, mpis, tmp_path):
    """Without `parallel/interrupts.py` ranks that look for a message in shared memory would do so forever."""
    command = require(mpis, name).command(3, "-c", PROGRAM)
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **quiet) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["joined\n"] * 3
        named = {program_of(number): number for number in processes(tmp_path)}
        os.kill(named[victim], signal.SIGKILL)
        killed = time.monotonic()
        wait_until_gone(tmp_path)
    print(f"{victim} of {name}: gone after {time.monotonic() - killed:.1f} s, exit code {process.returncode}")
    assert process.returncode != 0


def program_of(number):
    """Return the name of a process's program."""
    return Path(os.fsdecode(Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")[0])).name


@pytest.mark.parametrize(("launcher", "library"), [("MPICH", "Open MPI"), ("Open MPI", "MPICH")])
def test_mixed_mpi(launcher, library, mpis, folder):
    python = require(mpis, library).python
    command = require(mpis, launcher).command(3, "-m", "hpcsolve", "run", "job.toml", "--device", "cpu", python=python)
    done = run(command, timeout=60, cwd=folder)
    assert done.returncode == 4, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("hpcsolve: error: ")]
    assert len(lines) == 1 and library in lines[0] and "use" in lines[0], done.stderr
    assert sorted(os.listdir(folder)) == ["job.toml", "other.toml"]
