"""Every objective and constraint: the statement, the check and the lattice equal brute force.

`HPCSOLVE_ORDERS=1000` takes that many instances of each kind, to 9 cities (the default is 7, to 7 cities).
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp.lattice import run as lattice
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.orders.table import Slices
from hpcsolve.algorithms.held_karp.problem import OrderProblem, order_problem, question_without_dearer
from hpcsolve.algorithms.held_karp.statement import Parameters, TourStatement
from hpcsolve.answers.tour import NoTour
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.parallel.comm import Comm, SerialComm
from hpcsolve.problems.questions import TourQuestion, Windows, legs
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_costs
from tests.order_oracle import MISSING, OBJECTIVES, best_order, numpy_program, random_question, tours_of, values_of
from tests.thread_comm import ThreadComm, on_ranks

INSTANCES = int(os.environ.get("HPCSOLVE_ORDERS", "3"))
LARGEST = 9 if INSTANCES > 7 else 7
CONSTRAINTS = ((), ("before",), ("position",), ("not-position", "forbidden"), ("ends",), ("open", "before"),
               ("ends", "before", "not-position"), ("open", "forbidden"))
STATED = [*product(OBJECTIVES, CONSTRAINTS), *(("sum", ("windows", *constraints)) for constraints in CONSTRAINTS)]
"""What can be asked for: all of it but sums with time windows can be answered by the lattice."""


def stated(tsp: Tsp, question: TourQuestion, **keys: object) -> TourStatement:
    """Return the statement of a question, with what the keys ask for beside the best tour."""
    return TourStatement(tsp, Parameters(**keys), question)  # type: ignore[arg-type]


def best_of_statement(tsp: Tsp, question: TourQuestion) -> tuple[int, list[int]] | None:
    """Return the best of all orders by the statement, in the tour's own cities."""
    problem = order_problem(tsp, question)
    found = _best(problem)
    if question.objective == "lexicographic" and found is not None:
        question = question_without_dearer(tsp, question, found[0])
        problem = order_problem(tsp, question)
        found = _best(problem)
    return None if found is None else (found[0], problem.core.tour(found[1]).tolist())


def _best(problem: OrderProblem) -> tuple[int, list[int]] | None:
    values = [(value, order[::-1]) for order in permutations(range(problem.m))
              if (value := problem.value(order)) is not None]
    return None if not values else (min(values)[0], list(min(values)[1])[::-1])


@pytest.mark.parametrize(("objective", "constraints"), STATED)
def test_the_statement_equals_brute_force(objective: str, constraints: tuple[str, ...]) -> None:
    for seed in range(8):
        tsp, question = random_question(1 + seed % 6, seed, objective, constraints, top=9)
        assert best_of_statement(tsp, question) == best_order(tsp, question)


@pytest.mark.parametrize(("objective", "constraints"), STATED)
def test_the_check_gives_every_tour_its_value(objective: str, constraints: tuple[str, ...]) -> None:
    """A tour that breaks a constraint is refused, any other has its value by the definition."""
    for seed in range(4):
        tsp, question = random_question(2 + seed, seed, objective, constraints)
        tours = tours_of(tsp.n, question)
        plain = replace(question, objective="sum") if objective == "lexicographic" else question
        for tour, value in zip(tours, values_of(tsp, plain, tours).tolist()):
            if value == MISSING:
                with pytest.raises(ValueError, match=r"forbid|before|window|no arc"):
                    question.check(tsp, tour)
            else:
                assert question.check(tsp, tour) == value


def solved(tsp: Tsp, question: TourQuestion, device: Device, comm: Comm) -> tuple[int, list[int]] | None:
    """Return value and tour of the lattice's answer."""
    answer = orders.run(stated(tsp, question), device, comm, silent).answer
    return None if isinstance(answer, NoTour) else (answer.cost, answer.tour.tolist())


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_table_equals_brute_force(objective: str, constraints: tuple[str, ...], device: Device) -> None:
    for seed in range(INSTANCES):
        top = 9 if seed % 2 else 1000
        tsp, question = random_question(1 + seed % LARGEST, seed, objective, constraints, seed % 3 == 0, top)
        assert solved(tsp, question, device, SerialComm()) == best_order(tsp, question), (objective, constraints, seed)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_ranks_and_threads_do_not_change_the_solution(objective: str) -> None:
    """The memory is the estimate's to the byte, the messages are its too, and a rank's table is 1/R of the whole."""
    kind = (objective, ("open",) if objective == "finish" else ("open", "before"))
    tsp, question = random_question(13, 2, *kind, top=30)
    alone = solved(tsp, question, HostDevice(2), SerialComm())
    assert alone is not None and question.check(tsp, alone[1]) == alone[0]

    def work(comm: ThreadComm) -> tuple[int, list[int]] | None:
        with HostDevice(1) as device:
            answer = solved(tsp, question, device, comm)
            need = orders.plan(stated(tsp, question), comm.size)
            assert device.memory_peak == need.device_bytes[comm.rank] and device.allocated == 0
            assert comm.sent == need.bytes_sent[comm.rank]
            return answer

    for ranks in (1, 2, 3, 5):
        assert on_ranks(ranks, work) == [alone] * ranks
    tables = [[Slices(16, ranks, rank).states for rank in range(ranks)] for ranks in (1, 2, 4)]
    assert [set(shares) for shares in tables] == [{tables[0][0] // ranks} for ranks in (1, 2, 4)]


def test_ranks_without_slices_idle() -> None:
    tsp, question = random_question(5, 1, "latency")
    alone = solved(tsp, question, HostDevice(1), SerialComm())
    assert on_ranks(5, lambda comm: solved(tsp, question, HostDevice(1), comm)) == [alone] * 5


@pytest.mark.parametrize("factor", [10**9, 10**12])
@pytest.mark.parametrize("objective", ["sum", "latency", "finish"])
def test_large_costs_take_states_of_64_bits(objective: str, factor: int, device: Device) -> None:
    for seed in range(4):
        tsp, question = random_question(6, seed, objective, ("before",), top=50)
        small = best_order(tsp, question)
        large = tsp.with_costs(np.where(tsp.cost == NO_ARC, NO_ARC, np.minimum(tsp.cost, 10**5) * factor))
        if question.windows is not None:
            times = question.windows
            scaled = Windows(times.earliest * factor, times.latest * factor, times.service * factor)
            question = replace(question, windows=scaled)
        found = solved(large, question, device, SerialComm())
        assert found == (None if small is None else (small[0] * factor, small[1]))
        assert orders.plan(stated(large, question), 1).details["states"] == "64-bit"


def test_negative_costs(device: Device) -> None:
    for objective in ("sum", "latency", "bottleneck", "lexicographic"):
        for seed in range(6):
            tsp, question = random_question(6, seed, objective, ("open", "before"), top=20)
            tsp = tsp.with_costs(np.where(tsp.cost == NO_ARC, NO_ARC, tsp.cost - 15))
            assert solved(tsp, question, device, SerialComm()) == best_order(tsp, question), (objective, seed)


@pytest.mark.parametrize("objective", ["sum", "latency"])
def test_negative_costs_of_64_bits_leave_missing_arcs_missing(objective: str, device: Device) -> None:
    proven = set()
    for seed in range(12):
        tsp, question = random_question(5, seed, objective, ("before", "forbidden"), top=20)
        missing = np.random.default_rng(seed).random(tsp.cost.shape) < 0.4
        cost = np.where((tsp.cost == NO_ARC) | missing, NO_ARC, (np.minimum(tsp.cost, 20) - 15) * 10**9)
        tsp = tsp.with_costs(cost)
        expected = best_order(tsp, question)
        assert solved(tsp, question, device, SerialComm()) == expected, seed
        proven.add(expected is None)
    assert proven == {True, False}


def test_the_largest_size_that_fits_is_the_largest() -> None:
    for ranks in (1, 3):
        need = [sum(e.needed) // ranks for e in (orders.plan(stated(*random_question(n, 0, "latency")), ranks)
                                                 for n in (14, 15))]
        largest = orders.plan(stated(*random_question(10, 0, "latency")), ranks).largest
        free = max(orders.plan(stated(*random_question(14, 0, "latency")), ranks).needed)
        assert need[0] < need[1] and largest([free] * ranks) == 14 and largest([free - 1] * ranks) == 13


def test_too_many_cities_are_refused() -> None:
    tsp, question = random_question(33, 0, "latency")
    with pytest.raises(ResourceError, match=r"33 cities are too many.* 32 at most"):
        orders.plan(stated(tsp, question), 1)


def test_sums_with_time_windows_are_for_bounds_alone() -> None:
    assert not stated(*random_question(1, 0, "sum", ("windows",))).is_bounded()  # one tour, without states
    for n in (2, 9, 13):
        tsp, question = random_question(n, 0, "sum", ("windows",))
        asked = stated(tsp, question)
        assert asked.is_bounded() and not asked.plain
        with pytest.raises(InputError, match="not for time windows but with the earliest end"):
            lattice.plan(asked, 1)
        with pytest.raises(InputError, match="not for time windows but with the earliest end"):
            orders.run(asked, HostDevice(1), SerialComm(), silent)
    late = replace(question, windows=Windows(np.full(13, 5), np.full(13, 4), np.zeros(13, np.int64)))
    assert order_problem(tsp, late).value(range(12)) is None


@pytest.mark.parametrize(("windows", "most"), [((), 121), (("windows",), 248)])
def test_as_many_cities_as_a_key_has_bits(windows: tuple[str, ...], most: int) -> None:
    assert order_problem(*random_question(most + 1, 0, "sum", windows)).m == most
    with pytest.raises(ResourceError, match=f"{most + 2} cities are too many: held-karp takes at most {most + 1} here"):
        order_problem(*random_question(most + 2, 0, "sum", windows))


@pytest.mark.parametrize("constraints", CONSTRAINTS[:6])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_best_and_the_number_of_optimal_tours(objective: str, constraints: tuple[str, ...], device: Device) -> None:
    """Few different costs, so that many tours are equal. They come in the order of their values, then backwards."""
    for seed in range(4):
        tsp, question = random_question(3 + seed, seed, objective, constraints, top=3)
        tours = tours_of(tsp.n, question)
        values = values_of(tsp, question, tours)
        ranked = [(value, tour) for value, _, tour in
                  sorted((value, tour[::-1], tour) for value, tour in zip(values.tolist(), tours.tolist()))
                  if value < MISSING]
        run = orders.run(stated(tsp, question, count=True, best=40), device, SerialComm(), silent)
        answer = run.answer
        if not ranked:
            assert answer == NoTour(True)
            continue
        assert answer.optimal_tours == sum(value == ranked[0][0] for value, _ in ranked)
        found = zip(answer.best_costs.tolist(), answer.best_tours.reshape(-1, tsp.n).tolist())
        assert list(found) == ranked[:40]
        assert answer.check(tsp, question).passed


def best_through(tsp: Tsp, question: TourQuestion) -> list[tuple[int, int, int]]:
    """Return tail, head and least value of a tour, by brute force, for each arc that a tour uses."""
    tours = tours_of(tsp.n, question)
    values = values_of(tsp, question, tours)
    count = legs(tsp.n, question.path)
    least = np.full((tsp.n, tsp.n), MISSING)
    np.minimum.at(least, (tours[:, :count], np.roll(tours, -1, axis=1)[:, :count]), values[:, None])
    return [(a, b, int(least[a, b])) for a, b in np.argwhere(least < MISSING).tolist()]


def through_arcs(tsp: Tsp, question: TourQuestion, device: Device, comm: Comm) -> list[tuple[int, int, int]]:
    """Return the same as `best_through`, from the tables, after the answer's own check."""
    answer = orders.run(stated(tsp, question, best=3, arcs=True), device, comm, silent).answer
    if isinstance(answer, NoTour):
        return []
    assert answer.check(tsp, question).passed
    return list(zip(answer.arc_tails.tolist(), answer.arc_heads.tolist(), answer.arc_costs.tolist()))


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("objective", OBJECTIVES[:5])
def test_the_best_tour_through_each_arc(objective: str, constraints: tuple[str, ...], device: Device) -> None:
    """The long form takes 100 instances of each kind with `HPCSOLVE_ORDERS=1000`."""
    for seed in range(max(3, INSTANCES // 10)):
        top = 9 if seed % 2 else 1000
        tsp, question = random_question(1 + (seed + 3) % 7, seed, objective, constraints, seed % 3 == 0, top)
        expected = best_through(tsp, question)
        assert through_arcs(tsp, question, device, SerialComm()) == expected, (objective, constraints, seed)


@pytest.mark.parametrize("objective", OBJECTIVES[:5])
def test_ranks_and_threads_do_not_change_the_arcs(objective: str) -> None:
    """With negative costs, and with costs that need 64 bits. Memory and messages are the estimate's to the byte."""
    for factor in (1, 10**9):
        tsp, question = random_question(8, 2, objective, ("open", "before"), top=50)
        tsp = tsp.with_costs(np.where(tsp.cost == NO_ARC, NO_ARC, (tsp.cost - 20) * factor))
        expected = best_through(tsp, question)
        assert expected

        def work(comm: ThreadComm) -> list[tuple[int, int, int]]:
            with HostDevice(1 + comm.rank % 2) as device:
                found = through_arcs(tsp, question, device, comm)  # noqa: B023
                need = orders.plan(stated(tsp, question, arcs=True), comm.size)  # noqa: B023
                assert device.memory_peak == need.device_bytes[comm.rank] and device.allocated == 0
                assert comm.sent == need.bytes_sent[comm.rank]
                return found

        for ranks in (1, 2, 3, 4):
            assert on_ranks(ranks, work) == [expected] * ranks


def test_wrong_arcs_are_found() -> None:
    tsp, question = random_question(6, 1, "sum")
    run = orders.run(stated(tsp, question, arcs=True), HostDevice(1), SerialComm(), silent)
    answer = run.answer
    on_tour = int(np.argmin(answer.arc_costs))
    dearer, cheaper = answer.arc_costs.copy(), answer.arc_costs.copy()
    dearer[on_tour] += 1
    cheaper[-1] = answer.cost - 1
    for wrong, message in (({"arc_costs": dearer}, "uses the arc"), ({"arc_costs": cheaper}, "less than the best"),
                           ({"arc_heads": answer.arc_heads[::-1].copy()}, "not different pairs"),
                           ({"arc_tails": answer.arc_tails[1:]}, "not equally many")):
        verdict = replace(answer, **wrong).check(tsp, question)
        assert not verdict.passed and message in verdict.reason, (message, verdict)


def test_the_number_of_tours_saturates(device: Device) -> None:
    tsp = from_costs(np.ones((8, 8), np.int64), "equal")
    for most, number in ((2**64 - 1, 5040), (100, 100)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hpcsolve.algorithms.held_karp.orders.states.MOST_COUNTED", most)
            run = orders.run(stated(tsp, TourQuestion(), count=True), device, SerialComm(), silent)
            assert run.answer.optimal_tours == number


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_equals_a_plain_numpy_program(objective: str, device: Device) -> None:
    """Up to 14 cities with `HPCSOLVE_ORDERS`, else up to 11. The program agrees with brute force where both can."""
    found = []
    for number, constraints in enumerate(CONSTRAINTS * (2 if INSTANCES > 7 else 1)):
        small = random_question(6, number, objective, constraints)
        best = best_order(*small)
        assert numpy_program(*small) == (None if best is None else best[0]), (objective, constraints)
        tsp, question = random_question(14 if INSTANCES > 7 else 10 + number % 2, number, objective, constraints)
        value = solved(tsp, question, device, SerialComm())
        assert (None if value is None else value[0]) == numpy_program(tsp, question), (objective, constraints)
        found.append(value)
    assert len([value for value in found if value is not None]) >= 3
