"""The page of `hpcsolve report`: a summary where there are several sections, then a section for each.

A section is about one result, or about the runs of one job that differ in the seed (`seeds.py`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from importlib.resources import files
from string import Template

import numpy as np

import hpcsolve
from hpcsolve.analysis import plot, require_installed
from hpcsolve.analysis.load import Result, load
from hpcsolve.analysis.plot.canvas import kind_of_answer, number
from hpcsolve.analysis.plot.run import PHASES, diagnosis
from hpcsolve.answers import answer_in
from hpcsolve.answers.reductions import REDUCTIONS
from hpcsolve.answers.schedule import with_clock_times
from hpcsolve.answers.snaps import place_lines
from hpcsolve.answers.tour import TOUR
from hpcsolve.answers.tours import TOURS
from hpcsolve.errors import InputError
from hpcsolve.job import IN_MEMORY
from hpcsolve.output.reader import read_result
from hpcsolve.report import words
from hpcsolve.report.elements import Markup, element, escaped, folded, joined, pairs, table
from hpcsolve.report.pictures import Picture, answer_pictures, figure, search_pictures
from hpcsolve.report.seeds import Run, Runs, divided, overview
from hpcsolve.report.stops import stops_of
from hpcsolve.wording import counted, size

MOST_ROWS = 200
"""Most rows of a table that are written out."""
MOST_STOPS, SCROLLED_FROM = 1000, 60
"""Most stops of a tour that are written out, and the most whose table does not scroll beside the map."""
TABLES = {TOURS.name: "The tours", "tree": "The edges of the tree", "paths": "The queries",
          REDUCTIONS.name: "The sources"}
"""Kinds of answers that are shown as tables, with their captions. A tour is shown as its stops."""
LARGEST_TABLES = 1 << 29
"""Most bytes of the distance tables of a result that are read for a report."""


def report(paths: Sequence[str]) -> str:
    """Return the page about these result files. It is the same for the same files.

    Raises
    ------
    InputError
        A file is not a result of hpcsolve, or its tables are too large to be drawn.
    DamagedFileError
        A file is damaged.
    EnvironmentFault
        matplotlib is not installed.
    """
    require_installed("matplotlib")
    found = divided([(path, _loaded(path)) for path in paths])
    title = f"{len(paths)} results" if len(paths) > 1 else _heading(found[0].best.result)
    sections = [part for number, runs in enumerate(found, 1) for part in _sections(runs, f"r{number}")]
    summary = [_summary(found)] if len(found) > 1 else []
    page, style = (files("hpcsolve.report").joinpath(name).read_text(encoding="utf-8")
                   for name in ("page.html", "style.css"))
    return Template(page).substitute(
        title=escaped(f"{title} | hpcsolve report"), style=style,
        version=escaped(hpcsolve.__version__), body=joined([*summary, *sections]),
    )


def _loaded(path: str) -> Result:
    tables = read_result(path, tables=False).tables.values()
    needed = sum(table.shape[0] * table.shape[1] * table.dtype.itemsize for table in tables)
    if needed > LARGEST_TABLES:
        what = f"its tables take {size(needed)}, and a report reads {size(LARGEST_TABLES)} at most"
        raise InputError(f"{what}; ask for fewer sources, or for targets", path)
    return load(path)


def _summary(found: Sequence[Runs]) -> Markup:
    rows = []
    for index, runs in enumerate(found, 1):
        file, *rest = words.row_of(runs.best.file, runs.best.result)
        several = f", the best of {len(runs.runs)} seeds" if len(runs.runs) > 1 else ""
        rows.append([element("span", element("a", file, href=f"#r{index}"), several), *rest])
    content = table(words.HEADINGS, rows, "The results of this report")
    return element("section", element("h2", "Summary"), content, id="summary", class_="named")


def _sections(runs: Runs, name: str) -> Iterator[Markup]:
    """Yield the section of a result. Of several seeds yield their overview and the section of the best.

    Parameters
    ----------
    name
        Prefix of the section's ids, unique on the page.
    """
    best, heading = runs.best, _heading(runs.best.result)
    if len(runs.runs) == 1:
        yield section(best, heading, name)
        return
    yield element("section", element("h2", f"{heading}, {len(runs.runs)} seeds"), *overview(runs, name), id=name)
    yield section(best, f"The best run: seed {best.seed}", f"{name}b")


def _heading(result: Result) -> str:
    return f"{words.name_of(result)}, {result.algorithm}"


def section(run: Run, heading: str, name: str) -> Markup:
    """Return the section of a result: answer, problem, search, time, how to run it again, where it comes from.

    Parameters
    ----------
    name
        Prefix of the section's ids, unique on the page.
    """
    result = run.result
    parts = [
        element("h2", heading),
        *_warnings(result),
        element("h3", "Answer"),
        element("p", " ".join(words.answer(result))),
        _bounds(result),
        *_answer(result, name),
        element("h3", "Problem"),
        element("p", words.problem(result)),
        *(element("p", line, class_="note") for line in (*result.notes, *_places(result))),
        *_search(result, name),
        *_time(result, name),
        *_again(run.file, result),
        *_provenance(result),
    ]
    return element("section", joined(parts), id=name)


def _places(result: Result) -> Iterator[str]:
    """Yield which places stand for which vertices."""
    for line in place_lines(result.contents):
        text = line.removeprefix("place:").strip()
        yield f"{text[0].upper()}{text[1:]}."


def _warnings(result: Result) -> Iterator[Markup]:
    if words.check_of(result) == "FAILED":
        yield element("p", "The check of this answer FAILED: do not use it.", class_="warning")
    if not result.contents.attributes["complete"]:
        yield element("p", "The run was interrupted: this is the best answer that it had found.", class_="warning")


def _bounds(result: Result) -> Markup:
    """Return lower and upper bound, where the answer has a cost, and the check."""
    lower, upper, gap = words.bounds_of(result)
    cost = "cost" if lower == words.NONE else "upper bound (this answer)"
    known = {"check": words.check_of(result), "lower bound": lower, cost: upper, "gap at most": gap}
    return pairs((name, value) for name, value in known.items() if value != words.NONE)


def _answer(result: Result, name: str) -> Iterator[Markup]:
    """Yield the answer itself as tables and pictures: a tour as its stops beside the map."""
    drawn = [figure(result, picture, f"{name}a{i}") for i, picture in enumerate(answer_pictures(result))]
    if kind_of_answer(result) == "tour" and not result.infeasible:
        headings, rows, caption = stops_of(result)
        order = table(headings, rows[:MOST_STOPS], _first(caption, len(rows), MOST_STOPS))
        long = " long" if len(rows) > SCROLLED_FROM else ""
        yield element("div", element("div", order, class_=f"order numbers{long}"), drawn[0], class_="tour")
        yield from drawn[1:]
        yield from _several(result)
        return
    farthest, details = words.farthest_pairs(result), list(_details(result))
    if farthest is not None:
        drawn[-1:] = [element("div", drawn[-1], table(*farthest), class_="charts")]
    if kind_of_answer(result) == TOURS.name:
        drawn, details = [element("div", *drawn, *details, class_="charts")], []
    yield from drawn
    yield from details


def _several(result: Result) -> Iterator[Markup]:
    """Yield a table of the best tours, or of those of a curve, if the job asks for several, with numbers from 0."""
    count = TOUR.count(result.contents)
    if count is None:
        return
    names, rows = result.contents.shown_names(), []
    for place in range(min(count, MOST_ROWS)):
        one = TOUR.one_of(result.contents, place)
        prize, tour = one.value("solution", "prize"), one.value("solution", "tour")
        order = " - ".join(map(str, names[tour].tolist()))
        rows.append([place, words.shown(one.cost), *([] if prize is None else [prize]), order])
    headings = ["tour", "cost", *(["prize"] if len(rows[0]) > 3 else []), "stops"]
    shown = table(headings, rows, _first("All tours that the job asks for", count))
    yield folded(f"{counted(count, 'tour')} with their costs", element("div", shown, class_="wrap"))


def _details(result: Result) -> Iterator[Markup]:
    """Yield the answer itself as a table, if it is no table of distances, which has a picture."""
    kind, answer = kind_of_answer(result), answer_in(result.contents)
    if answer is None or kind not in TABLES:
        return
    (columns,) = answer.rows(result.contents)
    if kind == "paths":
        lengths = [len(path) for path in columns["path"]]
        columns = {**{name: columns[name] for name in columns if name != "path"}, "vertices": np.array(lengths)}
    if kind == TOURS.name:
        columns = with_clock_times(result.contents, columns)
    count = len(next(iter(columns.values())))
    rows = zip(*(column[:MOST_ROWS].tolist() for column in columns.values()))
    # A missing number, such as the cost where there is no tour, is an empty cell.
    cells = (["" if value is None or value != value else number(value) if isinstance(value, float) else value
              for value in row] for row in rows)
    shown = table(list(columns), cells, _first(TABLES[kind], count))
    yield shown if kind == TOURS.name else folded(TABLES[kind], shown)


def _first(what: str, count: int, most: int = MOST_ROWS) -> str:
    return what if count <= most else f"{what}: the first {most} of {count}"


def _search(result: Result, name: str) -> Iterator[Markup]:
    pictures = list(search_pictures(result))
    if not pictures:
        return
    yield element("h3", "Search")
    charts = (figure(result, picture, f"{name}s{i}") for i, picture in enumerate(pictures))
    yield element("div", *charts, class_="charts")
    layers = result.contents.groups.get("layers")
    if layers:
        columns = {key: np.asarray(layers[key].values) for key in layers}
        rows = [[f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]
                for row in zip(*(values.tolist() for values in columns.values()))]
        if rows:
            yield folded("Layers in numbers", table(list(columns), rows, "Layers: each has the sets of one size"))


def _time(result: Result, name: str) -> Iterator[Markup]:
    yield element("h3", "Time")
    ranks = words.ranks_of(result)
    where = f"{ranks} ranks, the slowest of which took" if ranks > 1 else "1 rank, which took"
    yield element("p", f"The run had {where} {words.seconds_of(result):.3g} s. {diagnosis(result).capitalize()}.")
    if ranks > 1:  # the bar of one rank says no more than the sentence
        yield figure(result, Picture(plot.plot_ranks, f"Time by phase on {counted(ranks, 'rank')}."), f"{name}t")
    headings = ("rank", "host", "device", "device memory", "sent", *PHASES)
    rows = words.rank_rows(result)
    yield folded("Ranks in numbers", table(headings, rows[:MOST_ROWS], _first("Time by phase and rank", len(rows))))


def _again(file: str, result: Result) -> Iterator[Markup]:
    """Yield the commands that run the job again and check the answer."""
    ranks, source = words.ranks_of(result), shlex.quote(file)
    launch = f"mpiexec -n {ranks} " if ranks > 1 else ""
    lost = str(result.contents.value("instance", "path", "")) in ("-", IN_MEMORY)
    key = "instance.batch" if kind_of_answer(result) == TOURS.name else "instance"
    instance = f" --set {key}=FILE" if lost else ""
    yield element("h3", "Run it again")
    yield element("pre", f"{launch}hpcsolve run {source}{instance} --output again.h5\n"
                         f"hpcsolve verify {source}{' --instance FILE' if lost else ''}")
    if lost:
        yield element("p", "The instance came from a program or from standard input: put its file in place of FILE.")
    yield folded("The job", element("pre", result.job))


def _provenance(result: Result) -> Iterator[Markup]:
    found = result.contents.groups.get("provenance", {})
    rows = [(name, column.values) for name, column in sorted(found.items()) if str(column.values)]
    own = {name: str(result.contents.value("instance", name, "")) for name in ("path", "format", "sha256")}
    instance = [(f"instance {name}", text) for name, text in own.items() if text]
    rows = [("created", result.contents.attributes["created"]), *instance, *rows]
    yield element("h3", "Provenance")
    command = result.contents.value("provenance", "command_line", "")
    yield element("p", "Made by ", element("code", command or "a Python program"), ".")
    versions = element("div", table(("what", "value"), rows, "Provenance"), class_="wrap named")
    yield folded("Versions, sources and launch", versions)
