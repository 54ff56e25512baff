"""Rows of distances from terminals, by the engines that make several at once, and the order of the terminals."""

from dataclasses import replace

import numpy as np
import pytest

from hpcsolve.algorithms import steiner_kmb
from hpcsolve.algorithms.shortest_paths.engines import ENGINES, TILE, row_search, searcher
from hpcsolve.algorithms.shortest_paths.search_graph import WORD
from hpcsolve.algorithms.shortest_paths.searches import Request, filled_rows
from hpcsolve.algorithms.steiner_kmb import Parameters, kmb
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.graph import power_law_steiner, road_steiner
from tests.oracles import least_distances


def rows(graph, sources, device, engine, at_once=8, threads=64):
    """Return distances by an engine, None for unreached vertices."""
    with (
        searcher(graph, device, WORD, engine, searches=len(sources)) as prepared,
        row_search(prepared, graph, engine, at_once, None, len(sources)) as search,
    ):
        search.threads = threads
        (found, _), = filled_rows(search, [np.array(sources)], None)
    return [[None if key == WORD.no_path else key for key in row] for row in found.tolist()]


def expected(graph, sources):
    """Return the same distances by the oracle."""
    return [[None if d is None else int(d) for d in least_distances(graph, [source])] for source in sources]


@pytest.mark.parametrize("at_once", [1, 2, 7, 32, 100])
def test_how_many_are_pulled_at_once_does_not_matter(at_once, device):
    graph = power_law_steiner(60, 150, 33, low=1, high=50)
    assert graph.terminals is not None
    sources = graph.terminals.tolist()
    assert rows(graph, sources, device, "p-pull", at_once) == expected(graph, sources)


def test_more_arcs_than_shared_memory_holds(device):
    graph = power_law_steiner(250, 3000, 5, low=1, high=9)
    assert graph.terminals is not None
    assert graph.arcs > 2048
    sources = graph.terminals.tolist()
    assert rows(graph, sources, device, "p-pull") == expected(graph, sources)


@pytest.mark.parametrize("threads", [32, 96])
def test_rows_of_a_few_threads(threads, device):
    """Where a block is real threads (test_on_stub_driver.py), it has so many."""
    graph = power_law_steiner(20, 40, 5, low=0, high=9)
    for engine in ENGINES:
        found = rows(graph, list(range(20)), device, engine.name, threads=threads)
        assert found == expected(graph, list(range(20))), engine


def test_a_walk_through_the_terminals_keeps_neighbours_together(monkeypatch):
    """On a road-like graph the walk takes a third of the work of a random order."""
    graph = road_steiner(4000, 300)

    def work():
        asked = Parameters(mode="kmb", halt="terminals")
        outcome = steiner_kmb.ALGORITHM.solve(graph, HostDevice(1), SerialComm(), asked)
        return float(outcome.rank["operations"]) / 300 / graph.arcs

    walked = work()
    monkeypatch.setattr(kmb, "walk", lambda net, near: np.random.default_rng(2).permutation(len(net.terminals)))
    assert walked < 8 and 2 * walked < work()


def test_neighbours_are_visited_together():
    """On a road-like graph 32 searches next to each other take far fewer visits than 32 apart."""
    graph = road_steiner(4000, 200)
    everyone = replace(graph, terminals=np.arange(graph.n))
    near = np.argsort(np.array(least_distances(graph, [7]), np.float64))[:32]
    apart = np.random.default_rng(1).permutation(graph.n)[:32]
    request = Request(graph.n, graph.arcs, WORD, 32, near)
    with TILE.prepare(everyone, HostDevice(1), request) as tiles:
        arcs = [arcs / 32 / graph.arcs for _, arcs in filled_rows(tiles, [near, apart], near)]
    assert 1 <= arcs[0] < 3 and 2 * arcs[0] < arcs[1]
