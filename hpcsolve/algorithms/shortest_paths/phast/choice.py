"""Whether a job's searches go through a hierarchy. It follows from the job and its graph alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hpcsolve.algorithms.shortest_paths.keys import REAL, Keys, first_keys
from hpcsolve.algorithms.shortest_paths.phast.contraction import (
    Contraction,
    Refusal,
    contracted,
    too_dense,
)
from hpcsolve.algorithms.shortest_paths.phast.hierarchy import Hierarchy, hierarchy
from hpcsolve.algorithms.shortest_paths.search_graph import SearchGraph, lay_out
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph

LEAST_SEARCHES = 32
"""With fewer searches no hierarchy is tried: even a small graph needs some 25 to make up for it."""
SEARCHES_AN_ENTRY = 4
"""So many searches, per vertex and arc, pay for the contraction of one entry of a list of neighbours.

An entry takes 4 to 10 ns, a search by Near-Far 15 ns for each vertex and arc. So at most a tenth is lost in vain.
"""
UNLIMITED = 2**63


@dataclass(frozen=True)
class Attempt:
    """The work that contraction may take.

    Attributes
    ----------
    budget
        Number of entries of lists of neighbours.
    searches
        Number of searches that must pay for it.
    """

    budget: int
    searches: int = 0


def attempt(graph: Graph, searches: int, keys: Keys | None = None) -> Attempt | Refusal:
    """Return what making a hierarchy may cost if the engine is "auto", or why none is made.

    Parameters
    ----------
    searches
        Number of searches of all ranks.
    """
    if (keys or first_keys(graph)) is REAL:
        return Refusal(FLOATS)
    if searches < LEAST_SEARCHES:
        return Refusal(f"fewer than {LEAST_SEARCHES} searches")
    return too_dense(graph.n, graph.arcs) or Attempt(searches * (graph.n + graph.arcs) // SEARCHES_AN_ENTRY, searches)


FLOATS = "the weights are floats, which a hierarchy would add in another order"


def required(graph: Graph) -> Attempt:
    """Return the attempt of a job that asks for the engine by name.

    Raises
    ------
    InputError
        The weights are floats.
    """
    if first_keys(graph) is REAL:
        raise InputError(f'engine "phast": {FLOATS}; choose "near-far", or give whole weights', graph.name)
    return Attempt(UNLIMITED)


def made(graph: SearchGraph, keys: Keys, asked: Attempt, in_levels: bool, threads: int) -> Hierarchy | Refusal:
    """Return the hierarchy of a graph, unless that takes more than the attempt grants."""
    with HostDevice(threads) as host:
        found = contracted(graph, asked.budget, host)
        return found if isinstance(found, Refusal) else hierarchy(graph, found, keys, host, in_levels)


def pays(graph: Graph, keys: Keys, asked: Attempt) -> bool:
    """Return whether the attempt to make a hierarchy succeeds."""
    with HostDevice(1) as host:
        return isinstance(contracted(lay_out(graph, keys), asked.budget, host), Contraction)


def refused(asked: Attempt, found: Refusal, name: str) -> Refusal:
    """Return the refusal, or raise `InputError` if the job asks for the engine by name."""
    if asked.budget != UNLIMITED:
        return replace(found, reason=f"{found.reason}, more than {asked.searches} searches pay for")
    raise InputError(f'engine "phast": {found.reason}; choose "near-far"', name)
