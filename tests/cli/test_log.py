"""What a run says within its first second and later, to terminals, files, closed pipes and full disks."""

import fcntl
import io
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from itertools import pairwise

import h5py
import numpy as np
import pytest

from hpcsolve import cli
from hpcsolve.algorithms.base import UNKNOWN
from hpcsolve.device.build import HOST_FLAGS
from hpcsolve.errors import EnvironmentFault
from hpcsolve.output import log
from hpcsolve.output.log import Log, Progress, duration, heartbeat, progress_line
from hpcsolve.output.provenance import command_line, git_commit, stored_variables
from hpcsolve.runner.conclude import gpu_line, rank_table
from hpcsolve.wording import show, size
from tests.processes import signalled


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def test_a_runs_last_lines_say_what_its_gpus_did():
    """Ranks count by their seconds, those on CPU cores do not count, and no share is above 100 % or below 0."""
    def line(*rows):
        names = ("uuid", "seconds_run", "seconds_kernel", "seconds_copy")
        return gpu_line(rank_table([dict(zip(names, row)) for row in rows]))

    assert line(("", 9.0, 8.0, 0.0)) == line(("GPU-1", 0.0, 0.0, 0.0)) == ""
    assert line(("GPU-1", 2.0, 1.24, 0.1)) == "GPU:    computed 62 %, copied 5 % and waited 33 % of the run's time"
    assert line(("GPU-1", 3.0, 3.0, 0.0), ("GPU-2", 1.0, 0.0, 0.6), ("", 9.0, 0.0, 0.0)) == (
        "GPUs:   computed 75 %, copied 15 % and waited 10 % of the run's time")
    assert line(("GPU-1", 1.0, 1.5, 0.0)) == "GPU:    computed 100 %, copied 0 % and waited 0 % of the run's time"


def test_a_log_gets_a_line_every_few_seconds_and_no_bar(capsys):
    clock, stream = Clock(), io.StringIO()
    progress = Progress(Log(), stream, clock)
    for step in range(101):
        clock.now = step / 5
        progress(step / 100, "layer 3")
    progress.close()
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        " 25 % after 5 s, about 15 s to go: layer 3", " 50 % after 10 s, about 10 s to go: layer 3",
        " 75 % after 15 s, about 5 s to go: layer 3", "100 % after 20 s, about 0 s to go: layer 3",
    ]
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar_and_no_lines(capsys):
    stream, clock = Terminal(), Clock()
    progress = Progress(Log(), stream, clock)
    for step in range(11):
        clock.now = step * 10
        progress(step / 10)
    progress(0.5)  # back: ignored
    progress.close()
    assert "100%" in stream.getvalue() or "%|" in stream.getvalue()
    stream = Terminal()
    with Progress(Log(), stream, clock) as progress:
        progress(0.1)
        progress(UNKNOWN, "sets of 2 terminals")
        progress.tqdm_bar.refresh()
    assert "%" not in stream.getvalue().rpartition("sets of 2 terminals")[0].rpartition("\r")[2]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("rows, columns", [(0, 0), (0, 80), (24, 0), (24, 80)])
def test_a_terminal_of_unknown_size_gets_a_bar(rows, columns):
    """As a container or a serial line has it, whose terminal has 0 rows of 0 columns."""
    main, other = os.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
    with open(other, "w", encoding="utf-8") as stream:
        with Progress(Log(), stream) as progress:
            progress(0.5, "layer 3")
            progress.tqdm_bar.refresh()
            shown = ""
            while "layer 3" not in shown:  # a terminal gives what it has so far
                shown += os.read(main, 10_000).decode()
        assert " 50%|" in shown and "layer 3" in shown
        assert max(map(len, shown.split("\r"))) == 80
    os.close(main)


@pytest.mark.parametrize("log", [Log(rank=1), Log(quiet=True)])
def test_other_ranks_and_quiet_runs_show_nothing(log, capsys):
    stream, clock = Terminal(), Clock()
    progress = Progress(log, stream, clock)
    clock.now = 100
    progress(0.5)
    log.say("something")
    assert (stream.getvalue(), capsys.readouterr().out) == ("", "")


def test_log_files_have_everything_with_its_time(tmp_path, capsys):
    log = Log(rank=1, folder=str(tmp_path / "new"))
    log.say("said")
    log.answer("answered")
    log.note("noted")
    log.close()
    text = (tmp_path / "new" / "rank-0001.log").read_text()
    assert [line.split(" ", 1)[1] for line in text.splitlines()] == ["said", "answered", "noted"]
    assert capsys.readouterr().out == ""
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentFault, match="--log-dir"):
        Log(folder=str(tmp_path / "file"))


def test_numbers_for_people():
    assert [duration(s) for s in (0.0312, 5, 12.4, 59.9, 200, 7500, 4e6)] == [
        "0.031 s", "5 s", "12 s", "60 s", "3 min 20 s", "2 h 05 min", "46.3 days",
    ]
    assert [size(b) for b in (0, 512, 1536, 20 * 2**30, 1000 * 2**20)] == [
        "0 bytes", "512 bytes", "1.5 KiB", "20 GiB", "1000 MiB",
    ]
    assert progress_line(0, 3) == "  0 % after 3 s"
    assert progress_line(UNKNOWN, 3, "sets of 2 terminals") == "after 3 s: sets of 2 terminals"


def test_only_named_variables_are_kept():
    kept = {"SLURM_JOB_ID": "1", "OMP_NUM_THREADS": "2"}
    assert stored_variables({**kept, "SLURM_JWT": "x", "AWS_SECRET_ACCESS_KEY": "x", "PATH": "x"}) == kept


def test_the_command_line_hides_the_home(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere/me")
    assert command_line(["hpcsolve", "run", "/somewhere/me/my job.toml"]) == "hpcsolve run '~/my job.toml'"
    assert command_line(["a\udcff"]) == "'a?'"


def test_the_commit_is_read_without_git(tmp_path, repository):
    assert git_commit(tmp_path) == ""

    def git(*arguments):
        identity = ["-c", "user.name=x", "-c", "user.email=x@x"]
        done = subprocess.run(["git", *identity, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q", "-b", "trunk")
    git("commit", "-q", "--allow-empty", "-m", "x")
    head = git("rev-parse", "HEAD")
    assert git_commit(tmp_path) == head
    git("pack-refs", "--all")
    assert git_commit(tmp_path) == head
    git("checkout", "-q", "--detach")
    assert git_commit(tmp_path) == head


@pytest.mark.parametrize("count", [10**40, 10**400, 1e300, float("inf")])
def test_sizes_beyond_any_machine(count):
    assert size(count) == "more than 2^100 bytes"
    assert size(2**99).endswith(" TiB")


JOB = 'algorithm = "shortest-paths"\ninstance = "roads.gr"\noutput = "out.h5"\n[shortest-paths]\nsources = [1]\n'
SLOW = """#!/bin/sh
case "$*" in *--version*|*--help=target*) exec g++ "$@";; esac
sleep 6
exec g++ "$@"
"""


@pytest.fixture
def roads(tmp_path):
    """Return a roads with a job whose graph takes a while to read, and a slow compiler."""
    n = 300_000
    tails = np.arange(1, n)
    body = "\n".join(f"a {tail} {tail + 1} 5" for tail in tails.tolist())
    (tmp_path / "roads.gr").write_text(f"p sp {n} {n - 1}\n{body}\n")
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "slow-compiler").write_text(SLOW)
    (tmp_path / "slow-compiler").chmod(0o755)
    return tmp_path


def spoken(command, roads, **environment):
    """Run a command to its end, and return the lines that it prints with the seconds at which each came."""
    started, lines = time.monotonic(), []
    with subprocess.Popen(command, cwd=roads, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
                          ) as process:
        assert process.stdout is not None
        lines = [(time.monotonic() - started, line.rstrip("\n")) for line in process.stdout]
    assert process.returncode == 0, lines
    return lines


@pytest.mark.slow
def test_the_first_line_comes_at_once_and_compiling_is_announced(roads):
    """With an empty cache and a slow compiler there are lines all the time."""
    command = [sys.executable, "-m", "hpcsolve", "run", "job.toml", "--device", "cpu"]
    slow = {"HPCSOLVE_CACHE": str(roads / "cache"), "HPCSOLVE_CXX": str(roads / "slow-compiler"),
            "HPCSOLVE_CXXFLAGS": HOST_FLAGS.replace("-O3", "-O0")}  # nine compilers beside other tests
    lines = spoken(command, roads, **slow)
    texts = [text for _, text in lines]
    assert texts[0] == "job:    job.toml" and lines[0][0] < 1
    assert texts[1].startswith("build:  compiling 9 kernel files with ") and "once" in texts[1]
    assert re.fullmatch(r"build:  [0-8] of 9 compiled after \d s", texts[2])
    reading = texts.index(f"read:   roads.gr, {(roads / 'roads.gr').stat().st_size / 2**20:.3g} MiB")
    assert reading < next(index for index, text in enumerate(texts) if text.startswith("hpcsolve 0."))
    times = [seconds for seconds, _ in lines]
    assert max(later - sooner for sooner, later in pairwise(times)) < 8
    warm = [text for _, text in spoken([*command, "--overwrite"], roads, **slow)]
    assert not [text for text in warm if text.startswith("build:")]
    assert not [text for _, text in spoken([*command, "--overwrite", "--quiet"], roads, **slow)
                if text.startswith(("job:", "build:", "read:"))]


def test_one_rank_speaks(mpiexec_path, roads):
    """Under mpiexec rank 0 alone prints the lines, before MPI has started."""
    command = [mpiexec_path, "-n", "3", sys.executable, "-m", "hpcsolve", "run", "job.toml", "--device", "cpu"]
    lines = spoken(command, roads)
    texts = [text for _, text in lines]
    assert texts[0] == "job:    job.toml" and lines[0][0] < 2
    assert len([text for text in texts if text.startswith("job:")]) == 1
    assert len([text for text in texts if text.startswith("read:   roads.gr")]) == 1


def test_a_heartbeat_beats_until_its_block_ends():
    """It also ends, and at once, when the block raises an error."""
    said = []
    with pytest.raises(KeyError), heartbeat(said.append, lambda seconds: f"{seconds:.1f}", interval=0.05):
        time.sleep(0.28)
        raise KeyError
    count = len(said)
    assert 2 <= count <= 5
    time.sleep(0.15)
    assert len(said) == count


MATRIX = "0 1 9\n9 0 1\n1 9 0\n"
NAMED = """NAME : towns
TYPE : TSP
DIMENSION : 3
COMMENT : CITY 1 Łódź
COMMENT : CITY 2 Αθήνα
COMMENT : CITY 3 Bern
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 3 4
3 6 0
EOF
"""
SHELL = '"$@" {}; echo "code ${{PIPESTATUS[0]}}" >&2'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "towns.tsp").write_text(NAMED, encoding="utf-8")
    (tmp_path / "job.toml").write_text('algorithm = "held-karp"\ninstance = "towns.tsp"\noutput = "out.h5"\n')
    return tmp_path


def in_shell(run_process, folder, redirection, *arguments, **environment):
    command = ["bash", "-c", SHELL.format(redirection), "-", sys.executable, "-m", "hpcsolve", *arguments]
    return run_process(command, timeout=60, cwd=folder, env={**os.environ, **environment})


@pytest.mark.parametrize("redirection", ["| true", "> /dev/full", ">&-", "> /dev/full 2>&1"])
def test_a_run_keeps_its_result_when_printing_fails(redirection, run_process, folder, test_device):
    done = in_shell(run_process, folder, redirection, "run", "job.toml", "--device", test_device)
    assert "Traceback" not in done.stderr and "rror" not in done.stderr
    assert done.stderr == "code 0\n"
    with h5py.File(folder / "out.h5") as file:
        assert file.attrs["verified"] == 1


@pytest.mark.parametrize("redirection", ["| true", "> /dev/full", ">&-"])
@pytest.mark.slow
def test_other_commands_end_well_when_printing_fails(redirection, run_process, hpcsolve, folder, test_device):
    assert hpcsolve("run", "job.toml", "--device", test_device, cwd=folder).returncode == 0
    estimate = ["estimate", "job.toml", "--device", test_device]
    for arguments in (["verify", "out.h5"], estimate, ["info"], ["generate", "uniform-tsp", "--n", "5", "-o", "x.tsp"]):
        done = in_shell(run_process, folder, redirection, *arguments)
        assert done.stderr == "code 0\n", arguments


def test_letters_that_the_encoding_lacks(run_process, folder, test_device):
    run = ("run", "job.toml", "--device", test_device)
    done = in_shell(run_process, folder, "", *run, PYTHONIOENCODING="ascii")
    assert done.stderr == "code 0\n"
    assert "\\u0141\\xf3d\\u017a" in done.stdout and "check:  PASS" in done.stdout
    assert "Łódź" in in_shell(run_process, folder, "", *run, PYTHONIOENCODING="utf-8").stdout


def test_a_log_on_a_full_disk_ends_and_the_run_goes_on(folder, test_device, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    with open("/dev/full", "a") as full:
        monkeypatch.setattr(log, "opened", lambda path: full)
        assert cli.main(["run", "job.toml", "--device", test_device, "--log-dir", "logs"]) == 0
    said = capsys.readouterr()
    assert "check:  PASS" in said.out
    assert said.err.count("No space left on device; the log ends here") == 1 and "Traceback" not in said.err


def test_a_stream_that_fails_is_left_alone_afterwards(tmp_path):
    with open("/dev/full", "w") as full:
        show("lost", full)
        show("lost too", full)
    with open(tmp_path / "latin", "w", encoding="latin-1") as file:
        show("é Ł \udc80", file)
    assert (tmp_path / "latin").read_text(encoding="latin-1") == "é \\u0141 \\udc80\n"


SAID = {75: "hpcsolve: interrupted: a checkpoint will be written; another Ctrl-C ends the run at once",
        130: "hpcsolve: interrupted"}


@pytest.mark.parametrize("ranks", [1, 2])
def test_ctrl_c_in_a_terminal(ranks, mpiexec_path, folder):
    """All processes get it, and one says so."""
    np.save(folder / "costs.npy", np.random.default_rng(1).integers(1, 1000, (28, 28)))
    launcher = [mpiexec_path, "-n", "2"] if ranks == 2 else []
    long = ["run", "job.toml", "--device", "cpu", "--set", "instance=costs.npy", "--set", "threads=1"]
    code, _, errors = signalled([*launcher, sys.executable, "-m", "hpcsolve", *long], folder, (0.1, signal.SIGINT),
                                to="all")
    # Before the search has begun there is nothing to keep; how long that takes depends on the machine.
    kept = {75: ["out.h5.checkpoint"], 130: []}[code]
    assert sorted(path.name for path in folder.iterdir()) == sorted(["costs.npy", "job.toml", "towns.tsp", *kept])
    assert "Traceback" not in errors and errors.count("hpcsolve: interrupted") == 1 and f"{SAID[code]}\n" in errors
    assert ranks == 2 or errors == f"{SAID[code]}\n"
