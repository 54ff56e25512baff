"""The reduction of distances on a device, for sweeps and for searches one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.reduce.summary import layout_of
from hpcsolve.device.base import Argument, Buffer, Device, DeviceInfo
from hpcsolve.problems.questions import Reduction

FILE = "paths/summaries"
THREADS = 256
TARGETS_A_PART = 2048
"""On a GPU, the number of targets of a part, which a warp goes through."""
SEARCHED_WIDTH = 16
"""Number of sources of a group, where rows come from searches one by one."""


def parts_of(columns: int, groups: int, info: DeviceInfo) -> int:
    """Return the number of parts that the targets are split into, each for one warp, or one thread of a CPU."""
    wanted = -(-info.units // groups) if info.kind == "cpu" else -(-columns // TARGETS_A_PART)
    return max(1, min(wanted, columns))


def reducer_shapes(columns: int, groups: int, width: int, reduction: Reduction, info: DeviceInfo, keys: Keys
                   ) -> dict[str, tuple[Any, Any]]:
    """Return shapes and types of the arrays that a reducer works in."""
    parts = groups + info.units if info.kind == "cpu" else groups * parts_of(columns, groups, info)
    return {
        "vertex": ((columns,), np.dtype(np.uint32)),
        "name": ((columns,), np.dtype(np.uint32)),
        "cutoff": ((max(1, len(reduction.cutoffs)),), keys.dtype),
        "summaries": ((parts, layout_of(reduction).entries, width), keys.dtype),
    }


@dataclass(eq=False)
class Reducer:
    """Reduces lines of distances to summaries. A context manager: leaving it gives the device's memory back.

    Attributes
    ----------
    width, groups
        Number of sources of a group, and the most groups at a time.
    vertex, name
        Shape (targets,), uint32: the line of each target, and its position in the input.
    most
        Larger keys count as unreached.
    threads
        Threads of a block, whole warps; a CPU has one.
    """

    device: Device
    keys: Keys
    width: int
    groups: int
    vertex: NDArray[np.uint32]
    name: NDArray[np.uint32]
    most: int
    reduction: Reduction
    threads: int = THREADS
    asked: dict[str, Argument] = field(init=False)
    work: dict[str, Buffer] = field(init=False)

    def __post_init__(self) -> None:
        """Make room to work in."""
        columns, reduction, info = len(self.vertex), self.reduction, self.device.info
        within = [min(self.keys.encode_one(cutoff), self.most) for cutoff in reduction.cutoffs]
        shapes = reducer_shapes(columns, self.groups, self.width, reduction, info, self.keys)
        arrays = {"vertex": self.vertex, "name": self.name, "cutoff": np.array(within or [0], self.keys.dtype)}
        self.work = {name: self.device.upload(array) for name, array in arrays.items()}
        self.asked = {"columns": columns, **self.work, "most": self.most, "cutoffs": len(within),
                      "nearest": reduction.nearest}
        self.work["summaries"] = self.device.empty(*shapes["summaries"])

    def __enter__(self) -> Reducer:
        """Return the reducer itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Free all buffers."""
        for buffer in self.work.values():
            buffer.free()

    @property
    def entries(self) -> int:
        """Number of entries of a summary."""
        return layout_of(self.reduction).entries

    def reduce(self, n: int, sources: int, lines: Buffer, out: Buffer) -> None:
        """Reduce the lines of groups, shape (groups, n, width), to the summaries of their sources."""
        groups = -(-sources // self.width)
        parts = parts_of(len(self.vertex), groups, self.device.info)
        warps = 1 if self.device.info.kind == "cpu" else self.threads // 32
        summaries = self.work["summaries"]
        self._kernel("fold")(groups * -(-parts // warps), self.threads, n=n, groups=groups, parts=parts,
                             asked=self.asked, lines=lines, summaries=summaries)
        self._kernel("join")(-(-sources // self.threads), self.threads, parts=parts, sources=sources,
                             asked=self.asked, summaries=summaries, out=out)

    def reduce_rows(self, sources: int, rows: Buffer, lines: Buffer, out: Buffer) -> None:
        """Reduce rows, shape (sources, targets), by way of lines, shape (groups, targets, width)."""
        columns, groups = len(self.vertex), -(-sources // self.width)
        blocks = max(1, -(-self.device.info.units // groups))
        self._kernel("lines")(groups * blocks, self.threads, groups=groups, sources=sources, columns=columns,
                              rows=rows, lines=lines)
        self.reduce(columns, sources, lines, out)

    def _kernel(self, verb: str) -> Any:
        return self.device.kernel(FILE, f"summaries_{verb}_{_code(self.keys)}_{self.width}")


def _code(keys: Keys) -> str:
    """Return the code of unsigned integers as wide as the keys, since keys of floats are in the order of these."""
    return f"u{keys.dtype.itemsize}"
