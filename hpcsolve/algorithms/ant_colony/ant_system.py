"""Ant System on a device: all ants choose among all cities, and all of them deposit pheromone.

Kernels: cuda_src/ants/head_tail.cu and roulette.cu construct the tours, ant_system.cu changes the pheromone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.colonies import Incumbents
from hpcsolve.algorithms.ant_colony.instance import (
    ANT_THREADS,
    HEAD,
    LEAST_PHEROMONE,
    AntInstance,
    Shapes,
    Unit,
    allocated,
    iteration_keys,
    tour_memory,
)
from hpcsolve.device.base import Argument, Buffer, Device, Timer

CITY_THREADS = 128
"""Threads of a block that updates one city's row."""
LINE = 16
"""Ants whose adjacent cities share a cache line (`line_ants` in cuda_src/ants/ant_system.cu)."""
LEAST_THREADS = 32
"""Threads to which the blocks of st-dynamic shrink."""
RECORD = 64
"""32-bit words of a `head_row` (cuda_src/ants/head_tail_tables.cuh). Words 32 to 47 are the nearest cities."""


@dataclass(frozen=True)
class Strategy:
    """How tours are constructed. Names and meanings are those of `Parameters`."""

    name: str = "head-tail"
    launch: str = "tour"
    tour_list: bool = True
    tiled: bool = True
    threads: int = 128

    def launches(self, n: int) -> Iterator[tuple[int, int, int]]:
        """Yield (first step, last step + 1, threads of a block) of each launch. The tours are the same for any."""
        if self.name == "st-dynamic":
            first, threads = 0, self.threads
            while threads > LEAST_THREADS:  # half the threads when half the cities are left
                until = n - (n - first) // 2
                yield first, until, threads
                first, threads = until, max(LEAST_THREADS, threads // 2)
            yield first, n, threads
        elif self.launch == "step":
            yield from ((step, step + 1, self.threads) for step in range(n))
        else:
            yield 0, n, self.threads


def shapes(n: int, colonies: int, ants: int, strategy: str = "head-tail") -> Shapes:
    """Return the shapes and types of all buffers, by name."""
    stride = -(-n // 64) * 64
    whole = {} if strategy == "head-tail" else {"whole_heuristic": ((n, n), np.uint32)}
    return {
        **whole,
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
        "lengths": ((colonies, ants), np.uint64),
        "amounts": ((colonies, ants), np.uint64),
        "adjacent": ((colonies, -(-ants // LINE), n, LINE), np.uint32),
    }


@dataclass
class AntSystem:
    """The colonies of one rank on its device.

    Attributes
    ----------
    keys
        Shape (colonies, 2), uint32: the keys of the colonies' random numbers.
    """

    device: Device
    instance: AntInstance
    unit: Unit
    ants: int
    keys: NDArray[np.uint32]
    heuristic: NDArray[np.uint32]
    strategy: Strategy = Strategy()
    timer: Timer = field(init=False)
    buffers: dict[str, Buffer] = field(init=False)
    kept = ("pheromone",)

    def __post_init__(self) -> None:
        """Allocate and upload the buffers, and make the tables of the first iteration."""
        self.timer = self.device.timer()
        self.buffers = allocated(self.device, shapes(self.instance.n, len(self.keys), self.ants, self.strategy.name))
        for name, values in self._first_values().items():
            if name in self.buffers:
                self.buffers[name].upload(values)
        self._update(first=True)

    def _first_values(self) -> dict[str, NDArray[np.generic]]:
        n, stride = self.instance.n, self.buffers["heuristic"].shape[1]
        heads = self.instance.nearest[:, :HEAD]
        rows = np.zeros(self.buffers["rows"].shape, np.uint32)
        rows[:, :, HEAD : HEAD + HEAD // 2] = np.ascontiguousarray(heads).view(np.uint32)
        tail_heuristic = np.zeros((n, stride), np.uint32)
        tail_heuristic[:, :n] = self.heuristic
        np.put_along_axis(tail_heuristic, heads.astype(np.int64), 0, axis=1)
        pheromone = np.full(self.buffers["pheromone"].shape, self.unit.first_pheromone, np.uint64)
        head_heuristic = np.take_along_axis(self.heuristic, heads.astype(np.int64), axis=1)
        return {"cost": self.instance.cost, "heuristic": tail_heuristic, "head_heuristic": head_heuristic,
                "keys": self.keys, "rows": rows, "pheromone": pheromone, "whole_heuristic": self.heuristic}

    def construct(self, iteration: int) -> NDArray[np.uint64]:
        """Construct the tours of all ants of all colonies, and return their lengths, shape (colonies, ants)."""
        own = self.buffers
        self.timer.start()
        if self.strategy.name == "head-tail":
            self._construct_by_head_and_tail(iteration)
        else:
            self._construct_by_roulette(iteration)
        self.timer.stop()
        return own["lengths"].download()

    def learn(self, iteration: int, lengths: NDArray[np.uint64], incumbents: Incumbents) -> None:
        """Let pheromone evaporate, and let all ants deposit on the arcs of their tours."""
        colonies, own = len(self.keys), self.buffers
        own["amounts"].upload(self.unit.deposits(lengths))
        self.timer.start()
        lines = own["adjacent"].shape[1] * colonies
        kernel = self.device.kernel("ants/ant_system", "ant_system_adjacent")
        kernel(lines, CITY_THREADS, sizes=self._sizes(), tours=own["tours"], adjacent=own["adjacent"])
        self._update(first=False)
        self.timer.stop()

    def remade(self, incumbents: Incumbents) -> bool:
        """Make the tables. A row of pheromone is below 2^65 (`unit_of`), so that its weights are below 2^63."""
        pheromone = self.buffers["pheromone"].download()
        if pheromone.min() < LEAST_PHEROMONE or (pheromone.sum(axis=2, dtype=np.float64) >= 2.0**65).any():
            return False
        self._update(first=True)
        return True

    def rows(self) -> Mapping[str, NDArray[Any]]:
        """Return nothing: all that is kept is on the device."""
        return {}

    def close(self) -> None:
        """Give the device's memory back."""
        for buffer in self.buffers.values():
            buffer.free()

    def _construct_by_head_and_tail(self, iteration: int) -> None:
        kernel, own = self.device.kernel("ants/head_tail", "head_tail_construct"), self.buffers
        ants = len(self.keys) * self.ants
        kernel(ants, ANT_THREADS, sizes=self._sizes(), random=iteration_keys(own, iteration), tables=self.tables(),
               cost=own["cost"], out=tour_memory(own))

    def _construct_by_roulette(self, iteration: int) -> None:
        kernel, own, how = self.device.kernel("ants/roulette", "roulette_construct"), self.buffers, self.strategy
        tables: dict[str, Argument] = {
            "stride": own["heuristic"].shape[1], "pheromone": own["pheromone"], "heuristic": own["whole_heuristic"],
        }
        for first, last, threads in how.launches(self.instance.n):
            kernel(len(self.keys) * self.ants, threads, sizes=self._sizes(), random=iteration_keys(own, iteration),
                   first=first, last=last, rules={"listed": how.tour_list, "tiled": how.tiled}, tables=tables,
                   cost=own["cost"], out=tour_memory(own))

    def _update(self, first: bool) -> None:
        own, kernel = self.buffers, self.device.kernel("ants/ant_system", "ant_system_update")
        deposits: dict[str, Argument] = {
            "keep": self.unit.keep, "symmetric": self.instance.symmetric, "adjacent": own["adjacent"],
            "amounts": own["amounts"],
        }
        kernel(self.instance.n * len(self.keys), CITY_THREADS, sizes=self._sizes(), first=first, ants=deposits,
               head_heuristic=own["head_heuristic"], tables=self.tables())

    def _sizes(self) -> dict[str, Argument]:
        return {"n": self.instance.n, "ants": self.ants, "colonies": len(self.keys)}

    def tables(self) -> dict[str, Argument]:
        """Return the kernels' argument `tables` (cuda_src/ants/head_tail_tables.cuh)."""
        names = ("rows", "head", "tail", "tail_prefix", "pheromone", "heuristic")
        return {"stride": self.buffers["heuristic"].shape[1], **{name: self.buffers[name] for name in names}}
