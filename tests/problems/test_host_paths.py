"""Distances and paths recomputed on the host equal those of Dijkstra's algorithm, and planted errors are named."""

import dataclasses
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.problems import check_distances
from hpcsolve.problems.check_distances import PairPaths, no_path_of
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.search_again import check_columns, check_shortest, distance_rows, smallest_predecessors
from tests.oracles import least_distances
from tests.oracles import smallest_predecessors as textbook_predecessors

WEIGHTS = st.sampled_from([0, 0, 1, 2, 3, 2**31, 2**32 + 1, 2**52, 2**53, 2**62])
ARCS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), WEIGHTS), max_size=24)


def graph_of(arcs, directed=True, floats=False):
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    values = np.array(weights, np.uint64)
    return from_edges(tails, heads, values / 3 if floats else values, n=8, directed=directed)


def rows_of(graph, cutoff=None):
    none = no_path_of(np.float64 if graph.weights.dtype.kind == "f" else np.uint64)
    found = [least_distances(graph, [source]) for source in range(graph.n)]
    return [[none if d is None or (cutoff is not None and d > cutoff) else d for d in row] for row in found]


@given(ARCS, st.booleans(), st.booleans(), st.sampled_from([None, 0, 3, 2**32 + 1]))
def test_rows_and_predecessors_are_the_textbooks(arcs, directed, floats, cutoff):
    graph = graph_of(arcs, directed, floats)
    rows = distance_rows(graph, np.arange(8), cutoff)
    assert rows.tolist() == rows_of(graph, cutoff)
    whole = distance_rows(graph, np.arange(8))
    for source, row in enumerate(whole):
        expected = textbook_predecessors(graph, [source], least_distances(graph, [source]))
        assert smallest_predecessors(graph, graph.tails(), np.array([source]), row).tolist() == expected


def answered(graph, pairs, cutoff=None):
    """Return the right answer to queries by the textbook."""
    kind = np.float64 if graph.weights.dtype.kind == "f" else np.uint64
    none, paths, distances = no_path_of(kind), [], []
    for source, target in pairs:
        row = least_distances(graph, [source])
        before, path = textbook_predecessors(graph, [source], row), [target]
        reached = row[target] is not None and (cutoff is None or row[target] <= cutoff)
        while path[0] != source and reached:
            path.insert(0, before[path[0]])
        distances.append(row[target] if reached else none)
        paths.append(path if reached else [])
    ends = np.array(pairs).reshape(-1, 2)
    lengths = np.cumsum([0, *map(len, paths)])
    return PairPaths(*ends.T, np.array(distances, kind), lengths, np.array(list(chain(*paths)), np.int32))


def check(graph, answer, cutoff=None):
    answer.check_paths(graph, cutoff)
    check_shortest(graph, answer, cutoff)


VERTEX = st.integers(0, 7)


@given(ARCS, st.booleans(), st.booleans(), st.sampled_from([None, 0, 3]), st.data())
def test_any_change_of_an_answer_is_found(arcs, directed, floats, cutoff, data):
    graph = graph_of(arcs, directed, floats)
    right = answered(graph, data.draw(st.lists(st.tuples(VERTEX, VERTEX), min_size=1, max_size=5)), cutoff)
    check(graph, right, cutoff)
    name = data.draw(st.sampled_from(["source", "target", "distance", "offset", "path"]))
    values = np.array(getattr(right, name))
    place = data.draw(st.integers(0, max(0, len(values) - 1)))
    if not len(values) or (name in ("source", "target") and not right.reached[place]):
        return  # that no path leads there may be as true of other ends
    values[place] = data.draw(st.sampled_from([0, 1, 2, 7, no_path_of(right.distance.dtype)])
                              if name == "distance" else st.integers(0, 9))
    if values[place] == getattr(right, name)[place]:
        return
    with pytest.raises(ValueError, match=r"query \d|one entry for each|names vertices|divide"):
        check(graph, dataclasses.replace(right, **{name: values}), cutoff)


# 1 -2- 2 -3- 3 -0- 4 -0- 5, 1 -5- 6 -0- 4, a longer way 1 -9- 5, and 7, 8 apart
SMALL = [(0, 1, 2), (1, 2, 3), (2, 3, 0), (3, 4, 0), (0, 5, 5), (5, 3, 0), (0, 4, 9)]
PAIRS = [(0, 4), (3, 3), (0, 6), (4, 1)]


def with_path(path, distance=5):
    """Return a function that replaces the path of the first query."""

    def change(right):
        rest, lengths = right.path[right.offset[1] :], np.diff(right.offset)
        offset = np.cumsum([0, len(path), *lengths[1:]])
        distances = np.array([distance, *right.distance[1:]], right.distance.dtype)
        return dataclasses.replace(right, path=np.array([*path, *rest]), offset=offset, distance=distances)

    return change


def changed(**values):
    return lambda right: dataclasses.replace(right, **{name: np.array(value) for name, value in values.items()})


PLANTED = {
    "another of its length": (with_path([0, 5, 3, 4]), "query 0, 0 -> 4, has a path of this length, but not"),
    "around a plateau": (with_path([0, 1, 2, 3, 5, 3, 4]), "query 0, 0 -> 4, has a path of this length, but not"),
    "no arc": (with_path([0, 1, 3, 4]), "query 0, 0 -> 4, has a path with a step that is no arc"),
    "longer": (with_path([0, 4], 9), "query 0, 0 -> 4, has another distance"),
    "too long": (with_path([0, 1, 2, 3, 4], 6), "query 0, 0 -> 4, has a path of another length"),
    "other end": (with_path([0, 1, 2, 3]), "query 0, 0 -> 4, has a path that begins or ends elsewhere"),
    "other begin": (with_path([3, 4], 0), "query 0, 0 -> 4, has a path that begins or ends elsewhere"),
    "no path": (with_path([]), "query 0, 0 -> 4, has a distance and no path"),
    "missed": (with_path([], 2**64 - 1), "query 0, 0 -> 4, has another distance"),
    "no distance": (with_path([0, 1, 2, 3, 4], 2**64 - 1), "query 0, 0 -> 4, has a distance and no path, or"),
    "no vertex": (with_path([0, 8, 4]), "path names vertices"),
    "parts": (changed(offset=[0, 5, 4, 6, 10]), "offset does not divide"),
    "too few": (changed(distance=[5, 0]), "one entry for each"),
    "floats": (changed(distance=[5.0, 0, np.inf, 3]), "distances are float64"),
}


@pytest.mark.parametrize("block", [1, 3, 1 << 18])
@pytest.mark.parametrize("name", PLANTED)
def test_what_is_wrong_is_named(name, block, monkeypatch):
    monkeypatch.setattr(check_distances, "_BLOCK", block)
    change, message = PLANTED[name]
    graph = graph_of(SMALL, directed=False)
    right = answered(graph, PAIRS)
    assert right.path[: right.offset[1]].tolist() == [0, 1, 2, 3, 4]
    check(graph, right)
    with pytest.raises(ValueError, match=message):
        check(graph, change(right))
    last = dataclasses.replace(right, path=np.array([*right.path[:-2], 3, 1]))
    with pytest.raises(ValueError, match="query 3, 4 -> 1, has a path with a step that is no arc"):
        check(graph, last)


def test_a_cutoff_hides_what_is_beyond():
    graph = graph_of([(0, 1, 4)])
    check(graph, answered(graph, [(0, 1)]))
    with pytest.raises(ValueError, match="query 0, 0 -> 1, is answered beyond the cutoff"):
        check(graph, answered(graph, [(0, 1)]), 3)
    check(graph, answered(graph, [(0, 1)], 3), 3)
    with pytest.raises(ValueError, match="query 0, 0 -> 1, has another distance"):
        check(graph, answered(graph, [(0, 1)], 3))


def test_sums_are_exact_beyond_64_bits():
    """2^64 more than the distance is not the distance."""
    graph = from_edges([0, 1, 2], [1, 2, 3], np.array([2**63, 2**63, 5], np.uint64), directed=True)
    wrong = PairPaths(*np.array([[0], [3]]), np.array([5], np.uint64), np.array([0, 4]), np.arange(4))
    with pytest.raises(ValueError, match="of another length"):
        wrong.check_paths(graph)


def test_some_columns_of_a_table():
    graph = graph_of(SMALL, directed=False)
    sources, targets = np.array([0, 4]), np.array([6, 3, 3])
    found = distance_rows(graph, sources)[:, targets]
    narrow = np.where(found == 2**64 - 1, 2**32 - 1, found).astype(np.uint32)
    check_columns(graph, sources, targets, found)
    check_columns(graph, sources, targets, narrow)
    narrow[1, 2] += 1
    with pytest.raises(ValueError, match="row 8: vertex 3 has distance 1, not 0"):
        check_columns(graph, sources, targets, narrow, first=7)
    with pytest.raises(ValueError, match="row 0: vertex 3 has distance 5, not 18446744073709551615"):
        check_columns(graph, sources, targets, found, cutoff=4)
    with pytest.raises(ValueError, match="row 0: vertex 6"):
        check_columns(graph, sources, targets, found.astype(float))
