"""What tables of all states keep in a checkpoint: their planes, a part for each pair of slices, and the last layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.lattice.orders.table import Table
from hpcsolve.algorithms.held_karp.lattice.resume import NO_LAYER
from hpcsolve.checkpoint.checkpoints import NONE, Boundary, Checkpoints
from hpcsolve.checkpoint.state import Part, State
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm

TABLE, BACK = "table", "back"
"""The parts of a table, and those of the table of the orders read backwards, which is filled after it."""


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
        if self._saved is not None and self._saved.integer("run", most=1) == 1:
            self.first = self._saved.integer("dearest")

    def load(self, number: int, table: Table) -> int:
        """Copy a table from the checkpoint, and return its first layer that is still to be filled."""
        if self._saved is None or self._saved.integer("run") != number:
            return 0
        self._copy(TABLE, table)
        return self._saved.integer("layer", NO_LAYER, table.encoded.m - 1) + 1

    def load_back(self, number: int, back: Table) -> int:
        """Copy the table of the orders read backwards, and return its first layer that is still to be filled."""
        if self._saved is None or self._saved.integer("run") != number:
            return 0
        layers = self._saved.integer("back", most=back.encoded.m)
        if layers:
            self._copy(BACK, back)
        return layers

    def _copy(self, name: str, table: Table) -> None:
        assert self._saved is not None
        encoded, slices = table.encoded, table.slices
        shape = (encoded.m, 1 << slices.low)
        for place, pair in enumerate(slices.own[: slices.pairs]):
            rows = self._saved.rows(name, range(pair, pair + 1), shape, encoded.dtype).reshape(shape)
            for city in range(encoded.m):
                table.plane(city, place).upload(np.ascontiguousarray(rows[city]))

    def reached(self, number: int, tables: int, layer: int, table: Table, back: Table | None = None,
                back_layers: int = 0) -> None:
        """Save or stop if it is time. Called after each layer. Collective.

        Parameters
        ----------
        number, tables
            Which of how many tables it is.
        layer
            Its last layer that is filled.
        back, back_layers
            The table of the orders read backwards, if it is being filled, and the number of its layers so far.
        """
        def state() -> State:
            numbers = {"run": number, "layer": layer, "dearest": self.first or 0, "back": back_layers}
            done, layers = number * table.encoded.m + layer + 1 + back_layers, tables * table.encoded.m
            parts = _parts(TABLE, table) + ([] if back is None else _parts(BACK, back))
            return State(numbers, parts, f"after {done} of {layers} layers")

        held = 1 if back is None else 2
        self._boundary.reached(state, lambda: held * table.slices.states * table.encoded.itemsize)


def _parts(name: str, table: Table) -> list[Part]:
    slices = table.slices
    return [_part(name, table, place, pair) for place, pair in enumerate(slices.own[: slices.pairs])]


def _part(name: str, table: Table, place: int, pair: int) -> Part:
    m, low = table.encoded.m, table.slices.low

    def values() -> NDArray[np.generic]:
        return np.stack([table.plane(city, place).download() for city in range(m)])[None]

    return Part(name, pair, (1, m, 1 << low), table.encoded.dtype, values)
