"""Time windows in instances: TSPTW files, TSPLIB's TYPE TSPTW as LKH-3 has it, and what is refused."""

import csv
import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.algorithms.held_karp.statement import Parameters, statement
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.errors import InputError
from hpcsolve.formats import read, write
from hpcsolve.formats.convert import convert
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.rounding import LARGEST_SUM, Precision, largest_cost
from hpcsolve.problems.tsp import batch_of
from hpcsolve.problems.windows import Windows
from hpcsolve.runner.kinds import Tours
from tests.formats.reading import refusal

SMALL = "3\n0 1 2\n3 0 4\n5 6 0\n0 99\n2 8\n7 20\n"
LKH = """\
NAME : t
TYPE : TSPTW
DIMENSION : 3
SERVICE_TIME : 2.5
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : FULL_MATRIX
EDGE_WEIGHT_SECTION
0 1 2
3 0 4
5 6 0
TIME_WINDOW_SECTION
2 3 9
1 0 40
3 0 20
-1
DEPOT_SECTION
1
-1
EOF
"""


def written(tmp_path, text, name="t.tw"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def times_of(windows):
    return [windows.earliest.tolist(), windows.latest.tolist(), windows.service.tolist()]


def test_the_numbers_of_a_file(tmp_path):
    tsp = read(written(tmp_path, SMALL)).problem
    assert tsp.cost[~np.eye(3, dtype=bool)].tolist() == [1, 2, 3, 4, 5, 6] and tsp.scale == 1
    assert times_of(tsp.windows) == [[0, 2, 7], [99, 8, 20], [0, 0, 0]] and tsp.labels.tolist() == [0, 1, 2]
    assert read(written(tmp_path, SMALL, "n20w100.003.txt")).problem.name == "n20w100.003"
    one = read(written(tmp_path, "1\n0\n5 9\n")).problem
    assert one.n == 1 and times_of(one.windows) == [[5], [9], [0]]


@pytest.mark.parametrize(("old", "new", "scale", "cost", "times"), [
    ("6 0\n", "6.25 7\n", 100, [100, 200, 300, 400, 500, 625], [[0, 200, 700], [9900, 800, 2000]]),
    ("2 8", "2.5 8", 10, [10, 20, 30, 40, 50, 60], [[0, 25, 70], [990, 80, 200]]),
    ("2 8", "2 inf", 1, [1, 2, 3, 4, 5, 6], [[0, 2, 7], [99, LARGEST_SUM, 20]]),
])
def test_the_scale_is_that_of_all_numbers_of_the_file(tmp_path, old, new, scale, cost, times):
    tsp = read(written(tmp_path, SMALL.replace(old, new))).problem
    assert tsp.scale == scale and tsp.cost[~np.eye(3, dtype=bool)].tolist() == cost
    assert times_of(tsp.windows)[:2] == times


@pytest.mark.parametrize(("old", "new", "message"), [
    ("3 0 4", "3 0", r"t.tw:3: expected the travelling times from city 1 \(3 numbers\), found 2 numbers"),
    ("3\n0", "4\n0", r"t.tw:2: expected the travelling times from city 0 \(4 numbers\), found 3 numbers"),
    ("3\n0", "3 3\n0", "t.tw:1: expected the number of cities alone on the first line, found '3 3'"),
    ("2 8", "2 8 1", r"t.tw:6: expected the window of city 1, earliest and latest \(2 numbers\), found 3 numbers"),
    ("7 20\n", "", r"t.tw:6: 3 cities are 3 lines of travelling times and 3 of windows, but there are 5 lines"),
    ("7 20\n", "7 20\n7 20\n", "t.tw:8: 3 cities are"),
    ("7 20\n", "20 7\n", "t.tw:7: the earliest time of city 2 is after the end of the window, 7"),
    ("7 20", "-7 20", "t.tw:7: the earliest time of city 2 is negative"),
    ("7 20", "inf 20", "t.tw:7: the earliest time of city 2 is infinite"),
    ("7 20", "a 20", "t.tw:7: expected a number, found 'a'"),
    ("7 20", "nan 20", "t.tw:7: the earliest time of city 2 is NaN"),
    ("3 0 4", "3 0 x", "t.tw:3: expected a number, found 'x'"),
    ("7 20", "7.1234567890123456789 20", "t.tw:7: the earliest time of city 2 has too many digits"),
    ("3 0 4", "3 0 1e30", "t.tw:3: the travelling time from city 1 to city 2 is too large"),
    ("3 0 4", "3 0 1e17", ""), ("7 20", "7.001 20", ""),
    ("5 6 0\n0 99", "5 6 1e17\n0 99.12345", ""),
    ("5 6 0\n0 99", "5 1e17 0\n0 99.12345", "t.tw:5: the latest time of city 0 has too many decimals beside the costs"),
])
def test_what_is_refused(tmp_path, old, new, message):
    path = written(tmp_path, SMALL.replace(old, new))
    if message:
        assert re.search(message, refusal(read, path))
    else:
        assert read(path).problem.n == 3


def test_tsplib_with_windows_as_lkh_reads_it(tmp_path):
    tsp = read(written(tmp_path, LKH, "t.tsp")).problem
    assert tsp.scale == 10 and tsp.cost[1, 2] == 40 and tsp.labels.tolist() == [1, 2, 3]
    assert times_of(tsp.windows) == [[0, 30, 0], [400, 90, 200], [0, 25, 25]]
    stays = LKH.replace("SERVICE_TIME : 2.5\n", "").replace("EOF", "SERVICE_TIME_SECTION\n2 7\n1 1\nEOF")
    assert times_of(read(written(tmp_path, stays, "t.tsp")).problem.windows)[2] == [1, 7, 0]


@pytest.mark.parametrize(("old", "new", "message"), [
    ("TYPE : TSPTW", "TYPE : ATSP", "t.tsp:11: TIME_WINDOW_SECTION: TYPE is ATSP; write `TYPE: TSPTW`"),
    ("SERVICE_TIME : 2.5\n", "", ""),
    ("2 3 9\n", "", "t.tsp:14: TIME_WINDOW_SECTION has no window of city 2"),
    ("2 3 9", "2 3", "t.tsp:12: expected a city's number, earliest time and latest time, found '2 3'"),
    ("2 3 9", "4 3 9", "t.tsp:12: there is no city 4"), ("2 3 9", "1 3 9", r"t.tsp:13: city 1 is given twice"),
    ("2 3 9", "2 10 9", "t.tsp:12: the earliest time of city 2 is after the end of the window, 9"),
    ("2 3 9", "2 x 9", "t.tsp:12: the earliest time must be a number, found 'x'"),
    ("SERVICE_TIME : 2.5", "SERVICE_TIME : x", "t.tsp:4: SERVICE_TIME is 'x'"),
    ("SERVICE_TIME : 2.5", "SERVICE_TIME : -1", "t.tsp:4: the service time of city 2 is negative"),
    ("DEPOT_SECTION\n1", "DEPOT_SECTION\n2", "t.tsp:16: the depot must be the first city, 1, alone, found '2'"),
    ("EOF", "SERVICE_TIME_SECTION\n1 2\nEOF", "t.tsp:4: SERVICE_TIME beside SERVICE_TIME_SECTION"),
    ("TIME_WINDOW_SECTION", "TIME_WINDOWS_SECTION", "did you mean TIME_WINDOW_SECTION"),
    ("DEPOT_SECTION\n1\n-1\n", "DEMAND_SECTION\n1 4\n", "DEMAND_SECTION: hpcsolve does not solve vehicle routing"),
])
def test_what_is_refused_of_tsplib(tmp_path, old, new, message):
    path = written(tmp_path, LKH.replace(old, new), "t.tsp")
    if message:
        assert re.search(message, refusal(read, path))
    else:
        assert not read(path).problem.windows.service.any()


NUMBERS = st.decimals(0, 5000, places=2)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(
    st.lists(st.lists(NUMBERS, min_size=n, max_size=n), min_size=n, max_size=n),
    st.lists(st.tuples(NUMBERS, NUMBERS, st.booleans()), min_size=n, max_size=n),
    st.lists(NUMBERS, min_size=n, max_size=n))))
def test_windows_are_read_as_they_were_written(tmp_path_factory, numbers):
    """From TSPTW to TSPLIB and back, with service times and the values of the decimals."""
    matrix, spans, stays = numbers
    n, folder = len(matrix), tmp_path_factory.mktemp("tw")
    spans = [(min(a, b), Decimal("inf") if endless else max(a, b)) for a, b, endless in spans]
    rows = [str(n), *(" ".join(map(str, row)) for row in matrix), *(f"{a} {b}" for a, b in spans)]
    tsp = read(written(folder, "\n".join(rows) + "\n")).problem
    assert [Decimal(int(x)) / tsp.scale for x in tsp.windows.earliest] == [a for a, _ in spans]
    ends = [Decimal("inf") if x == LARGEST_SUM else Decimal(int(x)) / tsp.scale for x in tsp.windows.latest]
    assert ends == [b for _, b in spans]
    off = ~np.eye(n, dtype=bool)
    given_costs = [matrix[i][j] for i, j in np.argwhere(off).tolist()]
    assert [Decimal(int(x)) / tsp.scale for x in tsp.cost[off]] == given_costs
    service = np.array([int(stay * 100) for stay in stays])
    served = tsp.with_costs(np.where(off, np.where(off, tsp.cost, 0) * (100 // tsp.scale), tsp.cost), scale=100,
                            windows=replace(tsp.windows.at(tsp.scale, 100), service=service))
    write(served, str(folder / "t.tsp"))
    again = read(folder / "t.tsp").problem
    assert times_of(again.windows.at(again.scale, 100)) == times_of(served.windows)
    assert np.array_equal(np.where(off, again.cost, 0) * (100 // again.scale), np.where(off, served.cost, 0))


def test_published_files(data_dir):
    """All windows have the numbers of the file. Costs are compared by the published tours, in jobs/benchmarks."""
    folder = data_dir / "tsptw"
    if not folder.is_dir():
        pytest.skip("HPCSOLVE_DATA has no tsptw/")
    with (folder / "best-known.csv").open() as lines:
        sizes = {row["file"]: int(row["customers"]) + 1 for row in csv.DictReader(lines)}
    for name, n in sizes.items():
        if not (folder / name).exists():
            continue
        found = read(folder / name)
        words = (folder / name).read_text().partition("# Sum")[0].split()
        assert found.format == "tsptw" and found.problem.n == n == int(words[0])
        spans = np.array([Decimal(word) * found.problem.scale for word in words[-2 * n:]]).astype(int).reshape(n, 2)
        assert found.problem.windows.earliest.tolist() == spans[:, 0].tolist()
        assert found.problem.windows.latest.tolist() == spans[:, 1].tolist()


def test_windows_go_where_an_instance_goes(tmp_path):
    tsp = read(written(tmp_path, SMALL)).problem
    kind = Tours()
    assert "with time windows" in kind.headline(tsp)
    assert kind.content_hash(tsp) != kind.content_hash(replace(tsp, windows=None))
    for name in ("ant-colony", "edge-assembly"):
        solver = algorithm(name)
        with pytest.raises(InputError, match="has time windows; solve it with algorithm"):
            solver.statement(tsp, solver.parameters())
    late = replace(tsp, windows=replace(tsp.windows, latest=np.array([2**61, 8, 20])))
    with pytest.raises(InputError, match="instance 1: times are too large to be kept with 1 decimals, as another"):
        batch_of([replace(tsp, scale=10), late], "both")
    with pytest.raises(InputError, match=r"has time windows, which only TSPLIB is written with; write a \.tsp file"):
        write(tsp, str(tmp_path / "t.npy"))
    assert "without labels" in convert(str(tmp_path / "t.tw"), str(tmp_path / "t.tsp"))


def test_the_objectives_of_an_instance_with_windows(tmp_path):
    tsp = read(written(tmp_path, SMALL)).problem
    for objective in ("sum", "finish", "latency"):
        assert statement(tsp, Parameters(objective=objective)).question.windows is tsp.windows
    for keys, message in (({"objective": "bottleneck"}, 'go with "sum", "finish", "latency" and "prize" alone'),
                          ({"count": True}, "for one tour; remove count"),
                          ({"method": "lattice", "best": 3}, "remove method and best")):
        with pytest.raises(InputError, match=message):
            statement(tsp, Parameters(**keys))
    own = written(tmp_path, "city,earliest,latest\n1,4,6\n", "own.csv")
    assert statement(tsp, Parameters(windows=str(own))).question.windows.latest[:2].tolist() == [LARGEST_SUM, 6]


def test_rounding_keeps_windows_or_refuses(tmp_path):
    tsp = read(written(tmp_path, SMALL.replace("3 0 4", "3.25 0 4"))).problem
    to_tenths = Precision("held-karp", lambda n, _: largest_cost(n), lambda _: True, decimals=1)
    rounded = tsp.fitted(to_tenths)
    assert rounded.scale == 10 and times_of(rounded.windows)[0] == [0, 20, 70] and rounded.cost[1, 0] == 32
    tsp = read(written(tmp_path, SMALL.replace("7 20", "7.25 20"))).problem
    with pytest.raises(InputError, match=r"time windows have more decimals than the costs, which are rounded to 0\.1"):
        tsp.fitted(to_tenths)
    huge = Windows(np.array([0]), np.array([LARGEST_SUM - 1]), np.array([0]))
    assert huge.at(1, 10) is None and huge.at(10, 1) is None
    endless = Windows(np.array([30]), np.array([LARGEST_SUM]), np.array([0]))
    assert times_of(endless.at(10, 1)) == [[3], [LARGEST_SUM], [0]]


def test_a_sum_does_not_count_waiting(tmp_path):
    tsp = read(written(tmp_path, SMALL)).problem
    question = TourQuestion(windows=tsp.windows)
    assert question.check(tsp, [0, 1, 2]) == 1 + 4 + 5
    assert replace(question, objective="finish").check(tsp, [0, 1, 2]) == 7 + 5
    assert question.departures(tsp, [0, 1, 2]).tolist() == [0, 2, 7]
    with pytest.raises(ValueError, match="city 1 is served at 13, after its window ends at 8"):
        question.check(tsp, [0, 2, 1])
    late = replace(question, windows=replace(tsp.windows, latest=np.array([11, 8, 20])))
    with pytest.raises(ValueError, match="city 0 is reached again at 12, after its window ends at 11"):
        late.check(tsp, [0, 1, 2])
