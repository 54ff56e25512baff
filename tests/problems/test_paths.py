"""Distances and predecessors checked in numpy: right ones pass, every planted error is named."""

import heapq
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.problems.check_distances import check_distances, no_path_of
from hpcsolve.problems.graph import from_edges


def search(graph, seeds, cutoff=math.inf):
    """Return distances and some predecessors by Dijkstra's algorithm in Python's own numbers."""
    best, before = dict.fromkeys(seeds, 0), dict.fromkeys(seeds, -1)
    queue, done = [(0, seed) for seed in seeds], set()
    while queue:
        here, tail = heapq.heappop(queue)
        if tail in done:
            continue
        done.add(tail)
        for arc in range(graph.offsets[tail], graph.offsets[tail + 1]):
            head, offer = int(graph.heads[arc]), here + graph.weights[arc].item()
            if offer <= cutoff and offer < best.get(head, math.inf):
                best[head], before[head] = offer, tail
                heapq.heappush(queue, (offer, head))
    return best, before


def tables(graph, rows, dtype=np.uint32, cutoff=math.inf):
    distance = np.full((len(rows), graph.n), no_path_of(dtype), dtype=dtype)
    predecessor = np.full((len(rows), graph.n), -1, dtype=np.int32)
    for number, seeds in enumerate(rows):
        best, before = search(graph, np.atleast_1d(seeds).tolist(), cutoff)
        for vertex, value in best.items():
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
