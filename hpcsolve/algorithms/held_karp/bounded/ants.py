"""A first order from an ant colony with local search, where the value of an order is the length of a tour."""

from __future__ import annotations

import numpy as np

from hpcsolve.algorithms import ant_colony
from hpcsolve.algorithms.base import StopCriteria, silent
from hpcsolve.algorithms.held_karp.problem import OrderProblem
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.tsp import FORBIDDEN, Tsp

FEWEST_CITIES = 20
"""Below that local search alone finds good orders."""
STOP = StopCriteria(iterations=200, stagnation=50)


def good_order(problem: OrderProblem, device: Device, seed: int) -> tuple[int, list[int]] | None:
    """Return the value of a good order and the order, or None where ants cannot search."""
    m = problem.m
    if problem.by_place or any(problem.before) or m < FEWEST_CITIES:
        return None
    cost = problem.cost[0].copy()
    np.fill_diagonal(cost, FORBIDDEN)
    tsp = Tsp("", cost, np.arange(m + 1))
    parameters = ant_colony.Parameters()
    if int((cost == FORBIDDEN).sum()) > m + 1 or not ant_colony.ALGORITHM.fits(tsp, parameters):
        return None
    answer = ant_colony.run(tsp, device, SerialComm(), parameters, silent, STOP, seed).answer
    tour = answer.tour.tolist()
    first = tour.index(m)
    order = [*tour[first + 1 :], *tour[:first]]
    value = problem.value(order)
    return None if value is None else (value, order)
