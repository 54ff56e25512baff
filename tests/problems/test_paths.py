"""Distances, predecessors and paths checked in numpy and searched again: right ones pass, planted errors are named."""

import dataclasses
import math
import time
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.problems import check_distances as module
from hpcsolve.problems import search_again
from hpcsolve.problems.check_distances import PairPaths, check_distances, no_path_of
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.search_again import check_columns, check_shortest, distance_rows
from tests.oracles import least_distances, smallest_predecessors


def tables(graph, rows, dtype=np.uint32, cutoff=math.inf):
    distance = np.full((len(rows), graph.n), no_path_of(dtype), dtype=dtype)
    predecessor = np.full((len(rows), graph.n), -1, dtype=np.int32)
    for number, seeds in enumerate(rows):
        best = least_distances(graph, np.atleast_1d(seeds).tolist())
        before = smallest_predecessors(graph, np.atleast_1d(seeds).tolist(), best)
        for vertex, value in enumerate(best):
            if value is not None and value <= cutoff:
                distance[number, vertex], predecessor[number, vertex] = value, before[vertex]
    return distance, predecessor


@pytest.fixture
def graph():
    """Return 1 -2- 2 -3- 3 -0- 4 -0- 5 with a longer path 1 -9- 5 and an isolated vertex 6, labelled 11 to 16."""
    tails, heads, weights = [0, 1, 2, 3, 0], [1, 2, 3, 4, 4], [2, 3, 0, 0, 9]
    return from_edges(tails, heads, weights, n=6, labels=np.arange(11, 17))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.int64, np.float64])
def test_what_is_right_passes(graph, dtype):
    distance, predecessor = tables(graph, [0, 4, [0, 3]], dtype)
    assert distance[0, :5].tolist() == [0, 2, 5, 5, 5]
    check_distances(graph, [0, 4, [0, 3]], distance, predecessor)
    check_distances(graph, [0, 4, [0, 3]], distance)
    near, before = tables(graph, [0], dtype, cutoff=4)
    check_distances(graph, [0], near, before, cutoff=4.5)
    with pytest.raises(ValueError, match=r"row 0: vertex 15 has distance none; from vertex 11 at 0.* an arc of 9"):
        check_distances(graph, [0], near, before)
    with pytest.raises(ValueError, match=r"row 7: vertex 13 has distance 5.*, beyond the cutoff"):
        check_distances(graph, [0], distance[:1], predecessor[:1], cutoff=4, first=7)


NONE = np.iinfo(np.uint32).max
PLANTED = {  # name -> (table, row, vertex, value, message); then the same without predecessors, if that shows it
    "a source not at 0": (0, 0, 0, 1, "row 0: source 11 has distance 1, not 0", True),
    "too far": (0, 0, 1, 3, "vertex 12 has distance 3; from vertex 11 at 0 an arc of 2", True),
    "too near": (0, 0, 1, 1, "vertex 13 has distance 5; from vertex 12 at 1 an arc of 3", True),
    "missed": (0, 0, 4, NONE, "vertex 15 has distance none; from vertex 11 at 0 an arc of 9", True),
    "made up": (0, 0, 5, 7, "vertex 16 .*7", True),
    "second row": (0, 1, 0, 6, "row 1: vertex 11 has distance 6; from vertex 12 at 3 an arc of 2", True),
    "no predecessor": (1, 0, 2, -1, "vertex 13 at 5 has no predecessor", False),
    "no vertex": (1, 0, 2, 6, "vertex 13 at 5 has no predecessor", False),
    "no arc": (1, 0, 2, 0, "vertex 13 at 5 has a predecessor without a tight arc to it", False),
    "not tight": (1, 0, 4, 0, "vertex 15 at 5 has a predecessor without a tight arc to it", False),
    "a cycle": (1, 0, 2, 3, "vertex 13 at 5 has predecessors that lead in a cycle", False),
    "of a source": (1, 0, 0, 1, "vertex 11 at 0 has a predecessor, but is a source", False),
    "of the unreached": (1, 0, 5, 4, "vertex 16 .* has a predecessor, but is a source or unreached", False),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_wrong_is_named(graph, name):
    which, row, vertex, value, message, without = PLANTED[name]
    found = tables(graph, [0, 4])
    found[which][row, vertex] = value
    with pytest.raises(ValueError, match=message):
        check_distances(graph, [0, 4], *found)
    if without:
        with pytest.raises(ValueError, match=message):
            check_distances(graph, [0, 4], found[0])
    else:
        check_distances(graph, [0, 4], found[0])


def test_vertices_that_hold_each_other_up_are_found():
    """All of a plateau too near by the same amount: every arc fits, and no path leads there."""
    graph = from_edges([0, 1, 2], [1, 2, 1], [9, 0, 0], directed=True)
    distance, before = np.array([[0, 4, 4]], dtype=np.uint32), np.array([[-1, 2, 1]], dtype=np.int32)
    with pytest.raises(ValueError, match="vertex 1 has distance 4, but no path of that length"):
        check_distances(graph, [0], distance)
    with pytest.raises(ValueError, match="lead in a cycle"):
        check_distances(graph, [0], distance, before)


def test_shapes_and_kinds(graph):
    distance, predecessor = tables(graph, [0])
    for arguments, message in [
        (([0, 1], distance), "shape"), (([0], distance[:, 1:]), "shape"),
        (([0], distance, predecessor[:, 1:]), "shape"),
        (([9], distance), "not a vertex"), (([0], distance.astype(str)), "distances are"),
        (([0], np.where(distance == 5, np.nan, distance)), "distance nan"), (([0], -distance.astype(float)), "-2"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_distances(graph, *arguments)


def test_sums_beyond_the_type_do_not_wrap():
    weight = 2**64 - 4
    graph = from_edges([0, 1], [1, 2], [weight, 3], directed=True)
    distance = np.array([[0, weight, 2**64 - 1]], dtype=np.uint64)
    with pytest.raises(ValueError, match="vertex 2 has distance none"):
        check_distances(graph, [0], distance)
    check_distances(graph, [0], distance, cutoff=2**64 - 3)
    small = from_edges([0, 1, 2], [1, 2, 1], [2**32 - 6, 9, 0], directed=True)
    with pytest.raises(ValueError, match="an arc of 9"):
        check_distances(small, [0], np.array([[0, 2**32 - 6, 2**32 - 1]], dtype=np.uint32))


WEIGHTS = st.sampled_from([0, 0, 1, 2, 3, 7, 2**31])
ARCS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), WEIGHTS), max_size=24)


@given(ARCS, st.booleans(), st.booleans(), st.sampled_from([math.inf, 0, 3]), st.data())
def test_any_change_of_a_distance_is_found(arcs, directed, floats, cutoff, data):
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    graph = from_edges(tails, heads, np.array(weights) / (3 if floats else 1), n=8, directed=directed)
    dtype = np.float64 if floats else np.uint64
    rows = [0, [1, 2]]
    found = tables(graph, rows, dtype, cutoff)
    limit = None if cutoff == math.inf else cutoff
    check_distances(graph, rows, *found, cutoff=limit)
    check_distances(graph, rows, found[0], cutoff=limit)
    row, vertex = data.draw(st.integers(0, 1)), data.draw(st.integers(0, 7))
    value = data.draw(st.sampled_from([no_path_of(dtype), 0, 1, 2, 2**31 + 1]))
    if found[0][row, vertex] == value:
        return
    found[0][row, vertex] = value
    for tables_given in (found, found[:1]):
        with pytest.raises(ValueError, match=f"row {row}: "):
            check_distances(graph, rows, *tables_given, cutoff=limit)


def test_a_large_row_takes_a_fraction_of_a_second():
    n = 200_000
    ends = np.random.default_rng(1).integers(0, n, (2, n))
    tails, heads = np.r_[np.arange(n - 1), ends[0]], np.r_[np.arange(1, n), ends[1]]
    graph = from_edges(tails, heads, np.r_[np.ones(n - 1), np.full(n, n)])
    distance = np.abs(np.arange(n) - n // 2)[None].astype(np.uint32)
    step = np.sign(n // 2 - np.arange(n))
    before = np.where(step == 0, -1, np.arange(n) + step)[None].astype(np.int32)
    started = time.process_time()
    check_distances(graph, [n // 2], distance, before)
    assert time.process_time() - started < 1


LARGE = st.sampled_from([0, 0, 1, 2, 3, 2**31, 2**32 + 1, 2**52, 2**53, 2**62])
LARGE_ARCS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), LARGE), max_size=24)


def graph_of(arcs, directed=True, floats=False):
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    values = np.array(weights, np.uint64)
    return from_edges(tails, heads, values / 3 if floats else values, n=8, directed=directed)


def rows_of(graph, cutoff=None):
    none = no_path_of(np.float64 if graph.weights.dtype.kind == "f" else np.uint64)
    found = [least_distances(graph, [source]) for source in range(graph.n)]
    return [[none if d is None or (cutoff is not None and d > cutoff) else d for d in row] for row in found]


@given(LARGE_ARCS, st.booleans(), st.booleans(), st.sampled_from([None, 0, 3, 2**32 + 1]))
def test_rows_and_predecessors_are_the_textbooks(arcs, directed, floats, cutoff):
    graph = graph_of(arcs, directed, floats)
    rows = distance_rows(graph, np.arange(8), cutoff)
    assert rows.tolist() == rows_of(graph, cutoff)
    whole = distance_rows(graph, np.arange(8))
    for source, row in enumerate(whole):
        expected = smallest_predecessors(graph, [source], least_distances(graph, [source]))
        assert search_again.smallest_predecessors(graph, graph.tails(), np.array([source]), row).tolist() == expected


def answered(graph, pairs, cutoff=None):
    """Return the right answer to queries by the textbook."""
    kind = np.float64 if graph.weights.dtype.kind == "f" else np.uint64
    none, paths, distances = no_path_of(kind), [], []
    for source, target in pairs:
        row = least_distances(graph, [source])
        before, path = smallest_predecessors(graph, [source], row), [target]
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


@given(LARGE_ARCS, st.booleans(), st.booleans(), st.sampled_from([None, 0, 3]), st.data())
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


WRONG_PATHS = {
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
@pytest.mark.parametrize("name", WRONG_PATHS)
def test_a_wrong_path_is_named(name, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    change, message = WRONG_PATHS[name]
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
