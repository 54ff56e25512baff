"""What a table of all states keeps in a checkpoint: its planes, a part for each pair of slices, and the last layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.table import Table
from hpcsolve.checkpoint.checkpoints import NONE, Boundary, Checkpoints
from hpcsolve.checkpoint.state import Part, State
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm

TABLE = "table"


class OrderCheckpoints:
    """The checkpoints of one or two tables.

    Attributes
    ----------
    first
        The value that the first of two tables has found, if the run is past it.
    """

    def __init__(self, device: Device, comm: Comm, checkpoints: Checkpoints = NONE) -> None:
        self._boundary = Boundary(comm, checkpoints, device.synchronize)
        self._saved = checkpoints.saved
        self.first: int | None = None
        if self._saved is not None and self._saved.integer("run") == 1:
            self.first = self._saved.integer("dearest")

    def load(self, number: int, table: Table) -> int:
        """Copy a table from the checkpoint, and return its first layer that is still to be filled."""
        if self._saved is None or self._saved.integer("run") != number:
            return 0
        encoded, slices = table.encoded, table.slices
        shape = (encoded.m, 1 << slices.low)
        for place, pair in enumerate(slices.own[: slices.pairs]):
            rows = self._saved.rows(TABLE, range(pair, pair + 1), shape, encoded.dtype).reshape(shape)
            for city in range(encoded.m):
                table.plane(city, place).upload(np.ascontiguousarray(rows[city]))
        return self._saved.integer("layer") + 1

    def reached(self, number: int, runs: int, layer: int, table: Table) -> None:
        """Save or stop if it is time. Called after each layer. Collective.

        Parameters
        ----------
        number, runs
            Which of how many tables it is.
        """
        def state() -> State:
            numbers = {"run": number, "layer": layer, "dearest": self.first or 0}
            done, layers = number * table.encoded.m + layer + 1, runs * table.encoded.m
            return State(numbers, _parts(table), f"after {done} of {layers} layers")

        self._boundary.reached(state, lambda: table.slices.states * table.encoded.itemsize)


def _parts(table: Table) -> list[Part]:
    slices = table.slices
    return [_part(table, place, pair) for place, pair in enumerate(slices.own[: slices.pairs])]


def _part(table: Table, place: int, pair: int) -> Part:
    m, low = table.encoded.m, table.slices.low

    def values() -> NDArray[np.generic]:
        return np.stack([table.plane(city, place).download() for city in range(m)])[None]

    return Part(TABLE, pair, (1, m, 1 << low), table.encoded.dtype, values)
