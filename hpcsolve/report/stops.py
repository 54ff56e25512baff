"""The stops of a tour as a driver needs them: a numbered row for each, with leg and arrival, and times if any."""

from __future__ import annotations

import numpy as np

from hpcsolve.analysis.load import Result
from hpcsolve.analysis.plot.canvas import number
from hpcsolve.answers.schedule import schedule_in, time_text
from hpcsolve.answers.tour import TOUR
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.report import words
from hpcsolve.report.elements import Markup, element

BACK = "back"
"""Stands in place of a number where a cycle is back at its first city."""


def stops_of(result: Result) -> tuple[list[str], list[list[object]], str]:
    """Return headings, rows and caption of the table of stops, of a cycle with the return to the depot.

    Legs lead to their stop. Arrivals are the sum of the legs up to there or, where the result has times, times.
    """
    contents, order = result.contents, result.tour.astype(np.int64)
    legs = np.asarray(contents.value("legs", "cost", []), np.int64)
    closed = not TOUR.is_open(contents) and len(legs) == len(order) > 1
    stops = np.append(order, order[:1]) if closed else order
    names, last = contents.shown_names()[stops].tolist(), len(stops) - 1
    ends = {0: "depot"} if closed else {0: "start", last: "end"} if last else {}
    columns: dict[str, list[object]] = {
        "no.": [_number(place + 1, ends.get(place, "")) for place in range(len(stops))], "stop": names,
    }
    if closed:
        columns["no."][-1] = BACK
    unit = words.unit_of(result)
    if len(legs) == last:
        own = contents.in_own_unit(legs)
        columns[f"leg{unit and f' ({unit})'}"] = ["", *map(number, own.tolist())]
        columns |= _times(result, last) or {
            f"arrival after{unit and f' ({unit})'}": [number(total) for total in contents.in_own_unit(
                np.append(0, legs.cumsum())).tolist()]}
    if (load := contents.value("legs", "load")) is not None and len(load) == len(legs):
        columns["load after"] = [*np.asarray(load).tolist(), ""][: len(stops)]
    caption = "The stops in order" + ("" if unit else "; legs and arrivals have the unit of the instance's costs")
    return list(columns), [list(row) for row in zip(*columns.values())], caption


def _number(place: int, mark: str) -> Markup:
    """Return the number of a stop, with a mark beside it if it is depot, start or end."""
    return element("span", place, *([" ", element("span", mark, class_="mark")] if mark else []))


def _times(result: Result, last: int) -> dict[str, list[object]]:
    """Return the columns of times, none that repeats an earlier one, or {} where the result has no times."""
    contents = result.contents
    if (schedule := schedule_in(contents)) is not None and len(schedule.city) == last + 1:
        def texts(times: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[object]:
            return [time_text(contents, time) for time in times.tolist()]

        def window(first: int, end: int) -> str:
            begin = time_text(contents, first) if first else ""
            if end >= LARGEST_SUM:
                return begin and f"from {begin}"
            return f"{begin} to {time_text(contents, end)}".strip()

        windows = [window(*limits) for limits in zip(schedule.earliest.tolist(), schedule.latest.tolist())]
        columns: dict[str, list[object]] = {"arrival": texts(schedule.arrival), "window": [*windows]}
        if schedule.waiting.any():
            columns["begin"] = texts(schedule.begin)
        if (schedule.departure > schedule.begin).any():
            columns["departure"] = texts(schedule.departure)
        return columns
    left, legs = (contents.value("legs", name) for name in ("departure", "cost"))
    if left is None or len(left) != last:
        return {}
    arrivals = [time_text(contents, time) for time in (np.asarray(left) + np.asarray(legs)).tolist()]
    return {"arrival": ["", *arrivals], "departure": [*(time_text(contents, time) for time in left.tolist()), ""]}
