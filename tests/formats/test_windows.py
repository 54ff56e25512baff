"""Time windows beside an instance: tables, DataFrames, mappings and lists, with numbers and times of day."""

from dataclasses import replace
from datetime import datetime, time, timedelta
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import hpcsolve
from hpcsolve.answers.tour import TOUR
from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.order_files import read_windows, with_windows
from hpcsolve.problems.clock import UNITS, clock_seconds, clock_text
from hpcsolve.problems.rounding import LARGEST_SUM, Precision
from hpcsolve.problems.tsp import from_costs, from_matrix

TSP = from_matrix([[0, 1.5, 2], [3, 0, 4], [5, 6, 0]], city_names=["Inn", "Mill", "Well"])
"""Scale 10."""


def times_of(windows):
    return [windows.earliest.tolist(), windows.latest.tolist(), windows.service.tolist()]


def windows_given(given_windows, tsp, unit=None):
    return with_windows(given_windows, tsp, unit).windows


def table(text, unit=None):
    return times_of(read_windows(InputFile("w.csv", text.encode(), ""), TSP, unit))


@given(st.integers(0, 99 * 3600), st.sampled_from(sorted(UNITS)))
def test_times_of_day_are_read_as_they_are_written(seconds, unit):
    text = f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    assert clock_seconds(text) == seconds
    scaled = Fraction(seconds * 36, UNITS[unit])
    if scaled.denominator == 1:
        assert clock_seconds(clock_text(int(scaled), unit, 36)) == seconds


@pytest.mark.parametrize("text", ["8", "8:0", "8:60", "8:00:60", "-8:00", "8:00 pm", "1234:00", "08.00", "",
                                  "8:00:00:0", "\u0668:00"])
def test_what_is_no_time_of_day(text):
    assert clock_seconds(text) is None


def test_a_table_with_times_of_day():
    text = "city,earliest,latest,service\nMill,08:00,8:30:30,0:15\n2,7.5,,2\n"
    assert table(text, "minute") == [[0, 4800, 75], [LARGEST_SUM, 5105, LARGEST_SUM], [0, 150, 20]]
    assert table(text.replace("8:30:30", "9:00").replace("0:15", "0:30"), "hour")[1][1] == 90
    assert table(text, "second")[0][1] == 288000


@pytest.mark.parametrize(("cell", "unit", "message"), [
    ("08:00", None, r'w.csv:2: 08:00 is a time of day; set time-unit to what a unit of the costs is \("second", "minu'),
    ("08:00:20", "minute", "w.csv:2: 08:00:20 is no number of minutes with 1 decimals, as the costs have"),
    ("8:00 am", "minute", "w.csv:2: expected a time as a number, in the unit of the costs, found '8:00 am'"),
    ("24:00", "minute", "w.csv:2: the window of city Mill is empty: 24:00 is after 10:00"),
])
def test_times_of_day_that_are_refused(cell, unit, message):
    with pytest.raises(InputError, match=message):
        table(f"city,earliest,latest\nMill,{cell},10:00\n", unit)


def test_what_programs_give():
    expected = [[0, 25, 0], [990, 80, 200], [0, 0, 5]]
    rows = [(0, 99, 0), (2.5, 8, None), (0, 20.0, 0.5)]
    for given_windows in (rows, [list(row) for row in rows], np.array([[0, 99, 0], [2.5, 8, np.nan], [0, 20, 0.5]]),
                          dict(enumerate(rows)), dict(zip(TSP.city_names, rows))):
        assert times_of(windows_given(given_windows, TSP)) == expected
    assert times_of(windows_given({"Mill": (0.1 + 0.2, 3)}, TSP))[0] == [0, 3, 0], "noise of floats"
    clock = {"Mill": (time(8), "9:15", timedelta(minutes=10)), "Inn": ("7:00", float("inf"))}
    assert times_of(windows_given(clock, TSP, "minute")) == [[4200, 4800, 0], [LARGEST_SUM, 5550, LARGEST_SUM],
                                                             [0, 100, 0]]


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"Latest": [8, None], "Earliest": [2.5, 1], "city": ["Mill", "Inn"]})
    expected = [[10, 25, 0], [LARGEST_SUM, 80, LARGEST_SUM], [0, 0, 0]]
    assert times_of(windows_given(frame, TSP)) == expected
    assert times_of(windows_given(frame.set_index("city"), TSP)) == expected
    assert times_of(windows_given(frame.assign(city=[1, 0]), TSP)) == expected


@pytest.mark.parametrize(("given_windows", "message"), [
    (7, "windows: expected a DataFrame, a mapping from cities"), ([1, 2, 3], "windows: expected a DataFrame"),
    ([(1, 2)], r"windows: expected \(earliest, latest\) or .* for each of 3 cities, got 1 rows of 2"),
    ({"Mill": (1,)}, "windows: expected .* got 1 rows of 1"), ({"Mill": (2, 1)}, "windows:2: the window of city Mill"),
    ({"Hill": (1, 2)}, "windows:2: three has no city|windows:2: .* has no city 'Hill'"),
    ({"Mill": (-0.5, 1)}, r"windows:2: '-0.5' is not a time of at least 0 and below 5e\+18"),
    ({"Mill": (0, "1e25")}, r"windows:2: '1e25' is not a time of at least 0 and below 5e\+18"),
    ({"Mill": (datetime(2026, 1, 5, 8), 9)}, "windows:2: expected a time as a number"),
    ({"Mill": (True, 9)}, "windows:2: expected a time as a number"),
])
def test_what_programs_may_not_give(given_windows, message):
    with pytest.raises(InputError, match=message):
        windows_given(given_windows, TSP)


def test_a_number_that_is_another_citys_name_is_refused():
    tsp = replace(from_matrix(np.full((3, 3), 5.0)), city_names=("2", "0", "1"))
    for given_windows in ({2: (500, 1000)}, [(0, 1000), (0, 1000), (500, 1000)]):
        with pytest.raises(InputError, match="as its name"):
            windows_given(given_windows, tsp)
    named = replace(tsp, city_names=("101", "102", "103"))
    assert times_of(windows_given({"102": (500, 1000)}, named))[0] == [0, 500, 0]


@pytest.mark.parametrize("city", ["--3", "\u00b2", "5" * 5000])
def test_what_is_nearly_a_number_is_no_city(city):
    with pytest.raises(InputError, match="has no city"):
        table(f"city,earliest,latest\n{city},1,2\n")


def test_missing_values_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra `test`)")
    frame = pandas.DataFrame({"city": [0, 1], "earliest": [1, None], "latest": [5, None]}, dtype="Int64")
    assert times_of(windows_given(frame, TSP))[0][:2] == [10, 0]


def test_windows_in_memory_are_part_of_the_instance(tmp_path):
    costs = np.array([[0, 15, 20], [30, 0, 40], [50, 60, 0]])
    keys = {"objective": "finish", "device": "cpu", "threads": 1}
    windows = {1: ("8:00", "9:00", "0:10"), 2: ("7:00", "7:40")}
    result = hpcsolve.solve(costs, windows=windows, time_unit="minute", output=tmp_path / "out.h5", **keys)
    assert result.tour.tolist() == [0, 2, 1] and result.cost == 8 * 60 + 10 + 30
    assert result.table("windows")["earliest"].tolist() == [0, 480, 420]
    np.save(tmp_path / "costs.npy", costs)
    again = hpcsolve.solve(tmp_path / "costs.npy", windows=windows, time_unit="minute", **keys)
    assert again.cost == result.cost
    assert "stops:  from 00:00 to 08:40, with 06:40 waiting, 00:10 service" in list(TOUR.lines(again.contents))
    with pytest.raises(InputError, match="windows: only cities have time windows"):
        hpcsolve.solve(scipy.sparse.coo_matrix(costs), windows=windows, sources=[0], device="cpu")
    with pytest.raises(InputError, match=r"time-unit: there are no time windows; remove time-unit"):
        hpcsolve.solve(costs, "held-karp", time_unit="minute", device="cpu")
    assert from_costs(costs, "plain").windows is None


@given(st.lists(st.floats(0.001, 10**6), min_size=3, max_size=3), st.integers(0, 3))
def test_floats_are_taken_to_twelve_digits(begins, decimals):
    """Windows of full precision give exact costs more decimals, and are not farther off than float arithmetic."""
    tsp = from_matrix(np.array([[0, 15, 20], [30, 0, 40], [50, 60, 0]]) / 10**decimals)
    found = with_windows([(begin, None) for begin in begins], tsp)
    assert found.rounding is None and found.scale >= tsp.scale
    assert (found.cost[0, 1] * tsp.scale, found.cost[2, 1] * tsp.scale) == \
        (tsp.cost[0, 1] * found.scale, tsp.cost[2, 1] * found.scale)
    for begin, scaled in zip(begins, found.windows.earliest.tolist()):
        assert abs(Fraction(scaled, found.scale) - Fraction(repr(begin))) <= max(60, *map(Fraction, begins)) / 2**40


@pytest.mark.parametrize(("begin", "scale", "scaled"), [
    (1718.6999999999998, 10, 17187), ("1718.6999999999998", 10, 17187), (0.1 + 0.2, 10, 3), (0.25, 100, 25),
    ("0.123456", 10**6, 123456), (7, 10, 70), (1e-3, 1000, 1),
])
def test_what_is_noise(begin, scale, scaled):
    """A text of few digits is meant as it is."""
    found = with_windows({"Mill": (begin, None)}, TSP)
    assert (found.scale, found.windows.earliest[1]) == (scale, scaled)


def test_windows_beside_rounded_costs():
    """Nothing would be proven of tours if times were rounded too."""
    tenths = Precision("test", lambda n, _: 10**6, lambda tsp: tsp.scale <= 10, decimals=1)
    costs = from_matrix([[0, 1.26, 2], [3, 0, 4], [5, 6, 0]])
    tsp = with_windows([(0.25, 9.75), (0.35, 9.7), (0.31, None)], costs)
    assert times_of(tsp.windows) == [[25, 35, 31], [975, 970, LARGEST_SUM], [0, 0, 0]] and tsp.scale == 100
    with pytest.raises(InputError, match=r"its time windows have more decimals than the costs, which are rounded to 0"):
        tsp.fitted(tenths)
    with pytest.raises(InputError, match=r"windows:2: '0.25' has more decimals than the costs, which have 1 dec"):
        with_windows([(0.25, 9.75), (0.35, 9.7), (0.31, None)], costs.fitted(tenths))
    assert with_windows([(0.1 + 0.2, 9.7)] * 3, costs.fitted(tenths)).windows.earliest.tolist() == [3, 3, 3]


def test_random_windows_and_costs_of_full_precision_are_solved():
    chance = np.random.default_rng(5)
    points = chance.random((8, 2))
    costs = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    windows = [(begin, begin + 9) for begin in chance.random(8)]
    result = hpcsolve.solve(costs, windows=windows, objective="finish", device="cpu")
    arrival, order = windows[0][0], result.tour.tolist()
    for tail, head in zip(order, [*order[1:], order[0]]):
        arrival = max(arrival + costs[tail, head], windows[head][0] if head != order[0] else 0)
        assert arrival <= windows[head][1] + 1e-6
    assert abs(arrival - windows[0][0] - result.cost) < 1e-6 or abs(arrival - result.cost) < 1e-6
