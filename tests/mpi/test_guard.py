"""Whatever happens on one of several ranks, all ranks end soon and with the right exit code."""

import re
import socket
import sys
import time
from pathlib import Path

import pytest

from hpcsolve import errors

PROGRAM = Path(__file__).with_name("guard_program.py")


def scenario(start_ranks, ranks, name, rank):
    """Run guard_program.py, which must end within 10 seconds."""
    begin = time.monotonic()
    done = start_ranks(ranks, sys.executable, PROGRAM, name, rank, timeout=20)
    assert time.monotonic() - begin < 10
    return done


@pytest.mark.parametrize("rank", ["0", "2"])
@pytest.mark.parametrize(("name", "traceback"), [
    ("exception", "KeyError"),
    ("sys.exit", "SystemExit"),
    ("sys.exit-0", "SystemExit"),
    ("thread", "ZeroDivisionError"),
])
def test_an_uncaught_exception_ends_all_ranks(start_ranks, name, traceback, rank):
    done = scenario(start_ranks, 3, name, rank)
    assert done.returncode == 70
    assert "Traceback" in done.stderr
    assert re.search(rf"^hpcsolve: rank {rank} of 3 on \S+ failed: {traceback}", done.stderr, re.M)


@pytest.mark.parametrize("rank", ["0", "2"])
def test_ctrl_c_on_one_rank_prints_one_line(start_ranks, rank):
    done = scenario(start_ranks, 3, "interrupt", rank)
    assert done.returncode == 130 and "Traceback" not in done.stderr
    assert done.stderr.count("hpcsolve: interrupted\n") == 1


@pytest.mark.parametrize("name", ["kill", "segfault", "exit-now"])
def test_the_death_of_one_rank_ends_all(start_ranks, name):
    assert scenario(start_ranks, 3, name, "1").returncode != 0


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_an_error_of_all_ranks_prints_one_line(start_ranks, ranks):
    done = scenario(start_ranks, ranks, "on-rank-0", "-1")
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["hpcsolve: error: a.tsp:3: found by one rank only"]


@pytest.mark.parametrize(("rank", "first"), [("1", 1), ("-1", 0)])
def test_an_agreed_error_of_one_rank_prints_one_line(start_ranks, rank, first):
    done = scenario(start_ranks, 3, "agree", rank)
    assert done.returncode == 3
    assert done.stderr.splitlines() == [f"hpcsolve: error: rank {first} has too little memory"]


@pytest.mark.parametrize(("name", "who"), [("memory-on-rank-0", ""), ("prepare-memory", r"rank 0 on \S+: ")])
def test_a_lack_of_memory_on_one_rank_prints_one_line(start_ranks, name, who):
    done = scenario(start_ranks, 3, name, "0")
    assert done.returncode == 3
    assert re.fullmatch(rf"hpcsolve: error: {who}more memory is needed than is free, .*\n", done.stderr)


@pytest.mark.parametrize(("ranks", "name"), [(1, "memory"), (1, "enomem"), (1, "threads"), (1, "qhull"), (3, "memory")])
def test_a_lack_of_memory_anywhere_is_no_bug(start_ranks, ranks, name):
    """The other ranks wait in a barrier."""
    done = scenario(start_ranks, ranks, name, str(ranks - 1))
    assert done.returncode == 3 and "Traceback" not in done.stderr
    said = "can't start new thread: raise" if name == "threads" else "more memory is needed than is free"
    assert len(re.findall(f"^hpcsolve: error: {said}", done.stderr, re.M)) == 1


def test_an_error_that_was_not_agreed_ends_all_ranks(start_ranks):
    done = scenario(start_ranks, 3, "alone", "1")
    assert done.returncode == 2
    assert "hpcsolve: error: job.toml:7: found by one rank only" in done.stderr
    assert re.search(r"^hpcsolve: rank 1 on \S+ raised this error alone", done.stderr, re.M)


def test_an_error_after_the_last_message_is_printed(start_ranks):
    done = scenario(start_ranks, 3, "last-words", "2")
    assert done.returncode == 3
    assert done.stderr.splitlines() == ["hpcsolve: error: disk full"]


@pytest.mark.parametrize(("ranks", "rank"), [(1, 0), (3, 2), (3, -1)])
def test_an_error_before_mpi_starts_reaches_all(start_ranks, ranks, rank):
    """It names the rank, unless all ranks have the same."""
    done = scenario(start_ranks, ranks, "prepare", str(rank))
    assert done.returncode == 4
    assert done.stdout == ""
    where = f"rank 2 on {socket.gethostname()}: " if rank == 2 else ""
    assert done.stderr.splitlines() == [f"hpcsolve: error: {where}g++ failed: no space"]


def test_a_bug_before_mpi_starts_reaches_all(start_ranks):
    done = scenario(start_ranks, 2, "prepare-bug", "1")
    assert done.returncode == 70
    assert "KeyError" in done.stderr


@pytest.mark.parametrize(("name", "code"), [("fine", 0), ("code", 1)])
def test_the_run_ends_with_the_greatest_exit_code(start_ranks, name, code):
    done = scenario(start_ranks, 3, name, "2")
    assert done.returncode == code
    assert done.stderr == ""
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} started" for rank in range(3)]


@pytest.mark.parametrize(("name", "code"), [("exception", 70), ("sys.exit", 70), ("interrupt", 130), ("alone", 2)])
def test_one_rank_alone(start_ranks, name, code):
    assert scenario(start_ranks, 1, name, "0").returncode == code


def _all_errors(kind=errors.HpcsolveError):
    return [kind, *(below for child in kind.__subclasses__() for below in _all_errors(child))]


@pytest.mark.parametrize("kind", _all_errors(), ids=lambda kind: kind.__name__)
def test_errors_survive_pickling(kind):
    """They are pickled between ranks, which fails for errors whose constructor takes other arguments."""
    import copy

    before = kind("what is wrong; what to do")
    after = copy.copy(before)  # goes through __reduce_ex__, as pickling does
    assert (type(after), str(after), after.exit_code) == (kind, str(before), before.exit_code)
