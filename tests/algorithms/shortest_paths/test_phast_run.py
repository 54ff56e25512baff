"""Runs whose searches go through a hierarchy have the answer of Near-Far, whatever the ranks, and say their choice."""


import numpy as np
import pytest

from hpcsolve.algorithms import shortest_paths
from hpcsolve.algorithms.shortest_paths import Parameters, choice
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate import generate
from hpcsolve.problems.graph import from_edges
from tests.algorithms.shortest_paths.test_phast import roads
from tests.algorithms.shortest_paths.test_shortest_paths_run import outcomes_of
from tests.solvers import plan_of

MANY = list(range(1, 200))


def solve(problem, ranks=1, **keys):
    """Return the bytes of `/solution` with the rows of all ranks, and the notes for the log of the first rank."""
    outcomes, notes = outcomes_of(problem, ranks, threads=2, **keys)
    whole = {name: np.asarray(column.values).tobytes() for name, column in outcomes[0].solution.items()}
    tables = {name: b"".join(o.rows[name].values.tobytes() for o in outcomes) for name in outcomes[0].rows}
    return {**whole, **tables}, notes


REDUCED = {"reduce": ["count", "nearest", "sum", "farthest"], "cutoffs": [9000.0], "k": 3}


@pytest.mark.parametrize("keys", [
    {"predecessors": True}, {"targets": [400, 7, 9]}, {"cutoff": 90_000}, REDUCED,
    {**REDUCED, "targets": [400, 7, 9], "cutoff": 9000},
], ids=["predecessors", "targets", "cutoff", "reductions", "reductions of targets"])
def test_ranks_and_engines_do_not_change_the_answer(keys):
    problem = roads(400)
    expected, _ = solve(problem, sources=MANY, engine="near-far", **keys)
    for ranks in (1, 2, 3, 4):
        found, notes = solve(problem, ranks, sources=MANY, engine="phast", **keys)
        assert found == expected and notes[0].startswith("engine: phast, a hierarchy of ")


def test_all_sources_are_the_vertices_in_order():
    problem = roads(150, directed=True)
    assert solve(problem, 2, sources="all") == solve(problem, sources=list(range(150)), engine="phast")


def test_distances_widen_when_they_must():
    n = 70
    chain = from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 2**28), n=n)
    sources = list(range(64))
    found, notes = solve(chain, sources=sources, engine="auto")
    assert len(notes) == 2 and all(note.startswith("engine: phast") for note in notes)
    assert found == solve(chain, sources=sources, engine="near-far")[0]
    longer = from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 2**57, np.uint64), n=n)
    assert solve(longer, sources=sources)[0] == solve(longer, sources=sources, engine="near-far")[0]


@pytest.mark.parametrize(("keys", "words"), [
    ({"sources": MANY}, "phast, a hierarchy of"),
    ({"sources": MANY[:62]}, "near-far: 62 searches on "),
    ({"sources": MANY, "cutoff": 5}, "near-far: searches up to a cutoff"),
    ({"sources": MANY, "voronoi": True}, "near-far: one search from all sources"),
    ({"queries": [[1, 2]]}, "near-far: paths of queries"),
])
def test_the_choice_is_told(keys, words):
    for ranks in (1, 3):
        assert words in solve(generate("graph", "road-graph", n=400), ranks, **keys)[1][0]


def test_what_a_hierarchy_is_worth_is_told():
    """The answer is that of Near-Far by name."""
    grid, keys = generate("graph", "grid-graph", rows=90, columns=90), {"sources": list(range(1, 129))}
    found, notes = solve(grid, **keys)
    assert "takes more than 730 steps per vertex and arc, which does not pay for 128 searches" in notes[0]
    assert found == solve(grid, engine="near-far", **keys)[0]


def test_a_job_that_names_the_engine_is_refused_in_good_time(monkeypatch):
    """By the memory that its lists would take, or by the work, which memory alone does not bound well enough."""
    dense = generate("graph", "rmat-graph", scale=13)
    with pytest.raises(InputError, match=r"rmat-13-seed1: .* takes more than 12 list entries per .* arc; choose"):
        solve(dense, sources=[1], engine="phast")
    monkeypatch.setattr(choice, "MOST_STEPS", 300)
    with pytest.raises(InputError, match=r'engine "phast": .* takes more than 300 steps per vertex and arc; choose'):
        solve(generate("graph", "grid-graph", rows=90, columns=90), sources=[1], engine="phast")


@pytest.mark.parametrize(("keys", "words"), [
    ({"queries": [[1, 2]]}, "paths of queries"), ({"sources": [1, 2], "voronoi": True}, "one search from all"),
])
def test_what_the_engine_cannot_do_is_refused(keys, words):
    with pytest.raises(InputError, match=words):
        solve(generate("graph", "road-graph", n=100), engine="phast", **keys)


def test_an_estimate_bounds_what_a_run_takes():
    """It counts the most that a hierarchy may take, which is at most some three times as much as it takes."""
    import tracemalloc

    problem, parameters = generate("graph", "road-graph", n=3000), Parameters(sources=list(range(1, 300)))
    with HostDevice(2) as device:
        need = plan_of(shortest_paths.ALGORITHM, problem, parameters, 1, device.info)
        shortest_paths.ALGORITHM.solve(problem, device, SerialComm(), parameters)
        tracemalloc.start()
        outcome = shortest_paths.ALGORITHM.solve(problem, device, SerialComm(), parameters)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert outcome.answer is not None and device.notes[0].startswith("engine: phast")
    assert peak <= need.needed[0] <= 3 * peak
