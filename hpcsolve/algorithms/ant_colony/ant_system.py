"""Ant System on a device: all ants choose among all cities, all lay trails (kernels: ant_head_tail.cu, ant_system.cu)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.ant_colony.colonies import Kept
from hpcsolve.algorithms.ant_colony.fixed_point import Unit
from hpcsolve.algorithms.ant_colony.layout import HEAD, Layout
from hpcsolve.device.base import Buffer, Device, Timer

ANT_THREADS = 32
"""Threads of a block that builds tours: a warp is one ant."""
CITY_THREADS = 128
"""Threads of a block that updates one city's row."""
GROUP = 16
"""Ants whose neighbours stand in one cache line."""
RECORD = 64
"""Words of a city's record; its nearest cities stand at words 32 to 47 (`head_row` of cuda_src/ant_trails.cuh)."""

CONSTRUCT = "i4 i4 i4 i4 u4 u4* u4* u8* u4* u4* u8* u4* i4* u4* u2* u8*"
BESIDE = "i4 i4 i4 u2* u4*"
UPDATE = "i4 i4 i4 i4 i4 u4 u4* u8* u4* u4* u8* u4* u4* u8* u4*"

Shapes = Mapping[str, tuple[tuple[int, ...], DTypeLike]]


def shapes(n: int, colonies: int, ants: int) -> Shapes:
    """Shapes and types of all buffers, by name."""
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
        "trail": ((colonies, n, stride), np.uint64),
        "open": ((colonies, ants, -(-n // 32)), np.uint32),
        "tours": ((colonies, ants, n), np.uint16),
        "lengths": ((colonies, ants), np.uint64),
        "amounts": ((colonies, ants), np.uint64),
        "beside": ((colonies, -(-ants // GROUP), n, GROUP), np.uint32),
    }


def nbytes(all_shapes: Shapes) -> int:
    """Bytes of all buffers."""
    return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in all_shapes.values())


@dataclass
class AntSystem:
    """The colonies of one rank on its device.

    Attributes
    ----------
    keys
        Shape (colonies, 2), uint32: of the random numbers.
    """

    device: Device
    layout: Layout
    unit: Unit
    ants: int
    keys: NDArray[np.uint32]
    heuristic: NDArray[np.uint32]
    timer: Timer = field(init=False)
    buffers: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Allocate, upload, and make the tables of the first iteration."""
        self.timer = self.device.timer()
        all_shapes = shapes(self.layout.n, len(self.keys), self.ants)
        self.buffers = {name: self.device.empty(*kind) for name, kind in all_shapes.items()}
        for name, values in self._first_values().items():
            self.buffers[name].upload(values)
        self._make_tables(0)

    def _first_values(self) -> dict[str, NDArray[np.generic]]:
        n, stride = self.layout.n, self.buffers["heuristic"].shape[1]
        head, heads = heads_of(self.layout), min(HEAD, n - 1)
        rows = np.zeros(self.buffers["rows"].shape, np.uint32)
        rows[:, :, HEAD : HEAD + HEAD // 2] = head.view(np.uint32)
        nearest = self.layout.nearest[:, :heads].astype(np.int64)
        tail_heuristic = np.zeros((n, stride), np.uint32)
        tail_heuristic[:, :n] = self.heuristic
        np.put_along_axis(tail_heuristic, nearest, 0, axis=1)
        head_heuristic = np.zeros((n, HEAD), np.uint32)
        head_heuristic[:, :heads] = np.take_along_axis(self.heuristic, nearest, axis=1)
        trail = np.full(self.buffers["trail"].shape, self.unit.first_trail, np.uint64)
        return {"cost": self.layout.cost, "heuristic": tail_heuristic, "head_heuristic": head_heuristic,
                "keys": self.keys, "rows": rows, "trail": trail}  # fmt: skip

    def construct(self, iteration: int) -> NDArray[np.uint64]:
        """All ants of all colonies build their tours; the lengths, shape (colonies, ants)."""
        self.timer.start()
        kernel = self.device.kernel("ant_head_tail", "ant_head_tail_construct", CONSTRUCT)
        colonies, own = len(self.keys), self.buffers
        kernel(colonies * self.ants, ANT_THREADS, self.layout.n, own["heuristic"].shape[1], self.ants, colonies,
               iteration, *(own[name] for name in ("keys", "rows", "head", "tail", "tail_prefix", "trail", "heuristic",
                                                   "cost", "open", "tours", "lengths")))  # fmt: skip
        self.timer.stop()
        return own["lengths"].download()

    def tour(self, colony: int, ant: int) -> NDArray[np.uint16]:
        """A tour of the last iteration, in the layout's numbers."""
        n = self.layout.n
        return self.buffers["tours"].view((colony * self.ants + ant) * n, n).download()

    def replace(self, colony: int, ant: int, tour: NDArray[np.uint16]) -> None:
        """Another tour in the place of that one."""
        n = self.layout.n
        self.buffers["tours"].view((colony * self.ants + ant) * n, n).upload(tour)

    def learn(self, _iteration: int, lengths: NDArray[np.uint64], _kept: Kept) -> None:
        """Trails evaporate, and all ants lay theirs."""
        colonies, own = len(self.keys), self.buffers
        own["amounts"].upload(self.unit.deposits(lengths))
        self.timer.start()
        groups = own["beside"].shape[1] * colonies
        kernel = self.device.kernel("ant_system", "ant_system_beside", BESIDE)
        kernel(groups, CITY_THREADS, self.layout.n, self.ants, colonies, own["tours"], own["beside"])
        self._make_tables(self.ants)
        self.timer.stop()

    def close(self) -> None:
        """Give the device's memory back."""
        for buffer in self.buffers.values():
            buffer.free()

    def _make_tables(self, ants: int) -> None:
        n, colonies, own = self.layout.n, len(self.keys), self.buffers
        kernel = self.device.kernel("ant_system", "ant_system_update", UPDATE)
        kernel(n * colonies, CITY_THREADS, n, own["heuristic"].shape[1], ants, colonies, int(self.layout.symmetric),
               self.unit.keep, *(own[name] for name in ("beside", "amounts", "heuristic", "head_heuristic", "trail",
                                                        "tail", "tail_prefix", "head", "rows")))  # fmt: skip


def heads_of(layout: Layout) -> NDArray[np.uint16]:
    """The nearest 32 cities of each, filled up with the city itself; shape (n, 32)."""
    heads = np.repeat(np.arange(layout.n, dtype=np.uint16)[:, None], HEAD, axis=1)
    count = min(HEAD, layout.n - 1)
    heads[:, :count] = layout.nearest[:, :count]
    return heads
