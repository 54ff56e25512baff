"""Chooses how rows of distances from terminals are made: by a hierarchy (engine "phast") or by the engine "tile"."""

from __future__ import annotations

from dataclasses import dataclass

from hpcsolve.algorithms.shortest_paths.choice import (
    Attempt,
    agreed_hierarchy,
    described,
    required,
    workers_of_all,
    worth_trying,
)
from hpcsolve.algorithms.shortest_paths.engines import AUTO, PHAST, TILE, RowEngineName
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Hierarchy, Refusal
from hpcsolve.algorithms.shortest_paths.search_graph import Keys
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph

TILE_STEPS = {"kmb": 1.5, "best": 5.0, "exact": 5.0}
"""Steps of a search by the engine "tile", as `phast.choice.NEAR_FAR_STEPS`, by mode.

Searches of mode kmb end at the last terminal or before. In the other modes searches go to every vertex.
"""


@dataclass(frozen=True)
class RowChoice:
    """The engine that makes the rows, and the hierarchy if that is "phast"."""

    engine: RowEngineName
    hierarchy: Hierarchy | None = None


def attempt_of(graph: Graph, parameters: Parameters, cores: int) -> Attempt | Refusal:
    """Return how much work a hierarchy may take, or why none is made.

    Parameters
    ----------
    cores
        Number of `workers` of all ranks.

    Raises
    ------
    InputError
        The job asks for the engine "phast", and the weights are floats.
    """
    if parameters.mode == "fast" or parameters.engine not in (AUTO, PHAST):
        return Refusal("")
    if parameters.engine == PHAST:
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
    if parameters.engine not in (AUTO, PHAST):
        return RowChoice(parameters.engine)
    attempt = attempt_of(graph, parameters, workers_of_all(device.info, comm))
    found: Hierarchy | Refusal
    if isinstance(attempt, Refusal):
        found = attempt
    else:
        found = agreed_hierarchy(graph, keys, attempt, device.info, comm, TILE)
        if isinstance(found, Hierarchy):
            _note(device, described(found, attempt))
            return RowChoice(PHAST, found)
    _note(device, f"engine: tile: {found.reason}")
    return RowChoice(TILE)


def _note(device: Device, line: str) -> None:
    """Note a line for the log, once."""
    if line not in device.notes:
        device.notes.append(line)
