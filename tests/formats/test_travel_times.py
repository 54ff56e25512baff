"""Travel times by time of departure beside an instance: factors, tables, what is refused, and that nobody overtakes."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.order_files import read_travel_times
from hpcsolve.problems.travel_times import TravelTimes
from hpcsolve.problems.tsp import NO_ARC, from_costs, from_matrix

TSP = from_matrix([[0, 1.5, 2], [3, 0, np.inf], [5, 6, 0]], city_names=["Inn", "Mill", "Well"])
"""Scale 10."""
TABLE = np.array([[[0, 15, 20], [30, 0, 40], [50, 60, 0]]]) / 10


def factors(text, unit=None):
    return read_travel_times(InputFile("f.csv", text.encode(), ""), TSP, None, unit)


def tables(array, departures, unit=None, tmp=None):
    file = tmp / "t.npy"
    np.save(file, array)
    return read_travel_times(InputFile("t.npy", file.read_bytes(), ""), TSP, departures, unit)


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 3000)), min_size=1, max_size=5, unique_by=lambda r: r[0]))
def test_factors_multiply_costs_and_round(rows):
    """Either as the definition says, or a later departure arrives earlier, and the message is that of the first arc."""
    rows.sort()
    text = "time,factor\n" + "".join(f"{time / 10},{factor / 1000}\n" for time, factor in rows)
    expected = [[[NO_ARC if c == NO_ARC else math.floor(Fraction(factor, 1000) * c + Fraction(1, 2))
                  for c in row] for row in TSP.cost.tolist()] for _, factor in rows]
    late = any(time + a > after + b for (time, one), (after, two) in pairwise(zip([r[0] for r in rows], expected))
               for ones, twos in zip(one, two) for a, b in zip(ones, twos) if a != NO_ARC)
    try:
        found = factors(text)
    except InputError as error:
        assert late and "a later departure arrives earlier from city" in str(error)
    else:
        assert not late and found.tables.tolist() == expected and found.departures.tolist() == [r[0] for r in rows]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 40)), min_size=1, max_size=5), st.integers(-3, 60))
def test_travel_times_are_linear_between_and_rounded_down(rows, leave):
    times = np.cumsum([step for step, _ in rows])
    takes = [row[1] for row in rows]
    travel = TravelTimes(times, np.array(takes).reshape(-1, 1, 1))
    at = min(max(leave, times[0]), times[-1])
    exact = {Fraction(takes[-1])} | {
        a + Fraction(int(at - t), int(u - t)) * (b - a)
        for (t, a), (u, b) in pairwise(zip(times, takes)) if t <= at < u}
    expected = takes[-1] if at == times[-1] else math.floor((exact - {Fraction(takes[-1])} or exact).pop())
    assert travel.takes(0, 0, leave) == expected
    arrivals = [t + travel.takes(0, 0, t) for t in range(70)]
    falls = any(a > b for a, b in pairwise(arrivals))
    assert falls <= (travel.overtaking() is not None)
    if (found := travel.overtaking()) is not None:
        k = found[0]
        assert times[k] + takes[k] > times[k + 1] + takes[k + 1]


def test_times_of_day_and_tables(tmp_path):
    found = factors("factor,time\n1,6:00\n2.5,07:30\n", "minute")
    assert found.departures.tolist() == [3600, 4500]
    assert found.tables[1].tolist() == [[NO_ARC, 38, 50], [75, NO_ARC, NO_ARC], [125, 150, NO_ARC]]
    found = tables(np.concatenate([TABLE, 2 * TABLE]), ["6:00", 400.5], "minute", tmp_path)
    assert found.departures.tolist() == [3600, 4005] and found.tables[1, 1].tolist() == [60, NO_ARC, 80]


@pytest.mark.parametrize(("text", "message"), [
    ("", "f.csv: is empty; the first line must be time,factor"),
    ("time,speed\n1,1\n", "f.csv:1: the columns are time, speed; they must be time and factor"),
    ("time,factor\n1,1,1\n", "f.csv:2: 3 cells, but the first line has 2"),
    ("time,factor\n1,fast\n", "f.csv:2: expected a factor from 0 to 1000, found 'fast'"),
    ("time,factor\n1,nan\n", "f.csv:2: expected a factor from 0 to 1000, found 'nan'"),
    ("time,factor\n1,-1\n", "f.csv:2: expected a factor from 0 to 1000, found '-1'"),
    ("time,factor\n1,1001\n", "f.csv:2: expected a factor from 0 to 1000, found '1001'"),
    ("time,factor\n", "f.csv: 0 times of departure; there must be 1 to 1000"),
    ("time,factor\n2,1\n1,1\n", "f.csv:3: 1 comes after 2; times of departure must ascend, each time once"),
    ("time,factor\n2,1\n2,1\n", "f.csv:3: 2 comes after 2; times of departure must ascend, each time once"),
    ("time,factor\n8:00,1\n", "f.csv:2: 8:00 is a time of day; set time-unit"),
    ("time,factor\n-1,1\n", "f.csv:2: '-1' is not a time of at least 0"),
    ("time,factor\n10,3\n12,1\n", "f.csv: a later departure arrives earlier from city Inn to Mill: leaving at 10 takes "
     "4.5 and at 12 takes 1.5; travel times may fall by no more than the time between their departures"),
])
def test_what_is_no_table_of_factors(text, message):
    with pytest.raises(InputError) as error:
        factors(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(("array", "departures", "message"), [
    (TABLE, None, "held-karp.travel-times: a .npy file has tables alone; give the time of departure of each in depart"),
    (TABLE, [], "t.npy: has shape (1, 3, 3); 0 departures among 3 cities need (0, 3, 3)"),
    (TABLE[0], [0], "t.npy: has shape (3, 3); 1 departures among 3 cities need (1, 3, 3)"),
    (np.repeat(TABLE, 2, 0), [1, 0.5], "held-karp.departures: 0.5 comes after 1; times of departure must ascend"),
    (np.repeat(TABLE, 2, 0), ["7:00", 1], "held-karp.departures: 7:00 is a time of day; set time-unit"),
    (-TABLE, [0], "t.npy: the arc from city Inn to Mill takes less than 0"),
    (TABLE / 100, [0], "t.npy: a cost has more decimals than the instance's costs (scale 10)"),
    (np.stack([TABLE[0], np.where(TABLE[0] > 5.5, np.inf, TABLE[0])]), [0, 9],
     "t.npy: the arc from city Well to Mill is there at some times of departure alone"),
    (np.stack([9 * TABLE[0], TABLE[0]]), [7, 8], "t.npy: a later departure arrives earlier from city Inn to Mill: le"),
])
def test_what_are_no_tables(array, departures, message, tmp_path):
    with pytest.raises(InputError) as error:
        tables(array, departures, tmp=tmp_path)
    assert str(error.value).startswith(message)


def test_a_table_of_factors_has_its_own_times():
    with pytest.raises(InputError, match=r"held-karp.departures: the times of departure of a table of factors stand"):
        read_travel_times(InputFile("f.csv", b"time,factor\n1,1\n", ""), TSP, [1])


@pytest.mark.parametrize(("cost", "text", "message"), [
    ([[0, -1], [2, 0]], "0,1\n", "f.csv: a cost of the instance is negative; travel times must be at least 0"),
    ([[0, 2**60], [2, 0]], "0,2\n", "f.csv: a cost times its factor is too large"),
    ([[0, 2**40], [2, 0]], "0,1\n8589934592,2\n", "f.csv: two times of departure are so far apart"),
])
def test_times_that_do_not_fit(cost, text, message):
    with pytest.raises(InputError) as error:
        read_travel_times(InputFile("f.csv", f"time,factor\n{text}".encode(), ""), from_costs(np.array(cost), "big"),
                          None)
    assert str(error.value).startswith(message)


def test_large_costs_are_multiplied_exactly():
    tsp = from_costs(np.array([[0, 2**50 + 1], [3, 0]]), "big")
    found = read_travel_times(InputFile("f.csv", b"time,factor\n0,1.0000001\n", ""), tsp, None)
    exact = Fraction("1.0000001") * (2**50 + 1)
    assert found.tables[0, 0, 1] == math.floor(exact + Fraction(1, 2))
