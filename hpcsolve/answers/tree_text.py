"""What is printed of a Steiner tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.answers.edges import shown_names
from hpcsolve.answers.rounding import exactly, tree_bounds
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from hpcsolve.output.contents import Contents

SHOWN = 12
"""Most edges of a tree that is printed in full."""
DUAL, SEARCH = "dual", "search"
"""The proofs of mode exact: the prices, or the search itself."""


def lines(contents: Contents) -> Iterator[str]:
    """Yield the size of the reduced graph, the tree, its cost and the lower bound."""
    counts = {name: int(column.values) for name, column in contents.groups.get("reductions", {}).items()}
    if counts:
        of = {name: counts.get(name, 0) for name in ("contracted", "parallel", "ends", "passed")}
        removed = (f"{counted(of['contracted'], 'edge')} of weight 0, {counted(of['parallel'], 'parallel edge')}, "
                   f"{counted(of['ends'], 'leaf')}, {counted(of['passed'], 'vertex')} of degree 2")
        if "lighter" in counts:
            removed += (f", {counted(counts['special'], 'edge')} by the special distance, {counts['lighter']} that no "
                        f"lighter tree has; contracted: {counted(counts['terminals'], 'edge')} at terminals")
        yield f"reduced: {counts.get('vertices')} vertices, {counts.get('edges')} edges (removed: {removed})"
    u, v = (np.asarray(contents.value("solution", name)) for name in ("u", "v"))
    labels = shown_names(contents)
    known = all(((end >= 0) & (end < len(labels))).all() for end in (u, v))
    if len(u) == len(v) <= SHOWN and known:
        yield f"tree:   {', '.join(f'{labels[a]} - {labels[b]}' for a, b in zip(u, v)) or 'one vertex'}"
    else:
        yield f"tree:   {len(u)} edges, /solution/u and /solution/v in the file"
    yield f"cost:   {contents.attributes['cost']}{exactly(contents.value('rounding', 'cost'))}, {tree_bounds(contents)}"
    if proof := how_proven(contents):
        yield f"proof:  {proof}"
    elif searched := _searched(contents):
        yield f"search: {searched}"


def how_proven(contents: Contents) -> str:
    """Return how mode exact proved that the tree is the lightest one, or "" if it did not."""
    if not contents.value("solution", "optimal"):
        return ""
    if contents.value("solution", "proof") == DUAL:
        return "a dual ascent, /prices in the file"
    return _searched(contents) or "reductions and bounds"


def without_certificate(contents: Contents) -> str:
    """Return what is said of a lower bound that a search proved."""
    program = ", the bound rule and the separator rule" if _searched(contents) else " and bounds"
    return (f"the lower bound was proven by search, by reductions{program}, and has no short certificate; "
            "hpcsolve verify --again searches again with other rules")


def _searched(contents: Contents) -> str:
    """Return how many states and sets mode exact kept, or "" if it came to no sets."""
    size, sets, states = (np.asarray(contents.value("layers", name, [])) for name in ("size", "sets", "states"))
    if not len(size):
        return ""
    kept = f"{counted(int(states.sum()), 'state')} of {counted(int(sets.sum()), 'set')}"
    return f"{kept} of up to {counted(int(size[-1]), 'terminal')}"


def summary(contents: Contents) -> str:
    """Return `cost 99, optimal; 400 vertices`."""
    optimal = ", optimal" if contents.value("solution", "ratio") == 1 else ""
    return f"cost {contents.attributes['cost']}{optimal}; {contents.value('instance', 'vertices')} vertices"
