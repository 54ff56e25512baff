"""Sheets of Excel and Parquet tables, as pandas writes them, mean what their CSV means."""

import sqlite3
import sys
from datetime import time, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.formats import read, read_graph
from hpcsolve.formats.files import open_file
from tests.formats.reading import refusal

pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra `test`)")
WRITERS = {".xlsx": ("openpyxl", "to_excel"), ".parquet": ("pyarrow", "to_parquet")}
suffixes = pytest.mark.parametrize("suffix", sorted(WRITERS))


def write(frame, path, **options):
    library, method = WRITERS[path.suffix]
    pytest.importorskip(library, reason=f"{library} is not installed")
    getattr(frame, method)(path, **options)
    return path


@suffixes
def test_places_costs_edges_and_windows(tmp_path, suffix):
    places = pandas.DataFrame({"name": ["Wien", "Graz, Ost", "Linz"], "lat": [48.21, 47.07, 48], "lon": [16, 15.4, 14]})
    tsp = read(write(places, tmp_path / f"places{suffix}", index=False)).problem
    assert tsp.city_names == ("Wien", "Graz, Ost", "Linz") and tsp.coordinates.tolist()[0] == [48.21, 16]
    costs = pandas.DataFrame([[0, 1.25, 2], [3, 0, np.nan], [5, 6, 0]], index=list("abc"), columns=list("abc"))
    tsp = read(write(costs, tmp_path / f"costs{suffix}")).problem
    assert tsp.city_names == ("a", "b", "c") and (tsp.scale, tsp.cost[0, 1]) == (100, 125) and tsp.cost[1, 2] > 2**62
    edges = pandas.DataFrame({"u": ["a", "b"], "v": ["b", "c"], "km": [1.5, 2]})
    graph = read_graph(write(edges, tmp_path / f"edges{suffix}", index=False)).problem
    assert graph.vertex_names == ("a", "b", "c") and graph.scale == 10
    windows = pandas.DataFrame({"city": ["b"], "earliest": [time(0, 1)], "latest": [None], "service": [0.5]})
    found = hpcsolve.solve(tmp_path / f"costs{suffix}", "held-karp", objective="finish", time_unit="minute",
                           device="cpu", windows=write(windows, tmp_path / f"windows{suffix}", index=False))
    assert found.table("windows")["earliest"].tolist() == [0, 1, 0]
    assert found.table("windows")["service"].tolist() == [0, 0.5, 0]


@given(st.integers(2, 4).flatmap(lambda n: st.lists(
    st.lists(st.floats(0.01, 10**6).map(lambda cost: round(cost, 3)), min_size=n, max_size=n), min_size=n, max_size=n)))
def test_any_costs(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("s") / "costs.xlsx"
    frame = pandas.DataFrame(rows)
    for row in range(len(rows)):
        frame.iloc[row, row] = 0
    found = read(write(frame, path, index=False, header=False)).problem
    for row, costs in enumerate(rows):
        for column, cost in enumerate(costs):
            assert row == column or found.cost[row, column] == round(cost * found.scale)


def test_lines_are_rows_of_the_sheet(tmp_path):
    frame = pandas.DataFrame({"name": ["a", "b"], "lat": [48, 98], "lon": [16, 15]})
    path = write(frame, tmp_path / "p.xlsx", index=False)
    assert refusal(read, path).startswith(f"{path}:3: the latitude 98 is outside")


@pytest.mark.parametrize("cell", ["=2+3", "=1/0", "#N/A"])
def test_cells_whose_value_is_lost_are_refused(tmp_path, cell):
    """As of a sheet that a program wrote and no spreadsheet has computed: they are not empty."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    for row in (["city", "earliest", "latest"], [0, 1, cell]):
        book.active.append(row)
    book.save(tmp_path / "w.xlsx")
    with pytest.raises(InputError, match="cell C2 is an error, or a formula whose value is not in the file"):
        open_file(str(tmp_path / "w.xlsx"))


def test_durations_and_nothing(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    for row in (["city", "latest", "service"], [0, 1.5, timedelta(hours=25, minutes=15)], [1, None, None]):
        book.active.append(row)
    book.save(tmp_path / "w.xlsx")
    content = open_file(str(tmp_path / "w.xlsx")).content.decode()
    assert content.splitlines() == ["city,latest,service", "0,1.5,25:15:00", "1,,"]


@pytest.mark.parametrize(("cells", "expected"), [
    (["48,21", "16,37"], ["name;lat;lon", "A, B;48,21;16,37"]),
    (["48,21", 16.5], ["name,lat,lon", '"A, B","48,21",16.5']),
    ([48, 16.5], ["name,lat,lon", '"A, B",48,16.5']),
])
def test_texts_with_a_decimal_comma_are_numbers_if_no_number_has_decimals(tmp_path, cells, expected):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    for row in (["name", "lat", "lon"], ["A, B", *cells]):
        book.active.append(row)
    book.save(tmp_path / "p.xlsx")
    assert open_file(str(tmp_path / "p.xlsx")).content.decode().splitlines() == expected
    if cells[1] == "16,37":
        assert read(str(tmp_path / "p.xlsx")).problem.coordinates.tolist() == [[48.21, 16.37]]
    elif cells[0] == "48,21":
        assert "others numbers; make all of them numbers" in refusal(read, tmp_path / "p.xlsx")


def test_several_sheets_are_refused(tmp_path):
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    with pandas.ExcelWriter(tmp_path / "p.xlsx") as book:
        for name in ("one", "two"):
            pandas.DataFrame([[0, 1], [1, 0]]).to_excel(book, sheet_name=name, index=False, header=False)
    assert refusal(read, tmp_path / "p.xlsx").endswith("has 2 sheets ('one', 'two'); keep one, or save it as CSV")


@pytest.mark.parametrize(("name", "content"), [
    ("p.xlsx", b"PK\x03\x04"), ("p.xlsx", b"PK\x03\x04" + bytes(range(256)) * 8), ("p.parquet", b"PAR1PAR1"),
    ("p.parquet", b"PAR1" + bytes(range(256)) * 8 + b"PAR1"),
])
def test_damaged_files(tmp_path, name, content):
    pytest.importorskip(WRITERS[f".{name.split('.')[1]}"][0])
    (tmp_path / name).write_bytes(content)
    assert "is damaged, or no " in refusal(read, tmp_path / name)


@suffixes
def test_damaged_ends(tmp_path, suffix):
    path = write(pandas.DataFrame({"name": ["a"], "lat": [1], "lon": [2]}), tmp_path / f"p{suffix}", index=False)
    whole = path.read_bytes()
    for size in range(8, len(whole), max(1, len(whole) // 20)):
        path.write_bytes(whole[:size])
        assert "is damaged, or no " in refusal(read, path)


@suffixes
def test_a_missing_library_is_named(tmp_path, suffix, monkeypatch):
    library, _ = WRITERS[suffix]
    path = tmp_path / f"p{suffix}"
    path.write_bytes({".xlsx": b"PK\x03\x04", ".parquet": b"PAR1"}[suffix])
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InputError, match=f"for which {library} is missing; pip install {library} reads it, or "):
        read(path)


def test_files_of_other_programs_say_what_they_are(tmp_path):
    sqlite3.connect(tmp_path / "roads.gpkg").execute("create table roads (fid integer)").connection.commit()
    (tmp_path / "town.osm.pbf").write_bytes(b"\0\0\0\x0e\x0a\x09OSMHeader\x18\x88\x01")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 ")
    (tmp_path / "sheet.ods").write_bytes(b"PK\x03\x04mimetype")
    for name, message in (("roads.gpkg", "is a GeoPackage or another SQLite database; export the layer as GeoJSON"),
                          ("town.osm.pbf", "is data of OpenStreetMap (PBF); make GeoJSON of its streets: osmium"),
                          ("old.xls", "is an old spreadsheet of Excel; save the sheet as .xlsx or CSV"),
                          ("sheet.ods", "is a spreadsheet of LibreOffice; save the sheet as CSV")):
        for reader in (read, read_graph, lambda path: open_file(str(path))):
            assert message in refusal(reader, tmp_path / name)
