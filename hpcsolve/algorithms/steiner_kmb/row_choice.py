"""Chooses how rows of distances from terminals are made: by a hierarchy (engine "phast") or by the engine "tile"."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from hpcsolve.algorithms.shortest_paths.engines.known import AUTO, PHAST, TILE, RowEngineName
from hpcsolve.algorithms.shortest_paths.engines.phast.choice import Attempt, refused, required, worth_trying
from hpcsolve.algorithms.shortest_paths.engines.phast.contraction import Refusal
from hpcsolve.algorithms.shortest_paths.engines.phast.hierarchy import Hierarchy
from hpcsolve.algorithms.shortest_paths.engines.phast.kept import cached_hierarchy
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.device.base import Device, DeviceInfo
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.wording import counted

SCANS_AN_ENTRY = {"kmb": 32, "best": 4, "exact": 4}
"""As `phast.choice.SCANS_AN_ENTRY`, by mode.

Searches of mode kmb end at the last terminal or before, and the engine "tile" takes 1 to 5 ns for each vertex and arc
of the graph. In the other modes searches go to every vertex, and later ones begin at about as many other vertices.
"""


@dataclass(frozen=True)
class RowChoice:
    """The engine that makes the rows, and the hierarchy if that is "phast"."""

    engine: RowEngineName
    hierarchy: Hierarchy | None = None


def attempt_of(graph: Graph, parameters: Parameters) -> Attempt | Refusal:
    """Return how much work a hierarchy may take, or why none is made. It follows from the graph and the job alone.

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
    return worth_trying(graph, len(graph.terminals), scans=SCANS_AN_ENTRY[parameters.mode])


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
    attempt = attempt_of(graph, parameters)
    found: Hierarchy | Refusal
    if isinstance(attempt, Refusal):
        found = attempt
    else:
        found = comm.once_per_host(partial(_hierarchy, graph, keys, attempt, device.info))
    if isinstance(found, Hierarchy):
        arcs = counted(int(found.down_offsets[-1]), "arc")
        _note(device, f"engine: phast, a hierarchy of {arcs} and {counted(found.levels, 'level')}")
        return RowChoice(PHAST, found)
    _note(device, f"engine: tile: {found.reason}")
    return RowChoice(TILE)


def _hierarchy(graph: Graph, keys: Keys, attempt: Attempt, info: DeviceInfo) -> Hierarchy | Refusal:
    found = cached_hierarchy(graph, keys, attempt.budget, info.kind == "cuda", info.threads)
    return refused(attempt, found, graph.name, TILE) if isinstance(found, Refusal) else found


def _note(device: Device, line: str) -> None:
    """Note a line for the log, once."""
    if line not in device.notes:
        device.notes.append(line)
