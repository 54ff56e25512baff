"""Rows of distances from the terminals: in which order they are searched from, and by which engine.

Terminals near each other in their spanning tree stand together. Rows are made by a hierarchy (engine "phast") or by the
engine "tile", unless the job names another one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.shortest_paths.choice import (
    Attempt,
    agreed_hierarchy,
    described,
    required,
    workers_of_all,
    worth_trying,
)
from hpcsolve.algorithms.shortest_paths.engines import AUTO, PHAST, TILE
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Hierarchy, Refusal
from hpcsolve.algorithms.shortest_paths.engines.tile import SOURCES
from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.steiner_kmb.network import ClosureTree, Network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices
from hpcsolve.algorithms.steiner_kmb.setting import Parameters
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph

TILE_STEPS = {"kmb": 1.5, "best": 5.0, "exact": 5.0}
"""Steps of a search by the engine "tile", as `NEAR_FAR_STEPS` of choice.py, by mode.

Searches of mode kmb end at the last terminal or before. In the other modes searches go to every vertex.
"""


def walk(net: Network, closure_tree: ClosureTree) -> Indices:
    """Return the terminals' numbers in the depth-first order of their spanning tree."""
    first, second = (np.searchsorted(net.terminals, end) for end in (closure_tree.first, closure_tree.second))
    return depth_first(len(net.terminals), first, second)


def depth_first(count: int, first: Indices, second: Indices) -> Indices:
    """Return the nodes of a tree in depth-first order, from number 0, short edges first.

    Parameters
    ----------
    first, second
        The ends of the tree's edges, the shortest first.
    """
    branches: list[list[int]] = [[] for _ in range(count)]
    for tail, head in zip(first[::-1].tolist(), second[::-1].tolist()):  # the longest edge first: it is taken last
        branches[tail].append(head)
        branches[head].append(tail)
    order, seen, waiting = [], bytearray(count), [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        seen[node] = 1
        waiting.extend(other for other in branches[node] if not seen[other])
    return np.array(order)


def shares_of_walk(terminals: int, ranks: int) -> list[Indices]:
    """Return each rank's places in the walk: whole groups of the engine "tile", dealt in turn for even loads."""
    group = max(1, min(SOURCES, -(-terminals // ranks)))
    owner = np.arange(terminals) // group % ranks
    return [np.flatnonzero(owner == rank) for rank in range(ranks)]


@dataclass(frozen=True)
class RowChoice:
    """The engine that makes the rows, and the hierarchy if that is "phast"."""

    engine: str
    hierarchy: Hierarchy | None = None


def attempt_of(graph: Graph, parameters: Parameters, cores: int) -> Attempt | Refusal:
    """Return how much work a hierarchy may take, or why none is made.

    Parameters
    ----------
    cores
        Number of `workers` of all ranks.
    """
    if parameters.mode == "fast" or parameters.engine not in (AUTO, PHAST.name):
        return Refusal("")
    if parameters.engine == PHAST.name:
        return required(graph)
    assert graph.terminals is not None
    return worth_trying(graph, len(graph.terminals), cores, steps=TILE_STEPS[parameters.mode])


def chosen_rows(graph: Graph, keys: Keys, parameters: Parameters, device: Device, comm: Comm) -> RowChoice:
    """Return how rows are made. One rank of each host makes the hierarchy, and all share it. Collective.

    Parameters
    ----------
    graph
        The reduced graph.

    Raises
    ------
    InputError
        The job asks for the engine "phast", and no hierarchy can be made.
    """
    if parameters.engine not in (AUTO, PHAST.name):
        return RowChoice(parameters.engine)
    attempt = attempt_of(graph, parameters, workers_of_all(device.info, comm))
    found: Hierarchy | Refusal
    if isinstance(attempt, Refusal):
        found = attempt
    else:
        found = agreed_hierarchy(graph, keys, attempt, device.info, comm, TILE.name)
        if isinstance(found, Hierarchy):
            _note(device, described(found, attempt))
            return RowChoice(PHAST.name, found)
    _note(device, f"engine: tile: {found.reason}")
    return RowChoice(TILE.name)


def _note(device: Device, line: str) -> None:
    """Note a line for the log, once."""
    if line not in device.notes:
        device.notes.append(line)
