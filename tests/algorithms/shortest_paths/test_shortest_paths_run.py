"""What the runner calls: questions, rows of every rank, keys that widen, Voronoi regions."""

import numpy as np
import pytest

from hpcsolve.algorithms import shortest_paths
from hpcsolve.algorithms.shortest_paths import Parameters
from hpcsolve.algorithms.shortest_paths.question import RandomSources, question
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.graph import from_edges
from tests.oracles import least_distances
from tests.solvers import plan_of
from tests.thread_comm import on_ranks


def graph(largest=30, n=150, seed=2):
    """Return an undirected graph of several components, with labels from 100 on and three terminals."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2, n))
    weights = rng.integers(0, largest + 1, n, dtype=np.uint64)
    return from_edges(*ends, weights, n=n, labels=np.arange(100, 100 + n), terminals=[5, 50, 90])


def outcomes_of(problem, ranks, threads=1, **keys):
    """Return the outcomes of all ranks, checked and within the memory estimated, and the first rank's log notes."""
    parameters, notes = Parameters(**keys), []

    def work(comm):
        with HostDevice(threads) as device:
            outcome = shortest_paths.ALGORITHM.solve(problem, device, comm, parameters)
            need = plan_of(shortest_paths.ALGORITHM, problem, parameters, comm.size, device.info)
            assert device.memory_peak <= need.device_bytes[comm.rank] + 2**16
            assert outcome.wrong is None
            if comm.rank == 0:
                notes.extend(device.notes)
            return outcome

    return on_ranks(ranks, work) if ranks > 1 else [work(SerialComm())], notes


def solve(problem, ranks=1, **keys):
    """Return the whole of `/solution`, put together from the rows of all ranks."""
    outcomes, _ = outcomes_of(problem, ranks, **keys)
    whole = {name: np.asarray(column.values) for name, column in outcomes[0].solution.items()}
    for name, first in outcomes[0].rows.items():
        whole[name] = np.concatenate([o.rows[name].values for o in outcomes])
        starts = np.cumsum([0, *(len(o.rows[name].values) for o in outcomes)])
        assert [o.rows[name].first for o in outcomes] == starts[:-1].tolist() and first.total == starts[-1]
    return whole


@pytest.mark.parametrize("largest", [30, 2**31 - 2, 2**40, 2**58])
def test_ranks_do_not_change_the_answer(largest):
    problem = graph(largest)
    keys = {"sources": list(range(100, 111)), "predecessors": True}
    alone = solve(problem, **keys)
    none = np.iinfo(alone["distance"].dtype).max
    for row, source in enumerate(range(11)):
        expected = [none if d is None else d for d in least_distances(problem, [source])]
        assert alone["distance"][row].tolist() == expected
    for ranks in (2, 3, 4, 13):
        shared = solve(problem, ranks, **keys)
        assert {k: (v.dtype, v.tobytes()) for k, v in shared.items()} == {
            k: (v.dtype, v.tobytes()) for k, v in alone.items()
        }


def test_distances_widen_when_they_must():
    chain = from_edges([0, 1, 2], [1, 2, 3], [2**31 - 2, 2**31, 2**31], n=4)
    assert solve(chain, sources=[0])["distance"].dtype == np.uint64
    assert solve(chain, sources=[0])["distance"][0].tolist() == [0, 2**31 - 2, 2**32 - 2, 2**32 + 2**31 - 2]
    longer = from_edges([0, 1], [1, 2], np.array([2**63, 2**63 - 2], np.uint64), n=3)
    assert solve(longer, sources=[0])["distance"][0].tolist() == [0, 2**63, 2**64 - 2]
    too_long = from_edges([0, 1], [1, 2], np.array([2**63, 2**63 - 1], np.uint64), n=3, directed=True)
    for ranks in (1, 2):  # with two ranks, only the first one sees it
        with pytest.raises(InputError, match="2\\^64"):
            solve(too_long, ranks, sources=[0, 1])


def test_voronoi_regions():
    problem = graph()
    found = solve(problem, sources="terminals", voronoi=True, predecessors=True)
    each = [least_distances(problem, [s]) for s in (5, 50, 90)]
    for v in range(problem.n):
        offers = [d[v] for d in each if d[v] is not None]
        none = int(np.iinfo(found["distance"].dtype).max)
        assert found["distance"][0, v] == min(offers, default=none)
        if offers:
            nearest = (5, 50, 90).index(found["nearest"][0, v])
            assert each[nearest][v] == min(offers)
        else:
            assert found["nearest"][0, v] == -1


def test_targets_are_columns():
    problem = graph()
    every = solve(problem, sources=[103, 140])["distance"]
    some = solve(problem, sources=[103, 140], targets=[149, 100])
    assert some["target"].tolist() == [49, 0]
    assert np.array_equal(some["distance"], every[:, [49, 0]])


def test_a_cutoff_keeps_what_is_near():
    problem = graph()
    every, near = solve(problem, sources=[101])["distance"], solve(problem, sources=[101], cutoff=25)["distance"]
    none = np.iinfo(every.dtype).max
    assert np.array_equal(near, np.where(every <= 25, every, none)) and (near != every).any()


def test_random_sources_are_different_vertices():
    problem = graph()
    found = question(problem, Parameters(sources=RandomSources(random=150)))
    assert sorted(found.sources.tolist()) == list(range(150))
    again = question(problem, Parameters(sources=RandomSources(random=7, seed=3)))
    assert again.sources.tolist() == question(problem, Parameters(sources=RandomSources(7, 3))).sources.tolist()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"sources": [7]}, "sources: graph has no vertex 7"),
        ({"sources": []}, "the list is empty"),
        ({"sources": [101, 101]}, "vertex 101 is listed twice"),
        ({"sources": RandomSources(random=151)}, "151 random sources, but only 150 vertices"),
        ({"sources": [101], "targets": [5]}, "targets: graph has no vertex 5"),
        ({"sources": [101], "targets": [102], "predecessors": True}, "need every vertex"),
    ],
)
def test_bad_questions(keys, message):
    with pytest.raises(InputError, match=message):
        question(graph(), Parameters(**keys))


def test_terminals_must_be_there():
    with pytest.raises(InputError, match="has no terminals"):
        question(from_edges([0], [1], [1], n=2), Parameters(sources="terminals"))
