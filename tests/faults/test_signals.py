"""A signal before the search ends the command within 5 s, whatever it waits for, and nothing is left behind.

SIGTERM and SIGUSR1: exit code 75, so that Slurm queues the job again. Ctrl-C: 130.
"""

import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.checkpoint.test_kills import KILLS
from tests.cli.seen import solution
from tests.conftest import run
from tests.faults.conftest import ALL_FAULTS, Mpi, require
from tests.faults.test_start import ASKED, JOB
from tests.processes import processes, wait_until, wait_until_gone

SECONDS = 20.0
"""Time until all processes must be gone: 5 s, or more where other programs use the cores."""
KILLED = 9
"""What MPICH's launcher may return if it kills ranks, because another one did not wait any longer for them."""
COMPILER = """#!/bin/sh
case "$*" in *--version*|*--help=target*) exec g++ "$@";; esac
touch "$TMPDIR/cc-temporary"
sh -c 'trap "" TERM; sleep 60; :' &
wait
"""
"""A compiler that does not end, with a child that does not let itself be terminated, and a temporary file."""
SLOW_IMPORT = """
import os, sys, time
open("importing", "w").close()
time.sleep(1)
sys.path.remove(os.path.dirname(__file__))
del sys.modules["msgspec"]
import msgspec
"""
"""In place of msgspec."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a job and an instance that is never written. Beside it is a compiler that does not end."""
    (folder := tmp_path / "work").mkdir()
    (folder / "job.toml").write_text(JOB)
    (folder / "pipe.toml").write_text(JOB.replace('{ generate = "random-matrix", n = 8, seed = 1 }', '"pipe.tsp"'))
    os.mkfifo(folder / "pipe.tsp")
    (tmp_path / "compiler").write_text(COMPILER)
    (tmp_path / "compiler").chmod(0o755)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return folder


@contextmanager
def command(mpi, folder, ranks, *words, **variables):
    """Start the command line, and kill all of it after the block."""
    program = ["-m", "hpcsolve", *words]
    line = [sys.executable, *program] if ranks == 1 else mpi.command(ranks, *program)
    with subprocess.Popen(line, cwd=folder, env={**os.environ, **variables}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            for number in processes(folder):
                os.kill(number, signal.SIGKILL)


def ended(process, folder, asked, whom):
    """Send the signal, and return exit code and hpcsolve's lines on standard error once all is gone."""
    began = time.monotonic()
    os.kill(whom, getattr(signal, asked))
    _, errors = process.communicate(timeout=SECONDS)
    wait_until_gone(folder)
    assert time.monotonic() - began < SECONDS and "Traceback" not in errors
    return process.returncode, [line for line in errors.splitlines() if line.startswith("hpcsolve: ")]


def ranks_of(process, folder, count):
    """Return the processes of the ranks in their order, once all of them are there."""
    if count == 1:
        return [process.pid]
    found = {}
    while len(found) < count:
        assert process.poll() is None
        for number in processes(folder):
            variables = Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
            rank = next((word for word in variables if word.startswith((b"PMI_RANK=", b"OMPI_COMM_WORLD_RANK="))), b"")
            if rank and b"hpcsolve" in Path(f"/proc/{number}/cmdline").read_bytes():
                found[int(rank.partition(b"=")[2])] = number
        time.sleep(0.02)
    return [found[rank] for rank in range(count)]


@contextmanager
def silent_writer(folder, process):
    """Wait until somebody reads the pipe, and keep it open for writing while the block runs, but write nothing."""
    opened = []

    def is_read():
        with suppress(OSError):  # ENXIO: nobody reads it
            opened.append(os.open(folder / "pipe.tsp", os.O_WRONLY | os.O_NONBLOCK))
        return opened != []

    wait_until(is_read, process)
    yield
    os.close(opened[0])


def catches(number):
    """Return whether a process has taken SIGTERM over, and not only blocked it."""
    caught = next(line for line in Path(f"/proc/{number}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


READING = (("run", "pipe.toml"), ("solve", "pipe.tsp"))
ALL_READING = [(asked, ranks, words) for asked in ASKED for ranks in (1, 3) for words in READING]


@pytest.mark.parametrize(("asked", "ranks", "words"), ALL_READING if ALL_FAULTS else ALL_READING[2::5])
def test_while_reading_a_file_that_does_not_answer(asked, ranks, words, mpis, folder):
    """To the process, or to rank 0 alone. In `run` it has joined the others. In `solve` they read too."""
    with (command(require(mpis, "MPICH"), folder, ranks, *words, "--device", "cpu") as process,
          silent_writer(folder, process)):
        first = ranks_of(process, folder, ranks)[0]
        code, lines = ended(process, folder, asked, first)
        assert code == ASKED[asked][0] or (code == KILLED and ranks > 1 and words[0] == "solve")
        assert lines == [ASKED[asked][1]]
    assert sorted(os.listdir(folder)) == ["job.toml", "pipe.toml", "pipe.tsp"]


ALL_RANKS = [(asked, words) for asked in ASKED for words in READING]


@pytest.mark.parametrize(("asked", "words"), ALL_RANKS if ALL_FAULTS else ALL_RANKS[-2:])
def test_all_ranks_are_asked(asked, words, mpis, folder):
    """By mpiexec, which passes the signal on. They end in good order, and one of them prints the line."""
    with (command(require(mpis, "MPICH"), folder, 3, *words, "--device", "cpu") as process,
          silent_writer(folder, process)):
        ranks_of(process, folder, 3)
        assert ended(process, folder, asked, process.pid) == (ASKED[asked][0], [ASKED[asked][1]])


ALL_COMPILING = [(asked, ranks) for asked in ASKED for ranks in (1, 2)]


@pytest.mark.parametrize(("asked", "ranks"), ALL_COMPILING if ALL_FAULTS else ALL_COMPILING[1:3])
def test_while_compiling(asked, ranks, mpis, tmp_path, folder):
    """The compiler is killed with all its processes, its files are removed, and the lock is free."""
    cache = tmp_path / "cache"
    cold = {"HPCSOLVE_CXX": str(tmp_path / "compiler"), "HPCSOLVE_CACHE": str(cache)}
    with command(require(mpis, "MPICH"), folder, ranks, "run", "job.toml", **cold) as process:
        wait_until(lambda: len(list(cache.glob("compiling.*.part/cc-temporary"))) > 0, process)
        whom = ranks_of(process, folder, ranks)[0] if ranks == 1 else process.pid
        assert ended(process, folder, asked, whom) == (ASKED[asked][0], [ASKED[asked][1]])
    locks = list(cache.iterdir())
    assert locks and {lock.suffix for lock in locks} == {".lock"}
    for lock in locks:
        with open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert sorted(os.listdir(folder)) == ["job.toml", "pipe.toml", "pipe.tsp"]


ALL_IMPORTING = [(asked, ranks) for asked in ASKED for ranks in (1, 3)]


@pytest.mark.parametrize(("asked", "ranks"), ALL_IMPORTING if ALL_FAULTS else ALL_IMPORTING[3:5])
def test_while_importing(asked, ranks, mpis, folder, tmp_path, hpcsolve):
    """A module that takes a second: one process ends in it, one of several ranks after it."""
    built = hpcsolve("run", "job.toml", "--output", "built.h5", cwd=folder, timeout=200)
    assert built.returncode == 0, built.stderr
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "msgspec.py").write_text(SLOW_IMPORT)
    paths = os.pathsep.join([str(tmp_path / "late"), os.environ["PYTHONPATH"]])
    with command(require(mpis, "MPICH"), folder, ranks, "run", "job.toml", PYTHONPATH=paths) as process:
        wait_until(lambda: (folder / "importing").exists(), process)
        first = ranks_of(process, folder, ranks)[0]
        wait_until(lambda: catches(first), process)
        code, lines = ended(process, folder, asked, first)
        assert code == ASKED[asked][0] or (code == KILLED and ranks > 1)
        assert lines == [ASKED[asked][1]]
    assert not (folder / "out.h5").exists()


WAYS = ["one process", "MPICH", "Open MPI"]
RANDOM_JOB = """algorithm = "ant-colony"
instance = "cities.tsp"
output = "out.h5"
device = "cpu"
threads = 1
[ant-colony]
bound = false
colonies = 3
[stop]
iterations = 150
"""
UNOPTIMISED = "-x c++ -std=c++17 -O0 -march=native -fopenmp -ffp-contract=off -fPIC -shared -Wno-psabi"


@dataclass
class Trials:
    """A job that is signalled again and again, in a new folder each time, and then run to its end.

    Attributes
    ----------
    mpi
        None: without a launcher.
    counts
        How often each signal came before the search, in it, or ended nothing, since the run was done.
    """

    folder: Path
    mpi: Mpi | None
    chance: random.Random
    lasts: float = 0.0
    expected: dict[str, bytes] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def words(self, ranks):
        """Return the command of the job, as one process or on so many ranks."""
        program = ["-m", "hpcsolve", "run", "job.toml", "--checkpoint-interval", "0.05"]
        return self.mpi.command(ranks, *program) if self.mpi else [sys.executable, *program]

    def whole(self, ranks, environment):
        """Run the job to its end, and return what it printed. It leaves its answer, and nothing else."""
        done = run(self.words(ranks), timeout=200, cwd=self.folder, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        assert sorted(os.listdir(self.folder)) == ["cities.tsp", "job.toml", "out.h5"]
        return done.stdout

    def one(self, environment):
        """Signal the run or one of its ranks at a random moment, and check how it ends and what it leaves."""
        asked, ranks = self.chance.choice([*ASKED, "SIGKILL"]), self.chance.choice([1, 2, 3]) if self.mpi else 1
        line = self.words(ranks)
        with subprocess.Popen(line, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, start_new_session=True) as process:
            of_ranks = ranks_of(process, self.folder, ranks) if self.mpi else [process.pid]
            wait_until(lambda: all(takes(number) for number in of_ranks), process)  # Python itself has begun
            passes_on = self.mpi is not None and (self.mpi.name == "MPICH" or asked == "SIGUSR1")
            victims = [process.pid] if passes_on and self.chance.random() < 0.5 else of_ranks
            try:
                output, errors = process.communicate(timeout=self.chance.uniform(0, self.lasts))
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.kill(self.chance.choice(victims), getattr(signal, asked))
                output, errors = process.communicate(timeout=2 * SECONDS)
            wait_until_gone(self.folder)
        code, alone = process.returncode, victims != [process.pid] and ranks > 1
        assert "Traceback" not in errors and code in self.codes(asked, alone), (asked, ranks, code, output, errors)
        self.counts[f"{asked} {'in the search' if 'memory:' in output else 'before it'}"] += 1
        if code == 0:
            assert solution(self.folder / "out.h5") == self.expected

    def codes(self, asked, alone):
        """Return the exit codes that a run may have after a signal, to one of several ranks alone or to all."""
        if asked == "SIGKILL":
            return {0, *range(-64, 0), *range(1, 256)} - {75, 130}
        own = {KILLED} if alone and self.mpi and self.mpi.name == "MPICH" else set()
        return {0, 75, *own} | ({130} if asked == "SIGINT" else set())


def takes(number):
    """Return whether a process has begun to block or to handle SIGTERM, or has ended."""
    with suppress(OSError):
        masks = [line.split()[1] for line in Path(f"/proc/{number}/status").read_text().splitlines()
                 if line.startswith(("SigBlk", "SigCgt"))]
        return any(int(mask, 16) >> (signal.SIGTERM - 1) & 1 for mask in masks)
    return True


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("way", WAYS if ALL_FAULTS else WAYS[1:2])
def test_signals_at_random_moments(way, mpis, tmp_path, hpcsolve):
    """Every fourth run compiles first. HPCSOLVE_KILLS says how many signals there are in all."""
    (folder := tmp_path / "work").mkdir()
    (temporary := tmp_path / "temporary").mkdir()
    (folder / "job.toml").write_text(RANDOM_JOB)
    assert hpcsolve("generate", "uniform-tsp", "--n", "60", "-o", "cities.tsp", cwd=folder).returncode == 0
    warm = {**os.environ, "TMPDIR": str(temporary)}
    cold = {**warm, "HPCSOLVE_CACHE": str(tmp_path / "cold"), "HPCSOLVE_CXXFLAGS": UNOPTIMISED}
    trials = Trials(folder, None if way == WAYS[0] else require(mpis, way), random.Random(f"{way} {KILLS}"))
    lasts = []
    for environment in (cold, warm):
        (folder / "out.h5").unlink(missing_ok=True)
        began = time.monotonic()
        trials.whole(2, environment)
        lasts.append(time.monotonic() - began)
    trials.expected = solution(folder / "out.h5")
    for number in range(-(-KILLS // len(WAYS))):
        environment, trials.lasts = (cold, lasts[0]) if number % 4 == 0 else (warm, lasts[1])
        shutil.rmtree(tmp_path / "cold", ignore_errors=True)
        (folder / "out.h5").unlink()
        trials.one(environment)
        trials.whole(trials.chance.choice([1, 2, 3]), environment)
        assert solution(folder / "out.h5") == trials.expected
        assert not list((tmp_path / "cold").glob("*.part"))
    print(f"{way}: " + ", ".join(f"{count} {what}" for what, count in sorted(trials.counts.items())))
