"""Estimates how long a job takes from a whole run of mode fast, and from some searches of mode kmb."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from hpcsolve.algorithms.base import NO_STOP, StopCriteria, silent
from hpcsolve.algorithms.shortest_paths.engines import AUTO, row_engine, row_search, searcher
from hpcsolve.algorithms.shortest_paths.engines.launches import concurrent_blocks
from hpcsolve.algorithms.shortest_paths.engines.rows import TILE_SOURCES
from hpcsolve.algorithms.steiner_kmb.kmb.matrix import Matrix
from hpcsolve.algorithms.steiner_kmb.kmb.tree import cutoff_of, keys_for, path_edges, sources_of, spanned_rows
from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.order import shares_of_walk, walk
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.algorithms.steiner_kmb.row_choice import chosen_rows
from hpcsolve.algorithms.steiner_kmb.solve import on_host, prepared, run
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.answers.contents import DistanceTable
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.graph import Graph

ARCS = 1 << 22
"""Roughly the arcs that each block scans in the trial, by one search or several."""
ENDS = {
    "best": 'mode "best" goes on until no vertex makes its tree lighter, and then with ruin and recreate',
    "exact": 'mode "exact" ends when the lightest tree is proven',
}
"""When the modes end whose time is not known beforehand, in words."""
NO_LIMIT = {"best": "", "exact": ", and how many states that takes cannot be foreseen"}


def trial(graph: Graph, parameters: Parameters, criteria: StopCriteria, ranks: int, device: Device, seed: int) -> Trial:
    """Return a trial: a run of mode fast (a second for half a million vertices) and, for mode kmb, some searches."""
    given = msgspec.structs.replace(parameters, mode="fast", matrix=False, halt="bottleneck")
    watch = Stopwatch()
    outcome = run(graph, device, SerialComm(), given, silent, NO_STOP, seed)
    setup = watch.seconds()
    if parameters.mode == "fast":
        return Trial(graph, given, outcome, setup, 0.0, "the job itself")
    if parameters.mode == "kmb":
        searched = _searched(graph, parameters, ranks, device)
        return Trial(graph, given, outcome, setup, searched.seconds, searched.measured_on,
                     searched.row_ratio, tables=searched.tables)
    limit = None if criteria.seconds is None else max(0.0, criteria.seconds - setup)
    open_end = f"{NO_LIMIT[parameters.mode]}; [stop] seconds would end it"
    why = ENDS[parameters.mode] + (open_end if limit is None else ", or soon after that time")
    return Trial(graph, given, outcome, setup, limit, "mode fast", open_end=why)


@dataclass(frozen=True)
class _Searched:
    """What some searches of mode kmb say about all of them.

    Attributes
    ----------
    seconds
        Estimated seconds of all searches of a rank.
    measured_on, row_ratio, tables
        As in `Trial`.
    """

    seconds: float
    measured_on: str
    row_ratio: float
    tables: tuple[DistanceTable, ...]


def _searched(graph: Graph, parameters: Parameters, ranks: int, device: Device) -> _Searched:
    """Make some searches of mode kmb, from terminals near each other, and find some of the paths."""
    with on_host(device) as host:
        smaller, tree = prepared(graph, host)
        net, info, cutoff = network(smaller.graph, host), device.info, cutoff_of(tree, parameters)
        k, keys = len(net.terminals), keys_for(smaller.graph, cutoff)
        share = len(shares_of_walk(k, ranks)[0])
        together = parameters.engine == AUTO or row_engine(parameters.engine)
        a_block = TILE_SOURCES if together else 1  # searches that a block makes together
        count = min(share, a_block * concurrent_blocks(info) * -(-ARCS // max(1, smaller.graph.arcs)))
        matrix = Matrix(smaller.member, range(count), np.zeros((count, len(smaller.member)), keys.dtype))
        sources = sources_of(walk(net, tree), SerialComm(), matrix) if parameters.matrix else walk(net, tree)[:count]
        watch = Stopwatch()
        choice, p = chosen_rows(smaller.graph, keys, parameters, device, SerialComm()), parameters.at_once
        with searcher(smaller.graph, device, keys, choice.engine, cutoff=cutoff, searches=count) as ready:
            targets = net.terminals.astype(np.int64)
            with row_search(ready, smaller.graph, choice.engine, p, targets, count, choice.hierarchy) as rows:
                before = watch.seconds()
                spanned_rows(net, sources, tree.bottleneck, rows, keys, silent, matrix if parameters.matrix else None)
            ends = np.stack([tree.first, tree.second], axis=1).astype(np.int64)
            ends = ends[np.argsort(ends[:, 0], kind="stable")][: max(1, (k - 1) * count // k)]
            path_edges(net, ready, ends, SerialComm(), silent)
        ratio = share / count
        tables = (matrix.as_table(),) if parameters.matrix else ()
        return _Searched(before + (watch.seconds() - before) * ratio, f"mode fast, and {count} of {k} searches", ratio,
                         tables)
