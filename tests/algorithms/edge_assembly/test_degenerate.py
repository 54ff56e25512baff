"""Cities that lie in ways of which nothing is random: all at one place, on a line, on a grid, each of them twice."""

import time

import numpy as np
import pytest

from hpcsolve.algorithms.base import NO_STOP, StopCriteria, silent
from hpcsolve.algorithms.edge_assembly import ALGORITHM, Parameters
from hpcsolve.algorithms.edge_assembly.parameters import MOST_WHOLE
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import from_points

MANY = MOST_WHOLE + 1
GRID = [(x, y) for x in range(20) for y in range(20)]
SIDE = 112
CASES = {  # cities, the least cost, whether the lower bound proves it
    "two of five at one place": ([(0, 0), (0, 0), (3, 4), (6, 0), (3, -4)], 20, True),
    "two places": ([(0, 0), (3, 4)] * 3, 10, True),
    "one place": ([(5, 5)] * 600, 0, True),
    "a line": ([(7 * i % 601, 0) for i in range(601)], 1200, False),
    "a grid": (GRID, 400, True),
    "a grid with all cities twice": ([*GRID, *GRID], 400, True),
    "many at one place": ([(5, 5)] * MANY, 0, True),
    "many at two places": ([(0, 0), (1000, 0)] * (MANY // 2 + 1), 2000, True),
    "many on a line": ([(7 * i % MANY, 0) for i in range(MANY)], 2 * (MANY - 1), False),
    "many on a grid": ([(x, y) for x in range(SIDE) for y in range(SIDE)], SIDE**2, True),
}


@pytest.mark.parametrize("name", CASES)
def test_the_best_tour_is_found_soon(name):
    points, least, proven = CASES[name]
    tsp = from_points(np.array(points, float), "EUC_2D", name, np.arange(len(points)))
    stop = StopCriteria(iterations=1) if tsp.n > MOST_WHOLE else NO_STOP
    begun = time.process_time()  # in which compiling is not counted
    with HostDevice(2) as device:
        found = ALGORITHM.solve(tsp, device, SerialComm(), Parameters(), silent, stop, 1).answer
    assert time.process_time() - begun < 20
    assert TourQuestion().check(tsp, found.tour) == found.cost == least
    assert found.optimal == proven and (proven or found.lower_bound <= least)
