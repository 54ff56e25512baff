"""A solver whose answer is wrong, on one rank or several: the run says so, ends with exit code 1, marks its file."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from hpcsolve.algorithms.registry import algorithm
from hpcsolve.cli import main
from hpcsolve.output.reader import read_result
from tests.cli.seen import write_job

JOBS = {
    "tour": ("held-karp", '{ generate = "random-matrix", n = 12, seed = 5 }', ""),
    "forced": ("edge-assembly", '{ generate = "clustered-tsp", n = 40, seed = 3 }',
               "population = 4\nforced = [[1, 30], [30, 7]]"),
    "tree": ("steiner-kmb", '{ generate = "power-law-steiner", n = 150, edges = 450, terminals = 25, high = 4 }', ""),
    "queries": ("shortest-paths", '{ generate = "random-graph", n = 60, degree = 5, parts = 2, high = 4, seed = 3 }',
                "queries = [[1, 5], [2, 7], [9, 9], [2, 7], [1, 2], [60, 2], [33, 51], [7, 2], [1, 3], [1, 3]]"),
    "rows": ("shortest-paths", '{ generate = "grid-graph", rows = 9, columns = 11 }', "sources = [1, 99, 50]"),
}


def other(**changes):
    """Return a lie: attributes of the answer are what functions make of them."""
    return lambda outcome: replace(outcome, answer=replace(outcome.answer, **{
        name: change(getattr(outcome.answer, name)) for name, change in changes.items()}))


def at(name, place, change=lambda value: value + 1):
    """Return a lie: a value in a column or a table of the answer is what a function makes of it."""
    def lie(outcome):
        column = getattr(outcome.answer, name)
        values = getattr(column, "values", column)
        values[place] = change(values[place])
        return outcome

    return lie


def wrong(outcome):
    """Say that two entries contradict the arcs."""
    return replace(outcome, wrong="2 entries contradict the arcs")


LIES = {  # job, what a wrong solver would do to its outcome on rank 0, and what finds it
    "a cost": ("tour", other(cost=lambda cost: 1), "the tour costs"),
    "a tour's cost": ("forced", other(cost=lambda cost: cost + 1), "the tour costs"),
    "a leg that is forced": ("forced", other(tour=lambda tour: np.sort(tour)), "which is forced"),
    "no edge": ("tree", at("u", 2, lambda vertex: 0), "has no edge"),
    "a weight": ("tree", at("weight", 0), "weighs"),
    "a bound": ("tree", other(lower_bound=lambda bound: bound + 10**6), "ratio is"),
    "a bottleneck": ("tree", other(closure_bottleneck=lambda weight: weight - 1), "closure_bottleneck is"),
    "a tree's cost": ("tree", other(cost=lambda cost: cost - 1), "cost is"),
    "a path": ("queries", at("path", 1), "rank 0: query 0, 1 -> 5, has a path"),
    "a distance": ("queries", at("distance", -1), "rank 0: query 9, 1 -> 3, has a path of another length"),
    "wrong distances": ("queries", wrong, "2 entries contradict the arcs"),
    "a low row": ("rows", at("distance", (0, 40), lambda value: 0), "rank 0: row 0: vertex"),
    "wrong rows": ("rows", wrong, "2 entries contradict the arcs"),
    "the last row": ("rows", at("distance", (-1, 40)), "row 2: vertex 41 has distance"),
}


def lying(name):
    """Return an algorithm, and a run of it that tells a lie on rank 0, or on the last."""
    job, lie, _ = LIES[name]
    solver = algorithm(JOBS[job][0])
    honest = solver.run

    def run(statement, device, comm, *rest):
        outcome = honest(statement, device, comm, *rest)
        return lie(outcome) if comm.rank == (comm.size - 1 if name == "the last row" else 0) else outcome

    return solver, run


def lying_command(name, *words):
    """Run the command line with a solver that lies."""
    solver, solver.run = lying(name)
    sys.exit(main(words))


@pytest.fixture
def job(tmp_path, request):
    """Return a folder with the job."""
    return write_job(tmp_path, *JOBS[LIES[request.getfixturevalue("name")][0]])


def require_found_out(done, name, job):
    assert done.returncode == 1, done.stdout + done.stderr
    assert "check:  FAIL" in done.stdout and LIES[name][2] in done.stdout, done.stdout
    assert not read_result(job / "out.h5").attributes["verified"]


@pytest.mark.parametrize("name", LIES)
def test_an_answer_that_fails_its_check_is_exit_1(name, job, in_process, monkeypatch, test_device):
    with monkeypatch.context() as patch:
        solver, run = lying(name)
        patch.setattr(solver, "run", run)
        require_found_out(in_process("run", "job.toml", "--device", test_device, cwd=job), name, job)
    again = in_process("run", "job.toml", "--device", test_device, cwd=job)
    assert again.returncode == 1 and "check:  FAIL (when it was solved)" in again.stdout, again.stdout + again.stderr


@pytest.mark.parametrize("name", LIES)
@pytest.mark.slow
def test_one_wrong_rank_is_enough(name, job, start_ranks, test_device):
    program = f"from tests.cli.test_wrong_answers import lying_command; lying_command({name!r}"
    options = f", 'run', 'job.toml', '--device', {test_device!r}, '--set', 'share-gpu=true')"
    require_found_out(start_ranks(2, sys.executable, "-c", program + options, cwd=job), name, job)
