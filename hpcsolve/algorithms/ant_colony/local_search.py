"""Local search of a batch of tours, in place on the device (kernels: cuda_src/ants/local_search.cu)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from hpcsolve.algorithms.ant_colony.buffers import Shapes, allocated, nbytes
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo

FILE = "ants/local_search"
KINDS = {"2-opt": "two_opt", "3-opt": "three_opt", "4-opt": "four_opt", "insertion": "insertion"}
"""Kinds of search and their kernels. "insertion" reverses no segment, so it is for asymmetric costs too."""
THREADS = 32
"""Threads of a block, which improves one tour, where there are tours enough for the whole device."""
ITEMS = {"2-opt": 2, "3-opt": 4, "4-opt": 4, "insertion": 1}
"""Items of work for each neighbour of a city, by kind."""
MOST_PARTS = 8
"""The most threads that share an item."""
TOURS_A_MULTIPROCESSOR = 32
"""Blocks that a multiprocessor holds at a time, as the machine code has it."""


def threads_for(kind: str, breadth: int, tours: int, info: DeviceInfo) -> int:
    """Return the threads of a block: more than `THREADS` if there are few tours, so that several share an item.

    A CPU has one in any case.
    """
    parts = min(MOST_PARTS, info.units * TOURS_A_MULTIPROCESSOR // max(1, tours))
    return THREADS * -(-max(1, parts * ITEMS[kind] * breadth) // THREADS) if parts > 1 else THREADS


def shapes(count: int, n: int, breadth: int) -> Shapes:
    """Return the shapes and types of the scratch for `count` tours of n cities, by name."""
    return {
        "near_cost": ((n, min(breadth, n - 1)), np.int32),
        "position": ((count, n), np.uint16),
        "awake": ((count, -(-n // 64)), np.uint64),
    }


def scratch_bytes(count: int, n: int, breadth: int) -> int:
    """Return the bytes of device memory that a `LocalSearch` allocates, exactly."""
    return nbytes(shapes(count, n, breadth))


@dataclass
class LocalSearch:
    """A batch of tours that can be improved again and again.

    Attributes
    ----------
    cost
        int32 (n, n), at least 0, from row to column; the diagonal is never read.
    neighbours
        uint16 (n, stride): the nearest cities of each, nearest first.
    tours
        uint16 (..., n), improved in place.
    lengths
        uint64, one for each tour: its cost.
    kind
        One of `KINDS`.
    breadth
        How many neighbours of each city are tried; at most n - 1 and `stride`.
    threads
        Threads of a block, by default as many as serve best. The tours do not depend on it.
    """

    device: Device
    cost: Buffer
    neighbours: Buffer
    tours: Buffer
    lengths: Buffer
    kind: str
    breadth: int
    threads: int = 0
    buffers: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Allocate the scratch, and look up the costs of the arcs to the neighbours."""
        n, stride = self.neighbours.shape
        self.breadth, tours = min(self.breadth, n - 1), math.prod(self.lengths.shape)
        self.threads = self.threads or threads_for(self.kind, self.breadth, tours, self.device.info)
        self.buffers = allocated(self.device, shapes(tours, n, self.breadth))
        kernel = self.device.kernel(FILE, "local_search_prepare")
        kernel(n, self.threads, n=n, stride=stride, breadth=self.breadth, cost=self.cost, neighbours=self.neighbours,
               near_cost=self.buffers["near_cost"])

    def improve(self, incumbents: Buffer | None = None) -> None:
        """Improve all tours, and set their lengths.

        Parameters
        ----------
        incumbents
            uint16 (groups, n): for each of as many groups of tours, in their order and of equal size, a tour that has
            been improved already. The search then begins at the cities with an edge that is not in it.
        """
        n, stride = self.neighbours.shape
        count, groups = math.prod(self.lengths.shape), incumbents.shape[0] if incumbents else 0
        kernel = self.device.kernel(FILE, f"local_search_{KINDS[self.kind]}")
        own: dict[str, Argument] = {
            "n": n, "stride": stride, "breadth": self.breadth, "cost": self.cost, "neighbours": self.neighbours,
            "order": self.tours, **self.buffers,
        }
        kernel(count, self.threads, tours=count, groups=groups, all=own, incumbents=incumbents or self.tours,
               lengths=self.lengths)

    def close(self) -> None:
        """Free the scratch."""
        for buffer in self.buffers.values():
            buffer.free()
