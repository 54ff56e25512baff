"""The generators of each kind of problem, by their names in job files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hpcsolve.problems.generate.graph import graph_generators
from hpcsolve.problems.generate.steiner import steiner_generators
from hpcsolve.problems.generate.tsp import tsp_generators

Makers = Mapping[str, Callable[..., Any]]


def makers(kind: str) -> Makers:
    """Return the generators of a kind of problem by name.

    Their parameters are the other keys of the table `instance = { generate = ..., ... }`.
    """
    found = {"tsp": tsp_generators, "graph": graph_generators, "steiner": steiner_generators}
    return found[kind]() if kind in found else {}
