"""Named buffers of a search: their shapes say what a run takes, to the byte, before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

from hpcsolve.device.base import Argument, Buffer, Device

ANT_THREADS = 32
"""Threads of a block that builds tours: a warp is one ant."""

Shapes = Mapping[str, tuple[tuple[int, ...], DTypeLike]]


def nbytes(shapes: Shapes) -> int:
    """Bytes of all buffers."""
    return sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in shapes.values())


def allocated(device: Device, shapes: Shapes) -> dict[str, Buffer]:
    """The buffers, with undefined content."""
    return {name: device.empty(shape, dtype) for name, (shape, dtype) in shapes.items()}


def tour_at(buffers: dict[str, Buffer], colony: int, ant: int) -> Buffer:
    """An ant's tour; uint16 (n,)."""
    _, ants, n = buffers["tours"].shape
    return buffers["tours"].view((colony * ants + ant) * n, n)


def iteration_keys(buffers: dict[str, Buffer], iteration: int) -> dict[str, Argument]:
    """Return the kernels' argument `random`: the colonies' keys in an iteration (cuda_src/ants/construction.cuh)."""
    return {"iteration": iteration, "keys": buffers["keys"]}


def tour_memory(buffers: dict[str, Buffer]) -> dict[str, Argument]:
    """Return the kernels' argument `out`: where ants write their tours (cuda_src/ants/construction.cuh)."""
    return {name: buffers[name] for name in ("open", "tours", "lengths")}
