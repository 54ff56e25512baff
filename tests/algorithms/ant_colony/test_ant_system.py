"""Ant System equals a model in Python's integers, bit for bit, and no pheromone overflows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.ant_colony.colonies import no_incumbents
from hpcsolve.algorithms.ant_colony.instance import ant_instance, powers, unit_of
from hpcsolve.algorithms.ant_colony.solve import search_of
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.generate.tsp import clustered_tsp, random_matrix, uniform_tsp
from hpcsolve.problems.tsp import from_matrix
from tests.ant_model import Model, philox

KEY = (123456789, 987654321)


def instances():
    """Return instances larger than a head, than two words of open cities and than two blocks of 64, and small ones."""
    zeros = random_matrix(40, seed=2, high=9).cost % 5
    return {
        "plane": uniform_tsp(70, seed=1),
        "clusters": clustered_tsp(150, seed=2, extent=100000, spread=20),
        "one-way": random_matrix(66, seed=3),
        "zeros": from_matrix(zeros),
        "negative": from_matrix(random_matrix(36, seed=4).cost % 100 - 50),
        "four": uniform_tsp(4, seed=5),
        "thirty-three": uniform_tsp(33, seed=6),
    }


def prepared(tsp, device, ants, rho=0.5, keys=(KEY,), **strategy):
    instance = ant_instance(tsp)
    parameters = Parameters(variant="ant-system", ants=ants, rho=rho, **strategy)
    made = powers(instance, parameters)
    search = search_of(parameters)(device, instance, parameters, made, np.array(keys, np.uint32))
    return instance, search.unit, made.heuristic, search


def test_random_numbers_are_those_of_the_paper():
    """The expected numbers are those of the authors' library Random123."""
    assert philox((0, 0, 0, 0), (0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox((2**32 - 1,) * 4, (2**32 - 1,) * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    counter, key = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)
    assert philox(counter, key) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


@pytest.mark.parametrize("name", instances())
def test_the_kernels_equal_the_model(name, device):
    tsp, ants = instances()[name], 7
    rho = 0.3 if name == "one-way" else 0.5
    instance, unit, table, search = prepared(tsp, device, ants, rho)
    model = Model(instance.cost, table, unit, ants, KEY, instance.symmetric)
    for iteration in range(12 if name == "clusters" else 6):
        lengths = search.construct(iteration)
        tours = search.buffers["tours"].download()[0].tolist()
        assert tours == model.construct(iteration)
        assert lengths[0].tolist() == [model.length(tour) for tour in tours]
        search.learn(iteration, lengths, None)
        model.learn(tours)
        assert search.buffers["pheromone"].download()[0, :, : tsp.n].tolist() == model.pheromone
    search.close()
    if name == "clusters":  # all ways to choose were taken, so all of them are equal
        assert {key for key, count in model.seen.items() if count} == {
            "proposal", "head", "tail", "the tail's own draw", "the tail's draw in vain", "coarse scan", "exact scan",
        }


@pytest.mark.parametrize("strategy", ["head-tail", "st-group", "mmas"])
def test_block_sizes_do_not_matter(strategy, device, monkeypatch):
    """On the CPU a block is one thread. On the stub driver with real threads these are the launches of a GPU."""
    tsp, ants = clustered_tsp(40, seed=1, clusters=3), 3
    instance = ant_instance(tsp)
    variant = {"variant": "mmas"} if strategy == "mmas" else {"variant": "ant-system", "strategy": strategy}
    parameters = Parameters(ants=ants, **variant)

    def tours(searching_on):
        search = search_of(parameters)(searching_on, instance, parameters, powers(instance, parameters),
                                              np.array([KEY], np.uint32))
        kept = no_incumbents(range(1), tsp.n)
        for iteration in range(2):
            lengths = search.construct(iteration)
            kept.note(iteration, lengths, search)
            search.learn(iteration, lengths, kept)
        found = [search.buffers[name].download().tobytes() for name in ("tours", "pheromone", "lengths")]
        search.close()
        return found

    usual = tours(HostDevice(threads=1))
    for name in ("ant_system.ANT_THREADS", "max_min.ANT_THREADS", "max_min.ROW_THREADS"):
        monkeypatch.setattr(f"hpcsolve.algorithms.ant_colony.{name}", 64)
    monkeypatch.setattr("hpcsolve.algorithms.ant_colony.ant_system.CITY_THREADS", 33)
    assert tours(device) == usual


def test_roulette_gives_the_same_tours_for_all_launches(device):
    found = {}
    for launch in ({}, {"launch": "step"}, {"block_threads": 1}, {"block_threads": 1000, "tiled": False},
                   {"strategy": "st-dynamic", "block_threads": 256}):
        *_, search = prepared(random_matrix(50, seed=3), device, 4, **{"strategy": "st-group", **launch})
        search.learn(0, search.construct(0), None)
        search.construct(1)
        found[str(launch)] = search.buffers["tours"].download().tobytes()
        search.close()
    assert len(set(found.values())) == 1


@given(reference=st.integers(1, 2**45), slack=st.integers(1, 2**20), n=st.integers(4, 65535),
       depositors=st.integers(1, 2**20), rho=st.floats(1e-6, 1.0))
def test_no_pheromone_and_no_row_overflows(reference, slack, n, depositors, rho):
    """Even if every ant always makes the largest deposit, and the pheromone of the beginning is added."""
    unit = unit_of(reference, max(1, reference // slack), n, depositors, rho)
    most = int(unit.deposits(np.array([1], np.uint64))[0])
    assert most <= unit.deposit(1)
    row = (n * unit.first_pheromone + 2 * depositors * most / unit.rho + n) / 4 + n  # times 2^30 / 2^32
    assert unit.first_pheromone + depositors * most / unit.rho < 2**64 and row < 2**63
