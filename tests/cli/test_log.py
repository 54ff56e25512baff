"""Progress, the log and provenance."""

import io
import subprocess

import pytest

from hpcsolve.algorithms.base import UNKNOWN
from hpcsolve.errors import EnvironmentFault
from hpcsolve.output.log import Log, Progress, duration, progress_line
from hpcsolve.output.provenance import command_line, git_commit, stored_variables
from hpcsolve.wording import size


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


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
