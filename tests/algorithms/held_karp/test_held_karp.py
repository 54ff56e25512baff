"""Held-Karp equals brute force, the textbook's table and published optima, for any number of ranks and threads."""

from __future__ import annotations

import csv
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike, NDArray

from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.base import Outcome, silent
from hpcsolve.algorithms.held_karp import Parameters
from hpcsolve.algorithms.held_karp.lattice.planes import meet
from hpcsolve.algorithms.held_karp.lattice.reduce import reduce_costs
from hpcsolve.algorithms.held_karp.lattice.split import Share, split_cities
from hpcsolve.algorithms.held_karp.outcome import Statistics
from hpcsolve.algorithms.held_karp.problem import core_of
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.formats import read
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.questions import TourQuestion, check_tour
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_costs
from tests.oracles import brute_force, textbook_optimum
from tests.order_oracle import best_order
from tests.solvers import plan_of
from tests.thread_comm import ThreadComm, on_ranks

KINDS = ("asymmetric", "symmetric", "ties", "wide", "negative", "sparse")


def instance(n: int, kind: str, seed: int = 0) -> Tsp:
    """Return a random instance of a kind."""
    rng = np.random.default_rng([n, seed, KINDS.index(kind)])
    low, high = {"ties": (1, 2), "wide": (1, 10**6), "negative": (-500, 500)}.get(kind, (1, 1000))
    cost = rng.integers(low, high + 1, (n, n))
    if kind == "symmetric":
        cost = np.minimum(cost, cost.T)
    if kind == "sparse":
        cost[rng.random((n, n)) < 0.6] = NO_ARC
    return from_costs(cost, f"{kind}-{n}", labels=np.arange(1, n + 1))


def solve(tsp: Tsp, device: Device, **parameters: object) -> Outcome:
    """Return the outcome of one rank, whose tour is checked."""
    chosen = Parameters(**parameters)  # type: ignore[arg-type]
    outcome = held_karp.ALGORITHM.solve(tsp, device, SerialComm(), chosen)
    check(tsp, outcome, chosen)
    return outcome


def check(tsp: Tsp, outcome: Outcome, parameters: Parameters) -> None:
    """Check that the tour has its cost and begins and ends where it must."""
    if outcome.cost is None:
        assert outcome.solution["infeasible"].values is True
        return
    start = None if parameters.start is None else parameters.start - 1
    end = None if parameters.end is None else parameters.end - 1
    tour = outcome.solution["tour"].values
    assert isinstance(tour, np.ndarray) and tour.dtype == np.int32
    assert check_tour(tsp, tour, path=parameters.path, start=start, end=end) == outcome.cost


@pytest.mark.parametrize("layout", ["planes", "compact"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9])
def test_equals_brute_force(n: int, kind: str, layout: str, device: Device) -> None:
    tsp = instance(n, kind)
    assert solve(tsp, device, layout=layout).cost == brute_force(tsp.cost)


@pytest.mark.parametrize("layout", ["planes", "compact"])
@pytest.mark.parametrize("kind", ["asymmetric", "symmetric", "sparse"])
@pytest.mark.parametrize(("start", "end"), [(None, None), (3, None), (None, 2), (4, 1)])
@pytest.mark.parametrize("n", [2, 4, 8])
def test_open_paths_equal_brute_force(n: int, start: int | None, end: int | None, kind: str, layout: str,
                                      device: Device) -> None:
    start, end = (None if label is None else min(label, n) for label in (start, end))
    tsp = instance(n, kind)
    expected = brute_force(tsp.cost, False, None if start is None else start - 1, None if end is None else end - 1)
    assert solve(tsp, device, layout=layout, path="open", start=start, end=end).cost == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [10, 12, 13])
def test_equals_the_textbook_table(n: int, kind: str, device: Device) -> None:
    tsp = instance(n, kind, seed=1)
    expected = textbook_optimum(tsp.cost)
    assert solve(tsp, device).cost == expected
    assert solve(tsp, device, layout="compact").cost == expected


@pytest.mark.parametrize("most", [1, 16])
@pytest.mark.parametrize("path", ["cycle", "open"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_of_equal_tours_the_last_cities_are_the_smallest(
    symmetric: bool, path: str, most: int, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where more tours are equally good than are compared one by one."""
    monkeypatch.setattr("hpcsolve.algorithms.held_karp.lattice.planes.MOST_MEETINGS", most)
    for high in (0, 1, 2, 5):
        cost = np.random.default_rng([high, symmetric]).integers(0, high + 1, (9, 9))
        tsp = from_costs(np.minimum(cost, cost.T) if symmetric else cost, f"up to {high}")
        expected = best_order(tsp, TourQuestion(path))
        for method in ({"method": "lattice"}, {"layout": "compact"}, {"method": "bounded"}):
            outcome = solve(tsp, device, path=path, **method)
            assert (outcome.cost, outcome.answer.tour.tolist()) == expected, (high, method)


def test_planes_choose_the_tour_of_the_compact_table(device: Device) -> None:
    for n, kind in ((15, "ties"), (16, "symmetric"), (17, "ties")):
        tsp = instance(n, kind, seed=2)
        planes, compact = (solve(tsp, device, layout=layout).answer.tour for layout in ("planes", "compact"))
        assert planes.tolist() == compact.tolist()


def test_a_cycle_begins_where_it_is_told(device: Device) -> None:
    tsp = instance(11, "asymmetric")
    free, told = solve(tsp, device), solve(tsp, device, start=7)
    assert free.cost == told.cost and told.solution["tour"].values[0] == 6  # type: ignore[index]


@pytest.mark.parametrize("n", [4, 8, 14])
def test_no_tour_is_proven(n: int, device: Device) -> None:
    """Two halves with arcs in one direction only, and two without any, which the assignment problem cannot see."""
    half = np.arange(n) < n // 2
    one_way = np.where(half[:, None] & ~half[None, :], NO_ARC, 1)
    apart = np.where(half[:, None] != half[None, :], NO_ARC, 1)
    for cost in (one_way, apart):
        outcome = solve(from_costs(cost.astype(np.int64), "apart"), device)
        assert outcome.cost is None and "tour" not in outcome.solution


def test_planes_equal_the_compact_table_at_18(device: Device) -> None:
    for kind in ("asymmetric", "symmetric", "wide"):
        tsp = instance(18, kind)
        assert solve(tsp, device).cost == solve(tsp, device, layout="compact").cost


SMALL_TSPLIB = ("burma14", "ulysses16", "gr17", "br17", "gr21", "ulysses22", "gr24", "fri26", "bayg29", "bays29")


@pytest.mark.parametrize("name", SMALL_TSPLIB)
def test_published_optima(name: str, data_dir: Path, device: Device) -> None:
    folder = data_dir / "tsplib"
    with open(folder / "optima.csv") as file:
        optimum = next(int(row["optimum"]) for row in csv.DictReader(file) if row["name"] == name)
    path = next(folder.glob(f"{name}.*tsp"))
    assert solve(read(str(path)).problem, device).cost == optimum


def test_start_and_end_must_be_cities(device: Device) -> None:
    tsp = instance(5, "asymmetric")
    for parameters, text in (({"start": 9}, "no city 9"), ({"end": 2}, "cycle"),
                             ({"path": "open", "start": 2, "end": 2}, "cannot end")):
        with pytest.raises(InputError, match=text):
            solve(tsp, device, **parameters)


@dataclass(eq=False)
class StagingDevice(HostDevice):
    """The CPU, which counts the host memory that messages pass through."""

    staged: int = 0

    def staging(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """As the CPU's."""
        array = super().staging(shape, dtype)
        self.staged += array.nbytes
        return array


def shared(tsp: Tsp, ranks: int, parameters: Parameters, threads: int = 1, ties: bool = False) -> list[Outcome]:
    """Return the outcomes of several ranks, each with its own CPU threads. Memory and messages are as estimated.

    With `ties`, there may be more messages: where many tours are equally good the program runs again to choose one.
    """

    def work(comm: ThreadComm) -> Outcome:
        with StagingDevice(threads) as device:
            outcome = held_karp.ALGORITHM.solve(tsp, device, comm, parameters)
            need = plan_of(held_karp.ALGORITHM, tsp, parameters, ranks)
            assert device.memory_peak <= need.device_bytes[comm.rank]
            assert comm.sent == outcome.rank["bytes_sent"]
            staged, sent = need.host_bytes[comm.rank] * (1 if tsp.symmetric else 2), need.bytes_sent[comm.rank]
            assert device.staged >= staged and comm.sent >= sent
            assert ties or (device.staged, comm.sent) == (staged, sent)
            return outcome

    return on_ranks(ranks, work)


def solution_bytes(outcome: Outcome) -> dict[str, tuple[object, ...]]:
    """Return all of `/solution` that could differ."""
    arrays: dict[str, NDArray[np.generic]] = {k: np.asarray(c.values) for k, c in outcome.solution.items()}
    return {k: (a.dtype.str, a.shape, a.tobytes()) for k, a in arrays.items()}


@pytest.mark.parametrize("kind", ["asymmetric", "symmetric", "ties", "wide"])
@pytest.mark.parametrize("path", ["cycle", "open"])
def test_ranks_and_threads_do_not_change_the_solution(kind: str, path: str) -> None:
    tsp = instance(17, kind)
    parameters = Parameters(path=path)  # type: ignore[arg-type]
    alone = solution_bytes(solve(tsp, HostDevice(1), path=path))
    assert solution_bytes(solve(tsp, HostDevice(2), path=path)) == alone
    for ranks in (2, 3, 4, 5):
        for outcome in shared(tsp, ranks, parameters, ties=kind == "ties"):
            check(tsp, outcome, parameters)
            assert solution_bytes(outcome) == alone


def test_all_costs_equal_on_any_ranks() -> None:
    tsp = from_costs(np.full((15, 15), 7), "equal")
    alone = solution_bytes(solve(tsp, HostDevice(1)))
    for ranks in (2, 3, 5):
        assert all(solution_bytes(outcome) == alone for outcome in shared(tsp, ranks, Parameters(), ties=True))


@pytest.mark.parametrize("kind", ["asymmetric", "symmetric"])
def test_storage_is_divided_among_the_ranks(kind: str) -> None:
    tsp = instance(17, kind)
    whole = shared(tsp, 1, Parameters())[0].rank["stored_bytes"]
    for ranks in (2, 4):
        assert [o.rank["stored_bytes"] for o in shared(tsp, ranks, Parameters())] == [whole / ranks] * ranks


def test_ranks_without_work_idle() -> None:
    tsp = instance(9, "asymmetric")  # 8 cities: 2 top cities, 4 slices
    outcomes = shared(tsp, 6, Parameters())
    assert sorted(o.rank["operations"] for o in outcomes)[:2] == [0, 0]
    assert {o.cost for o in outcomes} == {textbook_optimum(tsp.cost)}


@pytest.mark.parametrize("kind", ["asymmetric", "symmetric", "wide"])
@pytest.mark.parametrize("n", [8, 10, 12, 14, 16, 18, 20, 21, 22, 23])
def test_device_memory_is_the_estimate(n: int, kind: str) -> None:
    """The half runs take the planned memory to the byte, the whole run no more than estimated, and all is freed."""
    tsp = instance(n, kind)
    reduced = reduce_costs(core_of(tsp, TourQuestion()).cost)
    part = Share(split_cities(n - 1), 1, 0, reduced.symmetric, reduced.itemsize)
    with HostDevice(2) as device:
        meet(reduced, part, device, SerialComm(), silent, Statistics())
        assert device.memory_peak == part.device_bytes()
        held_karp.ALGORITHM.solve(tsp, device, SerialComm(), Parameters())
        assert device.memory_peak <= plan_of(held_karp.ALGORITHM, tsp, Parameters()).device_bytes[0]
        assert device.allocated == 0


@pytest.mark.parametrize("n", [49, 1000])
def test_too_many_cities_are_refused_at_once(n: int) -> None:
    started = time.perf_counter()
    with pytest.raises(ResourceError, match=f"{n} cities are too many.*47 at most"):
        plan_of(held_karp.ALGORITHM, instance(n, "asymmetric"), Parameters(method="lattice"))
    assert time.perf_counter() - started < 2


NOT_COMPACT: dict[str, dict[str, Any]] = {
    'objective = "bottleneck"': {"objective": "bottleneck"},
    "before": {"before": [(1, 2)]},
    "position": {"position": [(1, 2)]},
    "not-position": {"not_position": [(1, 2)]},
    "count": {"count": True},
    "best": {"best": 2},
    "the precedences of the instance": {"path": "open"},
}


@pytest.mark.parametrize("other", NOT_COMPACT)
def test_compact_is_refused_for_what_it_does_not_solve(other: str, device: Device) -> None:
    tsp = instance(5, "asymmetric")
    if other == "the precedences of the instance":
        tsp = replace(tsp, precedences=((0, 1),))
    for call in (lambda: solve(tsp, device, layout="compact", **NOT_COMPACT[other]),
                 lambda: plan_of(held_karp.ALGORITHM, tsp, Parameters(layout="compact", **NOT_COMPACT[other]))):
        with pytest.raises(InputError, match=f'held-karp.layout: "compact" does not go with {other}; remove layout'):
            call()


def test_compact_keeps_to_forbidden_legs(device: Device) -> None:
    tsp, forbidden = instance(8, "asymmetric"), [(a, b) for a in range(1, 9) for b in range(1, a) if (a + b) % 3]
    planes = solve(tsp, device, forbidden=forbidden)
    assert solve(tsp, device, layout="compact", forbidden=forbidden).cost == planes.cost


def test_the_largest_size_that_fits_is_the_largest() -> None:
    tsp, lattice = instance(14, "symmetric"), Parameters(method="lattice")
    for ranks in (1, 3):
        largest = plan_of(held_karp.ALGORITHM, tsp, lattice, ranks).largest
        for gib in (0.01, 1, 139):
            size = largest([int(gib * 2**30)] * ranks)
            assert 20 < size < 45
            need = [plan_of(held_karp.ALGORITHM, instance(n, "symmetric"), lattice, ranks) for n in (size, size + 1)]
            fits = [all(a + b <= gib * 2**30 for a, b in zip(e.device_bytes, e.host_bytes)) for e in need]
            assert fits == [True, False]
