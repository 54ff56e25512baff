"""Local search by sequential k-exchanges on a device, for ant colonies and edge assembly (cuda_src/tours/k_opt.cu)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms.tours.cities import CODES, OF_MATRIX, OF_PAIRS, Cities
from hpcsolve.algorithms.tours.near import NearLists
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo

K_OPT_FILE = "tours/k_opt"
KERNELS = {OF_MATRIX: "matrix", OF_PAIRS: "paired", CODES["EUC_2D"]: "euclidean"}
"""Of metrics that have kernels of their own, the part of these kernels' names. All others share those of "any"."""
MOST_EDGES, MOST_CANDIDATES, MOST_LISTED = 6, 12, 5
"""Of an exchange, a node, a step (`most_edges`, half of `most_items`, `most_listed` in cuda_src/tours/k_opt.cuh)."""
WARP, MOST_WARPS = 32, 4
"""Threads of a warp, which tries one node, and the warps of a block that try nodes at the same time."""
TOURS_A_MULTIPROCESSOR = 32
"""Blocks of a warp that a multiprocessor holds at a time, as the machine code has it."""
Shapes = Mapping[str, tuple[tuple[int, ...], DTypeLike]]


@dataclass(frozen=True)
class Rules:
    """How deep the search goes, and how broad. The default is for first tours: many are worth more than good ones.

    Attributes
    ----------
    depth
        The most edges of an exchange.
    breadth
        With how many items an exchange of one edge, of two edges, .. goes on.
    """

    depth: int = 5
    breadth: tuple[int, ...] = (5, 3, 1)

    def arguments(self) -> dict[str, int]:
        """Return the kernels' argument `rules`."""
        return {"depth": self.depth, "breadth": sum(width << 4 * count for count, width in enumerate(self.breadth, 1))}


class KOpt:
    """The search of an instance's tours on a device.

    Attributes
    ----------
    where, near
        The kernels' arguments `where` and `near` (cuda_src/tours/costs.cuh), whose arrays are on the device.
    word
        The type of a tour's entries: uint32 for nodes; uint16 for cities, two nodes each in a paired instance.
    blocks
        How many tours are searched at a time.
    threads
        Threads of a block. The tours do not depend on it.
    """

    def __init__(
        self, device: Device, where: Mapping[str, Argument], near: Mapping[str, Argument], word: DTypeLike,
        blocks: int, rules: Rules = Rules(), threads: int = 0,
    ) -> None:
        self.device, self.where, self.near, self.rules, self.blocks = device, where, near, rules, blocks
        self.word, self.threads = np.dtype(word), threads or threads_for(blocks, device.info)
        self.nodes = _number(where["n"])
        assert _number(near["width"]) <= MOST_CANDIDATES and rules.depth <= MOST_EDGES
        assert all(width <= MOST_LISTED for width in rules.breadth)
        shape, dtype = self.shapes(blocks, self.nodes)["scratch"]
        self.scratch = device.empty(shape, dtype)
        self.buffers = [self.scratch]

    @classmethod
    def of_nodes(cls, device: Device, cities: Cities, lists: NearLists, blocks: int, rules: Rules = Rules()) -> KOpt:
        """Return the search of an instance's tours of nodes. A GPU gets a copy of the instance's arrays."""
        constants: list[Buffer] = []

        def on_device(value: Any) -> Argument:
            if not isinstance(value, np.ndarray):
                return value  # type: ignore[no-any-return]
            constants.append(device.constant(value))
            return constants[-1]

        where, near = ({name: on_device(value) for name, value in arguments.items()}
                       for arguments in (cities.arguments(), lists.arguments()))
        made = cls(device, where, near, np.uint32, blocks, rules)
        made.buffers += constants
        return made

    @staticmethod
    def shapes(blocks: int, nodes: int) -> Shapes:
        """Return the shapes and types of the scratch, by name."""
        return {"scratch": ((blocks, 6 * nodes + 2), np.uint32)}

    def improve(self, tours: Buffer, lengths: Buffer, incumbents: Buffer | None = None) -> None:
        """Improve tours in place, and set their lengths.

        Parameters
        ----------
        tours
            Shape (..., entries), of type `word`.
        lengths
            uint64, one for each tour.
        incumbents
            Shape (groups, entries), of type `word`: for each of as many groups of tours, in their order and of equal
            size, a tour that has been improved already. The search then begins at the ends of the edges that are not in
            it.
        """
        count, groups = math.prod(lengths.shape), incumbents.shape[0] if incumbents else 0
        costs = KERNELS.get(_number(self.where["metric"]), "any")
        kernel = self.device.kernel(K_OPT_FILE, f"k_opt_{costs}_{self.word.str[1:]}")
        kernel(min(count, self.blocks), self.threads, tours=count, groups=groups, where=self.where, near=self.near,
               rules=self.rules.arguments(), incumbents=incumbents, all=tours, scratch=self.scratch, lengths=lengths)

    def improved(self, tours: NDArray[Any]) -> NDArray[np.int64]:
        """Improve tours of the host in place, and return their lengths."""
        buffers = self.device.upload(tours), self.device.empty(len(tours), np.uint64)
        self.improve(*buffers)
        buffers[0].download(tours)
        lengths = buffers[1].download().astype(np.int64)
        for buffer in buffers:
            buffer.free()
        return lengths

    def close(self) -> None:
        """Free the scratch, and what `of_nodes` has allocated. A second call does nothing."""
        while self.buffers:
            self.buffers.pop().free()


def threads_for(blocks: int, info: DeviceInfo) -> int:
    """Return the threads of a block: if tours are few, more warps than one try nodes of each.

    A CPU runs a block with one thread, whatever this returns.
    """
    return WARP * max(1, min(MOST_WARPS, info.units * TOURS_A_MULTIPROCESSOR // max(1, blocks)))


def _number(value: Argument) -> int:
    assert isinstance(value, int)
    return value
