"""Chooses the method for a problem: the algorithm, its keys, and when it stops, with the reason in words.

`method_for` follows from its arguments alone. Under `hpcsolve solve` every rank calls it before MPI starts, because the
kernels are built then. So its arguments must not differ between ranks: if there are several, they have no cores and no
free memory. Their GPUs may differ, since rank 0's job counts, and the kernels of each choice are built. What the method
needs is compared with the free memory before anything is allocated, as for every job. `hpcsolve.solve` calls it
on rank 0.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.device.base import ONE_CORE, DeviceInfo
from hpcsolve.device.select import Gpu, list_gpus, requested_threads
from hpcsolve.errors import HpcsolveError
from hpcsolve.job.convert import keys_of
from hpcsolve.memory import available_memory
from hpcsolve.parallel.environment import announced_size
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import Tsp, TspBatch
from hpcsolve.wording import counted, size

SECONDS = 60.0
"""Time limit of a search that can be stopped, if none is given."""
STAGNATION = 2000
"""Iterations without a better tour after which ants stop, if no time limit is given."""
MOST_PROVEN = 79
"""Cities up to which bounds are tried. Of the larger ones in jobs/benchmarks/choice, they proved 1 of 9 in 10 s."""
SEARCH_KEYS = ("shakes", "starts")
"""Keys of steiner-kmb that do not tell which mode to choose. They are passed on to the mode that is chosen."""
IN_TIME = frozenset(("objective", "windows", "travel-times", "departures", "time-unit"))
"""Keys of held-karp that describe a tour in time, and ask for no method."""
RATE = 1.25e9
"""Min-adds per second that Held-Karp surely makes on a core: a quarter of those of 16-byte vectors, as other programs
may share the core. Nothing is measured, so that all ranks choose alike."""

GPU_RATE = 1e12
"""Min-adds per second that a GPU surely makes of Held-Karp's plain sums: a tenth of what is computed for an H200."""


@dataclass(frozen=True)
class Resources:
    """What a choice may depend on beside the problem.

    Attributes
    ----------
    ranks
        Number of ranks.
    memory
        Bytes that may be taken, or None where several ranks may have different amounts.
    seconds
        The time limit that the user gives, or None.
    cores
        Cores that each rank may use; 1 where several ranks may have different numbers.
    gpu
        The GPU with the fewest multiprocessors that this rank may use, or None without one.
    """

    ranks: int = 1
    memory: int | None = None
    seconds: float | None = None
    cores: int = 1
    gpu: Gpu | None = None

    @property
    def limit(self) -> dict[str, Any]:
        """The keys of `[stop]` for the time limit that the user gives."""
        return {} if self.seconds is None else {"seconds": self.seconds}


@dataclass(frozen=True)
class Method:
    """How a problem is solved.

    Attributes
    ----------
    keys, stop
        The keys of the algorithm's own table and of `[stop]` that differ from their defaults.
    reason
        Why, in words that begin with "since" or "as".
    """

    algorithm: str
    reason: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    stop: Mapping[str, Any] = field(default_factory=dict)


def resources_here(
    device: str, seconds: float | None, ranks: int | None = None, threads: object = None
) -> Resources:
    """Return the resources of this process.

    Parameters
    ----------
    device
        As in a job: if it may be a GPU, its memory counts too.
    ranks
        Number of ranks, by default what the launcher states.
    threads
        As in a job.
    """
    ranks = announced_size(os.environ) if ranks is None else ranks
    gpus: list[Gpu] = []
    if device != "cpu":
        with suppress(HpcsolveError):  # no GPU: if the job asks for one, it is refused when the device is opened
            gpus = list_gpus()
    least = min(gpus, key=lambda gpu: gpu.multiprocessors, default=None)
    if ranks > 1:
        return Resources(ranks, None, seconds, gpu=least)
    memories = [available_memory(), *(gpu.memory for gpu in gpus)]
    cores = len(os.sched_getaffinity(0))
    with suppress(HpcsolveError):  # a mistake in it is refused when the device is opened
        asked, _ = requested_threads(threads if isinstance(threads, int) else None, os.environ)
        cores = min(cores, asked or cores)
    return Resources(1, min(memories), seconds, cores, least)


def method_for(
    problem: Tsp | TspBatch | Graph, resources: Resources, keys: Collection[str] = (), stop: Collection[str] = ()
) -> Method:
    """Return the method for a problem.

    Parameters
    ----------
    problem
        A graph without terminals is one for shortest paths.
    keys
        The keys of an algorithm's own table that are given without the algorithm's name.
    stop
        The keys of `[stop]` that are given beside `resources.seconds`. If there are any, no other one is added.
    """
    if isinstance(problem, TspBatch):
        return Method("held-karp", "since it solves batches", {}, resources.limit)
    if isinstance(problem, Graph):
        return _for_graph(problem, resources, keys, stop)
    named = _with_key_of(("held-karp", "edge-assembly", "ant-colony"), keys, resources)
    if named is not None:
        return named
    return _for_cities(problem, resources, stop)


def as_named(
    name: str, resources: Resources, stop: Collection[str] = (), given: Mapping[str, object] | None = None,
    only_by_keys: bool = False,
) -> Method:
    """Return the method with the algorithm that the user of the command line names, with the keys that he gives it.

    Parameters
    ----------
    only_by_keys
        Whether the keys alone name the algorithm.
    """
    if name == "ant-colony":
        return _ants(replace(resources, gpu=None) if given else resources, stop)
    if name == "edge-assembly":
        return Method(name, "as asked", {}, _limit(resources, stop))
    given = given or {}
    in_time = given.get("objective", "sum") in ("sum", "finish", "latency")
    if only_by_keys and name == "held-karp" and given and in_time and IN_TIME.issuperset(given):
        return Method(name, f"since {next(iter(given))} is a key of {name}", {}, _limit(resources, stop))
    keys: dict[str, Any] = {}
    if name == "steiner-kmb":
        keys = {"mode": "best"} if resources.limit or stop else {"exchange": True}
    endless = name == "held-karp" and not resources.limit and not stop
    return Method(name, "as asked, without a time limit" if endless else "as asked", keys, resources.limit)


def stop_in_words(stop: StopCriteria) -> str:
    """Return when a search ends, in words, empty if nothing ends it early."""
    texts = {"seconds": "after {:g} s", "target": "at cost {:g}", "iterations": "after {} iterations",
             "stagnation": "after {} iterations without a better answer",
             "gap": "at a gap of {:g} to the lower bound", "memory": "at {} bytes per rank"}
    found = [text.format(getattr(stop, key)) for key, text in texts.items() if getattr(stop, key) is not None]
    return f"; it stops {' or '.join(found)}" if found else ""


def owner_of(keys: Collection[str], names: Collection[str] = NAMES) -> tuple[str, str] | None:
    """Return the algorithm of these that alone has one of the keys in its table, and the key, or None."""
    for key in keys:
        owners = [name for name in names if key in keys_of(algorithm(name).parameters)]
        if len(owners) == 1:
            return owners[0], key
    return None


def _with_key_of(names: Collection[str], keys: Collection[str], resources: Resources) -> Method | None:
    """Return the method with the algorithm of these to which a key belongs, or None. Nothing is added to it."""
    found = owner_of(keys, names)
    if found is None:
        return None
    return Method(found[0], f"since {found[1]} is a key of {found[0]}", {}, resources.limit)


def _ants(resources: Resources, stop: Collection[str]) -> Method:
    """Return the method with ants: a colony for each rank, or as many as fill the ranks' GPUs."""
    colonies, reason = resources.ranks, "as asked"
    if resources.gpu is not None:
        from hpcsolve.algorithms.ant_colony.solve import default_colonies

        colonies *= default_colonies(resources.gpu.multiprocessors, resources.gpu.memory)
        reason += f"; {counted(colonies, 'colony')} to fill the GPUs of {counted(resources.ranks, 'rank')}"
    stop_at = resources.limit or ({} if stop else {"seconds": SECONDS, "stagnation": STAGNATION})
    return Method("ant-colony", reason, {"colonies": colonies} if colonies > 1 else {}, stop_at)


def _limit(resources: Resources, stop: Collection[str]) -> dict[str, Any]:
    """Return the time limit of a search that has a best answer so far."""
    return resources.limit or ({} if stop else {"seconds": SECONDS})


def _for_cities(tsp: Tsp, resources: Resources, stop: Collection[str]) -> Method:
    cities = counted(tsp.n, "city")
    keys = {"path": "open"} if tsp.precedences else {}
    if tsp.windows is not None:
        why = f'since {cities} have time windows; the cost is the sum of the legs, and objective = "finish" asks for ' \
              "the earliest end"
        return Method("held-karp", why, {}, _limit(resources, stop))
    sure, limit = _is_sure(tsp, keys, resources, stop), _limit(resources, stop)
    if tsp.precedences:
        why = f"since the file says which of {cities} come before others"
        return Method("held-karp", why, keys, {} if sure else limit)
    if sure:
        are = "is" if tsp.n == 1 else "are"
        return Method("held-karp", f"since {cities} {are} few enough for a proof of the optimum")
    why = _why_not_held_karp(tsp, resources, stop)
    if why:
        return Method("edge-assembly", f"since {why}", {}, limit)
    return Method("held-karp", f"since bounds may prove the optimum of {cities}", {}, limit)


def _is_sure(tsp: Tsp, keys: Mapping[str, Any], resources: Resources, stop: Collection[str]) -> bool:
    """Return whether the table of all states surely proves the optimum, by memory and time.

    Such a run has no answer before its end, so it must fit the time limit. Below `FEWEST_BOUNDED` the time is too short
    to matter, whatever the limit.
    """
    from hpcsolve.algorithms.held_karp.statement import FEWEST_BOUNDED
    from hpcsolve.algorithms.held_karp.statement import Parameters as HeldKarp

    gpu = resources.gpu
    info = DeviceInfo("cuda", gpu.name, gpu.uuid, "", gpu.multiprocessors) if gpu else ONE_CORE
    if stop or tsp.n > HeldKarp(**keys).most_in_lattice(bool(tsp.precedences), info.kind):
        return False
    try:
        solver = algorithm("held-karp")
        need = solver.plan(solver.statement(tsp, HeldKarp(**keys, method="lattice")), resources.ranks, info)
    except HpcsolveError:
        return False
    limit = SECONDS if resources.seconds is None else resources.seconds
    rate = GPU_RATE if gpu and not tsp.precedences else RATE * resources.cores
    in_time = tsp.n < FEWEST_BOUNDED or need.operations / (rate * resources.ranks) <= limit
    memory = gpu.memory if gpu and resources.memory is None else resources.memory
    return in_time and (memory is None or max(need.needed) <= memory)


def _why_not_held_karp(tsp: Tsp, resources: Resources, stop: Collection[str]) -> str:
    """Return why held-karp by bounds does not solve a problem, in words, or ""."""
    solver = algorithm("held-karp")
    if tsp.n > MOST_PROVEN:
        return f"bounds rarely prove the optimum of more than {MOST_PROVEN} cities"
    if other := [key for key in stop if key not in solver.parameters.STOPS]:
        return f"held-karp has no {other[0]} to stop at"
    stated = solver.statement(tsp, solver.parameters(method="bounded"))
    if not stated.fits():
        return "the costs are too far apart for held-karp"
    need = max(solver.plan(stated, resources.ranks).needed)
    if resources.memory is not None and need > resources.memory:
        return f"bounds for {counted(tsp.n, 'city')} would take {_more_than(need, resources.memory)}"
    return ""


def _more_than(need: int, memory: int) -> str:
    return f"{size(need)} of memory, more than the {size(memory)} at hand"


def _for_graph(graph: Graph, resources: Resources, keys: Collection[str], stop: Collection[str]) -> Method:
    terminals = 0 if graph.terminals is None else len(graph.terminals)
    named = _with_key_of(("steiner-kmb", "shortest-paths"), [key for key in keys if key not in SEARCH_KEYS], resources)
    if named is not None:
        return named
    if not terminals:
        return Method("shortest-paths", "since the graph has no terminals", {}, resources.limit)
    why, limit = f"since the graph has {counted(terminals, 'terminal')}", _limit(resources, stop)
    solver = algorithm("steiner-kmb")
    for mode, what in (("exact", "proves the lightest tree, if that can be done"), ("best", "keeps the lightest tree")):
        need = max(solver.plan(solver.statement(graph, solver.parameters(mode=mode)), resources.ranks).needed)
        if resources.memory is None or need <= resources.memory:
            return Method("steiner-kmb", f"{why}; mode {mode} {what}", {"mode": mode}, limit)
    fast = f"mode fast, since mode best would take {_more_than(need, resources.memory or 0)}"
    return Method("steiner-kmb", f"{why}; {fast}", {"exchange": True})
