"""Lower bounds of tours by 1-trees: every kind of instance, and the check of what multipliers prove."""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms.tours.one_tree import tour_bound, value_by_kernel
from hpcsolve.device.base import Device
from hpcsolve.device.host import on_host
from hpcsolve.problems.one_tree import proven_bound
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import from_matrix, from_points

CITIES = 30


def tour_bounds(device: Device) -> None:
    """Bounds of cycles and of paths, each compared with its check in plain numpy."""
    random = np.random.default_rng(3)
    planar, labels = random.integers(0, 60, (CITIES, 2)).astype(float), np.arange(CITIES)
    points = [(metric, planar) for metric in ("EUC_2D", "CEIL_2D", "GREAT_CIRCLE")]
    points.append(("EUC_3D", random.integers(0, 9, (CITIES, 3)).astype(float)))
    arcs = random.integers(0, 50, (CITIES, CITIES))
    matrices = [from_matrix(arcs), from_matrix(arcs + arcs.T)]
    with on_host(device) as host:
        for tsp in [*(from_points(place, metric, metric, labels) for metric, place in points), *matrices]:
            for question in (TourQuestion(), TourQuestion(path="open", start=2)):
                bound = tour_bound(tsp, host, question)
                assert bound is not None and bound.value == proven_bound(tsp, question, bound.proof)
                assert not tsp.metric or bound.value == value_by_kernel(tsp, host, question, bound.proof)
