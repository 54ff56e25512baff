"""Where the parts of a proof by bounds run if the rank has a GPU.

The kernels are the same on a GPU and on CPU cores, to the bit, so the choice changes no answer, and each rank makes its
own.

- Edge assembly and the local search run on the host's cores: the pairs of a population do so always, and a local search
  of a few orders would leave most of a GPU's multiprocessors idle.
- The tables of bounds run where they are ready sooner: see `SMALL`.
- The layers run where the last tables of bounds are. They are wide only where these are large.

jobs/benchmarks/gpu.md has the counts of launches and copies before and after.
"""

from __future__ import annotations

from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice

SMALL = 1 << 17
"""The most min-adds of a place's table that one core computes, which has the tables of all places in one launch.

A core does 10 min-adds a nanosecond (measured, AVX-512), so it takes 13 us at most. A GPU takes computed 9 us: 6 us for
the launch, and a share of what a round does once, which are three launches, two copies and the way along the relaxed
tour. Other threads of the CPU take 20 us to wake up (measured).
"""


class Devices:
    """A rank's devices.

    Attributes
    ----------
    device
        The rank's device.
    host
        Its CPU cores, by default: the same device if it is no GPU.
    """

    def __init__(self, device: Device, host: Device | None = None) -> None:
        self.device = device
        self.host = host or (device if device.info.kind == "cpu" else HostDevice(device.info.threads))

    def are_small(self, work: int) -> bool:
        """Return whether one core computes tables of bounds whose places take so many min-adds each."""
        return work <= SMALL

    def for_tables(self, work: int) -> Device:
        """Return where such tables are computed."""
        return self.host if self.are_small(work) else self.device

    def words(self, device: Device) -> str:
        """Return where something runs, for the log, or "" if there is no choice."""
        if self.device is self.host:
            return ""
        return " on the host's cores" if device is self.host else " on the GPU"

    def note(self) -> str:
        """Return how long each computed, for the log, or "" if there is no choice."""
        if self.host is self.device:
            return ""
        return (f"bounds: kernels took {self.host.seconds_kernel:.3g} s on the host's cores, where edge assembly, "
                f"local search and small tables are ready sooner, and {self.device.seconds_kernel:.3g} s on the GPU")

    def close(self) -> None:
        """Close the host's cores if they are a device of their own."""
        if self.host is not self.device:
            self.host.close()
