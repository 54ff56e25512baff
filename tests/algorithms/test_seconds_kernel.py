"""`seconds_kernel` is kernels everywhere: each launch counts, and no copy, no exchange and no work between launches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hpcsolve.algorithms.base import NO_STOP, StopCriteria, silent
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.device import host
from hpcsolve.device.host import HostDevice, HostKernel
from hpcsolve.problems.generate import generate
from hpcsolve.problems.generate.graph import power_law_steiner
from hpcsolve.problems.rounding import Costs
from hpcsolve.problems.tsp import NO_ARC, TspBatch, part_of_costs
from tests.thread_comm import ThreadComm, on_ranks


class Clock(threading.local):
    """The time of a rank in seconds: 1 passes in each launch, and 1000 whenever the rank sends, waits or copies."""

    now = 0.0

    def perf_counter(self) -> float:
        """Return the time."""
        return self.now

    def passes(self, seconds: float, own: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function in which so much time passes."""
        def call(*arguments: Any) -> Any:
            self.now += seconds
            return own(*arguments)

        return call


class Watched(HostDevice):
    """A device that counts its launches."""

    launches = 0

    def kernel(self, file: str, name: str) -> HostKernel:
        """Return a kernel whose launches are counted, and take a second."""
        own = super().kernel(file, name)

        def launch(*arguments: Any) -> None:
            self.launches += 1
            CLOCK.passes(1, own.function)(*arguments)

        return HostKernel(own.declaration, launch, self)


class WatchedComm:
    """A communicator that takes its time."""

    def __init__(self, comm: ThreadComm) -> None:
        self.comm = comm

    def __getattr__(self, name: str) -> Any:
        """Return what the communicator has."""
        own = getattr(self.comm, name)
        return CLOCK.passes(1000, own) if callable(own) else own


CLOCK = Clock()


def batch() -> TspBatch:
    costs = np.random.default_rng(1).integers(1, 1000, (30, 7, 7))
    costs[:, range(7), range(7)] = NO_ARC
    return TspBatch("random", (part_of_costs(Costs(costs, 1), "random"),))


def made(kind: str, name: str, **keys: Any) -> Callable[[], Any]:
    return lambda: generate(kind, name, **keys)


CITIES, FEW = made("tsp", "random-matrix", n=15, seed=1), made("tsp", "random-matrix", n=9, seed=1)
ROADS = made("graph", "road-graph", n=600, seed=2)
FOUR = StopCriteria(iterations=4)
ENGINES = ("near-far", "near-far-grid", "phast", "tile", "dijkstra", "bellman-ford", "p-pull")


def trees() -> Any:
    return power_law_steiner(n=90, edges=250, terminals=15)


def runs() -> Iterator[Any]:
    for keys in ({"method": "bounded"}, {"method": "lattice"}, {"layout": "compact", "method": "lattice"}):
        yield pytest.param("held-karp", CITIES, keys, NO_STOP, id="-".join(map(str, keys.values())))
    for objective in ("latency", "bottleneck"):
        yield pytest.param("held-karp", FEW, {"objective": objective}, NO_STOP, id=objective)
    yield pytest.param("held-karp", FEW, {"count": True, "arcs": True}, NO_STOP, id="count-arcs")
    yield pytest.param("held-karp", batch, {}, NO_STOP, id="batch")
    for keys in ({"variant": "mmas"}, {"variant": "ant-system"}, {"variant": "ant-system", "strategy": "roulette"}):
        yield pytest.param("ant-colony", CITIES, {**keys, "colonies": 3}, FOUR, id="-".join(keys.values()))
    for engine in ENGINES:
        asked = {"sources": [1, 5, 9], "engine": engine}
        yield pytest.param("shortest-paths", ROADS, asked, NO_STOP, id=engine)
    for asked in ({"reduce": ["sum"]}, {"predecessors": True}):
        yield pytest.param("shortest-paths", ROADS, {"sources": [1, 5, 9], **asked}, NO_STOP, id=next(iter(asked)))
    for keys in ({"mode": "kmb", "engine": "near-far"}, {"mode": "kmb", "engine": "tile", "exchange": True}):
        yield pytest.param("steiner-kmb", trees, keys, NO_STOP, id="-".join(map(str, keys.values())))


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(("name", "problem", "keys", "stop"), runs())
def test_every_launch_counts_and_nothing_else(
    name: str, problem: Callable[[], Any], keys: dict[str, Any], stop: StopCriteria, ranks: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solver = algorithm(name)
    stated = solver.statement(problem(), solver.parameters(**keys))
    monkeypatch.setattr(host, "time", SimpleNamespace(perf_counter=CLOCK.perf_counter))
    monkeypatch.setattr(np, "copyto", CLOCK.passes(1000, np.copyto))

    def rank(comm: ThreadComm) -> tuple[int, float]:
        with Watched(threads=1) as device:
            watched: Any = WatchedComm(comm)
            assert "seconds_kernel" not in solver.run(stated, device, watched, silent, stop).rank
            return device.launches, device.seconds_kernel

    found = on_ranks(ranks, rank)
    assert all(seconds == launches for launches, seconds in found) and any(launches for launches, _ in found)
