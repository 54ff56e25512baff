"""Decides whether a job's searches go through a hierarchy, by the cost of both ways.

All costs are counted in steps of about a nanosecond of one core. The constants are for each vertex and arc of the
graph, which makes them nearly the same for all road networks. `python -m jobs.benchmarks.shortest_paths tables` prints
what they follow from, and `python -m jobs.benchmarks.shortest_paths engines` how well they choose.

A hierarchy pays if

    ceil(searches / cores) * (steps of a search - SWEEP_STEPS) >= steps of making the hierarchy,

and these steps are known only once it is made. So `worth_trying` compares the left side with what a road network
usually takes, and contraction.cpp compares it with a forecast while it works.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import Refusal, contracted, too_dense
from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import Hierarchy, hierarchy
from hpcsolve.algorithms.shortest_paths.keys import REAL, Keys, first_keys
from hpcsolve.algorithms.shortest_paths.search_graph import SearchGraph
from hpcsolve.device.base import DeviceInfo
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError
from hpcsolve.problems.graph import Graph
from hpcsolve.wording import counted

NEAR_FAR_STEPS = 12.0
"""Steps of a search by near-far with its check: 10.4 (San Francisco Bay) to 14 (northeast USA)."""
SWEEP_STEPS = 0.6
"""Steps of a search by sweeps with its check, among 16 or more."""
MAKING_STEPS = 360.0
"""Steps that making the hierarchy of a road network takes: 280 (San Francisco Bay) to 470 (New York)."""
ROADS = 3.5
"""Arcs per vertex up to which a graph may be like a road network: 2.5 (San Francisco Bay) to 2.8 (New York).

Narrow strips of a grid have 3.3, and small separators as well; a square grid has 4.
"""
DENSER = 2
"""How many times as many searches a denser graph must have, since there contraction often ends without a hierarchy.

A grid of 1,024 x 1,024 is given up after a tenth of a second: 9 to 20 % of the time of 32 searches, 5 % of 64.
"""
WEIGHING_STEPS = 140
"""Steps for each arc of a kept contraction that gets new weights: 126 (San Francisco Bay) to 146 (New York)."""
MOST_STEPS = 1 << 14
"""Steps for each vertex and arc that contraction may take if the job asks for the engine by name.

As many as a thousand searches: later runs may use the hierarchy too. Without a limit contraction takes an hour if the
core of the graph becomes a clique of ten thousand vertices, for which the memory may suffice.
"""
UNLIMITED = 2**63
FLOATS = "the weights are floats, which a hierarchy would add in another order"


@dataclass(frozen=True)
class Kept:
    """What the cache has of a graph.

    Attributes
    ----------
    arcs
        Number of arcs of its hierarchy, or of its contraction if that has no weights yet.
    weighed
        Whether the hierarchy has the graph's own weights, so that it can be used as it is.
    name
        The hierarchy's name in the cache, which takes a hash of the graph.
    """

    arcs: int
    weighed: bool
    name: str = field(default="", compare=False)


@dataclass(frozen=True)
class Attempt:
    """How much work making a hierarchy may take, and for what.

    Attributes
    ----------
    worth
        Steps that the hierarchy saves. If it takes more, it is given up.
    searches
        Number of searches for which it pays, 0 if the job asks for the engine by name or goes on with it.
    kept
        What the cache has of the graph, None if nothing.
    """

    worth: int
    searches: int = 0
    kept: Kept | None = None


def workers(info: DeviceInfo) -> int:
    """Return how many searches a device makes at the same time, each as fast as a core does.

    A multiprocessor of a GPU counts as a core. A hierarchy is made by a single core, whatever the device.
    """
    return info.units if info.kind == "cuda" else info.threads


def worth_trying(
    graph: Graph, searches: int, cores: int = 1, kept: Kept | None = None, steps: float = NEAR_FAR_STEPS,
    keys: Keys | None = None,
) -> Attempt | Refusal:
    """Return how much work a hierarchy may take if the engine is "auto", or why none is tried.

    It follows from the arguments alone, so all ranks choose alike if these are the same.

    Parameters
    ----------
    searches, cores
        Number of searches of all ranks, and of the `workers` that share them.
    kept
        What the caches of all hosts have of the graph.
    steps
        Those of a search by the other engine, for each vertex and arc.
    """
    if (keys or first_keys(graph)) is REAL:
        return Refusal(FLOATS)
    if kept is not None and kept.weighed:  # loading it takes less than laying the graph out for a single search
        return Attempt(UNLIMITED, searches, kept)
    if dense := too_dense(graph.n, graph.arcs):
        return dense
    size = graph.n + graph.arcs
    saved = int(-(-searches // cores) * (steps - SWEEP_STEPS) * size)
    making = MAKING_STEPS * (1 if graph.arcs <= ROADS * graph.n else DENSER)
    needed = making * size if kept is None else WEIGHING_STEPS * kept.arcs
    if saved >= needed:
        return Attempt(saved, searches, kept)
    many = counted(searches, "search") + (f" on {cores} cores" if cores > 1 else "")
    return Refusal(f"{many} {'takes' if searches == 1 else 'take'} less time than making a hierarchy")


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
        found = contracted(graph, attempt.worth, host)
        return found if isinstance(found, Refusal) else hierarchy(graph, found, keys, host, in_levels)


def refused(attempt: Attempt, found: Refusal, name: str, other: str = "near-far") -> Refusal:
    """Return the refusal, or raise `InputError`, which names another engine, if the job asks for this one by name."""
    if attempt.searches:
        return replace(found, reason=f"{found.reason}, which does not pay for {attempt.searches} searches")
    raise InputError(f'engine "phast": {found.reason}; choose "{other}"', name)
