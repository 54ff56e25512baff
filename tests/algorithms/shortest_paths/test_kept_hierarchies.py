"""Hierarchies that were kept are those that would be made, and are made again whenever anything is different."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from hpcsolve.algorithms import shortest_paths
from hpcsolve.algorithms.shortest_paths import Parameters, choice, search_graph
from hpcsolve.algorithms.shortest_paths.choice import Attempt
from hpcsolve.algorithms.shortest_paths.engines import hierarchy as hierarchies
from hpcsolve.algorithms.shortest_paths.engines import kept
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import UNLIMITED, Hierarchy, Refusal
from hpcsolve.algorithms.shortest_paths.engines.kept import Cache, Kept
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, WORD, lay_out
from hpcsolve.device import array_cache
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from tests.algorithms.shortest_paths.test_phast import roads
from tests.algorithms.shortest_paths.test_phast_run import MANY, solve
from tests.thread_comm import ThreadComm, on_ranks


@pytest.fixture(autouse=True)
def made(tmp_path, monkeypatch):
    """Keep hierarchies of any size in an empty folder, and give the list of what is made."""
    calls = []

    def counting(owner, name, what):
        function = getattr(owner, name)

        def called(*arguments):
            calls.append(what)
            return function(*arguments)

        monkeypatch.setattr(owner, name, called)

    counting(search_graph, "lay_out", "lay_out")
    counting(hierarchies, "contracted", "contracted")
    counting(Hierarchy, "of", "hierarchy")
    monkeypatch.setattr(kept, "KEPT_FROM", 0)
    monkeypatch.setattr(array_cache, "cache_folder", lambda: tmp_path)
    return calls


def hierarchy_of(graph, worth=UNLIMITED, keys=WORD, in_parts=False):
    return Cache(graph, keys, in_parts).hierarchy(worth, 1)


def content(found):
    assert isinstance(found, Hierarchy)
    whole = {**vars(found.graph), **vars(found)}
    del whole["graph"]
    return [(name, value.tolist() if isinstance(value, np.ndarray) else value) for name, value in whole.items()]


@pytest.mark.parametrize("directed", [False, True])
def test_a_second_run_makes_nothing(directed, made):
    graph = roads(300, directed=directed)
    first = hierarchy_of(graph)
    assert made == ["lay_out", "contracted", "hierarchy"]
    second = hierarchy_of(graph)
    assert len(made) == 3 and content(second) == content(first)
    assert isinstance(second, Hierarchy) and isinstance(first, Hierarchy)
    for found in (first, second):
        assert (found.up_arcs is found.down_arcs) == (found.graph.arcs is found.graph.in_arcs) == (not directed)


def test_new_weights_pay_for_customisation_alone(made):
    graph = roads(300)
    slow = replace(graph, weights=graph.weights * np.uint32(3))
    hierarchy_of(graph)
    del made[:]
    later = hierarchy_of(slow)
    assert made == ["lay_out", "hierarchy"]
    array_cache.clear()
    assert content(later) == content(hierarchy_of(slow))
    assert solve(slow, sources=MANY, engine="phast")[0] == solve(slow, sources=MANY, engine="near-far")[0]


def test_whatever_differs_is_made_anew(made):
    graph = roads(300)
    hierarchy_of(graph)
    for keys, in_parts in ((WORD, True), (LONG, False)):
        del made[:]
        hierarchy_of(graph, keys=keys, in_parts=in_parts)
        assert made == ["lay_out", "hierarchy"]
    assert graph.coordinates is not None
    others = [roads(301), replace(graph, directed=True), replace(graph, coordinates=None),
              replace(graph, coordinates=graph.coordinates[:, ::-1].copy())]
    for other in others:
        del made[:]
        hierarchy_of(other)
        assert made == ["lay_out", "contracted", "hierarchy"]


def test_what_is_kept_is_used_whatever_it_took(made):
    graph, slow = roads(300), replace(roads(300), weights=roads(300).weights * np.uint32(3))
    assert Cache(graph, WORD).look_up() is None
    refused = hierarchy_of(graph, 50)
    assert isinstance(refused, Refusal) and Cache(graph, WORD).look_up() is None
    whole = hierarchy_of(graph)
    assert isinstance(whole, Hierarchy)
    del made[:]
    assert content(hierarchy_of(graph, 50)) == content(whole) and made == []
    assert isinstance(hierarchy_of(slow, 50), Hierarchy) and made == ["lay_out", "hierarchy"]


def test_what_is_kept_is_known_without_reading_it(made):
    graph = roads(300)
    whole = hierarchy_of(graph)
    assert isinstance(whole, Hierarchy)
    assert Cache(graph, WORD).look_up() == Kept(int(whole.up_offsets[-1]), True)
    filled = Cache(graph, WORD).contraction(0).head
    heavier = replace(graph, weights=graph.weights + np.uint32(1))
    for other, keys, in_parts in ((graph, WORD, True), (graph, LONG, False), (heavier, WORD, False)):
        assert Cache(other, keys, in_parts).look_up() == Kept(len(filled), False)
    assert Cache(roads(301), WORD).look_up() is None
    for path in array_cache.files():
        path.write_bytes(path.read_bytes()[:30])
    assert Cache(graph, WORD).look_up() is None


def test_a_refusal_is_kept_for_what_it_was_worth(made):
    graph, size = roads(300), roads(300).n + roads(300).arcs
    refused = hierarchy_of(graph, 60 * size)
    assert isinstance(refused, Refusal) and made == ["lay_out", "contracted"] and "more than 60 steps" in refused.reason
    del made[:]
    assert hierarchy_of(graph, 60 * size) == refused == Cache(graph, WORD).contraction(60 * size) and made == []
    less = hierarchy_of(graph, 50 * size)
    assert isinstance(less, Refusal) and "more than 50 steps" in less.reason and made == []
    assert isinstance(hierarchy_of(graph, 70 * size), Refusal) and made == ["lay_out", "contracted"]
    assert isinstance(hierarchy_of(roads(301), 50 * size), Refusal) and len(made) == 4
    assert isinstance(hierarchy_of(graph), Hierarchy) and made[4:] == ["lay_out", "contracted", "hierarchy"]


def test_a_graph_that_outgrows_its_memory_is_never_tried_again(made, monkeypatch):
    monkeypatch.setattr(hierarchies, "ROOM", 1)
    monkeypatch.setattr(hierarchies, "LEAST_ROOM", 1)
    refused = hierarchy_of(roads(300))
    assert isinstance(refused, Refusal) and "more than 1 list entries" in refused.reason
    assert hierarchy_of(roads(300)) == refused and made == ["lay_out", "contracted"]


def test_auto_takes_what_is_kept_for_a_single_search(made):
    graph = roads(300)
    expected, notes = solve(graph, sources=[5])
    assert notes == ["engine: near-far: 1 search on 2 cores takes less time than making a hierarchy"]
    solve(graph, sources=[1], engine="phast")
    for ranks in (1, 3):
        del made[:]
        found, notes = solve(graph, ranks, sources=[5])
        assert found == expected and made == []
        assert notes[0].startswith("engine: phast, a hierarchy of ") and notes[0].endswith("kept from an earlier run")


@pytest.mark.parametrize(("searches", "taken"), [([5], "near-far"), (MANY, "phast")])
def test_hosts_whose_caches_differ_choose_alike(searches, taken, made, monkeypatch, tmp_path):
    """One host has a hierarchy, and the other none: it is used if it would be made without any, else on neither."""
    graph = roads(300)
    expected = solve(graph, sources=searches, engine="near-far")[0]
    solve(graph, sources=[1], engine="phast")

    class TwoHosts(ThreadComm):
        def once_per_host(self, make):
            """Each rank is a host, and rank 1 has an empty cache."""
            folder = tmp_path / "other" if self.rank else tmp_path
            with turns:
                monkeypatch.setattr(array_cache, "cache_folder", lambda: folder)
                return make()

    (tmp_path / "other").mkdir()
    turns, notes = threading.Lock(), [""] * 2

    def work(comm):
        comm.__class__ = TwoHosts
        with HostDevice(1) as device:
            outcome = shortest_paths.ALGORITHM.solve(graph, device, comm, Parameters(sources=searches))
            notes[comm.rank] = device.notes[0]
            return outcome.rows["distance"].values.tobytes()

    assert b"".join(on_ranks(2, work)) == expected["distance"]
    assert all(note.startswith(f"engine: {taken}") for note in notes)

def test_a_host_that_gives_up_decides_for_all():
    """This one has a contraction from a run that was worth more."""

    class Gathered(SerialComm):
        def allgather(self, value):
            assert value is None
            return [value, Refusal("too much work")]

    found = choice.agreed_hierarchy(roads(300), WORD, Attempt(UNLIMITED, 70), HostDevice(1).info, Gathered())
    assert found == Refusal("too much work")


def test_a_road_network_with_every_road_in_both_directions_is_an_undirected_one():
    """It is laid out, contracted and weighed as such, and a single other weight makes it directed."""
    graph = roads(200)
    both = replace(graph, directed=True)
    for name, value in vars(lay_out(graph, WORD)).items():
        assert np.array_equal(vars(lay_out(both, WORD))[name], value), name
    weights = graph.weights.copy()
    weights[5] += 1
    for given, one_way in ((both, False), (replace(both, weights=weights), True)):
        laid_out, made = lay_out(given, WORD), hierarchy_of(given)
        assert isinstance(made, Hierarchy)
        assert (laid_out.in_arcs is laid_out.arcs) == (made.up_arcs is made.down_arcs) == (not one_way)


def test_damaged_files_are_made_again(made):
    graph = roads(300)
    first = content(hierarchy_of(graph))
    for path in array_cache.files():
        path.write_bytes(path.read_bytes()[:-1])
    del made[:]
    assert content(hierarchy_of(graph)) == first
    assert made == ["lay_out", "contracted", "hierarchy"]


def test_ranks_share_what_was_kept(made):
    graph = roads(400)
    expected = solve(graph, sources=MANY, engine="near-far", predecessors=True)[0]
    for ranks in (1, 3):
        del made[:]
        found, notes = solve(graph, ranks, sources=MANY, engine="phast", predecessors=True)
        assert found == expected and len(made) == (3 if ranks == 1 else 0)
        assert notes[0].startswith("engine: phast, a hierarchy of ")
