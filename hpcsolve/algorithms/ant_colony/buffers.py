"""Named buffers of a search, whose shapes say to the byte how much memory a run takes before it allocates any."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

from hpcsolve.device.base import Argument, Buffer, Device

ANT_THREADS = 32
"""Threads of a block that constructs tours; a warp is one ant."""

Shapes = Mapping[str, tuple[tuple[int, ...], DTypeLike]]


def nbytes(shapes: Shapes) -> int:
    """Return the bytes of all buffers."""
    return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())


def allocated(device: Device, shapes: Shapes) -> dict[str, Buffer]:
    """Return the buffers, with undefined content."""
    return {name: device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}


def tour_at(buffers: dict[str, Buffer], colony: int, ant: int) -> Buffer:
    """Return an ant's tour, uint16 (n,), which shares the memory of all tours."""
    _, ants, n = buffers["tours"].shape
    return buffers["tours"].view((colony * ants + ant) * n, n)


def iteration_keys(buffers: dict[str, Buffer], iteration: int) -> dict[str, Argument]:
    """Return the kernels' argument `random`: the colonies' keys in an iteration (cuda_src/ants/construction.cuh)."""
    return {"iteration": iteration, "keys": buffers["keys"]}


def tour_memory(buffers: dict[str, Buffer]) -> dict[str, Argument]:
    """Return the kernels' argument `out`: where ants write their tours (cuda_src/ants/construction.cuh)."""
    return {name: buffers[name] for name in ("open", "tours", "lengths")}
