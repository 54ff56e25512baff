"""Every stored state of the middle layer is compared with the textbook's table, not only the optimum."""

from math import comb

import numpy as np
import pytest

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp.lattice import planes
from hpcsolve.algorithms.held_karp.lattice.planes import (
    MOST_MEETINGS,
    HalfRun,
    Meeting,
    Meetings,
)
from hpcsolve.algorithms.held_karp.lattice.reduce import ReducedCosts
from hpcsolve.algorithms.held_karp.lattice.split import Share, Split
from hpcsolve.algorithms.held_karp.outcome import Statistics
from hpcsolve.algorithms.held_karp.problem import NO_PATH
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.parallel.transport import Transport
from hpcsolve.problems.tsp import NO_ARC
from tests.oracles import pull_table

SPLITS = [Split(5, 1, 1), Split(5, 3, 1), Split(5, 3, 2), Split(6, 3, 1), Split(5, 5, 1), Split(8, 1, 1)]
"""The last has inner cities on a GPU too."""


def random_problem(cities, itemsize, seed):
    """Return a problem with costs up to 999 and a few forbidden arcs."""
    rng = np.random.default_rng(seed)
    cost = rng.integers(0, 1000, (cities + 1, cities + 1))
    cost[rng.random(cost.shape) < 0.1] = NO_PATH[itemsize]
    np.fill_diagonal(cost, NO_PATH[itemsize])
    return ReducedCosts(cost, itemsize, 1, 0, True, None)


def middle_layer(reduced, part, device):
    """Return the middle layer after a half run, shape (slices, mid cities, values of a plane)."""
    split = part.split
    buffers = [device.zeros(max(1, split.slices * split.stored(parity)), reduced.dtype) for parity in (0, 1)]
    stream = device.zeros(part.stream_values(), reduced.dtype)
    statistics = Statistics([device.timer() for _ in range(split.middle + 1)], [0] * (split.middle + 1))
    with Transport(device, SerialComm(), part.crossing_bytes(), part.turns) as transport:
        half = HalfRun(part, part.forward, reduced.cost, reduced, device, transport, tuple(buffers), stream)
        half.run(statistics, silent)
    layer = buffers[split.middle % 2].download()[: split.slices * split.mid * split.plane(split.middle)]
    return layer.reshape(split.slices, split.mid, -1)


def check_states(reduced, split, device):
    """Assert that every state of the middle layer is that of the textbook's table, or infinity if that is less."""
    layer = middle_layer(reduced, Share(split, 1, 0, False, reduced.itemsize), device)
    table = pull_table(np.where(reduced.cost == reduced.no_path, NO_ARC, reduced.cost))
    assert layer.shape[2] == comb(split.mid - 1, split.middle) << split.low
    for top_set, city, entry in np.ndindex(layer.shape):
        members = Meeting(top_set, city, entry).cities_before(split)
        expected = table[sum(1 << c for c in members), split.low + city]
        assert layer[top_set, city, entry] == min(expected, reduced.no_path), (members, city)


@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_states_equal_the_table(split, itemsize, device):
    check_states(random_problem(split.cities, itemsize, seed=split.cities), split, device)


@pytest.mark.parametrize("itemsize", [2, 4])
@pytest.mark.parametrize("split", SPLITS[3:], ids=str)
def test_sums_up_to_twice_infinity_do_not_wrap(split, itemsize, device):
    """A sum that passes the end of its 16 bits would be too small, and change the value beside it on a GPU."""
    infinity, rng = NO_PATH[itemsize], np.random.default_rng(split.low)
    edges = [0, 1, infinity // 2, infinity // 2 + 1, infinity - 1, infinity]
    cost = rng.choice(edges, (split.cities + 1, split.cities + 1), p=[0.1, 0.1, 0.2, 0.2, 0.2, 0.2])
    check_states(ReducedCosts(cost.astype(np.int64), itemsize, 1, 0, True, None), split, device)


@pytest.mark.parametrize("split", SPLITS[:4], ids=str)
def test_the_meetings_are_the_least(split, device):
    reduced = random_problem(split.cities, 2, seed=5)
    part = Share(split, 1, 0, False, 2)
    meetings = planes.meet(reduced, part, device, SerialComm(), silent, Statistics())
    turned = ReducedCosts(reduced.cost.T.copy(), 2, 1, 0, True, None)
    forward, backward = (middle_layer(r, part, device).astype(np.int64) for r in (reduced, turned))
    sums = forward + backward[::-1, :, ::-1]
    least = [Meeting(*map(int, at)) for at in np.argwhere(sums == sums.min())]
    assert meetings == Meetings(int(sums.min()), tuple(least[:MOST_MEETINGS]), len(least) <= MOST_MEETINGS)
