"""Kernels of a GPU, and the time between two points of its queue. `cuda.py` has the device that they belong to."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcsolve.device import base

if TYPE_CHECKING:
    from hpcsolve.device.cuda import CudaDevice


@dataclass(frozen=True)
class CudaKernel:
    """A function of a loaded module. See `base.Kernel`."""

    name: str
    signature: str
    function: Any
    device: CudaDevice

    def __call__(self, grid: int, block: int, *arguments: int | base.Buffer) -> None:
        """Queue `grid` blocks of `block` threads."""
        base.check_arguments(self.name, self.signature, arguments, self.device)
        if grid <= 0:
            return
        values = [int(value) if isinstance(value, (int, np.integer)) else value.address for value in arguments]
        with self.device.calling(f"kernel {self.name}, {grid} blocks of {block} threads,"):
            self.function.prepared_async_call((grid, 1, 1), (block, 1, 1), self.device.stream, *values)
        self.device.last_kernel = self.name

    def each(self, steps: range, grid: int, block: int, *arguments: int | base.Buffer | EllipsisType) -> None:
        """Queue the launches of all steps."""
        if not steps or grid <= 0:
            return
        place = base.check_steps(self.name, self.signature, steps, arguments, self.device)
        values: list[Any] = [value.address if hasattr(value, "address") else value for value in arguments]
        launch, shape, stream = self.function.prepared_async_call, ((grid, 1, 1), (block, 1, 1)), self.device.stream
        with self.device.calling(f"kernel {self.name}, {grid} blocks of {block} threads,"):
            for step in steps:
                values[place] = step
                launch(*shape, stream, *values)
        self.device.last_kernel = self.name


@dataclass(eq=False)
class CudaTimer:
    """Time between events of the stream. See `base.Timer`."""

    device: CudaDevice
    total: float = 0.0
    spans: list[tuple[Any, Any]] = field(default_factory=list)
    started: Any = None

    MOST_SPANS = 512
    """Events are the driver's; a run may time a million launches."""

    def start(self) -> None:
        """Mark the beginning."""
        self.started = self._mark()

    def stop(self) -> None:
        """Mark the end."""
        self.spans.append((self.started, self._mark()))
        if len(self.spans) >= self.MOST_SPANS:
            self._settle()

    @property
    def seconds(self) -> float:
        """The sum so far; waits for the last mark."""
        self._settle()
        return self.total

    def _mark(self) -> Any:
        with self.device.calling("an event") as cuda:
            return cuda.Event().record(self.device.stream)

    def _settle(self) -> None:
        if self.spans:
            with self.device.calling("an event"):
                self.spans[-1][1].synchronize()
                self.total += sum(end.time_since(start) for start, end in self.spans) / 1e3
                self.spans.clear()
