"""The peak that Held-Karp's kernels are compared with: min-adds a second in a kernel that does nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice, HostKernel

CHAINS, CHUNK, ROUNDS = 8, 512, 1024
"""Values that depend on each other, positions of a block, and min-adds with each value, of min_add.cu."""
BLOCKS_A_MULTIPROCESSOR = 32
"""Four times as many as are at work at a time, so that few multiprocessors wait at the end."""
LAUNCHES = 50
"""Kernel launches in one timed span: the CPU time of running threads is not exact to the microsecond."""


@dataclass(frozen=True)
class MeasuredKernel(HostKernel):
    """A kernel whose launches add the CPU time of all threads to its device's."""

    def _launch(self, grid: int, block: int, calls: Iterable[bytes]) -> None:
        assert isinstance(self.device, MeasuredDevice)
        started = time.process_time()
        super()._launch(grid, block, calls)
        self.device.cpu_seconds += time.process_time() - started


@dataclass(eq=False)
class MeasuredDevice(HostDevice):
    """The host device, which here also counts the CPU time of its kernels."""

    cpu_seconds: float = 0.0
    taken: tuple[float, float] = (0.0, 0.0)

    def kernel(self, file: str, name: str) -> HostKernel:
        """Return a kernel."""
        own = super().kernel(file, name)
        return MeasuredKernel(own.declaration, own.function, self)

    def kernel_seconds(self) -> tuple[float, float]:
        """Return wall-clock and CPU seconds of all kernels since the last call."""
        before, self.taken = self.taken, (self.seconds_kernel, self.cpu_seconds)
        return self.taken[0] - before[0], self.taken[1] - before[1]


def peak_rate(device: Device, repeats: int) -> float:
    """Return the 16-bit min-adds a second of the kernel min_add_repeat, the best of `4 * repeats` timed spans.

    On a CPU that is a second of CPU time, so the rate of one core; on a GPU it is a second of wall-clock time.
    """
    on_host = isinstance(device, HostDevice)
    length = CHUNK * device.info.units * (4 if on_host else BLOCKS_A_MULTIPROCESSOR)
    values = device.upload(np.random.default_rng(0).integers(0, 10000, (CHAINS, length)).astype(np.uint16))
    out, kernel = device.zeros((CHAINS, length), np.uint16), device.kernel("held_karp/min_add", "min_add_repeat")
    best = np.inf
    for _ in range(4 * repeats):
        before, started = device.seconds_kernel, time.process_time()
        for _ in range(LAUNCHES):
            kernel(length // CHUNK, 1 if on_host else 256, length=length, chunk=CHUNK, rounds=ROUNDS, cost=0x10001,
                   values=values, out=out)
        device.synchronize()
        best = min(best, time.process_time() - started if on_host else device.seconds_kernel - before)
    for buffer in (values, out):
        buffer.free()
    if isinstance(device, MeasuredDevice):
        device.kernel_seconds()
    return LAUNCHES * ROUNDS * CHAINS * length / best


def min_adds(n: int) -> int:
    """Return the min-adds of Held-Karp for n cities, the depot included: m (m - 1) 2^(m - 2) with m = n - 1."""
    m = n - 1
    return m * (m - 1) << m - 2
