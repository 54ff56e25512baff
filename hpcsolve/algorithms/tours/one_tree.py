"""Lower bounds of tours by 1-trees, with the multipliers that prove them. See cuda_src/host/one_tree.cpp.

A bound depends on the instance and on what is asked, to the bit: so many steps for so many cities, from multipliers 0.
Of up to `MOST_ASSIGNED` cities with asymmetric costs a second ascent begins from the dual values of the assignment
problem, and the higher bound counts. So the bound of closed tours is not below that of the assignment problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.tours.cities import NONE, OF_PAIRS, Cities, fits, kernel_cities
from hpcsolve.algorithms.tours.near import near_lists
from hpcsolve.answers.base import Verdict
from hpcsolve.answers.contents import Contents
from hpcsolve.answers.multipliers import PROOF
from hpcsolve.answers.tour import Tour, proof_of, require_claim
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice, on_host
from hpcsolve.errors import ResourceError
from hpcsolve.problems.distances import METRICS
from hpcsolve.problems.one_tree import MOST_CITIES, Multipliers, has_bound, require_proof, rounded_up
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC, Tsp

ONE_TREE_FILE, ASSIGNMENT_FILE, NEAR_FILE = "host/one_tree", "host/assignment", "host/near_cities"
FILES = (ONE_TREE_FILE, ASSIGNMENT_FILE, NEAR_FILE)
"""The files with the host's functions that a bound needs."""
WIDTH, WIDTH_OF_MANY = 10, 8
"""Length of the candidate lists, with the nearest of each quadrant, and that from `MANY` cities on."""
MANY = 10_000
MOST_ASSIGNED = 5000
"""Cities up to which the assignment problem is solved, in seconds."""
STEPS = ((500, 1000), (MANY, 300), (500_000, 100))
"""Pairs of a number of cities and the steps of an ascent for fewer cities. Of more cities it has `FEWEST_STEPS`."""
FEWEST_STEPS = 60


@dataclass(frozen=True, eq=False)
class TourBound:
    """A lower bound of every tour, in scaled integers, and what proves it."""

    value: int
    proof: Multipliers


def bound_beside(
    tsp: Tsp, device: Device, question: TourQuestion | None = None, cities: Cities | None = None
) -> TourBound | None:
    """Return `tour_bound` by the CPU cores beside a device, or None and a note if there is no memory for it."""
    try:
        with on_host(device) as host:
            return tour_bound(tsp, host, question, cities)
    except ResourceError as error:
        device.notes.append(f"no lower bound: {error}")
        return None


def with_bound(tour: Tour, bound: int | None) -> Tour:
    """Return a tour with a lower bound that multipliers prove, or as optimal where the bound is the tour's cost."""
    if bound is None:
        return tour
    optimal = tour.cost <= bound
    return replace(tour, optimal=optimal, lower_bound=None if optimal else bound, proof=PROOF)


def tour_bound(
    tsp: Tsp, host: HostDevice, question: TourQuestion | None = None, cities: Cities | None = None
) -> TourBound | None:
    """Return a lower bound of every tour, or None where 1-trees give none: see `can_bound`.

    Parameters
    ----------
    host
        The CPU cores that compute it.
    question
        What tours are asked for, by default closed ones at the sum of their legs' costs. Constraints are ignored.
    cities
        `kernel_cities(tsp)`, if that is there already. Others, with forced edges or for open paths, are not used.
    """
    asked = question or TourQuestion()
    if not can_bound(tsp, asked):
        return None
    if cities is None or not cities.closed or (cities.fixed is not None and not cities.paired) or cities.chains:
        cities = kernel_cities(tsp)
    starts = [(True, np.zeros(cities.nodes, np.int64))]
    if cities.paired and len(cities.order) <= MOST_ASSIGNED:
        _, rows, columns = solved_assignment(host, cities)
        starts.append((False, -np.stack([columns, rows], axis=1).reshape(-1)))  # no arc costs less than 0 with them
    where, lists = cities.arguments(), near_lists(host, cities, width_for(len(cities.order)), 1)
    best: TourBound | None = None
    for both_ways, multipliers in starts:
        scale, special, value = host.call(
            ONE_TREE_FILE, "one_tree_ascend", where=where, near=lists.arguments(), ask=_ends(cities, asked),
            steps=steps_for(len(cities.order)), both_ways=both_ways and cities.paired, multipliers=multipliers,
        )["found"].tolist()
        # A tour of n legs costs n times the offset more in the instance, and a path one time less.
        legs = len(cities.order) - (asked.path == "open")
        found = TourBound(rounded_up(value, scale) + legs * cities.offset, _in_the_instance(
            cities, scale, special, multipliers))
        best = found if best is None or found.value > best.value else best
    return best


def solved_assignment(host: HostDevice, cities: Cities) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the solution of a paired instance's assignment problem: the pair that follows each, and the dual values.

    The dual values are those of rows, arcs that leave, and of columns, arcs that enter. Each array has a value a pair.
    """
    solution, (rows, columns) = np.empty(len(cities.order), np.uint32), np.empty((2, len(cities.order)), np.int64)
    host.call(ASSIGNMENT_FILE, "assignment_solve", n=len(rows), matrix=cities.matrix, solution=solution, rows=rows,
              columns=columns)
    return solution, rows, columns


def can_bound(tsp: Tsp, question: TourQuestion) -> bool:
    """Return whether 1-trees bound what is asked: of sums of costs that fit in 32 bits, with an arc between any two."""
    complete = bool(tsp.metric) or int((tsp.cost == NO_ARC).sum()) == tsp.n
    return has_bound(tsp, question) and complete and fits(tsp)


def width_for(cities: int) -> int:
    """Return the length of the candidate lists."""
    return WIDTH if cities < MANY else WIDTH_OF_MANY


def steps_for(cities: int) -> int:
    """Return the number of steps of an ascent."""
    return next((steps for below, steps in STEPS if cities < below), FEWEST_STEPS)


def value_by_kernel(tsp: Tsp, host: HostDevice, question: TourQuestion, proof: Multipliers) -> int:
    """Return the bound that multipliers prove, as `proven_bound` of problems.one_tree does, by a function of the host.

    Raises
    ------
    ValueError
        As there; or there are no coordinates.
    """
    require_proof(tsp, question, proof)
    if not tsp.metric or tsp.metric not in METRICS:
        raise ValueError("the host's function takes coordinates alone")
    cities = kernel_cities(tsp)
    special = int(np.flatnonzero(cities.order == proof.special)[0]) if proof.special >= 0 else NONE
    value = host.call(
        ONE_TREE_FILE, "one_tree_value", where=cities.arguments(), ask=_ends(cities, question), scale=proof.scale,
        multipliers=np.ascontiguousarray(proof.entering[cities.order]), special=special,
    )["value"]
    return rounded_up(int(value[0]), proof.scale)


def bound_again(contents: Contents, problem: Any, question: TourQuestion | None) -> Verdict | None:
    """Return the verdict on the lower bound of a tour in a file, by a function of the host.

    None if there is no such bound, or so few cities that `answers.tour` checks it in plain numpy.
    """
    if contents.value("solution", "proof") != PROOF or not isinstance(problem, Tsp) or problem.n <= MOST_CITIES:
        return None
    try:
        with HostDevice(1) as host:
            proven = value_by_kernel(problem, host, question or TourQuestion(), proof_of(contents))
        require_claim(contents, proven)
    except ValueError as error:
        return Verdict(False, str(error))
    return Verdict(True, "the multipliers prove it, by the host's function one_tree_value")


def _ends(cities: Cities, question: TourQuestion) -> dict[str, Any]:
    """Return the fields of the struct `tour_ends`."""
    if question.path != "open":
        return {"open": 0, "first": NONE, "last": NONE}

    def node(position: int | None, is_exit: int) -> int:
        if position is None:
            return NONE
        number = int(np.flatnonzero(cities.order == position)[0])
        return 2 * number + is_exit if cities.paired else number

    return {"open": 1, "first": node(question.start, 0), "last": node(question.end, 1)}


def _in_the_instance(cities: Cities, scale: int, special: int, multipliers: NDArray[np.int64]) -> Multipliers:
    """Return the multipliers of nodes as those of the instance's cities."""
    where = -1 if special < 0 else int(cities.order[special // 2 if cities.metric == OF_PAIRS else special])
    parts = multipliers.reshape(len(cities.order), -1)
    placed = np.empty_like(parts)
    placed[cities.order] = parts
    entering, *leaving = (np.ascontiguousarray(part) for part in placed.T)
    return Multipliers(scale, where, entering, *leaving)
