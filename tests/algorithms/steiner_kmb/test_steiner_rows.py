"""Rows of distances by every engine that makes them, against Dijkstra's algorithm in Python's own integers."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hpcsolve.algorithms import steiner_kmb
from hpcsolve.algorithms.shortest_paths.engines import RowEngineName, row_search, searcher
from hpcsolve.algorithms.shortest_paths.engines.rows import TileRows
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, WORD, Keys
from hpcsolve.algorithms.steiner_kmb import Parameters, kmb
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.graph import power_law_steiner, road_steiner
from hpcsolve.problems.graph import Graph
from tests.algorithms.shortest_paths.test_shortest_paths import graphs
from tests.oracles import least_distances

OWN = "tile", "p-pull", "phast"
SMALL = st.one_of(st.integers(0, 9), st.integers(0, 2000))
LARGE = st.one_of(st.integers(0, 3), st.integers(2**30 - 2, 2**30 + 2), st.integers(2**60, 2**61))


def rows(
    graph: Graph, sources: list[int], device: Device, columns: list[int] | None = None, keys: Keys = WORD,
    cutoff: int | None = None, threads: int = 64, engine: RowEngineName = "tile", at_once: int = 8,
) -> list[list[int | None]]:
    """Return distances by an engine, None for unreached vertices."""
    there = None if columns is None else np.array(columns)
    with (
        searcher(graph, device, keys, engine, cutoff=cutoff, searches=len(sources)) as prepared,
        row_search(prepared, graph, engine, at_once, there, len(sources)) as search,
    ):
        if isinstance(search, TileRows):
            search.threads = threads
        found = np.empty((len(sources), graph.n if there is None else len(there)), keys.dtype)
        assert search.start(np.array(sources), found)() >= 0 and search.at_once > 0
    return [[None if key == keys.no_path else key for key in row] for row in found.tolist()]


def expected(graph: Graph, sources: list[int], columns: list[int] | None, cutoff: int) -> list[list[int | None]]:
    """Return the same distances by the oracle."""
    whole = [least_distances(graph, [source]) for source in sources]
    cut = [[None if d is None or d > cutoff else int(d) for d in row] for row in whole]
    return [row if columns is None else [row[v] for v in columns] for row in cut]


@pytest.mark.parametrize(("weights", "keys"), [(SMALL, WORD), (SMALL, LONG), (LARGE, LONG)], ids=["32", "64", "far"])
def test_any_graph_any_sources(weights: st.SearchStrategy[int], keys: Keys, device: Device) -> None:
    """Graphs are directed or not, with components, loops and weights of 0. Sources repeat, and exceed a group."""

    @settings(max_examples=40)
    @given(graphs(weights), st.data())
    def check(graph: Graph, data: st.DataObject) -> None:
        vertex = st.integers(0, graph.n - 1)
        sources = data.draw(st.lists(vertex, min_size=1, max_size=40))
        columns = data.draw(st.one_of(st.none(), st.lists(vertex, min_size=1, max_size=5)))
        cutoff = data.draw(st.one_of(st.none(), st.integers(0, 3000)))
        most = keys.limit if cutoff is None else cutoff
        assume(int(graph.weights.sum()) <= keys.limit)
        for engine in OWN:
            found = rows(graph, sources, device, columns, keys, cutoff, engine=engine)
            assert found == expected(graph, sources, columns, most), engine

    check()


@pytest.mark.parametrize("graph", [power_law_steiner(300, 900, 70, low=0, high=500), road_steiner(900, 70)],
                         ids=lambda graph: graph.name)
def test_every_engine_gives_the_same_rows(graph: Graph, device: Device) -> None:
    """There are three groups, the last one of six sources. Rows are whole, at the sources only, and cut off."""
    assert graph.terminals is not None
    sources = graph.terminals.tolist()
    for columns, cutoff in ((None, None), (sources, None), (None, int(graph.weights.mean() * 3))):
        first = expected(graph, sources, columns, WORD.limit if cutoff is None else cutoff)
        for engine in get_args(RowEngineName) if columns is None and cutoff is None else OWN:
            assert rows(graph, sources, device, columns, cutoff=cutoff, engine=engine) == first, engine


@pytest.mark.parametrize("at_once", [1, 2, 7, 32, 100])
def test_how_many_are_pulled_at_once_does_not_matter(at_once: int, device: Device) -> None:
    graph = power_law_steiner(60, 150, 33, low=1, high=50)
    assert graph.terminals is not None
    sources = graph.terminals.tolist()
    found = rows(graph, sources, device, engine="p-pull", at_once=at_once)
    assert found == expected(graph, sources, None, WORD.limit)


def test_more_arcs_than_shared_memory_holds(device: Device) -> None:
    graph = power_law_steiner(250, 3000, 5, low=1, high=9)
    assert graph.terminals is not None
    assert graph.arcs > 2048
    sources = graph.terminals.tolist()
    assert rows(graph, sources, device, engine="p-pull") == expected(graph, sources, None, WORD.limit)


@pytest.mark.parametrize("threads", [32, 96])
def test_rows_of_a_few_threads(threads: int, device: Device) -> None:
    """Where a block is real threads (test_on_stub_driver.py), it has so many."""
    graph = power_law_steiner(20, 40, 5, low=0, high=9)
    for engine in OWN:
        found = rows(graph, list(range(20)), device, threads=threads, engine=engine)
        assert found == expected(graph, list(range(20)), None, WORD.limit), engine


def test_a_walk_through_the_terminals_keeps_neighbours_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a road-like graph the walk takes a third of the work of a random order."""
    graph = road_steiner(4000, 300)

    def work() -> float:
        asked = Parameters(mode="kmb", halt="terminals")
        outcome = steiner_kmb.ALGORITHM.solve(graph, HostDevice(1), SerialComm(), asked)
        return float(outcome.rank["operations"]) / 300 / graph.arcs

    walked = work()
    monkeypatch.setattr(kmb, "walk", lambda net, near: np.random.default_rng(2).permutation(len(net.terminals)))
    assert walked < 8 and 2 * walked < work()


def test_neighbours_are_visited_together() -> None:
    """On a road-like graph 32 searches next to each other take far fewer visits than 32 apart."""
    graph = road_steiner(4000, 200)
    everyone = replace(graph, terminals=np.arange(graph.n))
    near = np.argsort(np.array(least_distances(graph, [7]), np.float64))[:32]
    apart = np.random.default_rng(1).permutation(graph.n)[:32]
    with (
        searcher(everyone, HostDevice(1), WORD) as prepared,
        TileRows(prepared, near, float(np.median(graph.weights)), 32) as tiles,
    ):
        found = np.empty((32, 32), np.uint32)
        arcs = [tiles.start(sources, found)() / 32 / graph.arcs for sources in (near, apart)]
    assert 1 <= arcs[0] < 3 and 2 * arcs[0] < arcs[1]
