"""Named buffers of a search: their shapes say what a run takes, to the byte, before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import DTypeLike

from hpcsolve.device.base import Buffer, Device

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
