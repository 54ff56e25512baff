"""The travelling salesman's kind of problem. Its check adds the cost up from the instance's own matrix."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hpcsolve import formats
from hpcsolve.algorithms.base import Algorithm, Column, Outcome, as_column
from hpcsolve.errors import InputError
from hpcsolve.formats import Instance
from hpcsolve.formats import write as write
from hpcsolve.output.contents import Contents
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.tsp import Tsp, check_tour, from_matrix, positions
from hpcsolve.runner.collect import own_unit
from hpcsolve.runner.verdict import Verdict

SIZE = "cities"
LONGEST_TOUR = 200
"""Cities from which a tour is not printed in full."""


def read(path: str, options: Mapping[str, Any]) -> Instance:
    """A TSPLIB file or a matrix; raises as `formats.read`."""
    _refuse(options)
    found = formats.read(path)
    return replace(found, problem=_with_names(found.problem))


def _refuse(options: Mapping[str, Any]) -> None:
    for key in options:
        raise InputError(f"instance: a travelling salesman's table has no key {key!r} beside file")


def size(problem: Tsp) -> int:
    """Number of cities."""
    return problem.n


def headline(problem: Tsp) -> str:
    """`eu-capitals, 27 cities, symmetric`."""
    return f"{problem.name}, {problem.n} cities, {'symmetric' if problem.symmetric else 'asymmetric'}"


def given(problem: Any, options: Mapping[str, Any]) -> Tsp:
    """An instance, or that of a matrix; raises as `from_matrix`."""
    _refuse(options)
    return problem if isinstance(problem, Tsp) else from_matrix(problem)


def content_hash(problem: Tsp) -> str:
    """SHA-256 of the costs and labels."""
    digest = hashlib.sha256(f"tsp {problem.n} {problem.scale}".encode())
    for array in (problem.cost, problem.labels):
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()


def identity(instance: Instance) -> str:
    """The file's hash: a file has one reading."""
    return instance.sha256


def columns(instance: Instance) -> dict[str, Column]:
    """Names, sizes, cities; not the costs."""
    tsp = instance.problem
    return {
        "name": Column(tsp.name, "Name"),
        "kind": Column("tsp", "Kind of problem"),
        "comment": Column(tsp.comment, "Comment of the file"),
        "path": Column(instance.path, "Where it was read, empty if it was generated"),
        "format": Column(instance.format, "How it was read"),
        "sha256": Column(instance.sha256, "SHA-256 of the file, or of the costs if there was no file"),
        "n": Column(np.array(tsp.n, dtype=np.int64), "Number of cities"),
        "symmetric": Column(tsp.symmetric, "Whether every arc costs the same both ways"),
        "scale": Column(np.array(tsp.scale, dtype=np.int64), "A cost in the instance's own unit is cost / scale"),
        "label": as_column(tsp.labels, "Number of each city in the file", dimension="city"),
        **_city_columns(tsp),
    }


def check(module: Algorithm, problem: Tsp, parameters: Any, outcome: Outcome, comm: Comm) -> Verdict:
    """Check a run's tour, on rank 0."""
    tour = outcome.solution["tour"].values if "tour" in outcome.solution else None
    return comm.bcast(check_answer(problem, parameters, tour, outcome.cost) if comm.rank == 0 else Verdict(None, ""))


def check_answer(tsp: Tsp, parameters: Any, tour: Any, cost: int | None) -> Verdict:
    """Check a tour and its cost.

    Parameters
    ----------
    parameters
        The algorithm's; `path`, `start` and `end` count where it has them.
    tour
        Positions, or None if it is claimed that there is no tour.
    cost
        What the solver says, in scaled integers.
    """
    if tour is None:
        return Verdict(None, "that there is no tour cannot be checked without solving it again")
    path = getattr(parameters, "path", "cycle")
    ends = [_position(tsp, getattr(parameters, key, None)) for key in ("start", "end")]
    try:
        actual = check_tour(tsp, np.asarray(tour), path, *ends)
    except ValueError as error:
        return Verdict(False, str(error))
    if actual != cost:
        return Verdict(False, f"the tour costs {actual}, not {cost}")
    return Verdict(True, "every city once, the cost added up from the instance")


def verify(path: str, contents: Contents, problem: Tsp, parameters: Any) -> Verdict:
    """Check the tour and the costs in a result file."""
    if contents.value("solution", "infeasible"):
        if not np.isnan(contents.attributes["cost"]):
            return Verdict(False, "the attribute cost is a number, though there is no tour")
        return check_answer(problem, parameters, None, None)
    tour, cost = contents.value("solution", "tour"), contents.value("solution", "cost")
    if tour is None or cost is None:
        return Verdict(False, "/solution has no tour or no cost")
    stated = contents.attributes.get("cost")
    if stated != own_unit(int(cost), problem.scale):
        return Verdict(False, f"the attribute cost is {stated}, /solution/cost {cost} at scale {problem.scale}")
    return check_answer(problem, parameters, tour, int(cost))


def answer_lines(contents: Contents) -> Iterator[str]:
    """Tour and cost."""
    if contents.value("solution", "infeasible"):
        yield "tour:   there is none, proven"
        return
    optimal = ", proven optimal" if contents.value("solution", "optimal") else ""
    yield from textwrap.wrap(tour_text(contents), 118, initial_indent="tour:   ", subsequent_indent="        ",
                             break_long_words=False, break_on_hyphens=False)  # fmt: skip
    yield f"cost:   {contents.attributes['cost']}{optimal}"
    yield from colony_lines(contents)


def colony_lines(contents: Contents) -> Iterator[str]:
    """What the colonies found, where there are several; the gap, where the job names the optimum."""
    costs, gaps = contents.value("colonies", "cost"), contents.value("colonies", "gap")
    names = ("minimum", "median", "mean", "maximum", "deviation")
    values = [contents.value("colonies", name) for name in names]
    if costs is not None and len(costs) > 1 and None not in values:
        yield f"colonies: {len(costs)}: " + ", ".join(f"{n} {float(v):.8g}" for n, v in zip(names, values))
    if gaps is not None and len(gaps):
        mean = f", {100 * float(np.mean(gaps)):.3g} % in the mean" if len(gaps) > 1 else ""
        yield f"gap:    {100 * float(np.min(gaps)):.3g} % above the optimum{mean}"


def tour_text(contents: Contents) -> str:
    """The cities in order: names, else labels."""
    tour = np.asarray(contents.value("solution", "tour"))
    names = contents.value("instance", "city_name", contents.value("instance", "label"))
    if not ((tour >= 0) & (tour < len(names))).all():
        return "/solution/tour names cities that the instance has not"
    if len(tour) > LONGEST_TOUR:
        return f"{len(tour)} cities, /solution/tour in the file"
    named = contents.value("instance", "city_name") is not None
    return (" - " if named else " ").join(str(names[city]) for city in tour)


def _city_columns(tsp: Tsp) -> dict[str, Column]:
    found: dict[str, Column] = {}
    if tsp.city_names:
        found["city_name"] = as_column(np.array(tsp.city_names, dtype=object), "Name of each city", dimension="city")
    if tsp.coordinates is not None:
        for axis, values in zip("xyz", tsp.coordinates.T):
            found[axis] = as_column(values, f"Coordinate {axis}, as in the file", dimension="city")
    return found


def _position(tsp: Tsp, label: int | None) -> int | None:
    return None if label is None else int(positions(tsp, [label])[0])


def _with_names(tsp: Tsp) -> Tsp:
    """City names from the comment, where it has a line `CITY <label> <name>` for each: TSPLIB has no place for them."""
    found = {int(label): name for label, name in re.findall(r"(?m)^CITY (\d{1,18}) (.+)$", tsp.comment)}
    if tsp.city_names or set(found) != set(tsp.labels.tolist()):
        return tsp
    rest = re.sub(r"(?m)^CITY \d+ .+\n?", "", tsp.comment).strip()
    return replace(tsp, city_names=tuple(found[label].strip() for label in tsp.labels.tolist()), comment=rest)
