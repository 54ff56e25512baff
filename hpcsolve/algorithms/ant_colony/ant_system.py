"""Ant System on a device: all ants choose among all cities, and all of them deposit pheromone.

Kernels: cuda_src/ants/head_tail.cu constructs the tours, with constant work a step, and ant_system.cu changes the
pheromone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.colonies import Incumbents, Search
from hpcsolve.algorithms.ant_colony.instance import ANT_THREADS, LEAST_PHEROMONE, AntInstance, Powers, Shapes
from hpcsolve.algorithms.ant_colony.parameters import HEAD, Parameters
from hpcsolve.device.base import Argument, Device

CITY_THREADS = 128
"""Threads of a block that updates one city's row."""
LINE = 16
"""Ants whose adjacent cities share a cache line (`line_ants` in cuda_src/ants/ant_system.cu)."""
RECORD = 64
"""32-bit words of a `head_row` (cuda_src/ants/head_tail_tables.cuh). Words 32 to 47 are the nearest cities."""


class AntSystem(Search):
    """The colonies of one rank on its device."""

    kept = ("pheromone",)

    def __init__(self, device: Device, instance: AntInstance, parameters: Parameters, powers: Powers,
                 keys: NDArray[np.uint32]) -> None:
        super().__init__(device, instance, parameters, powers, keys)
        own, heuristic, heads = self.buffers, powers.heuristic, instance.nearest[:, :HEAD]
        rows = np.zeros(own["rows"].shape, np.uint32)
        rows[:, :, HEAD : HEAD + HEAD // 2] = np.ascontiguousarray(heads).view(np.uint32)
        own["rows"].upload(rows)
        own["head_heuristic"].upload(np.take_along_axis(heuristic, heads.astype(np.int64), axis=1))
        tail = np.zeros(own["heuristic"].shape, np.uint32)
        tail[:, : instance.n] = heuristic
        np.put_along_axis(tail, heads.astype(np.int64), 0, axis=1)
        own["heuristic"].upload(tail)
        self._update(first=True)

    @staticmethod
    def shapes(n: int, colonies: int, ants: int, parameters: Parameters) -> Shapes:
        """Return the shapes and types of all buffers, by name."""
        stride = -(-n // 64) * 64
        return {
            "cost": ((n, n), np.int32),
            "heuristic": ((n, stride), np.uint32),
            "head_heuristic": ((n, HEAD), np.uint32),
            "keys": ((colonies, 2), np.uint32),
            "rows": ((colonies, n, RECORD), np.uint32),
            "head": ((colonies, n, HEAD), np.uint64),
            "tail": ((colonies, n, stride), np.uint32),
            "tail_prefix": ((colonies, n, stride // 64), np.uint32),
            "pheromone": ((colonies, n, stride), np.uint64),
            "open": ((colonies, ants, -(-n // 32)), np.uint32),
            "tours": ((colonies, ants, n), np.uint16),
            "amounts": ((colonies, ants), np.uint64),
            "adjacent": ((colonies, -(-ants // LINE), n, LINE), np.uint32),
        }

    def construct_on_device(self, iteration: int) -> None:
        """Construct the tours of all ants in the buffers."""
        kernel, ants = self.device.kernel("ants/head_tail", "head_tail_construct"), len(self.keys) * self.ants
        kernel(ants, ANT_THREADS, tables=self.tables(), cost=self.buffers["cost"], **self.construction(iteration))

    def learn(self, iteration: int, lengths: NDArray[np.uint64], incumbents: Incumbents) -> None:
        """Let pheromone evaporate, and let all ants deposit on the arcs of their tours."""
        own = self.buffers
        own["amounts"].upload(self.unit.deposits(lengths))
        kernel = self.device.kernel("ants/ant_system", "ant_system_adjacent")
        kernel(own["adjacent"].shape[1] * len(self.keys), CITY_THREADS, sizes=self.sizes(), tours=own["tours"],
               adjacent=own["adjacent"])
        self._update(first=False)

    def remade(self, incumbents: Incumbents) -> bool:
        """Make the tables. A row of pheromone is below 2^65 (`unit_of`), so that its weights are below 2^63."""
        pheromone = self.buffers["pheromone"].download()
        if pheromone.min() < LEAST_PHEROMONE or (pheromone.sum(axis=2, dtype=np.float64) >= 2.0**65).any():
            return False
        self._update(first=True)
        return True

    def _update(self, first: bool) -> None:
        own, kernel = self.buffers, self.device.kernel("ants/ant_system", "ant_system_update")
        deposits: dict[str, Argument] = {
            "keep": self.unit.keep, "symmetric": self.instance.symmetric, "adjacent": own["adjacent"],
            "amounts": own["amounts"],
        }
        kernel(self.instance.n * len(self.keys), CITY_THREADS, sizes=self.sizes(), first=first, ants=deposits,
               head_heuristic=own["head_heuristic"], tables=self.tables())

    def tables(self) -> dict[str, Argument]:
        """Return the kernels' argument `tables` (cuda_src/ants/head_tail_tables.cuh)."""
        names = ("rows", "head", "tail", "tail_prefix", "pheromone", "heuristic")
        return {"stride": self.buffers["heuristic"].shape[1], **{name: self.buffers[name] for name in names}}
