"""Brings a graph to a device in the way that suits a job: for searches one by one, or as a hierarchy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.known import AUTO, NEAR_FAR, PHAST
from hpcsolve.algorithms.shortest_paths.engines.phast.choice import (
    UNLIMITED,
    Attempt,
    Kept,
    refused,
    required,
    workers,
    worth_trying,
)
from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import Refusal
from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import Hierarchy
from hpcsolve.algorithms.shortest_paths.engines.phast.kept import cached_hierarchy, kept_hierarchy, look_up
from hpcsolve.algorithms.shortest_paths.engines.phast.restriction import restriction_above
from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import Sweeper, shape_for
from hpcsolve.algorithms.shortest_paths.keys import REAL, Keys, first_keys
from hpcsolve.algorithms.shortest_paths.question import Parameters
from hpcsolve.algorithms.shortest_paths.search_graph import lay_out
from hpcsolve.algorithms.shortest_paths.searcher import Searcher, searcher
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.errors import InputError
from hpcsolve.memory import give_back_freed_memory
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion
from hpcsolve.wording import counted


@dataclass(frozen=True)
class Way:
    """How a job's searches are made.

    Attributes
    ----------
    engine
        Name of the engine, never "auto".
    attempt
        How much work a hierarchy may take, or None if none is tried.
    reason
        Why the engine was chosen, in words for the log; empty if the job names it.
    """

    engine: str
    attempt: Attempt | None = None
    reason: str = ""


def way_of(
    graph: Graph, parameters: Parameters, asked: PathQuestion, cores: int, find: Callable[[], Kept | None]
) -> Way:
    """Return how the searches of a job are made.

    Parameters
    ----------
    cores
        Number of `workers` of all ranks.
    find
        Returns what the caches of all hosts have of the graph. It is called, or not, alike on all ranks.

    Raises
    ------
    InputError
        The job asks for the engine "phast", which cannot answer it.
    """
    if parameters.engine not in (AUTO, PHAST):
        return Way(parameters.engine)
    other = _needs_searches(parameters, asked)
    if parameters.engine == PHAST:
        if other:
            raise InputError(f'shortest-paths.engine: "phast" only makes tables, not {other}; choose "auto"')
        return Way(PHAST, required(graph))
    found = Refusal(other) if other else worth_trying(graph, len(asked.seeds), cores, find())
    if isinstance(found, Refusal):
        return Way(NEAR_FAR, None, found.reason)
    return Way(PHAST, found)


def kept_here(graph: Graph, info: DeviceInfo) -> Kept | None:
    """Return what the cache of this host has of a graph for such a device."""
    keys = first_keys(graph)
    return None if keys is REAL else look_up(graph, keys, info.kind == "cuda")


def kept_everywhere(graph: Graph, info: DeviceInfo, comm: Comm) -> Kept | None:
    """Return what the caches of all hosts have of a graph. Collective."""
    every = comm.allgather(comm.once_per_host(partial(kept_here, graph, info)))
    return min((kept for kept in every if kept), key=lambda kept: kept.weighed) if all(every) else None


def workers_of_all(info: DeviceInfo, comm: Comm) -> int:
    """Return the number of `workers` of all ranks. Collective."""
    return sum(comm.allgather(workers(info)))


def way_by(engine: str, reason: str = "") -> Way:
    """Return the way of searches that were begun with this engine and go on with it, however much work that takes."""
    return Way(engine, Attempt(UNLIMITED) if engine == PHAST else None, reason)


def engine_of(prepared: Searcher | Sweeper, way: Way) -> str:
    """Return the name of the engine that makes the searches, for checkpoints."""
    if isinstance(prepared, Sweeper):
        return PHAST
    return NEAR_FAR if way.engine == PHAST else way.engine


def _needs_searches(parameters: Parameters, asked: PathQuestion) -> str:
    """Return what makes a job search from one source after the other, in words, or an empty text."""
    if asked.pairs is not None:
        return "paths of queries"
    if parameters.voronoi:
        return "one search from all sources"
    return "searches up to a cutoff" if parameters.cutoff is not None and parameters.engine == AUTO else ""


def prepared_on(
    graph: Graph, device: Device, comm: Comm, keys: Keys, way: Way, parameters: Parameters, cutoff: float | None,
    searches: int, targets: NDArray[np.int64] | None = None,
) -> Searcher | Sweeper:
    """Return the graph on a device, ready to be searched. Collective.

    Parameters
    ----------
    cutoff
        In the unit of `graph.weights`, or None.
    searches
        Number of searches of this rank.
    targets
        Positions, or None for all vertices.
    """
    if way.attempt is None:
        return _for_searches(graph, device, comm, keys, way.engine, parameters, cutoff, searches, way.reason)
    found = agreed_hierarchy(graph, keys, way.attempt, device.info, comm)
    give_back_freed_memory()
    if isinstance(found, Refusal):
        return _for_searches(graph, device, comm, keys, NEAR_FAR, parameters, cutoff, searches, found.reason)
    device.notes.append(described(found, way.attempt))
    farthest = keys.limit if cutoff is None else min(keys.limit, keys.encode_one(cutoff))
    shape = shape_for(graph.n, searches, device.info, keys, parameters.predecessors)
    part = None if targets is None else restriction_above(found, found.graph.places()[targets], keys)
    if part is not None:
        visited = f"{len(part.vertex)} of {graph.n} vertices, those that can lead to a target"
        device.notes.append(f"targets: each sweep visits only {visited}")
    return Sweeper(device, found, keys, farthest, shape, parameters.predecessors, restriction=part)


def agreed_hierarchy(
    graph: Graph, keys: Keys, attempt: Attempt, info: DeviceInfo, comm: Comm, other: str = NEAR_FAR
) -> Hierarchy | Refusal:
    """Return the hierarchy of a graph, or the same refusal on all ranks. One rank of each host makes it. Collective.

    Parameters
    ----------
    other
        The engine to name if the job asks for a hierarchy that is refused.

    Raises
    ------
    InputError
        The hierarchy is refused, and the job asks for it by name.
    """

    def make() -> Hierarchy | Refusal:
        if attempt.kept and (kept := kept_hierarchy(graph, attempt.kept)):
            return kept
        found = cached_hierarchy(graph, keys, attempt.worth, info.kind == "cuda", info.threads)
        return refused(attempt, found, graph.name, other) if isinstance(found, Refusal) else found

    found = comm.once_per_host(make)
    refusals = comm.allgather(found if isinstance(found, Refusal) else None)  # the cache of some host may have one
    return next((refusal for refusal in refusals if refusal), found)


def described(found: Hierarchy, attempt: Attempt) -> str:
    """Return a line for the log about a hierarchy."""
    size = f"{counted(int(found.down_offsets[-1]), 'arc')} and {counted(found.levels, 'level')}"
    kept = ", kept from an earlier run" if attempt.kept and attempt.kept.weighed else ""
    return f"engine: phast, a hierarchy of {size}{kept}"


def _for_searches(
    graph: Graph, device: Device, comm: Comm, keys: Keys, engine: str, parameters: Parameters, cutoff: float | None,
    searches: int, reason: str,
) -> Searcher:
    if reason:
        device.notes.append(f"engine: near-far: {reason}")
    search_graph = comm.once_per_host(partial(lay_out, graph, keys))
    give_back_freed_memory()  # what laying out took: rows may need as much
    delta = None if parameters.delta is None else parameters.delta * graph.scale
    return searcher(graph, device, keys, engine, delta, cutoff, search_graph=search_graph, searches=searches,
                    batch=parameters.batch)
