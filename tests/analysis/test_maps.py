"""Maps: degrees, aspect, scale bar, and names that do not overlap."""

import math

import numpy as np
import pytest

from hpcsolve.analysis import plot
from hpcsolve.analysis.plot.maps import emptiest_corner, round_length
from hpcsolve.problems.generate.tsp import clustered_tsp, uniform_tsp
from hpcsolve.problems.tsp import from_costs
from tests.analysis.results import changed, solved

CITIES = np.array([[48.12, 16.22], [50.50, 4.21], [42.41, 23.19], [45.48, 15.58]])  # Vienna, Brussels, Sofia, Zagreb


def tour_of(coordinates, names=()):
    n = len(coordinates)
    cost = np.arange(n * n, dtype=np.int64).reshape(n, n) % 17 + 1
    return solved(from_costs(cost, "few", coordinates=coordinates, city_names=names))


def scale_bar(axes):
    """Return length in data coordinates, and text."""
    (bar,) = [artist for artist in axes.artists if artist.get_gid() == "scale-bar"]
    return bar.size_bar.get_children()[0].get_width(), bar.txt_label.get_text()


@pytest.mark.parametrize(("kind", "longitude"), [("degrees.minutes", 16 + 22 / 60), ("degrees", 16.22)])
def test_degrees(kind, longitude, pyplot):
    result = changed(tour_of(CITIES), "instance", coordinates_kind=kind)
    axes = plot.plot_tour(result)
    x = axes.lines[0].get_xdata()
    assert np.isclose(x[result.tour.tolist().index(0)], longitude)
    assert "longitude (°)" in axes.get_xlabel() and axes.get_ylabel() == "latitude (°)"
    low, high = axes.lines[0].get_ydata().min(), axes.lines[0].get_ydata().max()
    assert np.isclose(axes.get_aspect(), 1 / math.cos(math.radians((low + high) / 2)))
    length, text = scale_bar(axes)
    kilometres = float(text.removesuffix(" km"))
    assert np.isclose(length * math.cos(math.radians((low + high) / 2)) * 2 * math.pi * 6371.0088 / 360, kilometres)


def test_old_files_are_told_that_they_are_geographic(pyplot):
    axes = plot.plot_tour(tour_of(CITIES), geographic=True)
    assert np.isclose(axes.lines[0].get_xdata().min(), 4 + 21 / 60)


def test_a_plane_keeps_its_coordinates(pyplot):
    axes = plot.plot_tour(tour_of(CITIES))
    length, text = scale_bar(axes)
    assert axes.get_aspect() == 1 and float(text) == length
    assert axes.get_xlabel().startswith("x (unit of the coordinates)")


def test_places_in_one_point_or_line_can_be_drawn(pyplot, tmp_path):
    for coordinates in (np.zeros((4, 2)), np.array([[0, 0], [0, 1], [0, 2], [0, 5.0]])):
        plot.plot_tour(tour_of(coordinates)).figure.savefig(tmp_path / "x.png")


@pytest.mark.parametrize(("longest", "expected"), [
    (3, 2), (5, 5), (9.99, 5), (10, 10), (0.03, 0.02), (0, 0), (1e300, 1e300), (math.inf, 0),
])
def test_round_lengths(longest, expected):
    assert round_length(longest) == pytest.approx(expected)


def test_the_corner_without_points_is_taken():
    corners = np.array([[0.95, 0.05], [0.05, 0.05], [0.9, 0.95]])
    assert emptiest_corner(corners) == "upper left"


def boxes(axes):
    axes.figure.canvas.draw()
    return [text.get_window_extent() for text in axes.texts]


@pytest.mark.parametrize("n", [10, 60, 200])
def test_names_do_not_overlap(n, pyplot):
    axes = plot.plot_tour(solved(clustered_tsp(n), "ant-colony", stop={"iterations": 2}))
    found = boxes(axes)
    inner = [box.padded(-1.5) for box in found]  # the layout is settled again after the note, by less than this
    assert not any(a.overlaps(b) for i, a in enumerate(inner) for b in inner[:i])
    points = axes.transData.transform(axes.lines[0].get_xydata())
    assert not any(box.contains(*point) for box in inner for point in points)
    assert 0 < len(found) <= n
    said = f"{len(found)} of {n} names shown"
    assert (said in axes.get_xlabel()) == (len(found) < n)


def test_the_crowded_case_is_crowded(pyplot):
    axes = plot.plot_tour(solved(clustered_tsp(200), "ant-colony", stop={"iterations": 2}))
    assert len(axes.texts) < 200


def test_many_cities_are_not_named(pyplot):
    result = solved(uniform_tsp(201), "ant-colony", stop={"iterations": 1})
    assert not plot.plot_tour(result).texts and plot.plot_tour(result, names=True).texts
