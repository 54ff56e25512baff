"""Which method solves a job: the lattice of all states, or states that are dropped by bounds."""

from __future__ import annotations

from hpcsolve.algorithms.held_karp.bounded import keys
from hpcsolve.algorithms.held_karp.question import NO_EXTRA_ANSWERS, Parameters, extra_answers
from hpcsolve.errors import InputError
from hpcsolve.problems.tsp import Tsp
from hpcsolve.problems.tsp_batch import TspBatch

LATTICE_CITIES, ORDERED_CITIES = 28, 20
"""The most cities for which `method = "auto"` takes the lattice: for plain sums, and for other questions.

The lattice then takes about a second. For other questions its table takes up to eight times the memory and the work.
"""
MOST_CITIES = keys.MOST_CITIES[2] + 1
"""The most cities of a cycle that any method takes: the first city, and those that a state's key of bounds holds."""
FEWEST_CITIES = 10
"""Fewer cities are always solved by the lattice."""


def is_bounded(tsp: Tsp | TspBatch, parameters: Parameters, stops: bool = False) -> bool:
    """Return whether a job is solved by bounds.

    Parameters
    ----------
    stops
        Whether the job has criteria to stop at, which the lattice cannot honour.

    Raises
    ------
    InputError
        The method cannot solve this kind of problem.
    """
    obstacle = "a batch is solved by tables" if isinstance(tsp, TspBatch) else why_not_bounded(parameters)
    if parameters.method == "bounded" and obstacle:
        raise InputError(f'held-karp.method: "bounded" cannot do this: {obstacle}; use "auto" or "lattice"')
    if parameters.method == "auto" and stops and obstacle:
        raise InputError(f'stop: only held-karp.method = "bounded" can be stopped early, but {obstacle}; remove [stop]')
    if parameters.method == "lattice" or obstacle or isinstance(tsp, TspBatch) or tsp.n < FEWEST_CITIES:
        return False
    return parameters.method == "bounded" or stops or tsp.n > most_in_lattice(parameters, bool(tsp.precedences))


def may_be_bounded(tsp: Tsp | TspBatch, parameters: Parameters) -> bool:
    """Return whether bounds may solve a job in place of a lattice that does not fit in the memory."""
    possible = parameters.method == "auto" and not isinstance(tsp, TspBatch) and tsp.n >= FEWEST_CITIES
    return possible and not why_not_bounded(parameters)


def most_in_lattice(parameters: Parameters, precedences: bool) -> int:
    """Return the most cities for which "auto" takes the lattice. `precedences`: whether the instance has some."""
    plain = parameters.objective == "sum" and not (parameters.before or precedences)
    return LATTICE_CITIES if plain and not (parameters.position or parameters.not_position) else ORDERED_CITIES


def why_not_bounded(parameters: Parameters) -> str:
    """Return why bounds cannot solve what the parameters ask for, in words, or ""."""
    if parameters.layout != "planes":
        return f'layout = "{parameters.layout}" belongs to the lattice'
    if extra_answers(parameters) != NO_EXTRA_ANSWERS:
        return "more than one optimal tour needs all states (count, best, arcs)"
    if parameters.objective not in ("sum", "latency", "position"):
        return f'objective = "{parameters.objective}" does not add up costs by place'
    if parameters.objective == "latency" and len(set(parameters.weights or ())) > 1:
        return "with different weights of the cities the costs depend on which cities are left"
    return ""
