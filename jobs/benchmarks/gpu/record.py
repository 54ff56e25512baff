"""Records a run: its launches with their kernels, blocks, threads and times, and its calls to the driver."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any
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


CALLS = {"uploads": "memcpy_htod_async", "downloads": "memcpy_dtoh_async", "fills": "memset_d8_async",
         "allocations": "mem_alloc", "frees": "DeviceAllocation.free", "waits": "Stream.synchronize",
         "waits for a copy": "Event.synchronize"}
"""What is counted, and the function of PyCUDA's driver module that does it.

`waits` are for a whole stream, `waits for a copy` for one event.
"""


@contextmanager
def counting(device: Device) -> Iterator[Counter[str]]:
    """Provide a counter of the calls of `CALLS` in the block, which stays empty on a CPU."""
    found: Counter[str] = Counter()
    with ExitStack() as stack:
        for what, name in CALLS.items() if device.info.kind == "cuda" else ():
            *owner, function = name.split(".")
            of = reduce(getattr, owner, importlib.import_module("pycuda.driver"))
            stack.enter_context(_counted(of, function, found, what))
        yield found


def _counted(owner: Any, name: str, found: Counter[str], what: str) -> AbstractContextManager[Any]:
    own = getattr(owner, name)

    def counted(*arguments: Any, **keywords: Any) -> Any:
        found[what] += 1
        return own(*arguments, **keywords)

    return mock.patch.object(owner, name, counted)


def counts(launches: list[Launch]) -> dict[str, int]:
    """Return how often each kernel was launched, the most often launched first."""
    return dict(Counter(launch.kernel for launch in launches).most_common())


def before_longest(launches: list[Launch], kernel: str) -> int:
    """Return how many launches of a kernel come before its longest one."""
    own = [launch.seconds for launch in launches if launch.kernel == kernel]
    return own.index(max(own))
