"""Steiner problems as a kind of problem: a graph with terminals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hpcsolve.formats import GraphInstance
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.steiner import require_problem
from hpcsolve.runner.kinds import graph
from hpcsolve.wording import counted


def read(path: str, options: Mapping[str, Any], precision: Precision) -> GraphInstance:
    """Read the file of a graph with terminals. Raises as `graph.read` and `require_problem`."""
    found = graph.read(path, options, precision, whole=True)
    return replace(found, problem=require_problem(found.problem))


def given(problem: Any, options: Mapping[str, Any], precision: Precision) -> Graph:
    """Return the graph with terminals that a program gave. Raises as `graph.given` and `require_problem`."""
    return require_problem(graph.given(problem, options, precision, whole=True))


def headline(problem: Graph) -> str:
    """Return `alue7080, 34479 vertices, 55494 edges, 2344 terminals`."""
    assert problem.terminals is not None
    terminals = counted(len(problem.terminals), "terminal")
    return f"{problem.name}, {counted(problem.n, 'vertex')}, {counted(problem.edges, 'edge')}, {terminals}"


def values(instance: GraphInstance) -> dict[str, Any]:
    """Return the values of `/instance`: those of a graph, and the terminals."""
    terminals = instance.problem.terminals
    assert terminals is not None
    own = {"terminal": terminals.astype(np.int32), "repeated_terminals": instance.problem.repeated_terminals}
    return {**graph.values(instance), **own}


KIND = replace(graph.KIND, read=read, given=given, headline=headline, values=values)
