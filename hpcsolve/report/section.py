"""The section of one result in a report."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np

from hpcsolve.analysis.load import Result
from hpcsolve.analysis.phases import PHASES, diagnosis
from hpcsolve.analysis.plot.needs import kind_of_answer
from hpcsolve.analysis.plot.texts import number
from hpcsolve.answers.reductions import REDUCTIONS
from hpcsolve.answers.tours import TOURS
from hpcsolve.job import IN_MEMORY
from hpcsolve.output.schema import answer_in
from hpcsolve.report import words
from hpcsolve.report.facts import (
    bounds_of,
    check_of,
    gap_in_words,
    name_of,
    rank_rows,
    ranks_of,
    seconds_of,
    shown,
)
from hpcsolve.report.markup import Markup, element, facts, folded, joined, table
from hpcsolve.report.pictures import answer_pictures, figure, search_pictures, time_picture

MOST_ROWS = 200
"""Most rows of a table that are written out."""
TABLES = {"tour": "The cities in order", TOURS.name: "The tours", "tree": "The edges of the tree",
          "paths": "The queries", REDUCTIONS.name: "The sources"}
"""Kinds of answers that are written out."""


def section(file: str, result: Result, name: str) -> Markup:
    """Return the section of a result: problem, answer, search, time, how to run it again, where it comes from.

    Parameters
    ----------
    name
        Prefix of the section's ids, unique on the page.
    """
    parts = [
        element("h2", f"{name_of(result)}, {result.algorithm}"),
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
    if check_of(result) == "FAILED":
        yield element("p", "The check of this answer FAILED: do not use it.", class_="warning")
    if not result.contents.attributes["complete"]:
        yield element("p", "The run was interrupted: this is the best answer that it had found.", class_="warning")


def _bounds(result: Result) -> Iterator[Markup]:
    """Yield lower and upper bound, where the answer has a cost."""
    bounds, pairs = bounds_of(result), [("check", check_of(result))]
    if not np.isnan(bounds.upper):
        pairs += [("lower bound", shown(bounds.lower)), ("upper bound (this answer)", shown(bounds.upper)),
                  ("gap at most", gap_in_words(bounds))]
    yield facts(pairs)


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
    cells = ([_cell(value) for value in row] for row in rows)
    yield folded(TABLES[kind], table(list(columns), cells, _first(TABLES[kind], count)))


def _cell(value: Any) -> Any:
    """Return a value as a table shows it, "" for a missing number such as the leg after the end of an open path."""
    if isinstance(value, float):
        return "" if math.isnan(value) else number(value)
    return value


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
    ranks = ranks_of(result)
    where = f"{ranks} ranks, the slowest of which took" if ranks > 1 else "1 rank, which took"
    yield element("p", f"The run had {where} {seconds_of(result):.3g} s. {diagnosis(result).capitalize()}.")
    yield figure(result, time_picture(result), f"{name}t")
    heads = ("rank", "host", "device", "device memory", "sent", *PHASES)
    rows = rank_rows(result)
    yield folded("Ranks in numbers", table(heads, rows[:MOST_ROWS], _first("Time by phase and rank", len(rows))))


def _again(file: str, result: Result) -> Iterator[Markup]:
    """Yield the commands that run the job again and check the answer."""
    ranks, source = ranks_of(result), shlex.quote(file)
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
