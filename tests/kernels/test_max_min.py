"""What an iteration of MAX-MIN Ant System does to the pheromone equals a model in Python's integers."""

import numpy as np
import pytest

N, COLONIES, CANDIDATES = 40, 2, 20
KEEP = 2**32 * 98 // 100
BOUNDS = [(2**40, 2**44), (2**16, 2**50)]
AMOUNTS = [2**38, 2**61]


def updated(pheromone, amount, bounds):
    """Return the pheromone of an arc after evaporation, the deposit and the two bounds."""
    return min(max((pheromone * KEEP >> 32) + amount, bounds[0]), bounds[1])


def row_of(pheromone, heuristic):
    """Return the weights of a row, of at most 30 bits together but for rounding, and its branching factor."""
    weights = [-(-t * h >> 32) for t, h in zip(pheromone, heuristic)]
    shift = max(0, sum(weights).bit_length() - 30)
    arcs = [t for t, h in zip(pheromone, heuristic) if h]
    branches = sum(t > min(arcs) + (max(arcs) - min(arcs)) // 20 for t in arcs)
    return [max(w >> shift, min(w, 1)) for w in weights], branches


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("block", [32, 128])
def test_an_update_equals_the_model(symmetric, block, device):
    """Each colony has pheromone below, between and above its bounds."""
    rng = np.random.default_rng(block)
    nearest = np.array([[j for j in rng.permutation(N) if j != i][:32] for i in range(N)], np.uint16)
    heuristic = rng.integers(1, 2**30 + 1, (N, 32)).astype(np.uint32)
    heuristic[:, CANDIDATES:] = 0
    before = 2 ** rng.integers(16, 52, (COLONIES, N, 32)).astype(np.uint64) + rng.integers(0, 999, (COLONIES, N, 32))
    before = before.astype(np.uint64)
    tours = np.stack([rng.permutation(N) for _ in range(COLONIES)]).astype(np.uint16)
    pheromone, adjacent = device.upload(before), device.empty((COLONIES, N), np.uint32)
    weights, sums = (device.empty(before.shape, np.uint32) for _ in range(2))
    branches = device.empty((COLONIES, N), np.uint32)
    amounts, bounds = (device.upload(np.array(values, np.uint64)) for values in (AMOUNTS, BOUNDS))
    device.kernel("ants/max_min", "max_min_adjacent")(
        4, block, n=N, colonies=COLONIES, tours=device.upload(tours), adjacent=adjacent)
    device.kernel("ants/max_min", "max_min_update")(
        4, block, n=N, colonies=COLONIES, heuristic=device.upload(heuristic), pheromone=pheromone, branches=branches,
        ants={"keep": KEEP, "symmetric": symmetric, "adjacent": adjacent, "amounts": amounts, "bounds": bounds},
        candidates={"width": 32, "nearest": device.upload(nearest), "weights": weights, "sums": sums})
    after, clamped = pheromone.download(), 0
    for colony, tour in enumerate(tours.tolist()):
        arcs = set(zip(tour, [*tour[1:], tour[0]]))
        arcs |= {(j, i) for i, j in arcs} if symmetric else set()
        for city in range(N):
            deposits = [AMOUNTS[colony] if (city, int(j)) in arcs else 0 for j in nearest[city]]
            old = before[colony, city].tolist()
            expected = [updated(t, amount, BOUNDS[colony]) for t, amount in zip(old, deposits)]
            assert after[colony, city].tolist() == expected
            row, count = row_of(expected, heuristic[city].tolist())
            assert weights.download()[colony, city].tolist() == row
            assert sums.download()[colony, city].tolist() == np.cumsum(row).tolist()
            assert branches.download()[colony, city] == count
            clamped += BOUNDS[colony][1] in expected
    assert clamped > N
