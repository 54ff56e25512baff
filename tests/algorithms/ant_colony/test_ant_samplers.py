"""How often each sampler chooses each city in one step is compared with the exact probabilities."""

import numpy as np
import pytest

from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.ant_colony.ant_system import AntSystem
from hpcsolve.algorithms.ant_colony.instance import ant_instance, heuristic_table, powers
from hpcsolve.algorithms.ant_colony.max_min import MaxMin
from hpcsolve.problems.generate.tsp import uniform_tsp

CITIES, SAMPLES = 200, 100_000
SMALLEST_P = 1e-4
"""The least p-value of some 40 cases with fixed random numbers. A wrong sampler gives 1e-10 and less."""


@pytest.fixture(scope="module")
def colony(device):
    """A colony after 40 iterations, when the pheromone of unused arcs is at its least."""
    instance = ant_instance(uniform_tsp(CITIES, seed=8, extent=10**6))
    parameters = Parameters(variant="ant-system")
    search = AntSystem(device, instance, parameters, powers(instance, parameters), np.array([[5, 6]], np.uint32))
    for iteration in range(40):
        search.learn(iteration, search.construct(iteration), None)
    yield search
    search.close()


def exact_weights(search):
    """Return the weights as Python's integers, shape (n, n)."""
    pheromone = search.buffers["pheromone"].download()[0, :, :CITIES].astype(object)
    return -(-(pheromone * search.powers.heuristic.astype(object)) // 2**32)


def cases(weights, nearest):
    """Yield (city, open cities): open cities at random, without the head, and the lightest, many and few of each."""
    rng = np.random.default_rng(1)
    for share in (0.99, 0.2, 0.1, 0.03):
        city = int(rng.integers(CITIES))
        others = np.setdiff1d(np.arange(CITIES), [city])
        count = max(2, int(share * CITIES))
        yield city, rng.permutation(others)[:count]
        yield city, np.setdiff1d(others, nearest[city, :32])[:count]  # no head
        yield city, np.array(sorted(others, key=lambda j, c=city: int(weights[c, j])))[:count]  # the lightest


def p_value(weights, chosen):
    """Return the p-value of the chi-square test. Cities that are expected fewer than 8 times count as one."""
    total = sum(map(int, weights))
    expected = np.array([int(w) / total for w in weights]) * len(chosen)
    seen = np.bincount(chosen, minlength=len(weights))
    assert len(seen) == len(weights)
    rare = expected < 8
    e, s = np.append(expected[~rare], expected[rare].sum()), np.append(seen[~rare], seen[rare].sum())
    e, s = e[e > 0.5], s[e > 0.5]
    from scipy.stats import chi2  # takes a second, which each process that collects the tests would spend

    return 1.0 if len(e) < 2 else float(chi2.sf(((s - e) ** 2 / e).sum(), len(e) - 1))


def bits_of(cities):
    words = np.zeros(-(-CITIES // 32), np.uint32)
    for j in cities:
        words[j >> 5] |= np.uint32(1 << (j & 31))
    return words


def compare(sample, weights, nearest):
    """Return the least p-value of all cases. `sample(city, open cities, key)` gives the chosen cities."""
    found = []
    for key, (city, rest) in enumerate(cases(weights, nearest)):
        chosen = sample(city, rest, 1000 + key)
        place = np.full(CITIES, -1)
        place[rest] = np.arange(len(rest))
        assert (place[chosen] >= 0).all(), "a visited city was chosen"
        found.append(p_value(weights[city, rest], place[chosen]))
    return min(found)


def head_tail(search, weights=None):
    device = search.device
    kernel = device.kernel("ants/head_tail", "head_tail_sample")

    def sample(city, rest, key):
        chosen = device.empty(SAMPLES, np.uint16)
        kernel(64, 32, n=CITIES, here=city, samples=SAMPLES, key=key, tables=search.tables(),
               open=device.upload(bits_of(rest)), chosen=chosen)
        return chosen.download()

    return sample


def roulette(search, listed, tiled):
    device = search.device
    kernel = device.kernel("ants/roulette", "roulette_sample")
    tables = {"stride": search.buffers["heuristic"].shape[1], "pheromone": search.buffers["pheromone"],
              "heuristic": device.upload(search.powers.heuristic)}

    def sample(city, rest, key):
        chosen = device.empty(SAMPLES, np.uint16)
        order = np.concatenate([np.setdiff1d(np.arange(CITIES), rest), rest]).astype(np.uint16)
        kernel(64, 64, n=CITIES, here=city, left=len(rest), samples=SAMPLES, key=key,
               rules={"listed": listed, "tiled": tiled}, tables=tables, open=device.upload(bits_of(rest)),
               cities=device.upload(order), chosen=chosen)
        return chosen.download()

    return sample


def test_head_and_tail(colony):
    assert compare(head_tail(colony), exact_weights(colony), colony.instance.nearest) > SMALLEST_P


@pytest.mark.parametrize("listed, tiled", [(True, True), (False, False)])
def test_roulette(colony, listed, tiled):
    assert compare(roulette(colony, listed, tiled), exact_weights(colony), colony.instance.nearest) > SMALLEST_P


def test_candidates(device):
    """Candidates are chosen in proportion to their weights. Where none is open, the nearest city is."""
    instance = ant_instance(uniform_tsp(CITIES, seed=8, extent=10**6))
    parameters = Parameters(local_search="none", rho=0.1)
    search = MaxMin(device, instance, parameters, powers(instance, parameters), np.array([[5, 6]], np.uint32))
    own = search.buffers
    weights = own["weights"].download()[0]
    kernel = device.kernel("ants/max_min", "max_min_sample")
    tested = 0
    for key, (city, rest) in enumerate(cases(heuristic_table(instance, 2.0).astype(object), instance.nearest)):
        chosen = device.empty(SAMPLES, np.uint16)
        kernel(64, 32, n=CITIES, here=city, samples=SAMPLES, key=key, candidates=search.candidates(),
               cost=own["cost"], open=device.upload(bits_of(rest)), chosen=chosen)
        result = chosen.download()
        free = [k for k, j in enumerate(instance.nearest[city, :20].tolist()) if j in set(rest.tolist())]
        if not free:
            costs = instance.cost[city, rest].astype(np.int64) * CITIES + rest
            assert set(result.tolist()) == {int(rest[costs.argmin()])}
            continue
        place = np.full(CITIES, -1)
        place[instance.nearest[city, free]] = np.arange(len(free))
        assert (place[result] >= 0).all()
        assert p_value(weights[city, free], place[result]) > SMALLEST_P
        tested += 1
    assert tested >= 4
    search.close()


def test_the_test_sees_a_small_bias(colony):
    """Weights that are wrong by 12 % in every fifth city are seen."""
    weights = exact_weights(colony)
    weights[:, ::5] = weights[:, ::5] * 112 // 100
    assert compare(head_tail(colony), weights, colony.instance.nearest) < SMALLEST_P / 1000
