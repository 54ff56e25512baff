"""The page of `hpcsolve report`: a summary where there are several results, then a section for each.

Text is escaped unless it is `Markup` already, so no text of a result becomes an element.
"""

from __future__ import annotations

import html
import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib.resources import files
from string import Template

import numpy as np

import hpcsolve
from hpcsolve.analysis import plot, require_installed
from hpcsolve.analysis.load import Result, load
from hpcsolve.analysis.plot.canvas import kind_of_answer, number, svg
from hpcsolve.analysis.plot.run import PHASES, diagnosis
from hpcsolve.answers import answer_in
from hpcsolve.answers.reductions import REDUCTIONS
from hpcsolve.answers.tours import TOURS
from hpcsolve.errors import InputError
from hpcsolve.job import IN_MEMORY
from hpcsolve.output.reader import read_result
from hpcsolve.report import words
from hpcsolve.report.pictures import Picture, answer_pictures, search_pictures
from hpcsolve.wording import counted, size, visible

MOST_ROWS = 200
"""Most rows of a table that are written out."""
TABLES = {"tour": "The cities in order", TOURS.name: "The tours", "tree": "The edges of the tree",
          "paths": "The queries", REDUCTIONS.name: "The sources"}
"""Kinds of answers that are written out."""
LARGEST_TABLES = 1 << 29
"""Bytes of distance tables that are read for a report."""


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
    results = [(path, _loaded(path)) for path in paths]
    first = results[0][1]
    title = f"{words.name_of(first)}, {first.algorithm}" if len(results) == 1 else f"{len(results)} results"
    sections = [section(path, result, f"r{number}") for number, (path, result) in enumerate(results, 1)]
    summary = [_summary(results)] if len(results) > 1 else []
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


def _summary(results: Sequence[tuple[str, Result]]) -> Markup:
    rows = []
    for index, (path, result) in enumerate(results, 1):
        file, *rest = words.row_of(path, result)
        rows.append([element("a", file, href=f"#r{index}"), *rest])
    found = table(words.HEADS, rows, "The results of this report")
    return element("section", element("h2", "Summary"), found, id="summary", class_="named")


def section(file: str, result: Result, name: str) -> Markup:
    """Return the section of a result: problem, answer, search, time, how to run it again, where it comes from.

    Parameters
    ----------
    name
        Prefix of the section's ids, unique on the page.
    """
    parts = [
        element("h2", f"{words.name_of(result)}, {result.algorithm}"),
        *_warnings(result),
        element("h3", "Problem"),
        element("p", words.problem(result)),
        *(element("p", line, class_="note") for line in result.notes),
        element("h3", "Answer"),
        element("p", " ".join(words.answer(result))),
        *_bounds(result),
        *(figure(result, picture, f"{name}a{i}") for i, picture in enumerate(answer_pictures(result))),
        *_details(result),
        *_search(result, name),
        *_time(result, name),
        *_again(file, result),
        *_provenance(result),
    ]
    return element("section", joined(parts), id=name)


def _warnings(result: Result) -> Iterator[Markup]:
    if words.check_of(result) == "FAILED":
        yield element("p", "The check of this answer FAILED: do not use it.", class_="warning")
    if not result.contents.attributes["complete"]:
        yield element("p", "The run was interrupted: this is the best answer that it had found.", class_="warning")


def _bounds(result: Result) -> Iterator[Markup]:
    """Yield lower and upper bound, where the answer has a cost."""
    (lower, upper, gap), pairs = words.bounds_of(result), [("check", words.check_of(result))]
    if upper != words.NONE:
        pairs += [("lower bound", lower), ("upper bound (this answer)", upper), ("gap at most", gap)]
    yield element("dl", joined(element("div", element("dt", term), element("dd", value)) for term, value in pairs))


def _details(result: Result) -> Iterator[Markup]:
    """Yield the answer itself as a table, if it is no table of distances, which has a picture."""
    kind, answer = kind_of_answer(result), answer_in(result.contents)
    if answer is None or kind not in TABLES or result.infeasible:
        return
    (columns,) = answer.rows(result.contents)
    if kind == "paths":
        lengths = [len(path) for path in columns["path"]]
        columns = {**{name: columns[name] for name in columns if name != "path"}, "vertices": np.array(lengths)}
    count = len(next(iter(columns.values())))
    rows = zip(*(column[:MOST_ROWS].tolist() for column in columns.values()))
    # A missing number, such as the leg after the end of an open path, is an empty cell.
    cells = ([value if not isinstance(value, float) else "" if math.isnan(value) else number(value) for value in row]
             for row in rows)
    yield folded(TABLES[kind], table(list(columns), cells, _first(TABLES[kind], count)))


def _first(what: str, count: int) -> str:
    return what if count <= MOST_ROWS else f"{what}: the first {MOST_ROWS} of {count}"


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
    picture = Picture(plot.plot_ranks, f"Time by phase on {counted(ranks, 'rank')}.")
    yield figure(result, picture, f"{name}t")
    heads = ("rank", "host", "device", "device memory", "sent", *PHASES)
    rows = words.rank_rows(result)
    yield folded("Ranks in numbers", table(heads, rows[:MOST_ROWS], _first("Time by phase and rank", len(rows))))


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


def figure(result: Result, picture: Picture, name: str) -> Markup:
    """Return a picture as a figure with caption, or the reason why it cannot be drawn.

    Parameters
    ----------
    name
        As in `analysis.plot.svg.svg`.
    """
    try:
        drawn = Markup(svg(partial(picture.draw, result), picture.size, name, picture.text))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # the file may hold anything
        drawn = element("p", f"This cannot be drawn, the result is damaged: {error}", class_="warning")
    return element("figure", drawn, element("figcaption", picture.text), class_="map" if picture.is_map else "chart")


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def element(name: str, *children: object, **attributes: str) -> Markup:
    """Return an element, such as `element("p", "a < b", class_="note")`.

    Parameters
    ----------
    children
        Put one after the other; whatever is not `Markup` is escaped.
    attributes
        Their values are escaped. `class_` is the attribute `class`.
    """
    inside = "".join(escaped(child) for child in children)
    own = "".join(f' {key.rstrip("_").replace("_", "-")}="{escaped(str(text))}"' for key, text in attributes.items())
    return Markup(f"<{name}{own}>{inside}</{name}>")


def escaped(content: object) -> Markup:
    """Return a text as HTML, and `Markup` as it is."""
    if isinstance(content, Markup):
        return content
    return Markup(html.escape(visible(str(content))))


def joined(parts: Iterable[Markup]) -> Markup:
    """Return elements one after the other, each on its own line."""
    return Markup("\n".join(parts))


def table(heads: Sequence[object], rows: Iterable[Sequence[object]], caption: str) -> Markup:
    """Return a table, which scrolls where the page is too narrow. Its first column has the headings of the rows."""
    head = element("tr", *(element("th", text, scope="col") for text in heads))
    lines = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows
    ]
    inside = (element("caption", caption), element("thead", head), element("tbody", joined(lines)))
    return element("div", element("table", *inside), class_="scroll", tabindex="0", role="region", aria_label=caption)


def folded(summary: str, *content: object) -> Markup:
    """Return content that is shown when its summary is clicked, and in print."""
    return element("details", element("summary", summary), *content)
