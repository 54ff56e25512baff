"""Launches the kernels of objectives and constraints on tiny inputs, and compares with brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp import ALGORITHM
from hpcsolve.algorithms.held_karp.bounded.search import Budget
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.orders.states import encode
from hpcsolve.algorithms.held_karp.orders.table import Slices, Table
from hpcsolve.algorithms.held_karp.prizes.curve import selection
from hpcsolve.algorithms.held_karp.prizes.states import ByStates
from hpcsolve.algorithms.held_karp.prizes.table import ByTable
from hpcsolve.algorithms.held_karp.problem import order_problem
from hpcsolve.algorithms.held_karp.statement import Parameters, TourStatement
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.rounding import Costs
from hpcsolve.problems.tsp import NO_ARC, TspBatch, part_of_costs
from tests.order_oracle import best_order, random_question


def order_tables(device: Device) -> None:
    """Every kernel that fills a table or joins two, then those for messages and reads."""
    for seed, objective, factor in ((1, "latency", 1), (2, "sum", 10**9), (2, "position", 1), (1, "bottleneck", 1),
                                    (3, "finish", 1)):
        tsp, question = random_question(5, seed, objective, ("open", "before"))
        tsp = tsp.with_costs(np.where(tsp.cost == NO_ARC, NO_ARC, tsp.cost * factor))
        stated = TourStatement(tsp, Parameters(arcs=objective != "finish"), question)
        answer = orders.run(stated, device, SerialComm(), silent).answer
        best = best_order(tsp, question)
        assert (getattr(answer, "cost", None) == best[0] if best else answer.infeasible), (objective, answer, best)
        assert best is None or objective == "finish" or answer.arc_costs.min() == best[0]
    costs = np.stack([random_question(5, seed, "sum")[0].cost for seed in range(3)])
    some = TspBatch("batch", (part_of_costs(Costs(costs, 1), "batch"),))
    answer = ALGORITHM.solve(some, device, SerialComm(), Parameters()).answer
    best = [best_order(some.instance(number), TourQuestion()) for number in range(3)]
    assert [(c, t) for c, t in zip(answer.costs.tolist(), answer.tours.reshape(3, 5).tolist())] == best, (answer, best)
    pack(device, 1)
    pack(device, 10**9)


def tours_with_prizes(device: Device) -> None:
    """The table of all states, with values of both widths, and layers of states with keys of each width."""
    tsp, question = random_question(6, 1, "sum", ("open",))
    asked = selection(tsp, replace(question, objective="prize", prizes=np.array([3, 1, 4, 1, 5, 9])))
    expected = ByTable(asked, device, SerialComm(), silent).run()
    assert len(expected) > 3 and expected[-1][0] == 23
    cost = asked.problem.cost
    far = replace(asked.problem, cost=np.where(cost == NO_ARC, NO_ARC, cost * 10**9))
    found = ByTable(replace(asked, problem=far), device, SerialComm(), silent).run()
    assert [(prize, end // 10**9, order) for prize, end, order in found] == expected
    for words in (1, 2, 4):
        assert ByStates(asked, device, SerialComm(), Budget(1000, 1000), silent, words, (2,)).run() == expected


def pack(device: Device, factor: int) -> None:
    """Pack the values that one of two ranks sends before layer 1: the costs from the depot to its top cities."""
    tsp, question = random_question(7, 1, "sum", ("before",))
    tsp = tsp.with_costs(np.where(tsp.cost == NO_ARC, NO_ARC, tsp.cost * factor))
    encoded = encode(order_problem(tsp, replace(question, precedences=((0, 1),))))
    slices = Slices(encoded.m, 2, 0)
    with Table(encoded, slices, device, SerialComm()) as table:
        table.buffers["table"].upload(np.arange(slices.states).astype(encoded.dtype))
        first, outgoing = slices.leaving(1)
        table.pack(1, first)
        packed = table.buffers["leaving"].download()[: outgoing[-1].first + outgoing[-1].count]
        plane = slices.pairs << slices.low
        wanted = [(slices.low + i) * plane for a, i in np.argwhere(first >= 0).tolist() if a == 0]
        assert sorted(packed.tolist())[: len(wanted)] == sorted(wanted), (packed, wanted)
