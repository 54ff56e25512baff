"""Ant System whose tours are constructed as published, for study and as oracles: a roulette wheel of all cities a step.

Strategy "st-group" has a block of threads for each ant, "st-dynamic" blocks that shrink with the number of unvisited
cities. The probabilities are those of "head-tail" (ant_system.py). Kernel: cuda_src/ants/roulette.cu.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.ant_system import AntSystem
from hpcsolve.algorithms.ant_colony.instance import AntInstance, Powers, Shapes
from hpcsolve.algorithms.ant_colony.parameters import Parameters
from hpcsolve.device.base import Argument, Device

LEAST_THREADS = 32
"""Threads to which the blocks of st-dynamic shrink."""


class Roulette(AntSystem):
    """The colonies of one rank on its device."""

    def __init__(self, device: Device, instance: AntInstance, parameters: Parameters, powers: Powers,
                 keys: NDArray[np.uint32]) -> None:
        super().__init__(device, instance, parameters, powers, keys)
        self.buffers["whole_heuristic"].upload(powers.heuristic)

    @staticmethod
    def shapes(n: int, colonies: int, ants: int, parameters: Parameters) -> Shapes:
        """Return the shapes and types of all buffers, by name."""
        return {"whole_heuristic": ((n, n), np.uint32), **AntSystem.shapes(n, colonies, ants, parameters)}

    def construct_on_device(self, iteration: int) -> None:
        """Construct the tours of all ants in the buffers."""
        own, how, ants = self.buffers, self.parameters, len(self.keys) * self.ants
        kernel = self.device.kernel("ants/roulette", "roulette_construct")
        tables: dict[str, Argument] = {
            "stride": own["heuristic"].shape[1], "pheromone": own["pheromone"], "heuristic": own["whole_heuristic"],
        }
        for first, last, threads in launches(how, self.instance.n):
            kernel(ants, threads, first=first, last=last, rules={"listed": how.tour_list, "tiled": how.tiled},
                   tables=tables, cost=own["cost"], **self.construction(iteration))


def launches(parameters: Parameters, n: int) -> Iterator[tuple[int, int, int]]:
    """Yield (first step, last step + 1, threads of a block) of each launch of roulette. Tours are the same for any."""
    threads = parameters.block_threads
    if parameters.strategy == "st-dynamic":
        first = 0
        while threads > LEAST_THREADS:  # half the threads when half the cities are left
            until = n - (n - first) // 2
            yield first, until, threads
            first, threads = until, max(LEAST_THREADS, threads // 2)
        yield first, n, threads
    elif parameters.launch == "step":
        yield from ((step, step + 1, threads) for step in range(n))
    else:
        yield 0, n, threads
