"""What a run of edge assembly works with, and what its searches find."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.edge_assembly.first_tours import FirstTours, Tours
from hpcsolve.algorithms.edge_assembly.parameters import Assembly, Parameters
from hpcsolve.algorithms.tours.cities import NONE, Cities
from hpcsolve.algorithms.tours.near import NearLists
from hpcsolve.algorithms.tours.stop import SearchStop
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import Part
from hpcsolve.device.host import Given, HostDevice
from hpcsolve.parallel.comm import Comm, Request

Keys = NDArray[np.uint64]
T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """What all ranks have found so far.

    Attributes
    ----------
    best
        The least length of all tours.
    total
        The sum of the lengths of the tours that are improved together.
    ended
        Why the search has come to its end by itself, or "".
    """

    best: int
    total: int
    ended: str = ""


@dataclass
class Setting:
    """What a run works with, on each rank.

    Attributes
    ----------
    stated, cities, lists
        The statement, the instance as the kernels have it, and its candidate lists.
    host
        The cores of this rank.
    first
        Makes first tours, and improves them by k-exchanges.
    tours_at_once
        Tours that are made before the ranks agree on whether to go on.
    given
        The tour to begin with, in nodes, or None.
    """

    stated: Assembly
    cities: Cities
    lists: NearLists
    host: HostDevice
    comm: Comm
    seed: int
    stop: SearchStop
    report: Report
    first: FirstTours
    tours_at_once: int
    given: Tours | None = None

    @property
    def parameters(self) -> Parameters:
        """The parameters of the job."""
        return self.stated.parameters

    def instance(self) -> dict[str, Given]:
        """Return the functions' arguments `where` and `near`."""
        return {"where": self.cities.arguments(), "near": self.lists.arguments()}

    def gathered(self, value: T) -> list[T]:
        """Return the values of all ranks. Collective."""
        waiting = time.perf_counter()
        found = self.comm.allgather(value)
        self.stop.seconds_wait += time.perf_counter() - waiting
        return found

    def wait(self, requests: Sequence[tuple[Request, Any]]) -> None:
        """Wait for messages, each given with its array, which must live until then."""
        waiting = time.perf_counter()
        for request, _ in requests:
            request.wait()
        self.stop.seconds_wait += time.perf_counter() - waiting

    def is_tour(self, nodes: Tours, length: int) -> bool:
        """Return whether an array has all nodes, keeps the fixed edges, and has this length."""
        n, fixed = self.cities.nodes, self.cities.fixed
        if not np.array_equal(np.sort(nodes), np.arange(n)):
            return False
        if fixed is not None:
            before, after = np.empty(n, np.uint32), np.empty(n, np.uint32)
            before[nodes], after[nodes] = np.roll(nodes, 1), np.roll(nodes, -1)
            has = fixed != NONE
            if ((before != fixed) & (after != fixed))[has].any():
                return False
        return self.length_of(nodes) == length

    def length_of(self, nodes: Tours) -> int:
        """Return the length of a tour."""
        return int(self.cities.costs_of(nodes[None])[0]) - self.cities.shift


class Search(Protocol):
    """A search, on one rank.

    Attributes
    ----------
    unit
        What an iteration is called.
    number
        Iterations so far; -1 before the first tours are complete.
    size
        Tours that are improved together.
    work_done
        What has been done, in words.
    nbytes
        About how many bytes of a checkpoint are this rank's.
    """

    unit: str
    size: int

    @property
    def number(self) -> int:
        """As above."""

    @property
    def work_done(self) -> str:
        """As above."""

    @property
    def nbytes(self) -> int:
        """As above."""

    def work(self) -> Iterator[tuple[int, str]]:
        """Do the work of the next iteration, some at a time.

        Yield after each step the best length of this rank, and what is done. All ranks take equally many steps. The run
        may be stopped after each of them.
        """

    def finish(self) -> Found:
        """End an iteration whose work is done. Collective."""

    def cut_short(self) -> Found:
        """Return what has been found where an iteration was not finished. Collective."""

    def best_tour(self) -> tuple[int, Tours]:
        """Return the length and the nodes of the best tour of all ranks. Collective."""

    def numbers_kept(self) -> dict[str, int]:
        """Return the numbers of a checkpoint. Collective."""

    def parts(self) -> list[Part]:
        """Return this rank's parts of a checkpoint."""

    def resume(self, saved: Saved) -> None:
        """Go on from a checkpoint."""
