"""Good orders from ant colonies with local search, where the value of an order is the length of a tour.

Each level of the bounds begins with a colony of its own, which ends after a number of iterations. So a proof is the
same however long it takes, and a search that a time limit ends has spent a part of its time on good tours. The ants see
reduced costs (potentials.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hpcsolve.algorithms import ant_colony
from hpcsolve.algorithms.base import StopCriteria, silent
from hpcsolve.algorithms.held_karp.bounded.potentials import Potentials, complete_costs
from hpcsolve.algorithms.held_karp.problem import OrderProblem
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints, without_writer
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.tsp import Tsp

ITERATIONS, STAGNATION = 2000, 500
"""Iterations of the first colony, and those without a better tour after which it ends. Later ones have more."""


def good_order(
    problem: OrderProblem, reduced_by: Potentials | None, device: Device, seed: int, number: int = 0,
    seconds: float | None = None, checkpoints: Checkpoints = NONE,
) -> tuple[int, list[int]] | None:
    """Return the value of a good order and the order, or None where ants cannot search.

    Parameters
    ----------
    reduced_by
        The potentials that reduce costs, or None.
    number
        Number of the colony, from 0. Its random numbers and its number of iterations depend on it.
    seconds
        The time that is left, or None.
    checkpoints
        Tells when the run is interrupted. Nothing is saved here.
    """
    m, cost, parameters = problem.m, complete_costs(problem), ant_colony.Parameters()
    if cost is None:
        return None
    seen = [cost] if reduced_by is None else [reduced_by.reduced(cost), cost]
    cities = (Tsp("", one, np.arange(m + 1)) for one in seen)
    tsp = next((one for one in cities if ant_colony.ALGORITHM.fits(one, parameters)), None)
    if tsp is None:
        return None
    stop = StopCriteria(seconds, iterations=ITERATIONS << number, stagnation=STAGNATION << number)
    interruptions = replace(without_writer(checkpoints), begun=None)
    found = ant_colony.run(tsp, device, SerialComm(), parameters, silent, stop, seed + (number << 63), interruptions)
    tour = found.answer.tour.tolist()
    first = tour.index(m)
    order = [*tour[first + 1 :], *tour[:first]]
    value = problem.value(order)
    return None if value is None else (value, order)
