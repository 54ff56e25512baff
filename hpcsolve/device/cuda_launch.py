"""Kernels of a GPU, and stopwatches on its queue. `cuda.py` has their device."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hpcsolve.device import base
from hpcsolve.device.declaration import Declaration
from hpcsolve.device.gpus import load_library
from hpcsolve.errors import EnvironmentFault

if TYPE_CHECKING:
    from hpcsolve.device.cuda import CudaDevice


@dataclass(frozen=True)
class CudaKernel:
    """A function of a loaded module that takes its arguments in one packed buffer. See `base.Kernel`."""

    declaration: Declaration
    function: Any
    device: CudaDevice

    def __call__(self, grid: int, block: int, /, **arguments: base.Argument) -> None:
        """Queue `grid` blocks of `block` threads."""
        packed = self.declaration.packed(arguments, self.device)
        if grid > 0:
            self._launch(grid, block, (packed,))

    def each(self, step: str, steps: range, grid: int, block: int, /, **arguments: base.Argument) -> None:
        """Queue the launches of all steps."""
        if grid > 0:
            self._launch(grid, block, self.declaration.packed_steps(step, steps, arguments, self.device))

    def _launch(self, grid: int, block: int, calls: Iterable[bytes]) -> None:
        # PyCUDA's prepared calls do the same after packing the arguments, which are packed already.
        launch, stream, blocks, threads = self.function._launch_kernel, self.device.stream, (grid, 1, 1), (block, 1, 1)
        with self.device.calling(f"kernel {self.declaration.kernel}, {grid} blocks of {block} threads,"):
            for packed in calls:
                launch(blocks, threads, packed, 0, stream)
        self.device.context.last_kernel = self.declaration.kernel


def blocks_a_multiprocessor(image: bytes, name: str, threads: int) -> int:
    """Return how many blocks of a kernel of a cubin a multiprocessor holds. The context must be current.

    PyCUDA keeps the driver's handles to itself, and its own computation does not know newer GPUs. So the cubin is
    loaded once more.

    Raises
    ------
    EnvironmentFault
        The driver does not answer.
    """
    library, module, function, blocks = load_library(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    error = library.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(image))
    if not error:
        error = library.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
        if not error:
            occupancy, no_shared = library.cuOccupancyMaxActiveBlocksPerMultiprocessor, ctypes.c_size_t(0)
            error = occupancy(ctypes.byref(blocks), function, threads, no_shared)
        library.cuModuleUnload(module)
    if error:
        raise EnvironmentFault(f"kernel {name}: the driver does not tell how many blocks of {threads} threads a "
                               f"multiprocessor holds (CUDA error {error}); try a newer driver, or --device cpu")
    return blocks.value


@dataclass(eq=False)
class CudaTimer:
    """The time between events of the stream. See `base.Timer`."""

    device: CudaDevice
    total: float = 0.0
    spans: list[tuple[Any, Any]] = field(default_factory=list)
    started: Any = None

    MOST_SPANS = 512
    """Spans after which they are summed up, since a run may time a million launches and each span holds two events."""

    def start(self) -> None:
        """Mark the beginning."""
        self.started = self._mark()

    def stop(self) -> None:
        """Mark the end."""
        self.spans.append((self.started, self._mark()))
        if len(self.spans) >= self.MOST_SPANS:
            self._sum_up()

    @property
    def seconds(self) -> float:
        """The sum so far, in seconds. Reading it waits for the last mark."""
        self._sum_up()
        return self.total

    def _mark(self) -> Any:
        with self.device.calling("timing"):
            return self.device.context.mark(self.device.stream)

    def _sum_up(self) -> None:
        if self.spans:
            with self.device.calling("timing"):
                self.spans[-1][1].synchronize()
                self.total += sum(end.time_since(start) for start, end in self.spans) / 1e3
            self._give_back()

    def _give_back(self) -> None:
        self.device.context.spare.extend(event for span in self.spans for event in span)
        self.spans.clear()

    def __del__(self) -> None:
        """Give the events to other timers."""
        self._give_back()
