"""The peak that Held-Karp's kernels are compared with: min-adds a second in a kernel that does nothing else."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice, HostTimer

LAUNCHES = 50
"""Kernel launches in one timed span: the CPU time of running threads is not exact to the microsecond."""


@dataclass
class CpuTimer(HostTimer):
    """A timer that also adds up the CPU time of all threads."""

    cpu_seconds: float = 0.0
    cpu_started: float = 0.0

    def start(self) -> None:
        """Start a timed span."""
        super().start()
        self.cpu_started = time.process_time()

    def stop(self) -> None:
        """Add the wall-clock and CPU time since `start`."""
        self.cpu_seconds += time.process_time() - self.cpu_started
        super().stop()


@dataclass(eq=False)
class MeasuredDevice(HostDevice):
    """The host device, which here keeps all timers that it has given out."""

    timers: list[CpuTimer] = field(default_factory=list)

    def timer(self) -> CpuTimer:
        """Return a new timer, which this device keeps."""
        self.timers.append(CpuTimer())
        return self.timers[-1]

    def kernel_seconds(self) -> tuple[float, float]:
        """Return wall-clock and CPU seconds of all kernels since the last call, and forget them."""
        total = sum(timer.seconds for timer in self.timers), sum(timer.cpu_seconds for timer in self.timers)
        self.timers.clear()
        return total


def peak_rate(device: Device, repeats: int) -> float:
    """Return the 16-bit min-adds a second of the kernel minplus_multiply, the best of `4 * repeats` timed spans.

    On a CPU that is a second of CPU time, so the rate of one core; on a GPU it is a second of wall-clock time.
    """
    on_host = isinstance(device, HostDevice)
    sources, targets, chunk, block = (12, 16, 4096, 1) if on_host else (64, 64, 1024, 128)
    length = (1 << 16) * device.threads if isinstance(device, HostDevice) else 1 << 18
    rng = np.random.default_rng(0)
    values = device.upload(rng.integers(0, 10000, (sources, length)).astype(np.uint16))
    cost = device.upload(rng.integers(0, 1000, (sources, targets)).astype(np.uint32) * np.uint32(0x10001))
    out = device.zeros((targets, length), np.uint16)
    kernel = device.kernel("held_karp/minplus", "minplus_multiply")
    best = np.inf
    for _ in range(4 * repeats):
        timer = device.timer()
        timer.start()
        for _ in range(LAUNCHES):
            kernel(length // chunk, block, sources=sources, targets=targets, length=length, chunk=chunk, rows=values,
                   cost=cost, out=out)
        timer.stop()
        device.synchronize()
        best = min(best, timer.cpu_seconds if isinstance(timer, CpuTimer) else timer.seconds)
    for buffer in (values, cost, out):
        buffer.free()
    if isinstance(device, MeasuredDevice):
        device.kernel_seconds()
    return LAUNCHES * sources * targets * length / best


def min_adds(n: int) -> int:
    """Return the min-adds of Held-Karp for n cities, the depot included: m (m - 1) 2^(m - 2) with m = n - 1."""
    m = n - 1
    return m * (m - 1) << m - 2
