"""Tables of places are read as they were written, under headers in all spellings, and mistakes are named."""

import csv
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcsolve.errors import InputError
from hpcsolve.formats import read, write
from hpcsolve.formats.places import write_places
from hpcsolve.formats.tables import shortest
from hpcsolve.problems.distances import EARTH_RADIUS
from hpcsolve.problems.geographic import from_places
from tests.formats.reading import names, refusal

latitudes, longitudes = st.floats(-90, 90), st.floats(-180, 180)


def read_text(folder, text, name="places.csv"):
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return read(folder / name)


@given(st.lists(st.tuples(names(), latitudes, longitudes, st.text("ab ,;\"", max_size=5)), min_size=1, max_size=8),
       st.sampled_from([",", ";", "\t"]), st.permutations(["name", "lat", "lon", "note"]),
       st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff", "# by hand\n\n"]))
def test_what_csv_writes_is_read(tmp_path_factory, rows, delimiter, order, end, head):
    """Python's csv module writes columns in any order, quoted texts and three delimiters."""
    stream = io.StringIO()
    table = csv.writer(stream, delimiter=delimiter, lineterminator=end)
    table.writerow(order)
    for name, latitude, longitude, note in rows:
        cells = {"name": name, "lat": repr(latitude), "lon": shortest(longitude), "note": note}
        table.writerow([cells[title] for title in order])
    instance = read_text(tmp_path_factory.mktemp("p"), head + stream.getvalue())
    tsp = instance.problem
    assert instance.format == "places" and tsp.city_names == tuple(name for name, *_ in rows)
    assert tsp.coordinates.tolist() == [[latitude, longitude] for _, latitude, longitude, _ in rows]
    expected = from_places([row[1] for row in rows], [row[2] for row in rows])
    assert np.array_equal(tsp.cost, expected.cost) and tsp.labels.tolist() == list(range(1, len(rows) + 1))


@given(st.lists(st.tuples(names(), latitudes, longitudes, st.integers(-5, 10**17)), min_size=1, max_size=8,
                unique_by=lambda row: row[3]), st.booleans())
def test_what_is_written_is_read(tmp_path_factory, rows, named):
    tsp = from_places([row[1] for row in rows], [row[2] for row in rows], "again", labels=[row[3] for row in rows],
                      city_names=[row[0] for row in rows] if named else ())
    path = tmp_path_factory.mktemp("p") / "again.csv"
    write(tsp, str(path))
    again = read(path).problem
    for name in ("cost", "labels", "coordinates", "city_names", "name", "coordinates_kind"):
        assert np.array_equal(getattr(again, name), getattr(tsp, name)), name


@pytest.mark.parametrize("header", [
    "name,lat,lon", "Name, Latitude, Longitude", "address,LAT,LNG", "City,lat (deg),long [deg]", "place,latitude,lon",
    "id,lat,lon",
])
def test_spellings_of_the_header(tmp_path, header):
    tsp = read_text(tmp_path, f"{header}\nWien,48.21,16.37\nGraz,47.07,15.44\n").problem
    assert tsp.city_names == ("Wien", "Graz") and tsp.labels.tolist() == [1, 2]
    north, south, east = math.radians(48.21), math.radians(47.07), math.radians(16.37 - 15.44)
    cosine = math.sin(north) * math.sin(south) + math.cos(north) * math.cos(south) * math.cos(east)
    assert tsp.cost[0, 1] == round(EARTH_RADIUS * math.acos(cosine))


def test_numbers_of_places(tmp_path):
    """Whole numbers in a column id are the labels. The name comes from the first of name, address, city, place."""
    tsp = read_text(tmp_path, "id,city,address,lat,lon\n7,Wien,Ring 1,48,16\n3,Wien,Ring 2,48,16\n").problem
    assert tsp.labels.tolist() == [7, 3] and tsp.city_names == ("Ring 1", "Ring 2")
    tsp = read_text(tmp_path, "lat,lon,id\n48,16,7\n48,16,3\n").problem
    assert tsp.labels.tolist() == [7, 3] and tsp.city_names == ()


def test_a_text_over_two_lines(tmp_path):
    tsp = read_text(tmp_path, 'name,lat,lon\n"Ring 1\nWien",48,16\nGraz,47,15\n').problem
    assert tsp.city_names == ("Ring 1 Wien", "Graz")
    with pytest.raises(InputError, match=":4: the latitude 'x' is not a number"):
        read_text(tmp_path, 'name,lat,lon\n"Ring 1\nWien",48,16\nGraz,x,15\n')


@pytest.mark.parametrize(("text", "message"), [
    ("name,lat,lon\n", ":1: there are no places below the header"),
    ("name,lat,lon,latitude\na,1,2,3\n", ":1: two columns mean the same, lat and latitude; rename or remove one"),
    ("name,lat,lon\na,1\n", ":2: 2 cells under a header of 3"),
    ("name,lat,lon\nRing 1, Wien,1,2\n", ":2: 4 cells under a header of 3; put quotes around a text with commas"),
    ("name,lat,lon\na,,2\n", ":2: the latitude is missing"),
    ("name,lat,lon\na,1,\n", ":2: the longitude is missing"),
    ("name,lat,lon\n,1,2\n", ":2: the name is missing"),
    ("id,lat,lon\n,1,2\n", ":2: the id is missing"),
    ("name,lat,lon\na,1,2\nb,north,2\n", ":3: the latitude 'north' is not a number; give decimal degrees"),
    ('name,lat,lon\na,"48,2",16\n', ":2: the latitude '48,2' is not a number; write decimals with a point, or "
     "semicolons between cells"),
    ("name,lat,lon\na,nan,2\n", ":2: the latitude 'nan' is not a number"),
    ("name,lat,lon\na,1e999,2\n", ":2: the latitude '1e999' is not a number"),
    ("name,lat,lon\n\na,90.1,2\n", ":3: the latitude 90.1 is outside of -90 to 90 decimal degrees; are latitude and"),
    ("name,lat,lon\na,1,-180.5\n", ":2: the longitude -180.5 is outside of -180 to 180"),
    ("id,lat,lon\n7,1,2\n7,3,4\n", ":3: id 7 is given twice, first on line 2"),
    ("id,name,lat,lon\n7,a,1,2\nx,b,3,4\n", ":3: the id is not a whole number, but other ids are"),
    ('name,lat,lon\n"a,1,2\n', ":2: not a row of a CSV table"),
])
def test_mistakes(tmp_path, text, message):
    assert refusal(read_text, tmp_path, text).startswith(f"{tmp_path}/places.csv{message}")


def test_a_table_without_header_names_the_cure(tmp_path):
    with pytest.raises(InputError, match="or write a header such as name,lat,lon over a table of places"):
        read_text(tmp_path, "Wien,Graz,Linz\nWien,48.21,16.37\n")


def test_other_costs_are_not_written_as_places(tmp_path):
    tsp = from_places([1, 2], [3, 4])
    with pytest.raises(InputError, match="its costs are not its great-circle distances"):
        write_places(tsp.with_costs(tsp.cost + 1), str(tmp_path / "t.csv"))
