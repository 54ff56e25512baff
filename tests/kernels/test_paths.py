"""The check of distances and predecessors on the device: planted mistakes are counted."""

from __future__ import annotations

import numpy as np
import pytest

from hpcsolve.algorithms.shortest_paths.engine import DERIVE, lay_out
from hpcsolve.algorithms.shortest_paths.keys import WORD
from hpcsolve.device.base import Device
from hpcsolve.problems.graph_build import from_edges

NONE = 2**32 - 1


def wrong(device: Device, distances: list[int], weights: tuple[int, ...] = (3, 4, 5, 0)) -> tuple[int, int]:
    """What the check says of distances from vertex 0 in a chain 0 - 1 - 2 - 3 with one way more, 0 - 2."""
    graph = from_edges([0, 1, 0, 2], [1, 2, 2, 3], weights, n=5, directed=True)
    layout = lay_out(graph, WORD)
    keys = np.array(distances, np.uint32)[layout.order]
    start, seed = np.array([0, 1], np.uint32), layout.place[:1].astype(np.uint32)
    given = [device.upload(a) for a in (start, seed, layout.in_offsets, layout.in_arcs, keys)]
    made = [device.empty(shape, np.uint32) for shape in (10, 5, (1, 2))]
    device.kernel("paths", "paths_derive_u4", DERIVE.format("u4"))(1, 32, 1, 5, 1, *given, *made)
    found, cut = made[-1].download()[0]
    return int(found), int(cut)


def test_right_distances_pass(device: Device) -> None:
    assert wrong(device, [0, 3, 5, 5, NONE]) == (0, 0)


@pytest.mark.parametrize(
    "distances",
    [
        [0, 3, 7, 7, NONE],  # an arc offers less
        [0, 3, 4, 4, NONE],  # too small: no predecessor fits
        [0, 2, 5, 5, NONE],
        [0, 3, 5, 5, 9],  # out of nowhere
        [1, 4, 6, 6, NONE],  # the seed is not at 0
        [0, 0, 4, 4, NONE],  # another root
    ],
)
def test_wrong_distances_are_counted(distances: list[int], device: Device) -> None:
    assert wrong(device, distances)[0] > 0


def test_arcs_that_lead_on_are_counted(device: Device) -> None:
    assert wrong(device, [0, 3, NONE, NONE, NONE]) == (0, 2)
