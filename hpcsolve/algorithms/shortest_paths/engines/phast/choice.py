"""Decides whether a job's searches go through a hierarchy, from the job and its graph alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import Refusal, contracted, too_dense
from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import Hierarchy, hierarchy
from hpcsolve.algorithms.shortest_paths.keys import REAL, Keys, first_keys
from hpcsolve.algorithms.shortest_paths.search_graph import SearchGraph
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph

LEAST_SEARCHES = 64
"""With fewer searches no hierarchy is tried. On road networks it pays from 33 to 54 searches on."""
SCANS_AN_ENTRY = 4
"""Contraction may join one list entry for this number of vertices and arcs that the searches would scan.

An entry takes 4 to 10 ns, and Near-Far takes 15 ns for each vertex and arc. So if contraction is given up, the job
takes about a tenth more time.
"""
MOST_STEPS = 1 << 14
"""List entries for each vertex and arc that contraction may join if the job asks for the engine by name.

That takes some 100 microseconds for each vertex and arc, as long as ten thousand searches: later runs may use the
hierarchy too. Without a limit contraction takes an hour if the core of the graph becomes a clique of ten thousand
vertices, for which the memory may suffice.
"""
UNLIMITED = 2**63
FLOATS = "the weights are floats, which a hierarchy would add in another order"


@dataclass(frozen=True)
class Attempt:
    """Permission to make a hierarchy, and the work that contraction may take.

    Attributes
    ----------
    budget
        Number of entries of lists of neighbours that may be joined.
    searches
        Number of searches from which the budget follows, 0 if the job asks for the engine by name.
    """

    budget: int
    searches: int = 0


def worth_trying(
    graph: Graph, searches: int, keys: Keys | None = None, scans: int = SCANS_AN_ENTRY
) -> Attempt | Refusal:
    """Return how much work a hierarchy may take if the engine is "auto", or why none is tried.

    Parameters
    ----------
    searches
        Number of searches of all ranks.
    scans
        As `SCANS_AN_ENTRY`.
    """
    if (keys or first_keys(graph)) is REAL:
        return Refusal(FLOATS)
    if searches < LEAST_SEARCHES:
        return Refusal(f"fewer than {LEAST_SEARCHES} searches")
    return too_dense(graph.n, graph.arcs) or Attempt(searches * (graph.n + graph.arcs) // scans, searches)


def required(graph: Graph) -> Attempt:
    """Return the attempt of a job that asks for the engine by name.

    Raises
    ------
    InputError
        The weights are floats.
    """
    if first_keys(graph) is REAL:
        raise InputError(f'engine "phast": {FLOATS}; choose "near-far", or give integer weights', graph.name)
    return Attempt(MOST_STEPS * (graph.n + graph.arcs))


def build_hierarchy(
    graph: SearchGraph, keys: Keys, attempt: Attempt, in_levels: bool, threads: int
) -> Hierarchy | Refusal:
    """Return a new hierarchy of a graph, or a refusal if it takes more work or memory than is granted.

    It is not cached. `kept.cached_hierarchy` takes one that an earlier run has built.
    """
    with HostDevice(threads) as host:
        found = contracted(graph, attempt.budget, host)
        return found if isinstance(found, Refusal) else hierarchy(graph, found, keys, host, in_levels)


def refused(attempt: Attempt, found: Refusal, name: str, other: str = "near-far") -> Refusal:
    """Return the refusal, or raise `InputError`, which names another engine, if the job asks for this one by name."""
    if attempt.searches:
        return replace(found, reason=f"{found.reason}, which does not pay for {attempt.searches} searches")
    raise InputError(f'engine "phast": {found.reason}; choose "{other}"', name)
