"""What a run gives back: the best tour, a row a colony with statistics, and the history."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.colonies import NO_TOUR, History, Incumbents
from hpcsolve.algorithms.ant_colony.instance import AntInstance
from hpcsolve.algorithms.ant_colony.parameters import Parameters, ants_of
from hpcsolve.algorithms.base import Column, Outcome, as_column
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.tsp import Tsp


def outcome(
    tsp: Tsp, instance: AntInstance, kept: Incumbents, history: History, iterations: int, parameters: Parameters,
    comm: Comm, rank: Mapping[str, float | int],
) -> Outcome:
    """Return the outcome, whose tables are on rank 0 only. Collective."""
    parts = comm.allgather(kept)
    best = min((part for part in parts if len(part.numbers)), key=lambda part: int(part.length.min()))
    row = int(best.length.argmin())
    tour = instance.order[best.tour[row]]
    tour = np.roll(tour, -int(tour.argmin()))  # from city 0
    text = "Cities in the order of the tour, positions from 0"
    solution = {"tour": as_column(tour.astype(np.int32), text, "1", "place"),
                "optimal": Column(False, "Whether the tour is proven to be the cheapest")}
    histories = comm.gather(history)
    tables: dict[str, Mapping[str, Column]] = {}
    if histories is not None:
        shift = tsp.n * instance.offset
        lengths = np.concatenate([part.length for part in parts]) + shift
        tables["colonies"] = _colonies(parts, lengths, tsp, iterations, parameters.optimum)
        tours = len(lengths) * ants_of(parameters, tsp.n)
        tables["history"] = _history(histories, tours, shift, tsp.scale)
    cost = int(best.length[row]) + tsp.n * instance.offset
    return Outcome(cost, solution, {}, tables, rank)


def _colonies(parts: list[Incumbents], lengths: NDArray[np.int64], tsp: Tsp, iterations: int,
              optimum: float | None) -> dict[str, Column]:
    numbers, last = (np.concatenate([getattr(part, name) for part in parts]) for name in ("numbers", "iteration"))
    own = lengths / tsp.scale
    deviation = float(own.std(ddof=1)) if len(own) > 1 else 0.0
    gaps: dict[str, Column] = {}
    if optimum:
        text = "What the cost is above the optimum that the job names, of that optimum"
        gaps["gap"] = as_column((own - optimum) / abs(optimum), text, "1", "colony")
    return {
        "colony": as_column(numbers, "Its number: random numbers depend on it and on the seed", "1", "colony"),
        "cost": as_column(lengths, "Best tour, in exact integers: own unit times /instance/scale", "1", "colony"),
        "iteration": as_column(last, "Iteration that found it, from 0", "1", "colony"),
        "iterations": Column(iterations, "Iterations of every colony"),
        "mean": Column(float(own.mean()), "Of the colonies' best, in the instance's own unit"),
        "median": Column(float(np.median(own)), "Of the colonies' best, in the instance's own unit"),
        "minimum": Column(float(own.min()), "Of the colonies' best, in the instance's own unit"),
        "maximum": Column(float(own.max()), "Of the colonies' best, in the instance's own unit"),
        "deviation": Column(deviation, "Standard deviation of the colonies' best, of a sample; 0 for one colony"),
        **gaps,
    }


def _history(histories: list[History], tours: int, shift: int, scale: int) -> dict[str, Column]:
    rows = [history.rows for history in histories]
    best = np.array([min(one[2] for one in at) for at in zip(*rows)], np.int64)
    mean = np.array([sum(one[3] for one in at) / tours for at in zip(*rows)])
    assert (best < NO_TOUR).all()
    return {
        "step": as_column(np.array([row[0] for row in rows[0]], np.int64), "Iteration, from 0", "1", "row"),
        "seconds": as_column(np.array([row[1] for row in rows[0]]), "Since the start", "s", "row"),
        "best": as_column((best + shift) / scale, "Best so far of all colonies, in the own unit", "1", "row"),
        "mean": as_column((mean + shift) / scale, "Mean of the iteration's tours, in the own unit", "1", "row"),
    }
