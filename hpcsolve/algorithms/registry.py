"""Which algorithms there are: a name in the job file -> a module that is loaded when it is asked for."""

from __future__ import annotations

import difflib
import importlib
from typing import Any, Protocol, cast

import msgspec

from hpcsolve.algorithms.base import UNLIMITED, Estimate, Limits, Outcome, Report
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm

MODULES = {
    "held-karp": "hpcsolve.algorithms.held_karp",
    "ant-colony": "hpcsolve.algorithms.ant_colony",
    "shortest-paths": "hpcsolve.algorithms.shortest_paths",
    "steiner-kmb": "hpcsolve.algorithms.steiner_kmb",
}


class Algorithm(Protocol):
    """What a module of `MODULES` has; also, if there are any, `STOPS`, the keys of `[stop]` that it honours (where that
    depends on the parameters, `stops(parameters)` says which), and `HOST_KERNEL_FILES`, those of `KERNEL_FILES` that
    run on the CPU whatever the device."""

    KIND: str
    """Kind of problem that it solves: "tsp", "graph" or "steiner"."""
    KERNEL_FILES: tuple[str, ...]
    """Files of cuda_src that a run loads, without suffix."""
    Parameters: type[msgspec.Struct]
    """The algorithm's own table of the job file."""

    def estimate(self, problem: Any, parameters: Any, ranks: int, info: DeviceInfo = ONE_CORE) -> Estimate:
        """What a run on so many ranks, each with such a device, will need."""

    def run(
        self, problem: Any, device: Device, comm: Comm, parameters: Any, report: Report, limits: Limits = UNLIMITED
    ) -> Outcome:
        """The answer; all ranks call it with the same problem."""


def algorithm(name: str) -> Algorithm:
    """The algorithm of that name.

    Raises
    ------
    InputError
        There is none.
    """
    if name in MODULES:
        return cast(Algorithm, importlib.import_module(MODULES[name]))
    there = "there is " + ", ".join(MODULES)
    close = difflib.get_close_matches(name, MODULES, n=1)
    hint = f", did you mean {close[0]!r}?" if close else ""
    raise InputError(f"unknown algorithm {name!r}{hint}; {there}")
