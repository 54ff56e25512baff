"""The page of `hpcsolve report` is well-formed, self-contained, complete, and the same each time."""

import os
import re
import shutil
from html.parser import HTMLParser
from importlib.resources import files as files_of

import h5py
import numpy as np
import pytest

from hpcsolve import solve
from hpcsolve.errors import InputError
from hpcsolve.output.hdf5 import write_result
from hpcsolve.problems.generate.tsp import uniform_tsp
from hpcsolve.problems.graph import from_edges
from hpcsolve.report import page
from hpcsolve.report.pictures import search_pictures
from tests.analysis.results import HOSTILE, PROBLEMS, hostile, solved
from tests.cli.seen import error_line

pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
VOID = {"meta", "link"}


class Reader(HTMLParser):
    """Checks that elements are closed in order, and collects ids, references, addresses and texts."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids, self.references, self.addresses = [], [], [], [], []
        self.texts, self.alternatives = [], []

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        for key, value in attributes:
            self.ids += [value] if key == "id" else []
            self.references += re.findall(r"url\(#([^)]+)\)", value)
            if key in ("href", "src", "xlink:href"):
                (self.references if value.startswith("#") else self.addresses).append(value.lstrip("#"))
            assert not key.startswith("on"), f"a program in {tag}"
        if tag == "svg":
            self.alternatives.append(dict(attributes)["aria-label"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.parametrize("name", [
    name if name in ("tour", "tree", "distances") else pytest.param(name, marks=pytest.mark.slow) for name in PROBLEMS])
def test_a_page_of_each_kind(name, files, results):
    text = page.report([files(name)])
    reader, result = read(text), results(name)
    assert len(reader.ids) == len(set(reader.ids)), "an id stands twice"
    assert set(reader.references) <= set(reader.ids)
    assert all(address.startswith("data:") for address in reader.addresses)
    assert not {"script", "iframe", "object", "form", "img"} & set(reader.tags)
    assert reader.tags.count("h1") == 1 and "main" in reader.tags
    assert all(len(alternative) > 20 for alternative in reader.alternatives)
    said = " ".join(reader.texts)
    for word in ("Problem", "Answer", "Time", "Run it again", "Provenance", "hpcsolve run", "hpcsolve verify",
                 result.contents.value("provenance", "source_sha256"), result.algorithm):
        assert word in said
    assert "damaged" not in said


def test_a_narrow_page_has_its_own_drawings():
    """With 20 names a map is drawn twice, and style and drawing keep each picture within a telephone's width."""
    text = page.section(page.Run("a.h5", solved(uniform_tsp(20))), "heading", "r1")
    widths = {kind: [float(width) / 72 for width in re.findall(rf'class="{kind}"><svg[^>]*viewBox="0 0 ([\d.]+)', text)]
              for kind in ("for-wide", "for-narrow", "drawn")}
    assert widths == {"for-wide": [pytest.approx(7.2)], "for-narrow": [pytest.approx(4.8)],
                      "drawn": [pytest.approx(4.8)]}
    reader = read(text)
    assert len(reader.ids) == len(set(reader.ids)) and set(reader.references) <= set(reader.ids)
    style = (files_of("hpcsolve.report") / "style.css").read_text()
    narrow = style[style.index("@media screen and (max-width: 40rem)"):]
    assert ".for-narrow { display: none; }" in style[: -len(narrow)] and "min-width" not in narrow
    assert ".for-wide { display: none; }\n  .for-narrow { display: block; }" in narrow


def said(files, *names):
    return " ".join(" ".join(read(page.report([files(name) for name in names])).texts).split())


def gap(costs, optimum):
    return f"{100 * (costs - optimum) / optimum:.3g} %"


def of_ants(result):
    costs = result.table("colonies")["cost"]
    return (f"The tour costs {result.cost}. No lower bound is proven. "
            f"By its cost it is {gap(costs.min(), 100)} above the optimum that the job names, "
            f"on average over 3 colonies {gap(costs.mean(), 100)}.",)


NUMBERS = {  # kind of result -> what its page says
    "tour": lambda tour: (
        f"The tour costs {tour.cost}. This is proven to be optimal: no tour costs less.",
        f"lower bound {tour.cost} upper bound (this answer) {tour.cost} gap at most 0 %",
        "The number of states by the size of their sets, and the seconds of the kernels.",
        "The problem is to find the cheapest round trip",
        "--set instance=FILE --output again.h5"),  # the instance is that of a program
    "batch": lambda _: (
        "There are 9 tours, 1 instance without a tour. All are proven to be optimal.",
        "They cost 3 to 24, mean 12.333333.", "The tours instance cost tour 0 9 0 1 2", "--set instance.batch=FILE"),
    "paths": lambda _: (  # of six through three cities those along the arcs of cost 1 cost 1 + 2, the others 9 + 18
        "The path costs 3 (sum of weighted arrivals). This is proven",
        "There are 3 optimal tours. The 4 best cost 3 to 27."),
    "ants": of_ants,
    "tree of names": lambda tree: (  # Ann-Bob-Cleo-Dan and Bob-Eve, by hand
        "The tree costs 10 and has 4 edges.", f"lower bound {tree.lower_bound} upper bound (this answer) 10",
        "an undirected graph of 5 vertices and 4 edges", "joins 3 terminals", "Cleo Dan 4"),
    "distances of names": lambda _: (
        "10 of 10 distances are finite: a path leads there. The greatest distance is 9,",),
    "queries of names": lambda _: ("The distance is 9.", "0 Ann Dan 9 4"),
    "path": lambda _: ("The problem is to find the cheapest path that visits each city once.",),
    "infeasible": lambda _: ("There is no tour: it is proven that none exists.",),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_numbers_of_an_answer(name, files, results):
    text = said(files, name)
    assert [words for words in NUMBERS[name](results(name)) if words not in text] == []
    assert " nan " not in text, "such as the leg of the last city of a path"


@pytest.mark.slow
def test_several_results_have_a_summary(files, results):
    names = ["tour", "tree", "queries"]
    text = page.report([files(name) for name in names])
    reader = read(text)
    assert reader.ids[0] == "summary" and reader.references[:3] == ["r1", "r2", "r3"]
    assert [f'id="r{number}"' in text for number in (1, 2, 3, 4)] == [True, True, True, False]
    summary = text[: text.index('id="r1"')]
    for name in names:
        assert files(name) in summary
    assert str(results("tour").cost) in summary and str(results("tree").lower_bound) in summary
    assert len(set(reader.ids)) == len(reader.ids)


@pytest.mark.slow
def test_a_search_of_one_step_has_no_picture():
    graph = from_edges([0, 1, 0], [1, 2, 2], [1, 2, 4], terminals=[0, 2])
    found = solve(graph, "steiner-kmb", mode="best", device="cpu", threads=1)
    assert len(found.table("history")["step"]) == 1 and not list(search_pictures(found))


def test_the_same_page_each_time(files):
    assert page.report([files("tree"), files("ants")]) == page.report([files("tree"), files("ants")])


def test_names_stay_text(tmp_path, files):
    path = tmp_path / "<b>&.h5"
    write_result(path, hostile().contents)
    text = page.report([str(path), files("tour")])
    reader = read(text)
    assert not {"script", "img", "b"} & set(reader.tags) and reader.tags.count("svg") == text.count("<svg")
    assert all(address.startswith("data:") for address in reader.addresses)
    cities = [texts for texts in reader.texts if texts in HOSTILE]
    assert {name for name in HOSTILE if name.isprintable() and len(name) < 28} <= set(cities)
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text


@pytest.fixture
def altered(files, tmp_path):
    """Return a function that changes a copy of the tour's file with h5py, and returns its path."""
    path = tmp_path / "altered.h5"
    shutil.copy(files("tour"), path)

    def alter(change):
        with h5py.File(path, "r+") as file:
            change(file)
        return str(path)

    return alter


@pytest.mark.parametrize(("attribute", "words"), [
    ("verified", "The check of this answer FAILED: do not use it."), ("complete", "The run was interrupted"),
])
@pytest.mark.slow
def test_a_failed_check_and_an_early_stop_are_said(attribute, words, altered, files):
    path = altered(lambda file: file.attrs.modify(attribute, 0))
    assert words in page.report([path])
    assert words not in page.report([files("tour")])


def test_a_damaged_answer_is_no_traceback(altered):
    path = altered(lambda file: file["solution/tour"].write_direct(np.full(14, 99, np.int32)))
    with pytest.raises(InputError, match="/solution/tour has positions that the instance does not have"):
        page.report([path])


def test_tables_that_are_too_large_are_refused(files, monkeypatch):
    monkeypatch.setattr(page, "LARGEST_TABLES", 100)
    with pytest.raises(InputError, match=r"distances.h5: its tables take .*; ask for fewer sources, or for targets"):
        page.report([files("distances")])


def test_the_style_knows_dark_pages_telephones_and_print(files):
    text = page.report([files("infeasible")])
    for rule in ("prefers-color-scheme: dark", "max-width: 40rem", "@media print", "width=device-width"):
        assert rule in text


@pytest.fixture
def file(files):
    return files("tour")


def test_it_writes_a_page_and_replaces_none(file, hpcsolve, tmp_path):
    output = tmp_path / "new" / "report.html"
    nowhere = hpcsolve("report", file, "-o", output)  # a folder that is misspelt is not made
    assert nowhere.returncode == 4 and "cannot be written: No such file or directory" in error_line(nowhere)
    output.parent.mkdir()
    done = hpcsolve("report", file, file, "-o", output)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{output}: 2 results, ") and not done.stderr
    first = output.read_text(encoding="utf-8")
    assert first.startswith("<!DOCTYPE html>") and first.endswith("</html>\n")
    again = hpcsolve("report", file, "-o", output)
    assert again.returncode == 2 and "exists" in error_line(again) and output.read_text(encoding="utf-8") == first
    assert hpcsolve("report", file, "-o", output, "--overwrite").returncode == 0
    assert os.listdir(output.parent) == ["report.html"] and output.read_text(encoding="utf-8") != first


def test_what_is_no_result_is_named(file, hpcsolve, tmp_path):
    (tmp_path / "x.h5").write_text("nothing")
    done = hpcsolve("report", file, tmp_path / "x.h5", "-o", tmp_path / "report.html")
    assert done.returncode == 2 and "x.h5: is not an HDF5 file" in error_line(done)
    assert not (tmp_path / "report.html").exists()


def test_without_matplotlib_the_extra_is_named(file, hpcsolve, tmp_path):
    (tmp_path / "blocked" / "matplotlib").mkdir(parents=True)
    (tmp_path / "blocked" / "matplotlib" / "__init__.py").write_text("raise ModuleNotFoundError('matplotlib')")
    path = os.pathsep.join([str(tmp_path / "blocked"), os.environ["PYTHONPATH"]])
    done = hpcsolve("report", file, "-o", tmp_path / "r.html", env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 4 and "pip install matplotlib" in error_line(done)
