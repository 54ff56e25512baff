"""What Held-Karp keeps in a checkpoint: the last layer that is complete in all slices, one row per slice.

A slice needs nothing else to go on: planes of top cities come from slices that work on the same layer. While a layer is
computed, the one before stays in memory, so no step of the wave waits for a checkpoint. In the backward run of an
asymmetric problem, the middle layer of the forward run is kept too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.lattice.plan import Plan
from hpcsolve.checkpoint.checkpoints import NONE, Boundary, Checkpoints
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.state import Part, State
from hpcsolve.device.base import Buffer, Device
from hpcsolve.parallel.comm import Comm

NO_LAYER = -1
"""Number that stands for no layer."""
FORWARD, STORED = "forward", "stored"
"""The tables of a checkpoint: the middle layer of a forward run that has ended, and the layer of the present run."""


def whole_layers(chunks: NDArray[np.int32], lag: int, top: int) -> list[int | None]:
    """Return for each step of a wave the layer that is complete in all slices after it, or None if there is none.

    The slices with most top cities are behind the others by `lag * top` steps. A layer is complete from their last
    chunk of it until the first slices begin the layer after the next one, which takes its memory.
    """
    layers = chunks[:, 0].tolist()
    complete = [layer - 1 if layers[at + 1 : at + 2] == [layer] else layer for at, layer in enumerate(layers)]
    found: list[int | None] = []
    for step in range(len(layers) + lag * top):
        behind, ahead = step - lag * top, layers[min(step, len(layers) - 1)]
        done = complete[behind] if behind >= 0 else layers[0] - 1
        found.append(done if ahead <= done + 1 else None)
    return found


@dataclass
class LayerCheckpoints:
    """The checkpoints of the half runs.

    Attributes
    ----------
    half, layer
        The half run with which this run begins, and its last layer that the checkpoint has, or `NO_LAYER`.
    """

    plan: Plan
    boundary: Boundary
    saved: Saved | None
    half: int = 0
    layer: int = NO_LAYER

    def __post_init__(self) -> None:
        """Find out where to begin."""
        if self.saved is not None:
            self.half = self.saved.integer("half", most=len(self.plan.half_runs()) - 1)
            self.layer = self.saved.integer("layer", NO_LAYER, self.plan.split.middle)

    def begin(self, half: int) -> int:
        """Return the last layer of a half run that the checkpoint has, or `NO_LAYER`."""
        if half == self.half:
            return self.layer
        return self.plan.split.middle if half < self.half else NO_LAYER

    def load(self, half: int, memory: Sequence[Buffer]) -> None:
        """Copy the last layer of a half run from the checkpoint to its buffers, one for even and one for odd layers.

        If the half run had ended, that is the middle layer.
        """
        layer = self.begin(half)
        if self.saved is None or layer == NO_LAYER:
            return
        table, parity = FORWARD if half < self.half else STORED, layer % 2
        slices = self.plan.half_runs()[half].slices
        for number, view in zip(slices, _rows(self.plan, slices, layer, memory[parity]), strict=True):
            row = self.saved.rows(table, range(number, number + 1), view.shape, view.dtype)
            view.upload(row.reshape(view.shape))

    def reached(self, half: int, layer: int, memory: Sequence[Buffer], forward: Buffer | None) -> None:
        """Save or stop if it is time, when a layer is complete. Collective.

        Parameters
        ----------
        memory
            The buffers of even and odd layers; empty on a rank without slices.
        forward
            The middle layer of the forward run, in a backward run.
        """
        def state() -> State:
            parts = _parts(self.plan, STORED, half, layer, memory[layer % 2]) if memory and layer != NO_LAYER else []
            if forward is not None:
                parts += _parts(self.plan, FORWARD, 0, self.plan.split.middle, forward)
            done = half * (self.plan.split.middle + 1) + layer + 1
            layers = len(self.plan.half_runs()) * (self.plan.split.middle + 1)
            return State({"half": half, "layer": layer}, parts, f"after {done} of {layers} layers")

        self.boundary.reached(state, lambda: state().nbytes)


def layer_checkpoints(
    plan: Plan, device: Device, comm: Comm, checkpoints: Checkpoints = NONE
) -> LayerCheckpoints:
    """Return the checkpoints of the half runs of a rank."""
    return LayerCheckpoints(plan, Boundary(comm, checkpoints, device.synchronize), checkpoints.saved)


def _rows(plan: Plan, slices: Sequence[int], layer: int, memory: Buffer) -> list[Buffer]:
    """Return a view of each slice's planes of a layer."""
    stride, length = plan.split.stored(layer % 2), plan.split.mid * plan.split.plane(layer)
    return [memory.view(row * stride, length) for row in range(len(slices))]


def _parts(plan: Plan, table: str, half: int, layer: int, memory: Buffer) -> list[Part]:
    slices = plan.half_runs()[half].slices
    return [_part(table, number, view) for number, view in zip(slices, _rows(plan, slices, layer, memory), strict=True)]


def _part(table: str, number: int, view: Buffer) -> Part:
    return Part(table, number, (1, *view.shape), view.dtype, lambda: view.download()[None])
