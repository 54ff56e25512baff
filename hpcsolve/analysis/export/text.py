"""Answers in text formats of their fields: TSPLIB's tours, the trees of PACE 2018, Graphviz's DOT."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hpcsolve.answers import tour
from hpcsolve.answers.base import names_of
from hpcsolve.answers.contents import Contents
from hpcsolve.answers.tree import TREE
from hpcsolve.errors import InputError
from hpcsolve.formats import steiner_solution_lines, tour_lines
from hpcsolve.formats.tables import shortest
from hpcsolve.output.schema import answer_in, require_whole
from hpcsolve.wording import visible


def no_cycle(contents: Contents) -> str | None:
    """Return why an answer is not a closed tour, or None if it is."""
    if not len(contents.value("solution", "tour", ())):
        return "the answer is not a tour"
    return "the answer is an open path, and a TSPLIB tour is closed" if tour.is_open(contents) else None


def tsplib_tour(contents: Contents, number: int | None) -> Iterator[str]:
    """Yield a TSPLIB tour. Its nodes count from 1, so labels are replaced by positions + 1 where one is smaller."""
    order = np.asarray(contents.value("solution", "tour"), np.int64)
    labels = np.asarray(contents.value("instance", "label"))
    name, comment = str(contents.value("instance", "name")), f"cost {contents.attributes['cost']}"
    if labels.min() < 1:
        labels, comment = np.arange(1, len(labels) + 1), f"{comment}\nnode k is city k of the instance, counted from 1"
    yield from tour_lines(labels[order], name=name, comment=comment)


def no_tree(contents: Contents) -> str | None:
    """Return why an answer is not a Steiner tree, or None if it is."""
    found = answer_in(contents)
    return None if found is TREE else f"the answer is of kind {found.name if found else 'unknown'}, not a Steiner tree"


def pace(contents: Contents, number: int | None) -> Iterator[str]:
    """Yield a tree as in PACE 2018."""
    names, found = names_of(contents).tolist(), TREE.edges(contents, None)
    ends = ((names[u], names[v]) for u, v in zip(found.tails.tolist(), found.heads.tolist()))
    yield from steiner_solution_lines(contents.attributes["cost"], ends)


def no_edges(contents: Contents) -> str | None:
    """Return why an answer has no edges, or None if it has some."""
    if contents.value("solution", "infeasible"):
        return "the answer states that there is no tour"
    try:
        require_whole(contents).edges(contents, 0)
    except InputError as error:
        return str(error).removeprefix("the result: ")
    return None


def dot(contents: Contents, number: int | None) -> Iterator[str]:
    """Yield a graph for Graphviz, whose nodes have positions as identifiers and names as labels."""
    found, names = require_whole(contents).edges(contents, number), names_of(contents).tolist()
    kind, arrow = ("digraph", "->") if found.directed else ("graph", "--")
    terminals = set(np.asarray(contents.value("instance", "terminal", ())).tolist())
    yield f"{kind} {_quoted(contents.value('instance', 'name'))} {{\n"
    for vertex in found.vertices.tolist():
        shape = ", shape=box" if vertex in terminals else ""
        yield f"  {vertex} [label={_quoted(names[vertex])}{shape}];\n"
    weights = [None] * len(found.tails) if found.weights is None else found.weights.tolist()
    for tail, head, weight in zip(found.tails.tolist(), found.heads.tolist(), weights):
        label = "" if weight is None else f" [label={_quoted(shortest(weight))}]"
        yield f"  {tail} {arrow} {head}{label};\n"
    yield "}\n"


def _quoted(name: object) -> str:
    """Return a text in one line, quoted for Graphviz."""
    text = visible(str(name)).replace("\n", " ")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
