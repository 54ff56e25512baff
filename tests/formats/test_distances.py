"""Each distance function of TSPLIB equals a scalar one written from the documentation, and values found by hand.

Costs between some cities are those of the matrix, in whatever way they are asked for.
"""

import hashlib
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.formats import read
from hpcsolve.problems.distances import FUNCTIONS, GREAT_CIRCLE, METRICS, dimensions
from hpcsolve.problems.generate import generate
from hpcsolve.problems.tsp import NO_ARC, from_points
from hpcsolve.runner.kinds import KINDS


def nint(x):
    return math.floor(x + 0.5)


def geographical(a, b):
    def radians(x):
        degrees = int(x)
        return 3.141592 * (degrees + 5.0 * (x - degrees) / 3.0) / 180.0

    (lat_a, lon_a), (lat_b, lon_b) = map(radians, a), map(radians, b)
    q1, q2, q3 = math.cos(lon_a - lon_b), math.cos(lat_a - lat_b), math.cos(lat_a + lat_b)
    return int(6378.388 * math.acos(max(-1.0, min(1.0, 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)))) + 1.0)


def pseudo_euclidean(a, b):
    exact = math.sqrt(((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / 10.0)
    return nint(exact) + 1 if nint(exact) < exact else nint(exact)


def x_ray(a, b, speeds):
    moves = [abs(p - q) for p, q in zip(a, b, strict=True)]
    moves[0] = min(moves[0], abs(moves[0] - 360.0))
    return nint(100.0 * max(move / speed for move, speed in zip(moves, speeds, strict=True)))


def root(a, b):
    total = 0.0
    for p, q in zip(a, b, strict=True):
        total += (p - q) ** 2
    return math.sqrt(total)


SCALAR = {
    "EUC_2D": lambda a, b: nint(root(a, b)),
    "EUC_3D": lambda a, b: nint(root(a, b)),
    "CEIL_2D": lambda a, b: math.ceil(root(a, b)),
    "MAN_2D": lambda a, b: nint(abs(a[0] - b[0]) + abs(a[1] - b[1])),
    "MAN_3D": lambda a, b: nint(abs(a[0] - b[0]) + abs(a[1] - b[1]) + abs(a[2] - b[2])),
    "MAX_2D": lambda a, b: max(nint(abs(p - q)) for p, q in zip(a, b, strict=True)),
    "MAX_3D": lambda a, b: max(nint(abs(p - q)) for p, q in zip(a, b, strict=True)),
    "GEO": geographical,
    "ATT": pseudo_euclidean,
    "XRAY1": lambda a, b: x_ray(a, b, (1.0, 1.0, 1.0)),
    "XRAY2": lambda a, b: x_ray(a, b, (1.25, 1.5, 1.15)),
}

# By hand, from the documentation's formulas.
BY_HAND = [
    ("EUC_2D", (0, 0), (1, 1), 1),  # 1.414
    ("EUC_2D", (0, 0), (1.5, 2), 3),  # 2.5 rounds up
    ("EUC_2D", (-3, 0), (0, -4), 5),
    ("EUC_3D", (0, 0, 0), (1, 2, 2), 3),
    ("CEIL_2D", (0, 0), (1, 1), 2),
    ("CEIL_2D", (0, 0), (3, 4), 5),
    ("MAN_2D", (0, 0), (1.2, 1.2), 2),  # 2.4
    ("MAN_3D", (0, 0, 0), (1.2, 1.2, 0.2), 3),  # 2.6
    ("MAX_2D", (0, 0), (1.4, -2.5), 3),  # nint(2.5)
    ("MAX_3D", (0, 0, 0), (1, 2, -7), 7),
    ("ATT", (0, 0), (10, 0), 4),  # sqrt(10) = 3.162: nint is below, so one more
    ("ATT", (0, 0), (0, 12), 4),  # sqrt(14.4) = 3.795
    ("ATT", (0, 0), (1, 3), 1),  # sqrt(1) exactly
    ("GEO", (38.24, 20.42), (39.57, 26.15), 509),  # ulysses16, cities 1 and 2
    ("GEO", (10.0, 10.0), (10.0, 10.0), 1),
    ("GEO", (-0.30, 0.0), (0.30, 0.0), 112),  # truncated towards zero: one degree is 111.32 km
    ("XRAY1", (350, 0, 0), (10, 5, 7), 2000),  # the short way round
    ("XRAY1", (0, 0, 0), (10, 5, 17.5), 1750),
    ("XRAY2", (350, 0, 0), (10, 5, 7), 1600),  # 20 / 1.25
    ("XRAY2", (0, 0, 0), (0, 30, 0), 2000),  # 30 / 1.5
    ("XRAY2", (0, 0, 0), (0, 0, 23), 2000),  # 23 / 1.15
]


def read_points(tmp_path, weight_type, points):
    lines = [f"{k} " + " ".join(repr(x) for x in point) for k, point in enumerate(points, 1)]
    head = ["NAME: x", "TYPE: TSP", f"DIMENSION: {len(points)}", f"EDGE_WEIGHT_TYPE: {weight_type}"]
    file = tmp_path / "x.tsp"
    file.write_text("\n".join([*head, "NODE_COORD_SECTION", *lines, "EOF\n"]))
    return read(file).problem


@pytest.mark.parametrize(("weight_type", "a", "b", "distance"), BY_HAND)
def test_values_by_hand(tmp_path, weight_type, a, b, distance):
    assert SCALAR[weight_type](a, b) == distance, "the oracle itself"
    tsp = read_points(tmp_path, weight_type, [a, b])
    assert tsp.cost.tolist() == [[NO_ARC, distance], [distance, NO_ARC]]


@pytest.mark.parametrize("weight_type", sorted(SCALAR))
def test_whole_matrices(tmp_path, weight_type):
    chance = random.Random(weight_type)
    span = 89.0 if weight_type == "GEO" else 179.0
    axes = dimensions(weight_type)
    points = [[round(chance.uniform(-span, span), chance.choice((0, 1, 2))) for _ in range(axes)] for _ in range(60)]
    if weight_type == "GEO":  # degrees.minutes
        points = [[int(x) + math.copysign(chance.randrange(60) / 100, x) for x in point] for point in points]
    tsp = read_points(tmp_path, weight_type, points)
    for i, a in enumerate(points):
        for j, b in enumerate(points):
            assert tsp.cost[i, j] == (NO_ARC if i == j else SCALAR[weight_type](a, b)), (a, b)
    assert tsp.symmetric and np.array_equal(tsp.coordinates, points)


def test_every_function_has_an_oracle():
    assert set(SCALAR) == set(FUNCTIONS) == {row[0] for row in BY_HAND}


def test_more_cities_than_one_block(tmp_path):
    points = [[x * 7 % 1009, x * x % 997] for x in range(1100)]
    tsp = read_points(tmp_path, "EUC_2D", points)
    for i, j in ((0, 1099), (953, 954), (1099, 500)):
        assert tsp.cost[i, j] == SCALAR["EUC_2D"](points[i], points[j])


def test_decimal_degrees_are_no_degrees_and_minutes(tmp_path):
    capitals = [(48.21, 16.37), (52.52, 13.4), (48.85, 2.35)]
    with pytest.raises(InputError, match=r"x.tsp:8: 48.85 has 60 minutes or more.* a CSV table with columns name, lat"):
        read_points(tmp_path, "GEO", capitals)
    with pytest.raises(InputError, match=r"x.tsp:6: -10.6 has 60 minutes or more"):
        read_points(tmp_path, "GEO", [(48.21, -10.6), (48.05, 2.35)])
    assert read_points(tmp_path, "GEO", [(48.21, -10.59), (48.05, 2.35)]).n == 2


def test_a_few_coordinates_with_too_many_minutes_are_read_as_tsplib_has_them(tmp_path):
    """TSPLIB's ali535 has 45.80, -24.80 and 40.62 among its 1070 coordinates, and its optimum is counted with them."""
    points = [(i % 90 + 0.01 * (i % 60), -0.07 * (i % 8)) for i in range(200)]
    points[7] = (33.56, 45.80)
    tsp = read_points(tmp_path, "GEO", points)
    assert tsp.cost[7, 9] == geographical(points[7], points[9])


@st.composite
def points(draw, metric, most=1e7):
    """Draw some points, with duplicates, ties of rounding (halves and quarters) and large coordinates."""
    globe = metric in ("GEO", GREAT_CIRCLE)
    bound = 89.0 if globe else draw(st.sampled_from([3.0, 400.0, most]))
    number = st.one_of(st.floats(-bound, bound), st.integers(-int(4 * bound), int(4 * bound)).map(lambda x: x / 4))
    point = st.tuples(*[number] * (2 if globe else dimensions(metric)))
    return np.array(draw(st.lists(point, min_size=1, max_size=9)))


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=30)
@given(st.data())
def test_costs_between_cities_are_those_of_the_matrix(metric, data):
    given = data.draw(points(metric))
    n, numbers = len(given), np.arange(len(given))
    whole = METRICS[metric](given[:, None], given[None]).astype(np.int64)
    np.fill_diagonal(whole, NO_ARC)
    pairs = np.array(data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40)))
    tails, heads = pairs.reshape(-1, 2).astype(np.int64).T
    tsp = from_points(given, metric, "some", numbers)
    assert np.array_equal(tsp.between(tails, heads), whole[tails, heads])
    assert np.array_equal(tsp.between(tails[:, None], numbers), whole[tails])
    assert np.array_equal(np.concatenate([costs for _, costs in tsp.row_blocks()]), whole)
    assert all(tsp.between(a, b) == whole[a, b] for a, b in zip(tails.tolist(), heads.tolist()))
    assert "cost" not in vars(tsp) and tsp.symmetric
    assert np.array_equal(tsp.cost, whole) and np.array_equal(whole, whole.T) and whole.min() >= 0
    assert np.array_equal(tsp.between(tails, heads), whole[tails, heads])


@pytest.mark.parametrize("metric", METRICS)
def test_costs_do_not_depend_on_how_many_are_asked_for(metric):
    """Vector instructions take numbers by eights, and what is left in another way."""
    chance = np.random.default_rng(7)
    places = chance.uniform(-89, 89, (501, 2 if metric == GREAT_CIRCLE else dimensions(metric))).round(2)
    tsp = from_points(places, metric, "some", np.arange(501))
    tails, heads = chance.integers(0, 501, (2, 3001))
    expected = tsp.with_costs(np.concatenate([costs for _, costs in tsp.row_blocks()])).between(tails, heads)
    for step in (1, 3, 8, 1000, 3001):
        parts = [tsp.between(tails[i : i + step], heads[i : i + step]) for i in range(0, 3001, step)]
        assert np.array_equal(np.concatenate(parts), expected), step


def test_the_hash_of_costs_is_that_of_a_matrix():
    """Results of earlier versions name these instances so."""
    tsp = generate("tsp", "uniform-tsp", n=60, seed=3)
    assert KINDS["tsp"].content_hash(tsp) == "0c6698a457ca26bf24a8e7bddfa51f348ba824b7dd84906598ef5ce467a298a5"
    many = generate("tsp", "uniform-tsp", n=700)
    found = KINDS["tsp"].content_hash(many)
    assert "cost" not in vars(many)
    whole = many.cost.astype("<i8").tobytes() + many.labels.astype("<i8").tobytes()
    assert found == hashlib.sha256(b"tsp 700 1" + whole).hexdigest() == KINDS["tsp"].content_hash(many)


def test_many_cities_are_named_by_their_coordinates_and_known_by_their_costs(monkeypatch):
    """Hashing the costs of 20,000 cities took a minute. Results of that time are verified still."""
    tsp, kind = generate("tsp", "uniform-tsp", n=60, seed=3), KINDS["tsp"]
    by_costs = kind.content_hash(tsp)
    monkeypatch.setattr("hpcsolve.runner.kinds.MOST_HASHED", 59)
    content = b"tsp 60 1EUC_2D" + tsp.coordinates.astype("<f8").tobytes() + tsp.labels.astype("<i8").tobytes()
    assert kind.content_hash(tsp) == hashlib.sha256(content).hexdigest() and kind.former_hash(tsp) == by_costs


@pytest.mark.parametrize(("metric", "largest"), [("EUC_2D", 2**60), ("MAX_2D", 2**60), ("XRAY1", 2**60 / 100)])
def test_coordinates_are_refused_where_a_distance_is_too_large(metric, largest):
    """Not where only their box is: a corner of the triangle is missing."""
    far = np.zeros((4, dimensions(metric)))
    far[1, 0], far[2, 1] = 0.99 * largest, 0.1 * largest
    assert from_points(far, metric, "just", np.arange(4)).cost[0, 1] <= 2**60
    far[1, 0] = 1.01 * largest
    with pytest.raises(OverflowError):
        from_points(far, metric, "too far", np.arange(4))
    far[1, 0], far[2, 0] = 1.7e308, -1.7e308
    with pytest.raises(OverflowError):
        from_points(far, metric, "infinitely far", np.arange(4))
