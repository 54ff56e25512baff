"""Decides whether a job's searches go through a hierarchy, and brings the graph to the device in that way.

All costs are counted in steps of about a nanosecond of one core. The constants are for each vertex and arc of the
graph, which makes them nearly the same for all road networks. `python -m jobs.benchmarks.shortest_paths tables` prints
what they follow from, and `python -m jobs.benchmarks.shortest_paths engines` how well they choose.

A hierarchy pays if

    ceil(searches / cores) * (steps of a search - SWEEP_STEPS) >= steps of making the hierarchy,

and these steps are known only once it is made. So `worth_trying` compares the left side with what a road network
usually takes, and contraction.cpp compares it with a forecast while it works.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from hpcsolve.algorithms.shortest_paths.engines import AUTO, NEAR_FAR, PHAST, chosen_engine, engine_named
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import UNLIMITED, Hierarchy, Refusal
from hpcsolve.algorithms.shortest_paths.engines.kept import Cache, Kept
from hpcsolve.algorithms.shortest_paths.question import PathStatement
from hpcsolve.algorithms.shortest_paths.search_graph import REAL, Keys, first_keys, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Prepared, Request, Want
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.errors import InputError
from hpcsolve.memory import give_back_freed_memory
from hpcsolve.parallel.comm import Comm
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
DENSEST = 4
"""Graphs with more arcs per vertex, on average, are not contracted at all, unless the job asks for it."""
WEIGHING_STEPS = 140
"""Steps for each arc of a kept contraction that gets new weights: 126 (San Francisco Bay) to 146 (New York)."""
MOST_STEPS = 1 << 14
"""Steps for each vertex and arc that contraction may take if the job asks for the engine by name.

As many as a thousand searches: later runs may use the hierarchy too. Without a limit contraction takes an hour if the
core of the graph becomes a clique of ten thousand vertices, for which the memory may suffice.
"""
IN_WORDS = {Want.PATHS: "paths of queries", Want.SEVERAL_SEEDS: "one search from all sources",
            Want.PREDECESSORS: "predecessors"}
"""What an engine may not deliver, in words."""
FLOATS = "the weights are floats, which a hierarchy would add in another order"


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


def way_of(stated: PathStatement, cores: int, find: Callable[[], Kept | None]) -> Way:
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
        The job asks for an engine that cannot answer it.
    """
    graph, parameters, asked = stated.problem, stated.parameters, stated.question
    engine = engine_named(parameters.engine)
    wanted = Want.PATHS * (asked.pairs is not None) | Want.PREDECESSORS * parameters.predecessors
    if parameters.voronoi:
        wanted |= Want.SEVERAL_SEEDS | Want.PREDECESSORS
    lacking = wanted & ~(engine or PHAST).delivers
    other = next((words for bit, words in IN_WORDS.items() if bit & lacking), "")
    if engine is not None and other:
        raise InputError(f'shortest-paths.engine: "{engine.name}" only makes tables, not {other}; choose "auto"')
    if engine is not None and not engine.floats and first_keys(graph) is REAL:
        raise InputError(f'engine "{engine.name}": {FLOATS}; choose "near-far", or give integer weights', graph.name)
    if parameters.engine != AUTO:
        return Way(parameters.engine, required(graph) if engine is PHAST else None)
    if not other and parameters.cutoff is not None:
        other = "searches up to a cutoff"
    found = Refusal(other) if other else worth_trying(graph, len(asked.seeds), cores, find())
    if isinstance(found, Refusal):
        return Way(NEAR_FAR, None, found.reason)
    return Way(PHAST.name, found)


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
    if graph.arcs > DENSEST * graph.n or not graph.n:
        density = f"{graph.arcs / max(graph.n, 1):.1f} arcs per vertex, more than {DENSEST}"
        return Refusal(f"{density}: such graphs have no small separators")
    size = graph.n + graph.arcs
    saved = int(-(-searches // cores) * (steps - SWEEP_STEPS) * size)
    making = MAKING_STEPS * (1 if graph.arcs <= ROADS * graph.n else DENSER)
    needed = making * size if kept is None else WEIGHING_STEPS * kept.arcs
    if saved >= needed:
        return Attempt(saved, searches, kept)
    many = counted(searches, "search") + (f" on {cores} cores" if cores > 1 else "")
    return Refusal(f"{many} {'takes' if searches == 1 else 'take'} less time than making a hierarchy")


def required(graph: Graph) -> Attempt:
    """Return the attempt of a job that asks for the engine by name."""
    return Attempt(MOST_STEPS * (graph.n + graph.arcs))


def workers(info: DeviceInfo) -> int:
    """Return how many searches a device makes at the same time, each as fast as a core does.

    A multiprocessor of a GPU counts as a core. A hierarchy is made by a single core, whatever the device.
    """
    return info.units if info.kind == "cuda" else info.threads


def workers_of_all(info: DeviceInfo, comm: Comm) -> int:
    """Return the number of `workers` of all ranks. Collective."""
    return sum(comm.allgather(workers(info)))


def kept_here(graph: Graph, info: DeviceInfo) -> Kept | None:
    """Return what the cache of this host has of a graph for such a device."""
    keys = first_keys(graph)
    return None if keys is REAL else Cache(graph, keys, info.kind == "cuda").look_up()


def kept_everywhere(graph: Graph, info: DeviceInfo, comm: Comm) -> Kept | None:
    """Return what the caches of all hosts have of a graph. Collective."""
    every = comm.allgather(comm.once_per_host(partial(kept_here, graph, info)))
    return min((kept for kept in every if kept), key=lambda kept: kept.weighed) if all(every) else None


def way_by(engine: str, reason: str = "") -> Way:
    """Return the way of searches that were begun with this engine and go on with it, however much work that takes."""
    return Way(engine, Attempt(UNLIMITED) if engine == PHAST.name else None, reason)


def request_of(stated: PathStatement, keys: Keys, searches: int) -> Request:
    """Return what is known of the searches of a rank."""
    graph, parameters, asked = stated.problem, stated.parameters, stated.question
    delta = None if parameters.delta is None else parameters.delta * graph.scale
    return Request(graph.n, graph.arcs, keys, searches, asked.targets, parameters.predecessors, cutoff=asked.cutoff,
                   delta=delta, batch=parameters.batch, restrict=True)


def prepared_on(graph: Graph, device: Device, comm: Comm, way: Way, request: Request) -> tuple[Prepared, Way]:
    """Return the graph on a device, ready to be searched, and the way in which it is. Collective.

    The way is another one than was asked for if no hierarchy is made.
    """
    if way.attempt is not None:
        found = agreed_hierarchy(graph, request.keys, way.attempt, device.info, comm)
        give_back_freed_memory()
        if not isinstance(found, Refusal):
            device.notes.append(described(found, way.attempt))
            return PHAST.prepare(graph, device, replace(request, hierarchy=found)), way
        way = Way(NEAR_FAR, None, found.reason)
    if way.reason:
        device.notes.append(f"engine: {way.engine}: {way.reason}")
    request = replace(request, laid_out=comm.once_per_host(partial(lay_out, graph, request.keys)))
    give_back_freed_memory()  # what laying out took: rows may need as much
    return chosen_engine(way.engine, request, device.info).prepare(graph, device, request), way


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
        found = Cache(graph, keys, info.kind == "cuda").hierarchy(attempt.worth, info.threads, attempt.kept)
        if isinstance(found, Hierarchy):
            return found
        if not attempt.searches:
            raise InputError(f'engine "phast": {found.reason}; choose "{other}"', graph.name)
        if found.forever:
            return found
        return replace(found, reason=f"{found.reason}, which does not pay for {attempt.searches} searches")

    found = comm.once_per_host(make)
    refusals = comm.allgather(found if isinstance(found, Refusal) else None)  # the cache of some host may have one
    return next((refusal for refusal in refusals if refusal), found)


def described(found: Hierarchy, attempt: Attempt) -> str:
    """Return a line for the log about a hierarchy."""
    size = f"{counted(int(found.down_offsets[-1]), 'arc')} and {counted(found.levels, 'level')}"
    kept = ", kept from an earlier run" if attempt.kept and attempt.kept.weighed else ""
    return f"engine: phast, a hierarchy of {size}{kept}"
