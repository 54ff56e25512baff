"""Brings a graph to a device in the way that suits a job: for searches one by one, or as a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.known import AUTO, NEAR_FAR, PHAST
from hpcsolve.algorithms.shortest_paths.engines.phast.choice import (
    UNLIMITED,
    Attempt,
    refused,
    required,
    worth_trying,
)
from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import Refusal
from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import Hierarchy
from hpcsolve.algorithms.shortest_paths.engines.phast.kept import cached_hierarchy
from hpcsolve.algorithms.shortest_paths.engines.phast.restriction import restriction_above
from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import Sweeper, shape_for
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.question import Parameters
from hpcsolve.algorithms.shortest_paths.search_graph import lay_out
from hpcsolve.algorithms.shortest_paths.searcher import Searcher, searcher
from hpcsolve.device.base import Device
from hpcsolve.errors import InputError
from hpcsolve.memory import give_back_freed_memory
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.path_question import PathQuestion
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


def way_of(graph: Graph, parameters: Parameters, asked: PathQuestion) -> Way:
    """Return how the searches of a job are made, which follows from the job and its graph alone.

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
    found = Refusal(other) if other else worth_trying(graph, len(asked.seeds))
    if isinstance(found, Refusal):
        return Way(NEAR_FAR, None, found.reason)
    return Way(PHAST, found)


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
    found = comm.once_per_host(partial(_hierarchy, graph, device, keys, way.attempt))
    give_back_freed_memory()
    if isinstance(found, Refusal):
        engine, reason = NEAR_FAR, found.reason
        return _for_searches(graph, device, comm, keys, engine, parameters, cutoff, searches, reason)
    arcs = int(found.down_offsets[-1])
    device.notes.append(f"engine: phast, a hierarchy of {arcs} arcs and {counted(found.levels, 'level')}")
    farthest = keys.limit if cutoff is None else min(keys.limit, keys.encode_one(cutoff))
    shape = shape_for(graph.n, searches, device.info, keys, parameters.predecessors)
    part = None if targets is None else restriction_above(found, found.graph.places()[targets], keys)
    if part is not None:
        device.notes.append(f"targets: the sweep visits only the {len(part.vertex)} of {graph.n} vertices above them")
    return Sweeper(device, found, keys, farthest, shape, parameters.predecessors, restriction=part)


def _hierarchy(graph: Graph, device: Device, keys: Keys, attempt: Attempt) -> Hierarchy | Refusal:
    info = device.info
    found = cached_hierarchy(graph, keys, attempt.budget, info.kind == "cuda", info.threads)
    return refused(attempt, found, graph.name) if isinstance(found, Refusal) else found


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
