"""The check of distances and predecessors on the device: planted mistakes are counted."""

import numpy as np
import pytest

from hpcsolve.algorithms.shortest_paths.engines import searcher
from hpcsolve.algorithms.shortest_paths.engines.single import Batch
from hpcsolve.algorithms.shortest_paths.searches import Want, row_searches
from hpcsolve.problems.graph import from_edges

NONE = 2**32 - 1


def found(device, distances, weights=(3, 4, 5, 0), cutoff=2**31 - 2):
    """Return what the check counts as wrong and cut, for distances from vertex 0 of 0 -> 1 -> 2 -> 3 and 0 -> 2."""
    graph = from_edges([0, 1, 0, 2], [1, 2, 2, 3], weights, n=5, directed=True)
    with searcher(graph, device) as prepared:
        places = prepared.graph.places()
        searches = row_searches([np.array([0])], None, places)
        prepared.work["keys"].upload(np.array(distances, np.uint32)[prepared.graph.order].reshape(1, 5))
        batch = Batch.on(device, searches, Want.DISTANCES, device.empty((1, 5), np.uint32))
        # The row that the grid engine has filled is taken as it is.
        prepared.launch("paths/near_far_grid", 1, batch, cutoff)
        solved = batch.solved(prepared, [])
    return int(solved.wrong[0]), int(solved.cut[0])


def test_right_distances_pass(device):
    assert found(device, [0, 3, 5, 5, NONE]) == (0, 0)


@pytest.mark.parametrize("distances", [
    [0, 3, 7, 7, NONE],  # an arc offers less
    [0, 3, 4, 4, NONE],  # too small: no predecessor fits
    [0, 2, 5, 5, NONE],
    [0, 3, 5, 5, 9],  # no arc leads there
    [1, 4, 6, 6, NONE],  # the seed is not at 0
    [0, 0, 4, 4, NONE],  # another root
    [0, 3, NONE, NONE, NONE],  # not searched to the end
])
def test_wrong_distances_are_counted(distances, device):
    assert found(device, distances)[0] > 0


def test_arcs_beyond_the_cutoff_are_counted_apart(device):
    assert found(device, [0, 3, NONE, NONE, NONE], cutoff=4) == (0, 2)
    assert found(device, [0, 3, NONE, NONE, NONE], cutoff=5)[0] > 0
