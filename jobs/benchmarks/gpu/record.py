"""Records the launches of a run: which kernels, how many blocks of how many threads, and how long each took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

from hpcsolve.device.base import Argument, Device, Kernel


@dataclass(frozen=True)
class Launch:
    """A launch.

    Attributes
    ----------
    blocks, threads
        Its blocks, and the threads of each.
    seconds
        From its start to its end, or 0 if launches were not timed.
    """

    kernel: str
    blocks: int
    threads: int
    seconds: float = 0.0


@dataclass(frozen=True)
class _Recorded:
    """A kernel that notes its launches."""

    name: str
    kernel: Kernel
    device: Device
    launches: list[Launch]
    timed: bool

    def __call__(self, grid: int, block: int, /, **arguments: Argument) -> None:
        """Launch the kernel, and note it."""
        timer = self.device.timer()
        timer.start()
        self.kernel(grid, block, **arguments)
        timer.stop()
        self.launches.append(Launch(self.name, grid, block, timer.seconds if self.timed else 0.0))

    def each(self, step: str, steps: range, grid: int, block: int, /, **arguments: Argument) -> None:
        """Launch the kernel once for each step, and note each launch."""
        for value in steps:
            self(grid, block, **{step: value}, **arguments)


@contextmanager
def recording(device: Device, timed: bool = False) -> Iterator[list[Launch]]:
    """Provide a list to which the launches on a device are added in the block.

    Parameters
    ----------
    timed
        Whether each launch is timed. Then a GPU is done with one before the next begins.
    """
    launches: list[Launch] = []
    own = device.kernel

    def kernel(file: str, name: str) -> _Recorded:
        return _Recorded(name, own(file, name), device, launches, timed)

    with mock.patch.object(device, "kernel", kernel):
        yield launches


def counts(launches: list[Launch]) -> dict[str, int]:
    """Return how often each kernel was launched, the most often launched first."""
    return dict(Counter(launch.kernel for launch in launches).most_common())


def before_longest(launches: list[Launch], kernel: str) -> int:
    """Return how many launches of a kernel come before its longest one."""
    own = [launch.seconds for launch in launches if launch.kernel == kernel]
    return own.index(max(own))
