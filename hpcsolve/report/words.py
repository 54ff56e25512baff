"""Problem, answer and bounds of a result in sentences, and its numbers as tables show them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from hpcsolve.analysis.load import Result
from hpcsolve.analysis.plot.canvas import kind_of_answer, number
from hpcsolve.analysis.plot.distances import pairs_of
from hpcsolve.analysis.plot.run import seconds_by_phase
from hpcsolve.answers import rounding
from hpcsolve.answers.reductions import REDUCTIONS
from hpcsolve.answers.rounding import Worth
from hpcsolve.answers.schedule import schedule_in, schedule_line
from hpcsolve.answers.tour import TOUR
from hpcsolve.answers.tours import TOURS
from hpcsolve.answers.tree import TREE
from hpcsolve.output.log import duration
from hpcsolve.problems.clock import SYMBOLS
from hpcsolve.problems.geographic import DEGREES
from hpcsolve.problems.questions import VALUES
from hpcsolve.wording import counted, size

NONE = "-"
"""What a table shows where a result has no such number."""
FARTHEST = 20
"""How many of the farthest pairs a report lists."""
WEIGHTED_OBJECTIVES = ("latency", "position")
"""Objectives whose value is a weighted sum, so that it does not have the unit of the costs."""
HEADINGS = ("file", "instance", "size", "algorithm", "cost", "lower bound", "gap at most", "ranks", "seconds", "check")


def problem(result: Result) -> str:
    """Return the problem in one sentence or two."""
    kind = kind_of_answer(result)
    if kind == "tour":
        return _tour_problem(result)
    if kind == TOURS.name:
        size = int(result.contents.value("instance", "instances"))
        goal = f"For each of them {_tour_goal(result)}"
        return f"{name_of(result)} has {counted(size, 'instance')}.{_what_costs_are(result)} {goal}"
    instance = result.contents.value
    directed = instance("instance", "directed")
    count = f"{instance('instance', 'arcs')} arcs" if directed else f"{instance('instance', 'arcs') // 2} edges"
    graph = f"{name_of(result)} is {'a directed' if directed else 'an undirected'} graph of " \
            f"{instance('instance', 'vertices')} vertices and {count}."
    if kind == "tree":
        return f"{graph} The problem is to find the lightest tree in it that joins {len(result.terminals)} terminals."
    return f"{graph} {_paths_problem(result, kind)}"


def _tour_problem(result: Result) -> str:
    same = "costs the same both ways" if result.contents.value("instance", "symmetric") else "may cost more one way"
    text = f"{name_of(result)} has {counted(result.n, 'city')}; an arc between two of them {same}."
    goal = _tour_goal(result)
    return f"{text}{_what_costs_are(result)} {goal[0].upper()}{goal[1:]}"


def _tour_goal(result: Result) -> str:
    """Return what is asked of the cities of an instance, as a sentence that begins with a small letter."""
    keys = result.contents.keys
    objective = keys.get("objective", "sum")
    best = "cheapest" if objective == "sum" else f'best (objective = "{objective}": least {VALUES[objective]})'
    kept = [key for key in ("before", "position", "not-position", "forbidden", "capacity") if keys.get(key)]
    kept += ["windows"] if keys.get("windows") or "windows" in result.contents.groups else []
    rules = f" and keeps to its constraints ({', '.join(kept)})" if kept else ""
    if objective == "prize":
        timed, budget = "windows" in kept, keys.get("budget")
        goal = f"for each sum of prizes the one {'that ends first' if timed else 'of least cost'}"
        if budget is not None:
            goal = f"the one of most prize that {'ends by' if timed else 'costs at most'} {shown(budget)}"
        kind = "paths" if TOUR.is_open(result.contents) else "round trips"
        keep = f" that keep to the constraints ({', '.join(kept)})" if kept else ""
        return f"cities may be left out. Of all {kind}{keep} the problem is to find {goal}."
    if not TOUR.is_open(result.contents):
        return f"the problem is to find the {best} round trip that visits each city once{rules}."
    verbs = {"start": ("begins", 0), "end": ("ends", -1)}
    named = result.infeasible or kind_of_answer(result) == TOURS.name
    ends = [f"{verb} at {keys[key] if named else result.tour_labels[place]}"
            for key, (verb, place) in verbs.items() if keys.get(key) is not None]
    path = f"{best} path that visits each city once{' and '.join(['', *ends])}{rules}"
    return f"the problem is to find the {path}."


def _what_costs_are(result: Result) -> str:
    network, unit, speed = result.contents.value("instance", "network"), unit_of(result), result.contents.speed
    if speed is not None:
        known = result.contents.value("instance", "coordinates_kind")
        way = f"along the shortest ways in the graph {network}" if network is not None else \
              "as the crow flies" if known else "along the given distances"
        return f" Costs are travel times in seconds {way}, at {speed:g} km/h."
    if network is not None:
        return f" Costs are the shortest distances in the graph {network}{f', in {unit}' if unit else ''}."
    if unit == "m" and result.contents.value("instance", "coordinates_kind") == DEGREES:
        return " Costs are great-circle distances in metres."
    return f" The unit of costs is {unit}." if unit else ""


def _paths_problem(result: Result, kind: str) -> str:
    if kind == "paths":
        return f"The problem is to find shortest paths for {counted(len(result.distance), 'query')}."
    sources, targets = len(result.sources), len(result.targets)
    start, ends = counted(sources, "source"), counted(targets, "target") if targets else "all vertices"
    if kind == REDUCTIONS.name:
        kept = ", ".join(result.contents.keys["reduce"])
        return f"The problem is to find the distances from {start} to {ends}, and to keep of each source: {kept}."
    if len(result.distance) == 1 and sources > 1:
        return f"The problem is to find the distance of each vertex from the nearest of {start}."
    return f"The problem is to find the distances from {start} to {ends}."


def answer(result: Result) -> Iterator[str]:
    """Yield the answer in sentences, and how good it is."""
    kind = kind_of_answer(result)
    if kind == TOURS.name:
        proven = f"All are proven to be optimal{Worth(result.contents).rounded_to()}."
        proven = proven if result.optimal else f"The answer is {TOURS.proven(result.contents)}."
        yield f"There are {TOURS.summary(result.contents)}. {proven}"
        if span := TOURS.range_of_costs(result.contents):
            unit = f" {unit_of(result)}" if unit_of(result) and _has_unit(result) else ""
            more = f"{Worth(result.contents).batch_words()}{TOURS.value_words(result.contents)}"
            yield f"They cost {span}{unit}{more}."
        if times := TOURS.span_of_times(result.contents):
            yield f"They take the time {times}."
    elif kind == "tour":
        yield from _tour_answer(result)
    elif kind == "tree":
        exact = rounding.exactly(result.contents.value("rounding", "cost"))
        yield f"The tree costs {with_unit(result, result.cost)}{exact} and has {len(result.tree)} edges."
        yield _how_good(result, "tree")
        if proof := TREE.how_proven(result.contents):
            yield f"The proof: {proof}."
    elif kind == REDUCTIONS.name:
        for name, values in REDUCTIONS.ranges(result.contents):
            yield f"{name.replace('_', ' ').capitalize()}: {values}."
    else:
        yield from _distances_answer(result, kind)
    if bounds := Worth(result.contents).distance_bounds() if kind not in ("tour", "tree", TOURS.name) else "":
        yield f"{bounds[0].upper()}{bounds[1:]}."


def _tour_answer(result: Result) -> Iterator[str]:
    if result.infeasible:
        yield f"There is no tour: it is proven that none exists{Worth(result.contents).no_tour_words()}."
        if why := TOUR.contradicting_words(result.contents):
            yield f"{why[0].upper()}{why[1:]}."
        return
    what = "path" if TOUR.is_open(result.contents) else "tour"
    exact = rounding.exactly(result.contents.value("rounding", "cost"))
    late = Worth(result.contents).late_words()
    if prize := TOUR.prize_words(result.contents):
        yield f"The prize of the {what} is {prize}."
    if (worth := Worth(result.contents)).is_time_of_day() and (end := worth.cost()) is not None:
        yield f"The {what} ends at {worth.time(end)}{late}."
    else:
        yield f"The {what} costs {with_unit(result, result.cost)}{exact}{TOUR.cost_suffix(result.contents)}{late}."
    if (schedule := schedule_in(result.contents)) is not None:
        yield f"It takes the time {schedule_line(result.contents, schedule)}."
    yield _how_good(result, what)
    if number_of_tours := TOUR.number_of_tours(result.contents):
        yield f"There {'is' if result.optimal_tours == 1 else 'are'} {number_of_tours}."
    if len(best := result.best_costs) > 1:
        yield f"The {len(best)} best cost {shown(best[0])} to {shown(best[-1])}."
    gaps, costs = (result.contents.value("colonies", name) for name in ("gap", "cost"))
    if undercut := TOUR.below_optimum(result.contents):
        yield f"{undercut}."
    elif gaps is not None and len(gaps):
        mean = f", on average over {len(gaps)} colonies {percent(float(np.mean(gaps)))}" if len(gaps) > 1 else ""
        least = float(np.min(gaps))
        above = f"{percent(least)} above" if least else "as good as"
        yield f"By its cost it is {above} the optimum that the job names{mean}."
    elif costs is not None and len(costs) > 1:
        yield f"It is the best of {len(costs)} colonies."


def _has_unit(result: Result) -> bool:
    """Return whether the values of tours have the unit of the costs."""
    return result.contents.keys.get("objective") not in WEIGHTED_OBJECTIVES


def _how_good(result: Result, what: str) -> str:
    worth = Worth(result.contents)
    rounded, said = worth.rounded_to(), worth.bounds(what)
    if result.optimal and result.contents.value("solution", "prize") is not None:
        more = f"no {what} has more prize within the limits, or as much for less"
        return f"This is proven to be optimal{rounded}: {more}."
    if result.optimal and not rounded:
        less = "ends sooner" if worth.is_time_of_day() else "costs less"
        return f"This is proven to be optimal: no {what} {less}."
    if result.optimal:
        by_given = f" By the costs before rounding {said}." if said else ""
        return f"This is proven to be optimal{rounded}.{by_given}"
    if said:
        return f"{said[0].upper()}{said[1:]}."
    named = result.contents.keys.get("optimum") is not None  # with which the answer is compared instead
    return "No lower bound is proven" + ("." if named else f", so it may be far from the cheapest {what}.")


def _distances_answer(result: Result, kind: str) -> Iterator[str]:
    distance = result.distance
    reached = np.isfinite(distance)
    what = "queries have a path" if kind == "paths" else "distances are finite: a path leads there"
    if distance.size > 1 or not reached.all():
        yield f"{int(reached.sum())} of {distance.size} {what}."
    if reached.any():
        unit = f" {unit_of(result)}".rstrip()
        yield f"The distance is {number(float(distance.max()))}{unit}." if distance.size == 1 else \
              f"The greatest distance is {number(float(distance[reached].max()))}{unit}, " \
              f"the mean {float(distance[reached].mean()):.6g}{unit}."
    if kind == "distances" and len(result.predecessor):
        yield "The result has the predecessors too, so the paths can be followed."


def farthest_pairs(result: Result) -> tuple[tuple[str, str, str], list[list[object]], str] | None:
    """Return headings, rows and caption of the pairs farthest apart, or None if the result has no such table."""
    if kind_of_answer(result) != "distances" and result.contents.value("solution", "matrix") is None:
        return None
    pairs = pairs_of(result)
    rows = [[pairs.rows[a], pairs.columns[b], number(float(pairs.distance[a, b]))] for a, b in pairs.farthest(FARTHEST)]
    lost = f"; {counted(pairs.unreached, 'pair')} without a path" if pairs.unreached else ""
    return (*pairs.words, "distance"), rows, f"The {counted(len(rows), 'pair')} farthest apart{lost}"


def bounds_of(result: Result) -> tuple[str, str, str]:
    """Return the lower and the upper bound on the optimum with their unit, and one on the relative gap: `20 %`.

    The gap is rounded up. Of ends that are times of day there is none. The upper bound is the cost of the answer. A
    dash stands for what is not known.
    """
    worth = Worth(result.contents)
    bound, cost = worth.bound(), worth.cost()
    if worth.is_time_of_day() and cost is not None:  # a part of the time since midnight says nothing
        return NONE if bound is None else worth.time(bound), worth.time(cost), NONE
    lower = math.nan if bound is None else rounding.downward(bound)
    upper = result.cost if cost is None else rounding.upward(cost)
    gap = 0.0 if lower == upper else (upper - lower) / lower if lower > 0 else math.nan
    in_words = NONE if math.isnan(gap) else f"{rounding.at_most(100 * Fraction(repr(gap)), 3)} %"
    return with_unit(result, lower), with_unit(result, upper), in_words


def unit_of(result: Result) -> str:
    """Return the unit of costs, weights and distances where it is known, such as `m`, or ""."""
    keys = result.contents.keys
    if result.contents.unit or kind_of_answer(result) != "tour":
        return result.contents.unit
    if "time-unit" in keys:  # results of format version 2 have no unit
        return SYMBOLS[keys["time-unit"]]
    by_streets = result.contents.value("instance", "network") is not None  # whose weights may be anything
    return "m" if result.contents.value("instance", "coordinates_kind", "") == DEGREES and not by_streets else ""


def with_unit(result: Result, value: float | str) -> str:
    """Return the value of an answer, or its text, with its unit where it has one that is known, or a dash for NaN."""
    text = value if isinstance(value, str) else shown(value)
    return text if text == NONE or not _has_unit(result) else f"{text} {unit_of(result)}".rstrip()


def name_of(result: Result) -> str:
    """Return the name of the instance."""
    return str(result.contents.value("instance", "name")) or "unnamed"


def check_of(result: Result) -> str:
    """Return whether the answer passed its check: `passed`, `FAILED`, or `nothing to check`."""
    return "nothing to check" if result.infeasible else "passed" if result.verified else "FAILED"


def ranks_of(result: Result) -> int:
    """Return the number of ranks that solved the problem."""
    return len(result.table("ranks")["host"])


def seconds_of(result: Result) -> float:
    """Return the seconds of the run, on the slowest rank."""
    return float(np.sum(list(seconds_by_phase(result).values()), axis=0).max())


def shown(value: float) -> str:
    """Return a number, or a dash for NaN."""
    return NONE if math.isnan(value) else number(value)


def percent(part: float) -> str:
    """Return `3.4 %`, or a dash for NaN."""
    return NONE if math.isnan(part) else f"{100 * part:.3g} %"


def row_of(file: str, result: Result) -> list[str]:
    """Return the row of a result in the summary, whose columns are `HEADINGS`."""
    counts = {"tour": "city", TOURS.name: "instance"}
    extent = counted(result.n, counts.get(kind_of_answer(result), "vertex"))
    lower, upper, gap = bounds_of(result)
    return [
        file, name_of(result), extent, result.algorithm, upper, lower, gap, str(ranks_of(result)),
        f"{seconds_of(result):.3g}", check_of(result),
    ]


def rank_rows(result: Result) -> list[list[str]]:
    """Return a row for each rank: where it ran, memory, messages, and the seconds of each phase."""
    table, phases = result.table("ranks"), seconds_by_phase(result)
    devices = [str(device).partition(":")[0] for device in table["device"]]  # without the reason
    return [
        [str(rank), str(table["host"][rank]), devices[rank], size(int(table["peak_bytes"][rank])),
         size(int(table["bytes_sent"][rank])), *(duration(float(seconds[rank])) for seconds in phases.values())]
        for rank in range(ranks_of(result))
    ]
