"""`hpcsolve check` solves with every algorithm on one rank and on two, and reports answers that are not as recorded."""

import sys
from dataclasses import replace

import pytest

from hpcsolve.algorithms.registry import NAMES
from hpcsolve.errors import EnvironmentFault
from hpcsolve.problems.generate import generate
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.runner import check
from hpcsolve.runner.check import CASES
from tests.order_oracle import numpy_program

LATTICE = CASES[0]


def test_every_algorithm_has_a_case():
    assert {case.name.partition(",")[0] for case in CASES} == set(NAMES)


def test_the_recorded_cost_is_that_of_a_textbook():
    keys = {key: value for key, value in LATTICE.instance.items() if key != "generate"}
    tsp = generate("tsp", LATTICE.instance["generate"], **keys)
    assert numpy_program(tsp, TourQuestion()) == LATTICE.cost


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_an_installation_agrees(hpcsolve, mpiexec_path, tmp_path):
    """It says what it found, and compiles what is missing before it starts ranks."""
    done = hpcsolve("check", "--device", "cpu", own_process=True, timeout=1000, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    starts = [line.split()[0] for line in lines]
    assert {"hpcsolve", "libraries", "MPI", "cache", "rank"} <= set(starts)
    assert starts.count("on") == 2 and lines.count(f"check:  {len(CASES)} of {len(CASES)} answers are as recorded") == 2
    for case in CASES:
        assert sum(line.startswith(f"{case.name}:") and ", as recorded (" in line for line in lines) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def checked(monkeypatch, hpcsolve):
    """Return `checked(case, ...)`, which gives exit code and lines of the command for cases, on one rank alone."""
    monkeypatch.setattr(check, "mpiexec", lambda: None)
    hpcsolve("check", "--nothing")  # the first start of a command is that of another process

    def run(*cases):
        monkeypatch.setattr(check, "CASES", cases)
        done = hpcsolve("check", "--device", "cpu", "--brief")
        lines = [line for line in done.stdout.splitlines() if not line.startswith("build:")]
        assert lines[0] == "on 1 rank, without MPI:", done.stdout + done.stderr
        return done.returncode, lines[1:]

    return run


def test_an_answer_that_is_not_the_recorded_one_is_reported(checked):
    code, lines = checked(LATTICE, replace(LATTICE, cost=1609), replace(LATTICE, digest="0123456789ab"))
    right, cost, digest, last, _ = lines
    found = f"cost 1610, answer {LATTICE.digest}"
    assert code == 1 and f"{found}, as recorded" in right
    assert f"WRONG: {found} instead of cost 1609, answer {LATTICE.digest}" in cost
    assert f"WRONG: {found} instead of cost 1610, answer 0123456789ab" in digest
    assert last.startswith("check:  1 of 3 answers are as recorded: do not trust")


def test_an_error_of_a_case_is_its_line_and_its_exit_code(checked):
    """The cases after it are solved all the same."""
    bad = replace(LATTICE, instance={"generate": "random-matrix", "n": 70, "seed": 1}, keys={"method": "lattice"})
    code, lines = checked(bad, LATTICE)
    assert code in (2, 3) and "error: " in lines[0] and "as recorded" in lines[1]


def test_without_mpi_it_says_so(checked):
    code, lines = checked(LATTICE)
    assert code == 0 and lines[-1].startswith("on 2 ranks: not tried, since mpi4py or")


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (4, 4)])
def test_the_exit_code_is_that_of_two_ranks_too(checked, monkeypatch, tmp_path, code, ends):
    program = tmp_path / "mpiexec"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >{tmp_path}/asked\nexit {code}\n')
    program.chmod(0o755)
    monkeypatch.setattr(check, "mpiexec", lambda: str(program))
    assert checked(LATTICE)[0] == ends
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("-n 2 ") and asked.endswith(" check --brief --device cpu\n")


def test_under_a_launcher_its_ranks_are_checked(start_ranks, monkeypatch):
    """All ranks get the same answers, and rank 0 alone prints."""
    program = ("from hpcsolve.runner import check; check.CASES = check.CASES[:1]; from hpcsolve.cli import main; "
               "import sys; sys.exit(main(['check', '--device', 'cpu', '--brief']))")
    done = start_ranks(3, sys.executable, "-c", program, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("on 3 ranks, ") and len(lines) == 3 and "as recorded (" in lines[1]


def test_a_launcher_that_cannot_be_started_or_does_not_end_is_told(monkeypatch, tmp_path):
    program = tmp_path / "mpiexec"
    with pytest.raises(EnvironmentFault, match="cannot be started"):
        check.check_on_ranks(str(program), 2, ["check"])
    program.write_text("#!/bin/sh\nsleep 30\n")
    program.chmod(0o755)
    monkeypatch.setattr(check, "SECONDS", 0.2)
    with pytest.raises(EnvironmentFault, match="have not ended after"):
        check.check_on_ranks(str(program), 2, ["check"])

