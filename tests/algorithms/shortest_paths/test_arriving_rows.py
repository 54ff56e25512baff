"""Rows that come down from a GPU while it searches for the next ones are those of the CPU, to the bit."""


import numpy as np
import pytest

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.shortest_paths import tables
from hpcsolve.algorithms.shortest_paths.engines import ENGINES, row_search, searcher, single
from hpcsolve.algorithms.shortest_paths.searches import filled_rows
from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.plane import road_graph

PIECE = 1000


@pytest.fixture(scope="module")
def graph():
    """Return a graph whose row of 1600 bytes takes several pieces."""
    return road_graph(400, seed=3)


@pytest.fixture
def own(test_device):
    """Yield a device of its own, a GPU with small pieces."""
    with open_device(test_device, SerialComm(), share_gpu=True)[0] as device:
        if device.info.kind == "cuda":
            device.downloads.piece_bytes, device.downloads.most = PIECE, 3
        yield device


def table(graph, device, engine):
    """Return distances and predecessors from all vertices, and the seconds that the host has waited for them."""
    with searcher(graph, device, engine=engine, searches=graph.n) as prepared:
        seeds = [np.array([vertex]) for vertex in range(graph.n)]
        found = tables.solve_table(prepared, seeds, None, True, silent)
        return found.keys, found.before, device.seconds_copy


@pytest.mark.parametrize("engine", ["near-far-block", "near-far-grid"])
def test_batches_of_searches(engine, graph, own, monkeypatch):
    monkeypatch.setattr(single, "rows_at_once", lambda *_: 7)
    keys, before, seconds = table(graph, own, engine)
    with HostDevice(1) as host:
        expected = table(graph, host, engine)
    assert np.array_equal(keys, expected[0]) and np.array_equal(before, expected[1])
    assert seconds > 0


@pytest.mark.parametrize("engine", [engine.name for engine in ENGINES])
@pytest.mark.parametrize("wanted", [1, 3, 9])
def test_rows_of_an_engine(engine, wanted, graph, own):
    """Also if the caller wants no more after some batches, while the next one is under way."""
    batches = [np.arange(begin, min(begin + 45, graph.n)) for begin in range(0, graph.n, 45)]

    def rows(device):
        with (
            searcher(graph, device, searches=graph.n) as prepared,
            row_search(prepared, graph, engine, 45, None, graph.n) as search,
        ):
            filled = filled_rows(search, batches, None)
            return [next(filled)[0] for _ in range(wanted)]

    with HostDevice(1) as host:
        assert np.array_equal(np.concatenate(rows(own)), np.concatenate(rows(host)))
