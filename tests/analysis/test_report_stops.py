"""The table of a tour's stops: numbers, depot, legs, arrivals and times, by hand and from the costs."""

import math
import re
from itertools import accumulate

import pandas
import pytest

from hpcsolve.problems.tsp import from_matrix
from hpcsolve.report.page import _several
from hpcsolve.report.stops import stops_of
from hpcsolve.report.words import answer, bounds_of, problem
from tests.analysis.results import changed, solved

TRIANGLE = [[0, 15, 20], [30, 0, 40], [50, 60, 0]]  # 0 -> 1 -> 2 -> 0 costs 105, the other way round 110


def shown(result):
    """Return headings and rows as a reader sees them, and the caption."""
    headings, rows, caption = stops_of(result)
    plain = [[str(cell).replace('<span class="mark">', "").replace("<span>", "").replace("</span>", "") for cell in row]
             for row in rows]
    return headings, plain, caption


def test_a_round_trip_is_back_at_its_depot():
    headings, rows, caption = shown(solved(TRIANGLE))
    assert headings == ["no.", "stop", "leg", "arrival after"] and "the unit of the instance's costs" in caption
    assert rows == [["1 depot", "0", "", "0"], ["2", "1", "15", "15"], ["3", "2", "40", "55"],
                    ["back", "0", "50", "105"]]


def test_a_path_has_two_ends():
    _, rows, _ = shown(solved(TRIANGLE, path="open"))
    assert rows == [["1 start", "1", "", "0"], ["2", "0", "30", "30"], ["3 end", "2", "20", "50"]]


@pytest.mark.parametrize("cities", [1, 2])
def test_the_smallest_round_trips(cities):
    rows = shown(solved([row[:cities] for row in TRIANGLE[:cities]]))[1]
    assert rows == [["1 depot" if cities == 2 else "1", "0", "", "0"],
                    *[["2", "1", "15", "15"], ["back", "0", "30", "45"]][: 2 * (cities - 1)]]


def test_metres_between_latitudes():
    """Three places on one meridian, a degree apart: 111195 m (6371.0088 km times pi over 180)."""
    places = pandas.DataFrame({"name": ["A", "<b>", "C"], "lat": [1.0, 2.0, 3.0], "lon": [5.0, 5.0, 5.0]})
    headings, rows, caption = shown(solved(places))
    degree = round(6371008.8 * math.pi / 180)
    assert headings[2:] == ["leg (m)", "arrival after (m)"] and caption == "The stops in order"
    legs, arrivals = ([int(row[column] or 0) for row in rows] for column in (2, 3))
    assert sorted(legs) == [0, degree, degree, 2 * degree] and arrivals == list(accumulate(legs))
    assert [row[1] for row in rows if "b>" in row[1]] == ["<b>"], "escaped where it is put into the page"
    assert bounds_of(solved(places)) == (f"{4 * degree} m", f"{4 * degree} m", "0 %")
    weighted = solved(places, objective="latency")
    assert bounds_of(weighted)[1] == str(weighted.cost), "a weighted sum of metres has no unit"


def test_times_of_day():
    """By hand: 15 to city 1, 40 on to city 2, which opens at 60 and takes 5, 50 back."""
    windows = {2: ("1:00", "1:05", 5), 1: ("0:00", None)}
    result = solved(TRIANGLE, objective="finish", time_unit="minute", windows=windows)
    headings, rows, _ = shown(result)
    assert headings == ["no.", "stop", "leg (min)", "arrival", "window", "begin", "departure"]
    assert rows == [["1 depot", "0", "", "00:00", "", "00:00", "00:00"],
                    ["2", "1", "15", "00:15", "", "00:15", "00:15"],
                    ["3", "2", "40", "00:55", "01:00 to 01:05", "01:00", "01:05"],
                    ["back", "0", "50", "01:55", "", "01:55", "01:55"]]


def test_times_that_are_equal_stand_once():
    """Nobody waits, and no service takes time, so each stop is left when it is reached."""
    headings, rows, _ = shown(solved(TRIANGLE, objective="finish", windows={2: (0, 60)}))
    assert headings == ["no.", "stop", "leg", "arrival", "window"]
    assert [row[3:] for row in rows] == [["0", ""], ["15", ""], ["55", "to 60"], ["105", ""]]


def test_loads_stand_behind_their_stops():
    result = solved(TRIANGLE, load=[0, 3, -1], capacity=5)
    headings, rows, _ = shown(result)
    assert headings[-1] == "load after" and [row[-1] for row in rows] == ["0", "3", "2", ""]


def test_legs_that_do_not_fit_are_left_out():
    legs = changed(solved(TRIANGLE), "legs", cost=solved(TRIANGLE).contents.value("legs", "cost")[:1])
    assert shown(legs)[0] == ["no.", "stop"]


def test_several_tours_are_a_table():
    """By hand: the two round trips, and those through none, one and both of the other cities by their prizes."""
    def cells(result):
        return re.findall(r"<t[hd][^>]*>([^<]+)</t[hd]>", "".join(_several(result)))

    assert cells(solved(TRIANGLE)) == []
    assert cells(solved(TRIANGLE, best=2)) == [
        "tour", "cost", "stops", "0", "105", "0 - 1 - 2", "1", "110", "0 - 2 - 1"]
    assert cells(solved(TRIANGLE, objective="prize", prizes=[0, 2, 3])) == [
        "tour", "cost", "prize", "stops", "0", "0", "0", "0", "1", "45", "2", "0 - 1", "2", "70", "3", "0 - 2",
        "3", "105", "5", "0 - 1 - 2"]


def test_sentences_name_ends_and_units():
    named = from_matrix(TRIANGLE, "round", city_names=["Mill", "Dock", "Park"])
    path = solved(named, path="open", start="Mill", end=2)
    assert "visits each city once and begins at Mill and ends at Park" in problem(path)
    timed = solved(TRIANGLE, windows={1: (0, 90)}, time_unit="minute", objective="finish")
    assert "The tour ends at 01:45." in " ".join(answer(timed)) and "The unit of costs is min." in problem(timed)
    weighted = solved(TRIANGLE, objective="latency")
    assert "costs 175 (sum of weighted arrivals)" in " ".join(answer(weighted))


def test_ends_are_told_as_times_of_day():
    """A part of the seconds since midnight would say nothing."""
    found = solved(from_matrix([[0, 10, 20], [10, 0, 15], [20, 15, 0]]), objective="finish", time_unit="minute",
                   windows={0: ("08:00", "18:00"), 1: ("09:30", None, "0:05")})
    assert next(answer(found)) == "The tour ends at 09:45."
    early = changed(found, "solution", optimal=False, lower_bound=570)
    assert "No tour ends before 09:30, this one ends at 09:45." in answer(early)
    assert bounds_of(early) == ("09:30", "09:45", "-")
