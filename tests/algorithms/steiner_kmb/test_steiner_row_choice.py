"""Engine "auto" of Steiner trees: which rows are made by a hierarchy, and that the tree does not depend on it."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from hpcsolve.algorithms import steiner_kmb
from hpcsolve.algorithms.base import NO_STOP
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate import generate
from hpcsolve.problems.generate.graph import power_law_steiner
from tests.solvers import plan_of
from tests.thread_comm import on_ranks


def strip(terminals, rows=3, columns=300, high=100):
    """Return a grid with few rows, which has small separators, and this many random terminals."""
    graph = generate("graph", "grid-graph", rows=rows, columns=columns, seed=3, low=1, high=high)
    chosen = np.random.default_rng(5).choice(graph.n, terminals, replace=False)
    return replace(graph, terminals=np.sort(chosen))


def solved(graph, ranks=1, **keys):
    """Return the bytes of `/solution`, and the notes for the log of the first rank."""
    parameters = Parameters(**keys)
    notes = []

    def work(comm):
        with HostDevice(1) as device:
            outcome = steiner_kmb.ALGORITHM.solve(graph, device, comm, parameters)
            if comm.rank == 0:
                notes.extend(device.notes)
            return outcome

    outcome = (on_ranks(ranks, work) if ranks > 1 else [work(SerialComm())])[0]
    return {name: np.asarray(column.values).tobytes() for name, column in outcome.solution.items()}, notes


HARD = strip(600, 3, 600, 2)
"""A graph that the reductions of mode best leave something of."""
MANY = strip(2000, 3, 900)
"""A graph whose searches of mode kmb pay for a hierarchy, on two ranks too."""


@pytest.mark.parametrize(("graph", "keys"), [
    (MANY, {"mode": "kmb"}), (MANY, {"mode": "kmb", "halt": "terminals"}),
    (HARD, {"mode": "best", "shakes": 0}),
], ids=["bottleneck", "terminals", "best"])
def test_the_tree_is_that_of_the_engine_tile(graph, keys):
    expected, said = solved(graph, engine="tile", **keys)
    assert said == []
    for ranks in (1, 2):
        found, notes = solved(graph, ranks, **keys)
        assert found == expected
        assert len(notes) == 1 and notes[0].startswith("engine: phast, a hierarchy of ")


@pytest.mark.parametrize(("graph", "keys", "words"), [
    (strip(63), {"mode": "kmb"}, "tile: 63 searches"),
    (strip(1700, rows=45, columns=45), {"mode": "kmb"},
     "tile: no small separators: contraction takes more than "),
    (strip(300), {"mode": "kmb"}, "tile: 300 searches"),
    (HARD, {"mode": "best", "shakes": 0}, "phast, a hierarchy"),
    (power_law_steiner(300, 1500, 70, low=1, high=9), {"mode": "kmb"}, "tile: "),
], ids=["few terminals", "a grid", "rows of terminals", "rows of all vertices", "dense"])
def test_the_choice_follows_from_graph_mode_and_terminals(graph, keys, words):
    for ranks in (1, 2):
        assert solved(graph, ranks, **keys)[1][0].startswith(f"engine: {words}")


def test_by_name_it_is_made_whatever_it_costs():
    graph = strip(5)
    found, notes = solved(graph, mode="kmb", engine="phast")
    assert notes[0].startswith("engine: phast") and found == solved(graph, mode="kmb", engine="tile")[0]


def test_by_name_a_hopeless_graph_is_refused(monkeypatch):
    monkeypatch.setattr("hpcsolve.algorithms.shortest_paths.engines.hierarchy.ROOM", 1)
    monkeypatch.setattr("hpcsolve.algorithms.shortest_paths.engines.hierarchy.LEAST_ROOM", 1)
    with pytest.raises(InputError, match=r"no small separators.*choose \"tile\""):
        solved(strip(50, 25, 25), mode="kmb", engine="phast")


@pytest.mark.parametrize("mode", ["kmb", "best"])
def test_an_estimate_bounds_what_a_run_takes(mode):
    """It counts the most that a hierarchy may take."""
    graph = strip(1500, 3, 1500) if mode == "kmb" else strip(600, 3, 600, 2)
    parameters = Parameters(mode=mode, shakes=0)
    with HostDevice(1) as device:
        need = plan_of(steiner_kmb.ALGORITHM, graph, parameters, 1, device.info)
        steiner_kmb.ALGORITHM.solve(graph, device, SerialComm(), parameters)
        tracemalloc.start()
        steiner_kmb.ALGORITHM.solve(graph, device, SerialComm(), parameters)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert device.memory_peak <= 1.2 * need.device_bytes[0], "what the reductions leave is only estimated"
    assert device.notes[0].startswith("engine: phast")
    assert peak <= need.needed[0] <= 3 * peak


@pytest.mark.parametrize("keys", [
    {"mode": "fast"}, {"mode": "kmb"}, {"mode": "kmb", "engine": "near-far"}, {"mode": "best", "engine": "p-pull"},
    {"mode": "exact"}, {"mode": "exact", "engine": "phast"},
])
def test_a_run_loads_no_other_kernel_files_than_are_built_for_it(keys):
    parameters = Parameters(**keys)
    with HostDevice(1) as device:
        steiner_kmb.ALGORITHM.solve(strip(12), device, SerialComm(), parameters)
        loaded = {file for file, _ in device.kernels}
    files = steiner_kmb.ALGORITHM.kernels_of(parameters, "strip.gr", NO_STOP)
    assert loaded <= set(files) < set(steiner_kmb.ALGORITHM.kernel_files)
