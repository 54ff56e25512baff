"""A job's calls: `plan` and `run` of a tour that may leave cities out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from math import comb
from typing import Any

import numpy as np

from hpcsolve.algorithms.base import WITHOUT_WORK, Outcome, Plan, Report
from hpcsolve.algorithms.held_karp.bounded.layers import FILE as LAYER_FILE
from hpcsolve.algorithms.held_karp.bounded.layers import key_words
from hpcsolve.algorithms.held_karp.bounded.relaxation import NO_PATH
from hpcsolve.algorithms.held_karp.bounded.search import budget_of, state_bytes
from hpcsolve.algorithms.held_karp.orders import run as orders
from hpcsolve.algorithms.held_karp.orders.states import encode
from hpcsolve.algorithms.held_karp.orders.table import CHUNK, Slices
from hpcsolve.algorithms.held_karp.outcome import layers_table, rank_group
from hpcsolve.algorithms.held_karp.prizes.curve import Selection, selection
from hpcsolve.algorithms.held_karp.prizes.states import FILE as PRIZE_FILE
from hpcsolve.algorithms.held_karp.prizes.states import ByStates, latest_end
from hpcsolve.algorithms.held_karp.prizes.table import ByTable
from hpcsolve.algorithms.held_karp.problem import MOST_INNER_CITIES_WITH_WINDOWS
from hpcsolve.algorithms.held_karp.statement import TourStatement
from hpcsolve.answers.tour import NoTour, Tour
from hpcsolve.device.base import Device
from hpcsolve.device.select import memory_for_rank
from hpcsolve.errors import InputError
from hpcsolve.memory import available_memory
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.tsp import NO_ARC, Tsp

FILES = (orders.FILE, LAYER_FILE, PRIZE_FILE)
SHARE = 0.8
"""Share of the free memory that states may take."""
HOST_BYTES = 60
"""Host memory for each set of the largest layer, with its prize and end, while they are taken in."""
MOST_TIME = NO_PATH // 2
"""The latest end of an order, for layers of states. Twice that fits the kernels."""


def plan_by_table(stated: TourStatement, ranks: int) -> Plan:
    """Return what a run with the table of all states needs. Raises as `orders.run.plan`."""
    plan = orders.plan(stated, ranks)
    if stated.orders.m == 0:
        return plan
    itemsize = encode(stated.orders).itemsize
    sets = [Slices(stated.orders.m, ranks, rank).largest_layer * CHUNK for rank in range(ranks)]
    return replace(plan, device_bytes=tuple(a + b * (4 + itemsize) for a, b in zip(plan.device_bytes, sets)),
                   host_bytes=tuple(a + b * HOST_BYTES for a, b in zip(plan.host_bytes, sets)))


def plan_by_states(stated: TourStatement, ranks: int) -> Plan:
    """Return what a run by layers needs beside its states, whose number cannot be foreseen.

    Raises
    ------
    InputError
        The values do not fit 32 bits.
    """
    require_small(stated.problem, selection(stated.problem, stated.question))
    m, ends = stated.orders.m, stated.problem.n - stated.orders.m
    table = 64 * (m + 1) ** 2 + 4096
    details: dict[str, int | str] = {
        "method": "bounded: how many states remain cannot be foreseen",
        "states": f"at most {SHARE:.0%} of the free memory of each rank", WITHOUT_WORK: 0,
    }
    return Plan((table,) * ranks, (table,) * ranks, m * m << min(m, 60), "extensions of states, at most",
                (0,) * ranks, details, lambda free: MOST_INNER_CITIES_WITH_WINDOWS + ends)


def require_small(tsp: Tsp, asked: Selection) -> None:
    """Raise `InputError` if values are too large for layers of states."""
    if latest_end(asked) > MOST_TIME:
        dearest = int(tsp.cost[tsp.cost != NO_ARC].max(initial=0))  # the costs of all cities must fit too
        largest = max(latest_end(asked), dearest * (tsp.n + 1))
        unit = Decimal(10) ** len(str(largest // MOST_TIME)) / tsp.scale
        raise InputError('held-karp.objective: "prize" by layers of states needs ends below 2^30 in exact integers; '
                         f"round costs and times: set round to {float(unit):g}")


def run(stated: TourStatement, by_states: bool, device: Device, comm: Comm, report: Report) -> Outcome:
    """Return the tour of most prize, or the whole curve, with a proof. Collective."""
    question, problem = stated.question, stated.orders
    asked = selection(stated.problem, question)
    tables: Mapping[str, Any] = {}
    rank: Mapping[str, float | int] = {}
    if problem.m == 0:
        points = [] if asked.nothing is None else [(0, asked.nothing, list[int]())]
    elif by_states:
        require_small(stated.problem, asked)
        words, free = key_words(problem.m), min(memory_for_rank(device, comm), available_memory() // comm.local_size)
        budget = budget_of(int(SHARE * min(comm.allgather(free))), words, comm.size)
        found = ByStates(asked, device, comm, budget, report)
        points, last = found.run(), found.last
        tables = {"layers": layers_table(
            comm, last.kept, state_bytes(words, labels=False), last.seconds, last.bytes_sent,
            cities=np.arange(1, len(last.kept) + 1, dtype=np.int32))}
        rank = {"operations": found.states, "bytes_sent": sum(last.bytes_sent),
                "stored_bytes": sum(layer.nbytes for layer in last.layers)}
    else:
        filled = ByTable(asked, device, comm, report)
        points, work = filled.run(), filled.statistics
        sizes = range(problem.m)
        tables = {"layers": layers_table(
            comm, [comb(problem.m, size) * (problem.m - size) for size in sizes], filled.encoded.itemsize,
            work.layer_seconds[:-1], work.layer_bytes_sent[:-1], cities=np.array(sizes, np.int32))}
        rank = rank_group([work], filled.slices.operations())
    if not points:
        return Outcome(NoTour(True), tables, rank)
    tours = [problem.core.tour(order) for _, _, order in points]
    answer = Tour(points[-1][1] + problem.offset, tours[-1], True, prize=question.prize(tours[-1]))
    if asked.whole:
        answer = replace(
            answer, curve_prizes=np.array([question.prize(tour) for tour in tours], np.int64),
            curve_costs=np.array([end + problem.offset for _, end, _ in points], np.int64),
            curve_tours=np.concatenate(tours), curve_offset=np.cumsum([0, *map(len, tours)], dtype=np.int64))
    return Outcome(answer, tables, rank)
