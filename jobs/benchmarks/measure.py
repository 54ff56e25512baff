"""Clocks, and what the machine can do: the same for hpcsolve and for its rivals."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata

import numpy as np

from hpcsolve.device import build
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice, HostTimer

EXTENSIONS = (("__AVX512BW__", "AVX-512", 64), ("__AVX2__", "AVX2", 32), ("", "128-bit", 16))
"""As device_host.cuh chooses: macro of the compiler, name, bytes of a register."""
LAUNCHES = 50


@dataclass(frozen=True)
class Measurement:
    """The best of several runs: least wall-clock time and, not always of the same run, least CPU time."""

    value: object
    wall: float
    cpu: float
    runs: int


def best_of(call: Callable[[], object], repeats: int, seconds: float) -> Measurement:
    """Run `call` so often, but start no third run after so many seconds; a quick one is warmed up first."""
    begin = time.perf_counter()
    runs = [_timed(call)]
    if repeats > 1 and runs[0].wall < seconds / 4:  # memory is touched and code is in the caches now: once for nothing
        runs.clear()
    while len(runs) < min(repeats, 2) or (len(runs) < repeats and time.perf_counter() - begin < seconds):
        runs.append(_timed(call))
    return Measurement(runs[-1].value, min(run.wall for run in runs), min(run.cpu for run in runs), len(runs))


def _timed(call: Callable[[], object]) -> Measurement:
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    return Measurement(value, time.perf_counter() - wall, time.process_time() - cpu, 1)


@dataclass
class CpuTimer(HostTimer):
    """A stopwatch that also adds up the CPU time of all threads."""

    cpu_seconds: float = 0.0
    cpu_started: float = 0.0

    def start(self) -> None:
        """Mark the beginning."""
        super().start()
        self.cpu_started = time.process_time()

    def stop(self) -> None:
        """Add the time since `start`."""
        self.cpu_seconds += time.process_time() - self.cpu_started
        super().stop()


@dataclass(eq=False)
class MeasuredDevice(HostDevice):
    """The host device, with timers that are kept."""

    timers: list[CpuTimer] = field(default_factory=list)

    def timer(self) -> CpuTimer:
        """A stopwatch."""
        self.timers.append(CpuTimer())
        return self.timers[-1]

    def kernel_seconds(self) -> tuple[float, float]:
        """Wall-clock and CPU time of all kernels since the last call, those that rebuild the tour included."""
        total = sum(timer.seconds for timer in self.timers), sum(timer.cpu_seconds for timer in self.timers)
        self.timers.clear()
        return total


def peak_rate(device: Device, repeats: int) -> float:
    """Min-adds a second of 16-bit values where nothing else counts: cuda_src/minplus.cu, the best of some launches.

    A second of CPU time, so a core's; of a GPU, a second of the clock.
    """
    gpu = device.info.kind != "cpu"
    sources, targets, chunk, block = (64, 64, 1024, 128) if gpu else (12, 16, 4096, 1)
    length = 1 << 18 if gpu else (1 << 16) * getattr(device, "threads", 1)
    rng = np.random.default_rng(0)
    values = device.upload(rng.integers(0, 10000, (sources, length)).astype(np.uint16))
    cost = device.upload(rng.integers(0, 1000, (sources, targets)).astype(np.uint32) * np.uint32(0x10001))
    out = device.zeros((targets, length), np.uint16)
    kernel = device.kernel("held_karp/minplus", "minplus_multiply")
    best = np.inf
    for _ in range(4 * repeats):
        timer = device.timer()
        timer.start()
        for _ in range(LAUNCHES):  # in one span, since the CPU time of running threads is not exact to the microsecond
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
    """Min-adds of Held-Karp for n cities, the depot included: m (m - 1) 2^(m - 2) with m = n - 1."""
    m = n - 1
    return m * (m - 1) << m - 2


def vector_extension() -> tuple[str, int]:
    """What the kernels are compiled for here, by the compiler's own word, and the bytes of its registers."""
    compiler = os.environ.get("HPCSOLVE_CXX", "g++")
    flags = os.environ.get("HPCSOLVE_CXXFLAGS", build.HOST_FLAGS).split()
    machine = [flag for flag in flags if flag.startswith("-m")]
    command = [compiler, *machine, "-dM", "-E", "-x", "c++", os.devnull]
    macros = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return next((name, width) for macro, name, width in EXTENSIONS if macro in macros)


def describe_machine(device: Device, threads: int, cores: int | None = None) -> list[str]:
    """Lines of Markdown: when, on what, with what."""
    extension, width = vector_extension()
    other = "" if extension == "AVX-512" else "; **no AVX-512 here**, so figures for AVX-512 cannot be checked"
    cores = cores or len(os.sched_getaffinity(0))
    compiler, flags = os.environ.get("HPCSOLVE_CXX", "g++"), os.environ.get("HPCSOLVE_CXXFLAGS", build.HOST_FLAGS)
    return [
        f"- {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}, {platform.system()} {platform.machine()}",
        f"- device: {device.info.name}; {cores} cores to run on, {threads} used by each solver that can",
        f"- vectors: {extension}, {width} bytes, {width // 2} 16-bit values at a time{other}",
        f"- compiler: {device.info.compiler}; on the CPU, for kernels and OpenMP rivals: `{compiler} {flags}`",
        f"- versions: Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("hpcsolve", "numpy", "python-tsp", "held-karp")),
    ]


def version(package: str) -> str:
    """Of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def load() -> float:
    """Processes that wanted a core in the last minute; above the number of cores, wall-clock times are no use."""
    return os.getloadavg()[0]
