"""Bounded Held-Karp: proofs equal all orders and the lattice, down to the tour that is chosen among equally good ones.

The long form has 200 instances of 18 to 22 cities of each kind: HPCSOLVE_ORDERS=200 python -m pytest -k lattice.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from hpcsolve.algorithms import ant_colony, held_karp
from hpcsolve.algorithms.base import StopCriteria, silent
from hpcsolve.algorithms.held_karp import solve, statement
from hpcsolve.algorithms.held_karp.bounded import devices
from hpcsolve.algorithms.held_karp.bounded import run as bounded
from hpcsolve.algorithms.held_karp.bounded.devices import Devices
from hpcsolve.algorithms.held_karp.bounded.places import of_orders, place_costs, potentials
from hpcsolve.algorithms.held_karp.bounded.prove import Proof, Prover, Watch
from hpcsolve.algorithms.held_karp.bounded.relaxation import NO_PATH
from hpcsolve.algorithms.held_karp.bounded.search import Budget, budget_of
from hpcsolve.algorithms.held_karp.bounded.tighten import Tightener, good_order
from hpcsolve.algorithms.held_karp.lattice import run as lattice
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.problem import order_problem
from hpcsolve.algorithms.held_karp.statement import TourStatement
from hpcsolve.answers.tour import Tour
from hpcsolve.checkpoint.checkpoints import Checkpoints
from hpcsolve.checkpoint.store import State
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.problems.generate.tsp import random_matrix
from hpcsolve.problems.questions import TourQuestion, check_tour
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_costs
from hpcsolve.runner.memory import RankMemory, that_fits
from jobs.benchmarks.gpu.record import recording
from tests.order_oracle import best_order, random_question
from tests.solvers import plan_of
from tests.thread_comm import on_ranks

COUNT = int(os.environ.get("HPCSOLVE_ORDERS", "0"))
"""Instances of each kind in the long form."""
CONSTRAINTS = ((), ("before",), ("position", "not-position"), ("ends", "forbidden"), ("open", "before"))
MORE_CONSTRAINTS = (*CONSTRAINTS, ("position",), ("not-position", "forbidden"), ("ends", "before"),
                    ("open", "forbidden"), ("ends", "before", "not-position"))
SHORT = (5, 6)
"""Levels that are enough for small problems."""


def prove(tsp: Tsp, question: TourQuestion, device: Device, comm: Comm | None = None, states: int = 10**6,
          levels: tuple[int, ...] = SHORT) -> tuple[Proof, list[int] | None]:
    """Return the proof, and the tour in the instance's cities."""
    problem = order_problem(tsp, question)
    budget = Budget(states, 10**6)
    prover = Prover(of_orders(problem), device, comm or SerialComm(), budget, levels=levels)
    proof = prover.run()
    return proof, None if proof.order is None else problem.core.tour(proof.order).tolist()


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("objective", ["sum", "latency", "position"])
def test_proofs_equal_all_orders(objective: str, constraints: tuple[str, ...], device: Device) -> None:
    for seed in range(3):
        tsp, question = random_question(8 - seed % 2, 2 * seed, objective, constraints, top=6 if seed else 1000)
        expected = best_order(tsp, question)
        proof, tour = prove(tsp, question, device)
        assert proof.optimal
        assert proof.value == (None if expected is None else expected[0])
        assert tour == (None if expected is None else expected[1])


def random_costs(n: int, seed: int) -> Tsp:
    """Return an instance with many equally good tours, symmetric or not, perhaps without some arcs."""
    rng = np.random.default_rng([n, seed])
    cost = rng.integers(-2 if seed % 7 == 0 else 0, [2, 3, 5, 1000][seed % 4], (n, n))
    cost[rng.random((n, n)) < (0.35 if seed % 5 == 0 else 0)] = NO_ARC
    return from_costs(np.minimum(cost, cost.T) if seed % 2 else cost, f"random-{n}-{seed}")


def same_as_the_lattice(tsp: Tsp, path: str, device: Device, levels: tuple[int, ...] = SHORT) -> None:
    parameters = held_karp.Parameters(path=path)
    answer = held_karp.ALGORITHM.solve(tsp, device, SerialComm(), parameters).answer
    proof, tour = prove(tsp, TourQuestion(path), device, levels=levels)
    assert proof.optimal
    assert (proof.value, tour) == ((answer.cost, answer.tour.tolist()) if isinstance(answer, Tour) else (None, None))


@pytest.mark.parametrize("seed", range(12))
def test_the_tour_is_the_one_of_the_lattice(seed: int, device: Device) -> None:
    same_as_the_lattice(random_costs(8 + seed % 6, seed), "open" if seed % 3 == 0 else "cycle", device)


@pytest.mark.timeout(0)
@pytest.mark.skipif(not COUNT, reason="the long form: HPCSOLVE_ORDERS=200")
@pytest.mark.parametrize("symmetric", [False, True])
def test_long_as_the_lattice(symmetric: bool, device: Device) -> None:
    for seed in range(COUNT):
        rng = np.random.default_rng([seed, symmetric])
        n = 18 + seed % 5
        cost = rng.integers(0, [30, 1000][seed % 2], (n, n))
        tsp = from_costs(np.minimum(cost, cost.T) if symmetric else cost, f"random-{n}-{seed}")
        same_as_the_lattice(tsp, "open" if seed % 3 == 0 else "cycle", device, (6, 8))


@pytest.mark.timeout(0)
@pytest.mark.skipif(not COUNT, reason="the long form: HPCSOLVE_ORDERS=200")
@pytest.mark.parametrize("constraints", MORE_CONSTRAINTS)
@pytest.mark.parametrize("objective", ["sum", "latency", "position"])
def test_long_other_kinds_as_the_lattice(objective: str, constraints: tuple[str, ...], device: Device) -> None:
    for seed in range(COUNT):
        tsp, question = random_question(18 + seed % 5, 2 * seed, objective, constraints, bool(seed % 3), 50)
        answer = orders.run(TourStatement(tsp, held_karp.Parameters(), question), device, SerialComm(), silent).answer
        proof, tour = prove(tsp, question, device, levels=(6, 8))
        found = (answer.cost, answer.tour.tolist()) if isinstance(answer, Tour) else (None, None)
        assert proof.optimal and (proof.value, tour) == found, seed


def test_auto_takes_the_lattice_for_few_cities() -> None:
    for objective, most in (("sum", 28), ("latency", 20)):
        parameters = held_karp.Parameters(objective=objective)
        few, many = (held_karp.ALGORITHM.statement(random_costs(n, 1), parameters) for n in (most, most + 1))
        assert (few.is_bounded(), many.is_bounded()) == (False, True)


ON_A_GPU = DeviceInfo("cuda", "", "", "", 132)
OF_A_GPU = int(0.97 * 139 * 2**30)
"""Usable bytes of an H200."""


def test_auto_takes_the_lattice_on_a_gpu_as_far_as_its_memory_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is 34 cities, asymmetric. Where the lattice refuses the costs or the cities, bounds solve them."""
    solver, parameters = held_karp.ALGORITHM, held_karp.Parameters()
    assert [plan_of(solver, random_matrix(n), parameters, 1, ON_A_GPU).method for n in (29, 46, 47)] == [
        "lattice", "lattice", "bounded"]
    for n, method in ((34, "lattice"), (35, "bounded")):
        memory = RankMemory("host", "cuda", "", 2**50, 2**50, OF_A_GPU)
        chosen = that_fits(plan_of(solver, random_matrix(n), parameters, 1, ON_A_GPU), [memory])
        assert chosen.method == method and chosen.note == (
            "" if n == 34 else 'method: bounded, because the table of "lattice" does not fit in the memory')
    need = plan_of(solver, random_matrix(30), parameters, 2, ON_A_GPU)
    for spare, method in ((0, "lattice"), (-1, "bounded")):
        memories = [RankMemory(host, "cuda", "", 2**50, 2**50, need.device_bytes[rank] + (spare if rank else 0))
                    for rank, host in enumerate(("a", "b"))]
        assert that_fits(need, memories).method == method
    other = held_karp.Parameters(objective="latency")
    assert [plan_of(solver, random_matrix(n), other, 1, ON_A_GPU).method for n in (20, 21)] == ["lattice", "bounded"]
    stopped = StopCriteria(seconds=9)
    assert solver.plan(solver.statement(random_matrix(30), parameters), 1, ON_A_GPU, stopped).method == "bounded"

    def refuse(*_: object) -> None:
        raise InputError("the costs do not fit")

    monkeypatch.setattr(lattice, "plan", refuse)
    assert plan_of(solver, random_matrix(29), parameters, 1, ON_A_GPU).method == "bounded"
    with pytest.raises(InputError, match="do not fit"):
        plan_of(solver, random_matrix(28), parameters, 1, ON_A_GPU)


@pytest.mark.parametrize("symmetric", [False, True])
def test_both_methods_of_auto_return_the_same_tour(symmetric: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU by the lattice, or if that does not fit by bounds as on a CPU. Many tours are equally good."""
    monkeypatch.setattr(statement, "LATTICE_CITIES", 12)
    tsp, found = random_matrix(13, seed=4, high=9, symmetric=symmetric), []
    for kind, most in ((HostDevice, 2**40), (Gpu, 2**40), (Gpu, 2**10)):
        monkeypatch.setattr(solve, "memory_for_rank", lambda device, comm, most=most: most)
        with kind(threads=1) as device:
            outcome = held_karp.ALGORITHM.solve(tsp, device, SerialComm(), held_karp.Parameters())
        assert ("mid_cities" in outcome.groups["layers"]) == (kind is Gpu and most > 2**10)
        found.append((outcome.answer.cost, outcome.answer.tour.tolist(), outcome.answer.optimal))
    assert found[0] == found[1] == found[2] and found[0][2]


@pytest.mark.parametrize("parameters", [held_karp.Parameters(), held_karp.Parameters(objective="latency")])
def test_auto_takes_bounds_where_the_lattice_does_not_fit(
        parameters: held_karp.Parameters, device: Device) -> None:
    """The answer is the same. The runner checks the memory of the method that is taken."""
    tsp = random_costs(14, 3)
    expected = held_karp.ALGORITHM.solve(tsp, device, SerialComm(), parameters).answer
    need = plan_of(held_karp.ALGORITHM, tsp, parameters)
    assert need.otherwise is not None
    free = max(need.needed) - 1
    memory = RankMemory("host", "cpu", "", free, free, free)
    assert that_fits(need, [memory]) is need.otherwise
    assert that_fits(need, [replace(memory, host_free=free + 1, process_free=free + 1, device_free=free + 1)]) is need
    assert "does not fit" in need.otherwise.note
    stated = held_karp.ALGORITHM.statement(tsp, parameters)
    answer = held_karp.ALGORITHM.run(stated, device, SerialComm(), method=need.otherwise.method).answer
    assert (answer.cost, answer.tour.tolist()) == (expected.cost, expected.tour.tolist()) and answer.optimal


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_ranks_and_threads_change_nothing(ranks: int) -> None:
    for seed, objective in enumerate(("sum", "latency", "position")):
        tsp, question = random_question(11, 2 * seed, objective, ("before",) if seed == 1 else (), top=20)
        with HostDevice(threads=1) as device:
            expected, tour = prove(tsp, question, device)

        def rank(comm: Comm) -> tuple[Proof, list[int] | None]:
            with HostDevice(threads=1 + comm.rank % 2) as device:
                return prove(tsp, question, device, comm)  # noqa: B023

        for proof, its_tour in on_ranks(ranks, rank):
            assert (proof.value, its_tour, proof.states) == (expected.value, tour, expected.states)


class Gpu(HostDevice):
    """CPU cores that say they are a GPU."""

    def __post_init__(self) -> None:
        """Describe the GPU."""
        super().__post_init__()
        self.info = replace(self.info, kind="cuda", units=132)


@pytest.mark.parametrize(("small", "words", "most"), [
    (devices.SMALL, ["the host's cores", "the host's cores"], 0),
    (7000, ["the host's cores", "the GPU"], 1750),
    (-1, ["the GPU", "the GPU"], 6100),
])
def test_a_gpu_has_the_large_tables_alone(
    small: int, words: list[str], most: int, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And launches few kernels, with the same result, also if the other rank has no GPU and chooses otherwise."""
    monkeypatch.setattr(devices, "SMALL", small)
    tsp = random_matrix(22, seed=5, symmetric=True)
    with HostDevice(threads=1) as device:
        expected, expected_tour = prove(tsp, TourQuestion("cycle"), device, levels=(5, 9))

    def rank(comm: Comm) -> tuple[Proof, list[str], int]:
        with Gpu(threads=1) if comm.rank == 0 else HostDevice(threads=1) as device, recording(device) as launches:
            problem, lines = order_problem(tsp, TourQuestion("cycle")), list[str]()
            prover = Prover(of_orders(problem), device, comm, Budget(10**6, 10**6), levels=(5, 9), note=lines.append)
            proof = prover.run()
            assert proof.order is not None and problem.core.tour(proof.order).tolist() == expected_tour
            return proof, [line[: line.index(":")] for line in lines if " slots" in line], len(launches)

    for ranks in (1, 2):
        found = on_ranks(ranks, rank)
        assert all((proof.value, proof.states) == (expected.value, expected.states) for proof, _, _ in found)
        assert found[0][1] == [f"{count} slots on {where}" for count, where in zip((5, 9), words, strict=True)]
        assert most * 9 // 10 <= found[0][2] <= most


def test_the_memory_of_a_rank_is_its_share() -> None:
    """By the program's own count. The widest layer has 400,000 states, since small buckets have spare room."""
    problem = place_costs(np.random.default_rng(3).integers(1, 1001, (27, 27, 27)))

    def state_bytes(comm: Comm) -> int:
        with HostDevice(threads=1) as device:
            prover = Prover(problem, device, comm, Budget(10**8, 10**7), levels=(5,), rounds=10, width=10**7)
            assert prover.run().optimal and max(prover.last.kept) > 400_000
            return prover.state_bytes

    whole = on_ranks(1, state_bytes)[0]
    for ranks in (2, 4):
        assert all(0.9 * whole < ranks * share < 1.1 * whole for share in on_ranks(ranks, state_bytes))


def test_a_search_keeps_to_its_memory() -> None:
    """With all that a layer takes while it is made: arrays as tracemalloc counts them, and memory of the device.

    The bounds are weak, so that a state has many extensions.
    """
    problem, nbytes = place_costs(np.random.default_rng(3).integers(1, 1001, (36, 36, 36))), 32 << 20
    with HostDevice(threads=1) as device:
        prover = Prover(problem, device, SerialComm(), budget_of(nbytes, 1, 1), levels=(5,), rounds=1,
                        width=10**7)
        tracemalloc.start()
        try:
            assert prover.run().capped
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert nbytes // 2 < peak + prover.scratch.nbytes < nbytes


@pytest.mark.parametrize("ranks", [1, 3])
def test_too_few_states_leave_valid_bounds(ranks: int) -> None:
    """bound <= optimum <= value, and the same on any number of ranks."""
    open_ends = 0
    for seed in range(4):
        tsp, question = random_question(12, 2 * seed, "position", (), top=50)

        def rank(comm: Comm, states: int = 20) -> Proof:
            with HostDevice(threads=1) as device:
                return prove(tsp, question, device, comm, states, (5,))[0]  # noqa: B023

        whole, capped = rank(SerialComm(), 10**6), on_ranks(ranks, rank)
        alone = rank(SerialComm())
        for proof in capped:
            assert whole.value is not None and proof.value is not None
            assert proof.lower <= whole.value <= proof.value
            assert proof.optimal == (proof.lower == proof.value)
            assert (proof.lower, proof.value, proof.order) == (alone.lower, alone.value, alone.order)
        open_ends += not capped[0].optimal
    assert open_ends > 0


def test_a_cap_that_is_too_small_leaves_a_valid_bound_and_order(device: Device) -> None:
    """bound <= optimum <= cost, of whole runs. The long form: HPCSOLVE_ORDERS=50 python -m pytest -k cap."""
    unproven = []
    for seed in range(COUNT or 4):
        objective, constraints = ("position", "sum", "latency")[seed % 3], CONSTRAINTS[(0, 3, 4)[seed // 3 % 3]]
        tsp, question = random_question(17 + seed % 2, 2 * seed, objective, constraints, top=50)
        problem, cap = order_problem(tsp, question), StopCriteria(memory=240)
        best = orders.run(TourStatement(tsp, held_karp.Parameters(), question), device, SerialComm(), silent).answer
        outcome, proof = bounded.run(tsp, problem, device, SerialComm(), silent, cap)
        answer = outcome.answer
        assert question.check(tsp, answer.tour.tolist()) == answer.cost >= best.cost, seed
        assert answer.optimal == (answer.lower_bound is None)
        assert sum(proof.last.kept) <= 240 // 24 + problem.m  # a layer has at least one
        if answer.optimal:
            assert answer.cost == best.cost
        else:
            assert answer.lower_bound <= best.cost and "memory" in outcome.ended, seed
            unproven.append(seed)
    assert len(unproven) >= (COUNT or 4) // 5
    device.notes.clear()


def test_a_search_that_drops_no_best_order_is_the_proof(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds a better order, and what it dropped is dearer. The tour is that of the lattice nevertheless."""
    monkeypatch.setattr("hpcsolve.algorithms.held_karp.bounded.prove.BEAM", 1)
    narrow = 0
    for seed in range(12):
        tsp, question = random_question(13, 2 * seed, "position", top=9)
        problem = order_problem(tsp, question)
        prover = Prover(of_orders(problem), device, SerialComm(), Budget(10**6, 10**6), levels=(5,), rounds=2,
                        width=16)
        proof = prover.run()
        answer = orders.run(TourStatement(tsp, held_karp.Parameters(), question), device, SerialComm(), silent).answer
        assert proof.order is not None and proof.optimal
        assert (proof.value, problem.core.tour(proof.order).tolist()) == (answer.cost, answer.tour.tolist()), seed
        narrow += proof.last.dropped < NO_PATH
    assert narrow > 0


def test_the_last_search_leaves_no_layers_in_a_checkpoint(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """They lack the states of orders as good as the incumbent, so a run that goes on must not take them for a proof."""
    saved: dict[bool, set[int]] = {False: set(), True: set()}  # layers of a state, before the last search and in it
    margins = []

    class Recorder(Watch):
        def goes_on(self, upper: int | None, state: Callable[[], State] | None = None,
                    nbytes: Callable[[], int] = lambda: 0) -> bool:
            if state is not None:
                saved[bool(margins)].add(int(state().numbers["layers"]))
            return super().goes_on(upper, state, nbytes)

    limit = Tightener.limit
    monkeypatch.setattr(Tightener, "limit", lambda own, margin=0: margins.extend([1] * margin) or limit(own, margin))
    problem = place_costs(np.random.default_rng(0).integers(0, 4, (15, 15, 15)))
    Prover(problem, device, SerialComm(), Budget(600, 1 << 16), watch=Recorder(SerialComm()), levels=(5,),
           rounds=5).run()
    assert max(saved[False]) > 1 and saved[True] == {0}


def test_edge_assembly_finds_a_good_order_with_dual_values(device: Device) -> None:
    tsp = random_matrix(90, seed=3)
    problem = order_problem(tsp, TourQuestion("cycle"))
    values = potentials(problem)
    found = good_order(problem, values, Devices(device), 1)
    assert found is not None and values is not None and values.bound <= found[0]
    parameters, stop = ant_colony.Parameters(bound=False), StopCriteria(iterations=500)
    plain = ant_colony.ALGORITHM.solve(tsp, device, SerialComm(), parameters, silent, stop, 1).answer
    assert check_tour(tsp, problem.core.tour(found[1])) == found[0] <= plain.cost


@pytest.mark.parametrize(("looks", "levels"), [(1, []), (9, [1])])
def test_an_interruption_in_the_bounds_ends_them_soon(looks: int, levels: list[int], device: Device) -> None:
    """In the first level without a checkpoint, later with the state before the level, from which the proof goes on."""
    tsp = random_matrix(40, seed=2, symmetric=True)
    problem = order_problem(tsp, TourQuestion("cycle"))
    saved: list[State] = []
    looked = 0

    def interrupted() -> bool:
        nonlocal looked
        looked += 1
        return looked >= looks

    class Kept(Checkpoints):
        def save(self, state: State, last: bool) -> None:
            saved.append(state)

    watch = Watch(SerialComm(), Kept(interrupted))
    prover = Prover(of_orders(problem), device, SerialComm(), Budget(10**6, 10**6), watch=watch, levels=(5, 6),
                    rounds=20)
    proof = prover.run()
    assert watch.ended.startswith("interrupted") and not watch.complete and looked == looks
    assert proof.order is not None and check_tour(tsp, problem.core.tour(proof.order)) == proof.value
    assert [state.numbers["level"] for state in saved] == levels


@pytest.mark.parametrize("m", [58, 59])
def test_both_widths_of_keys_prove(m: int, device: Device) -> None:
    """A key of one word is too narrow for 59 cities. Here arcs of the best tour cost 0, all others 1."""
    n = m + 1
    order = np.random.default_rng(m).permutation(n)
    cost = np.ones((n, n), np.int64)
    cost[order, np.roll(order, -1)] = 0
    cost[order[:2], order[2:4]] = 0
    proof, tour = prove(from_costs(cost, f"ring-{n}"), TourQuestion("cycle"), device)
    assert proof.optimal and proof.value == 0 and tour is not None
    start = int(np.flatnonzero(order == 0)[0])
    assert tour == np.roll(order, -start).tolist()


@pytest.mark.parametrize("symmetric", [True, False])
def test_values_of_cities_reduce_all_tours_alike_and_prove_a_bound(symmetric: bool) -> None:
    tsp, rng = random_matrix(22, seed=7, low=-50, high=900, symmetric=symmetric), np.random.default_rng(1)
    problem = order_problem(tsp, TourQuestion("cycle"))
    values = potentials(problem)
    assert values is not None
    whole = problem.cost[0].copy()
    np.fill_diagonal(whole, NO_ARC)
    reduced = values.reduced(whole)
    assert reduced[~np.eye(22, dtype=bool)].min() == 0 and (np.diag(reduced) == NO_ARC).all()
    tours = [rng.permutation(22) for _ in range(5)]
    differences = {int(reduced[t, np.roll(t, -1)].sum() - values.unit * whole[t, np.roll(t, -1)].sum()) for t in tours}
    assert len(differences) == 1
    with HostDevice(2) as device:
        best = held_karp.ALGORITHM.solve(tsp, device, SerialComm(), held_karp.Parameters(method="lattice")).answer.cost
    assert 0.8 * best < values.bound <= best


def test_there_are_no_values_for_other_problems() -> None:
    tsp = random_matrix(22, seed=7)
    assert potentials(order_problem(tsp, TourQuestion("cycle", objective="latency"))) is None
    assert potentials(order_problem(tsp, TourQuestion("cycle", forbidden=((1, 2),)))) is None
    assert potentials(order_problem(random_matrix(19), TourQuestion("cycle"))) is None
    assert potentials(order_problem(from_costs(tsp.cost * 2**32, "far"), TourQuestion("cycle"))) is None
