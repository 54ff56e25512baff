"""The outcome of a run: the best tour, a table of colonies with statistics, their improvements, and the history."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.colonies import NO_TOUR, History, Incumbents
from hpcsolve.algorithms.ant_colony.instance import AntInstance
from hpcsolve.algorithms.ant_colony.parameters import Parameters, ants_of
from hpcsolve.algorithms.base import Outcome
from hpcsolve.answers.dataset import Column, Dataset, columns
from hpcsolve.answers.tour import Tour
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.tsp import Tsp

_OF_BEST = "Of the colonies' best, in the instance's own unit"
COLONIES = {
    "colony": Dataset("int64", "Its number: random numbers depend on it and on the seed", "colony"),
    "cost": Dataset(
        "int64", "Best tour, in exact integers: the instance's own unit times /instance/scale", "colony", scaled=True,
    ),
    "iteration": Dataset("int64", "Iteration that found it, from 0", "colony"),
    "iterations": Dataset("int64", "Iterations of every colony"),
    "mean": Dataset("float64", _OF_BEST),
    "median": Dataset("float64", _OF_BEST),
    "minimum": Dataset("float64", _OF_BEST),
    "maximum": Dataset("float64", _OF_BEST),
    "deviation": Dataset("float64", "Sample standard deviation of the colonies' best; 0 for one colony"),
    "gap": Dataset(
        "float64", "(cost - optimum) / optimum, with the optimum that the job names", "colony", optional=True
    ),
}
"""The group `/colonies`. `gap` is there if the job names the optimum."""
IMPROVEMENTS = {
    "colony": Dataset("int64", "Number of the colony; the rows are sorted by colony and iteration", "improvement"),
    "iteration": Dataset("int64", "Iteration that found a better tour than any before in this colony", "improvement"),
    "cost": Dataset("int64", "That tour, times /instance/scale, in exact integers", "improvement", scaled=True),
}
"""The group `/improvements`."""
HISTORY = {
    "step": Dataset("int64", "Iteration, from 0", "row"),
    "seconds": Dataset("float64", "Since the start", "row", "s"),
    "best": Dataset("float64", "Best so far of all colonies, in the instance's own unit", "row"),
    "mean": Dataset("float64", "Mean of the iteration's tours, in the instance's own unit", "row"),
}
"""The group `/history`."""


def outcome(
    tsp: Tsp, instance: AntInstance, incumbents: Incumbents, history: History, iterations: int, parameters: Parameters,
    comm: Comm, rank: Mapping[str, float | int],
) -> Outcome:
    """Return the outcome, whose tables are on rank 0 only. Collective."""
    parts = comm.allgather(incumbents)
    best = min((part for part in parts if len(part.numbers)), key=lambda part: int(part.length.min()))
    row = int(best.length.argmin())
    tour = instance.order[best.tour[row]]
    tour = np.roll(tour, -int(tour.argmin()))  # from city 0
    histories = comm.gather(history)
    tables: dict[str, Mapping[str, Column]] = {}
    if histories is not None:
        shift = tsp.n * instance.offset
        lengths = np.concatenate([part.length for part in parts]) + shift
        tables["colonies"] = _colonies(parts, lengths, tsp, iterations, parameters.optimum)
        tables["improvements"] = _improvements(parts, shift)
        tours = len(lengths) * ants_of(parameters, tsp.n)
        tables["history"] = _history(histories, tours, shift, tsp.scale)
    cost = int(best.length[row]) + tsp.n * instance.offset
    return Outcome(Tour(cost, tour.astype(np.int32), False), tables, rank)


def _colonies(
    parts: list[Incumbents], lengths: NDArray[np.int64], tsp: Tsp, iterations: int, optimum: float | None
) -> dict[str, Column]:
    own = lengths / tsp.scale
    return columns(COLONIES, {
        "colony": np.concatenate([part.numbers for part in parts]),
        "cost": lengths,
        "iteration": np.concatenate([part.iteration for part in parts]),
        "iterations": iterations,
        "mean": own.mean(),
        "median": np.median(own),
        "minimum": own.min(),
        "maximum": own.max(),
        "deviation": own.std(ddof=1) if len(own) > 1 else 0.0,
        "gap": (own - optimum) / abs(optimum) if optimum else None,
    })


def _improvements(parts: list[Incumbents], shift: int) -> dict[str, Column]:
    rows = np.array(sorted(row for part in parts for row in part.improvements), np.int64)
    return columns(IMPROVEMENTS, {"colony": rows[:, 0], "iteration": rows[:, 1], "cost": rows[:, 2] + shift})


def _history(histories: list[History], tours: int, shift: int, scale: int) -> dict[str, Column]:
    rows = [history.rows for history in histories]
    best = np.array([min(one[2] for one in at) for at in zip(*rows)], np.int64)
    mean = np.array([sum(one[3] for one in at) / tours for at in zip(*rows)])
    assert (best < NO_TOUR).all()
    return columns(HISTORY, {
        "step": np.array([row[0] for row in rows[0]], np.int64),
        "seconds": np.array([row[1] for row in rows[0]]),
        "best": (best + shift) / scale,
        "mean": (mean + shift) / scale,
    })
