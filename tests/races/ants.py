"""Launches the kernels of the ant colonies on tiny inputs, for program.py."""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms import ant_colony
from hpcsolve.algorithms.ant_colony.instance import ant_instance, powers
from hpcsolve.algorithms.ant_colony.max_min import EDGES
from hpcsolve.algorithms.ant_colony.solve import search_of
from hpcsolve.algorithms.base import StopCriteria, silent
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.tsp import Tsp


def ant_colonies(device: Device, tsp: Tsp, directed: Tsp) -> None:
    """Run every way to construct tours and to learn. Roulette's tours are the same for all launches."""

    def run(on: Tsp, **parameters: object) -> int | None:
        chosen = ant_colony.Parameters(ants=3, colonies=2, bound=False, **parameters)  # type: ignore[arg-type]
        return ant_colony.ALGORITHM.solve(on, device, SerialComm(), chosen, silent, StopCriteria(iterations=2)).cost

    run(tsp, variant="ant-system", migration=1)
    run(directed, variant="ant-system")
    roulette = [run(tsp, variant="ant-system", strategy=name, block_threads=64, tiled=tiled)
                for name in ("st-group", "st-dynamic") for tiled in (True, False)]
    assert len(set(roulette)) == 1
    for kind in ("none", *EDGES):
        run(tsp, local_search=kind)
    for kind in ("k-opt", "insertion"):
        run(directed, local_search=kind)


def ant_samplers(device: Device, tsp: Tsp) -> None:
    """Run one step of each sampler from city 3, where only the cities from 21 on are open and may be chosen."""
    n, instance, keys = tsp.n, ant_instance(tsp), np.array([[1, 2]], np.uint32)
    rest = np.arange(21, n)
    words = [sum(1 << j % 32 for j in rest if j // 32 == word) for word in range(-(-n // 32))]
    bits = device.upload(np.array(words, np.uint32))
    chosen, order = device.empty(9, np.uint16), device.upload(np.arange(n, dtype=np.uint16))
    step = {"n": n, "here": 3, "samples": 9, "key": 7, "open": bits, "chosen": chosen}
    for variant in ("ant-system", "mmas"):
        parameters = ant_colony.Parameters(variant=variant, strategy="st-group", ants=2)
        search = search_of(parameters)(device, instance, parameters, powers(instance, parameters), keys)
        own = search.buffers
        if variant == "mmas":
            kernel = device.kernel("ants/max_min", "max_min_sample")
            kernel(2, 32, **step, candidates=search.candidates(), cost=own["cost"])
        else:
            kernel = device.kernel("ants/head_tail", "head_tail_sample")
            kernel(2, 32, **step, tables=search.tables())
            assert np.isin(chosen.download(), rest).all()
            kernel = device.kernel("ants/roulette", "roulette_sample")
            tables = {"stride": own["heuristic"].shape[1], "pheromone": own["pheromone"],
                      "heuristic": own["whole_heuristic"]}
            kernel(2, 64, **step, left=len(rest), rules={"listed": 1, "tiled": 1}, tables=tables, cities=order)
        assert np.isin(chosen.download(), rest).all()
        search.close()
