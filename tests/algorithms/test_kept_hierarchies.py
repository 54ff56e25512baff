"""Hierarchies that were kept are those that would be made, and are made again whenever anything is different."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcsolve.algorithms.shortest_paths.engines.phast import kept
from hpcsolve.algorithms.shortest_paths.engines.phast.choice import UNLIMITED
from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import Refusal
from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import Hierarchy
from hpcsolve.algorithms.shortest_paths.keys import LONG, WORD, Keys
from hpcsolve.algorithms.shortest_paths.search_graph import lay_out
from hpcsolve.device import array_cache
from hpcsolve.problems.graph import Graph
from tests.algorithms.test_phast import roads
from tests.algorithms.test_phast_run import MANY, solve


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keep hierarchies of any size in an empty folder, and give the list of what is made."""
    calls: list[str] = []

    def counting(name: str) -> None:
        function = getattr(kept, name)

        def called(*arguments: Any) -> Any:
            calls.append(name)
            return function(*arguments)

        monkeypatch.setattr(kept, name, called)

    for name in ("contracted", "hierarchy", "lay_out"):
        counting(name)
    monkeypatch.setattr(kept, "KEPT_FROM", 0)
    monkeypatch.setattr(array_cache, "cache_folder", lambda: tmp_path)
    return calls


def hierarchy_of(graph: Graph, budget: int = UNLIMITED, keys: Keys = WORD, in_levels: bool = False
                 ) -> Hierarchy | Refusal:
    return kept.cached_hierarchy(graph, keys, budget, in_levels, 1)


def content(found: Hierarchy | Refusal) -> list[Any]:
    assert isinstance(found, Hierarchy)
    whole = {**vars(found.graph), **vars(found)}
    del whole["graph"]
    return [(name, value.tolist() if isinstance(value, np.ndarray) else value) for name, value in whole.items()]


@pytest.mark.parametrize("directed", [False, True])
def test_a_second_run_makes_nothing(directed: bool, made: list[str]) -> None:
    graph = roads(300, directed=directed)
    first = hierarchy_of(graph)
    assert made == ["lay_out", "contracted", "hierarchy"]
    second = hierarchy_of(graph)
    assert len(made) == 3 and content(second) == content(first)
    assert isinstance(second, Hierarchy) and isinstance(first, Hierarchy)
    for found in (first, second):
        assert (found.up_arcs is found.down_arcs) == (found.graph.arcs is found.graph.in_arcs) == (not directed)


def test_new_weights_pay_for_customisation_alone(made: list[str]) -> None:
    graph = roads(300)
    slow = replace(graph, weights=graph.weights * np.uint32(3))
    hierarchy_of(graph)
    del made[:]
    later = hierarchy_of(slow)
    assert made == ["lay_out", "hierarchy"]
    array_cache.clear()
    assert content(later) == content(hierarchy_of(slow))
    assert solve(slow, sources=MANY, engine="phast")[0] == solve(slow, sources=MANY, engine="near-far")[0]


def test_whatever_differs_is_made_anew(made: list[str]) -> None:
    graph = roads(300)
    hierarchy_of(graph)
    for keys, in_levels in ((WORD, True), (LONG, False)):
        del made[:]
        hierarchy_of(graph, keys=keys, in_levels=in_levels)
        assert made == ["lay_out", "hierarchy"]
    assert graph.coordinates is not None
    others = [roads(301), replace(graph, directed=True), replace(graph, coordinates=None),
              replace(graph, coordinates=graph.coordinates[:, ::-1].copy())]
    for other in others:
        del made[:]
        hierarchy_of(other)
        assert made == ["lay_out", "contracted", "hierarchy"]


def test_the_budget_counts_as_if_nothing_were_kept(made: list[str]) -> None:
    graph = roads(300)
    refused = hierarchy_of(graph, 50)
    assert isinstance(refused, Refusal)
    hierarchy_of(graph)
    del made[:]
    assert hierarchy_of(graph, 50) == refused and made == []
    assert kept.cached_contraction(graph, WORD, 50) == refused
    work = kept.cached_contraction(graph, WORD, UNLIMITED).work  # type: ignore[union-attr]
    array_cache.clear()
    for budget, fits in ((work, True), (work - 1, False)):
        for _ in range(2):
            assert isinstance(hierarchy_of(graph, budget), Hierarchy) == fits


def test_a_refusal_is_kept_for_its_budget(made: list[str]) -> None:
    graph = roads(300)
    refused = hierarchy_of(graph, 50)
    assert isinstance(refused, Refusal) and made == ["lay_out", "contracted"]
    del made[:]
    assert hierarchy_of(graph, 50) == refused == kept.cached_contraction(graph, WORD, 50) and made == []
    more = hierarchy_of(graph, 60)
    assert isinstance(more, Refusal) and more != refused and made == ["lay_out", "contracted"]
    assert isinstance(hierarchy_of(roads(301), 50), Refusal) and len(made) == 4
    assert isinstance(hierarchy_of(graph), Hierarchy) and made[4:] == ["lay_out", "contracted", "hierarchy"]


def test_a_road_network_with_every_road_in_both_directions_is_an_undirected_one() -> None:
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


def test_damaged_files_are_made_again(made: list[str]) -> None:
    graph = roads(300)
    first = content(hierarchy_of(graph))
    for path in array_cache.files():
        path.write_bytes(path.read_bytes()[:-1])
    del made[:]
    assert content(hierarchy_of(graph)) == first
    assert made == ["lay_out", "contracted", "hierarchy"]


def test_ranks_share_what_was_kept(made: list[str]) -> None:
    graph = roads(400)
    expected = solve(graph, sources=MANY, engine="near-far", predecessors=True)[0]
    for ranks in (1, 3):
        del made[:]
        found, notes = solve(graph, ranks, sources=MANY, engine="phast", predecessors=True)
        assert found == expected and len(made) == (3 if ranks == 1 else 0)
        assert notes[0].startswith("engine: phast, a hierarchy of ")
