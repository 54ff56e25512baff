"""Names of cities and vertices command no terminal, turn no text around, and become no formula of a spreadsheet."""

import csv
import io
import json
import re
import unicodedata
from itertools import pairwise
from pathlib import Path

import pandas
import pytest

import hpcsolve
from hpcsolve import cli
from hpcsolve.analysis.collect import table_of
from hpcsolve.errors import InputError
from hpcsolve.formats.tables import harmless

NAMES = (
    "\x1b[31mred", "\x9b2Jgone", "abc\u202etxt.exe", "\u2066left\u2069", "one\nhpcsolve: error: all is lost",
    "\x7f\b\b", "=cmd|' /C calc'!A0", "@SUM(1+1)", "+1", "-2+3", "\t=1", "\r=2", "\uff1d3", "-7",
    "Persian \u200c joiner, \u65e5\u3000\u672c",
)
JOINER = "\u200c"


def marks_in(text):
    """Return the characters of a text that are not shown and mean something, by Unicode's own table."""
    return {mark for mark in text if unicodedata.category(mark) in ("Cc", "Cf", "Zl", "Zp")} - {"\n", "\t", JOINER}


FORMULA = re.compile(r"[=+@\t\r\uff1d]|-(?!\d+$)")
"""How a name begins that a spreadsheet computes."""
HERE = ["--device", "cpu", "--set", "threads=1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a graph, and with a tour, whose vertices and cities have these names."""
    folder = tmp_path_factory.mktemp("names")
    links = [{"source": one, "target": two, "weight": 1} for one, two in pairwise(NAMES)]
    graph = {"directed": False, "multigraph": False, "graph": {}, "nodes": [{"id": name} for name in NAMES],
             "links": links}
    (folder / "graph.json").write_text(json.dumps(graph))
    places = pandas.DataFrame({"name": NAMES, "lat": [48 + at % 4 for at in range(len(NAMES))],
                               "lon": [16 + at for at in range(len(NAMES))]})
    hpcsolve.solve(places, device="cpu", threads=1, output=folder / "tour.h5")
    return folder


@pytest.fixture
def said(folder, capsys):
    """Return a function that runs a command and returns what it prints, once it has ended with an exit code."""

    def run(code, *words):
        assert cli.main(list(words)) == code
        printed = "".join(capsys.readouterr())
        assert not marks_in(printed)
        return printed

    return run


def test_what_is_printed_is_seen(folder, said, monkeypatch):
    """Runs and their logs, messages, and results: names come as texts that anybody can see, in one line."""
    monkeypatch.chdir(folder)
    terminals = json.dumps(NAMES[:6]).replace("\x7f", "\\u007f")
    text = said(0, "solve", "graph.json", "--set", f"instance.terminals={terminals}", "--log-dir", "logs",
                "--write-job", "tree.toml", "--output", "tree.h5", *HERE)
    assert not re.search("(?m)^hpcsolve: error", text)
    for file in ("logs/rank-0000.log", "tree.toml"):
        assert not marks_in(Path(file).read_text(encoding="utf-8"))
    queries = json.dumps([[NAMES[0], NAMES[4]]])
    text = said(0, "solve", "graph.json", "--set", f"shortest-paths.queries={queries}", "--output", "path.h5", *HERE)
    assert "\\u001b[31mred" in text
    Path("places.csv").write_text("name,lat,lon\n" + "".join(f"{name},1,{len(name)}\n" for name in NAMES[1:4]))
    assert "\\u009b2Jgone" in said(0, "solve", "places.csv", *HERE)
    said(0, "verify", "tree.h5", "path.h5")
    said(0, "collect", "tour.h5", "tree.h5")
    said(2, "solve", "graph.json", "--set", "instance.terminals=['\u202egone', 'a']", *HERE)
    said(2, "solve", "graph\u2066.json")
    said(2, "solve\x9b")
    said(2, "run", "--\u202e")


def test_what_is_written_is_seen(folder, said, tmp_path):
    """DOT, GeoJSON, node-link JSON and reports. Names in JSON are the same, once it is read."""
    def written(suffix, *command):
        path = tmp_path / f"out{suffix}"
        said(0, *command, str(path))
        text = path.read_text(encoding="utf-8")
        assert not marks_in(text)
        return text

    tour = str(folder / "tour.h5")
    assert r'label="\\u009b2Jgone"' in written(".dot", "export", tour, "-o")
    features = json.loads(written(".geojson", "export", tour, "-o"))["features"]
    assert {feature["properties"].get("name") for feature in features} >= set(NAMES)
    nodes = json.loads(written(".json", "convert", str(folder / "graph.json")))["nodes"]
    assert {node["id"] for node in nodes} == set(NAMES)
    words = "out.graphml: this format cannot hold it: the copy:4: a control character (0x1B)"
    assert words in said(2, "convert", str(folder / "graph.json"), str(tmp_path / "out.graphml"))
    assert r"\u202etxt.exe" in written(".html", "report", tour, "-o")


def test_python_shows_no_marks(folder):
    result = hpcsolve.load(folder / "tour.h5")
    assert not marks_in(f"{result!r}{result}{result._repr_html_()}")
    assert not marks_in(str(table_of([{"\x9bname": name} for name in NAMES])))
    with pytest.raises(InputError) as caught:
        hpcsolve.solve(folder / "graph.json", device="cpu", terminals=["\u202eno city", NAMES[0]])
    assert not marks_in(str(caught.value)) and "\\u202eno city" in str(caught.value)


def test_no_cell_becomes_a_formula(folder, said, tmp_path):
    """A name that begins as a formula has an apostrophe before it. Numbers, and all other names, are as they were."""
    said(0, "export", str(folder / "tour.h5"), "-o", str(tmp_path / "tour.csv"))
    with open(tmp_path / "tour.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = {f"'{name}" if FORMULA.match(name) else name for name in NAMES}
    assert {row["name"] for row in rows} == expected and len(expected - set(NAMES)) == 7
    assert all(float(row["lat"]) >= 48 for row in rows)
    table = table_of([{"=1": name, "x": -1.5, "y": -7} for name in NAMES])
    head, *cells = csv.reader(io.StringIO(table.csv(), newline=""))
    assert head == ["'=1", "x", "y"] and {cell[0] for cell in cells} == expected
    assert {tuple(cell[1:]) for cell in cells} == {("-1.5", "-7")}


@pytest.mark.parametrize("text", ["", "a", "-", "-7", "-0.5", "a=1", "'=1", "7"])
def test_other_cells_are_as_they_are(text):
    assert harmless(text) == (text if text != "-" else "'-")
