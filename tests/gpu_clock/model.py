"""The time that each resource of a GPU would take for what was counted. A model: nothing of it was measured.

Each resource works as if it alone were busy, so a kernel takes at least the largest of these times, and with perfect
overlap no more. `path` is the exception: the time of dependent instructions, for as many blocks as are resident.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.gpu_clock.cases import Counted
from tests.gpu_clock.counts import Counts
from tests.gpu_clock.gpus import GPUS, Gpu
from tests.gpu_code.check import read_budget


@dataclass(frozen=True)
class Times:
    """Seconds of a kernel at the benchmark's size, by resource."""

    kernel: str
    launches: float
    seconds: dict[str, float]

    @property
    def limit(self) -> str:
        """The resource that takes longest."""
        return max(self.seconds, key=lambda name: self.seconds[name])

    @property
    def longest(self) -> float:
        """What that takes."""
        return self.seconds[self.limit]


def times_of(each: Counts, counted: Counted, gpu: Gpu | None = None) -> Times:
    """Return a kernel's times on the GPU of its architecture, or on another one."""
    gpu, factor = gpu or GPUS[each.architecture], counted.by_kernel.get(each.kernel, counted.times)
    launches = each.launches * counted.launches
    blocks = max(1.0, each.blocks * factor / launches)  # of a launch
    busy = min(1.0, blocks / gpu.units) * gpu.clock * gpu.units / factor  # clocks of all multiprocessors
    found = {
        "issue": each.instructions / gpu.issued / busy,
        "alu": each.alu / gpu.alu / busy,
        "multiply": max(each.multiply / gpu.fma, each.double / gpu.fp64) / busy,
        "special": each.special / gpu.special / busy,
        "shared": (each.wavefronts + each.exchanges) / gpu.shared / busy,
        "l1": max(each.asked / gpu.sectors, each.lines / gpu.lines) / busy,
        "l2": factor * 32 * each.l2 / gpu.l2_rate,
        "dram": factor * 32 * (each.dram + each.written) / gpu.memory,
        "atomics": factor * each.changed / gpu.atomics / gpu.clock,
        "path": _path(each, gpu, factor, launches, blocks),
    }
    return Times(each.kernel, launches, found)


def _path(each: Counts, gpu: Gpu, factor: float, launches: float, blocks: float) -> float:
    """Return the seconds that all launches take if nothing but dependent instructions takes time."""
    resident = gpu.units * max(1, read_budget()[0][each.kernel, each.architecture].warps * 32 // each.threads)
    one, longest = each.path / each.blocks, each.longest / each.launches
    grown = factor * each.blocks / launches / blocks  # work of a block beside one that was counted
    return launches * max(longest, one * blocks / resident) * grown / gpu.clock
