"""The answer to sources: one row of distances per search, with predecessors or nearest sources if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.batch import Solved
from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import Sweeper
from hpcsolve.algorithms.shortest_paths.engines.tuning import concurrent_blocks
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.question import Parameters
from hpcsolve.algorithms.shortest_paths.resume import WORK, RowTable, SearchCheckpoints, runs_of, solved_of, work_of
from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from hpcsolve.algorithms.shortest_paths.searches import WANTS_DISTANCES, WANTS_PREDECESSORS, WANTS_TARGETS, row_searches
from hpcsolve.answers.contents import DistanceTable
from hpcsolve.answers.distances import NO_VERTEX, Distances, distance_table
from hpcsolve.device.base import DeviceInfo, batches_at_once
from hpcsolve.problems.check_distances import roots, unreached_of
from hpcsolve.problems.questions import PathQuestion

OUTPUT_BYTES = 1 << 32
"""The most bytes of rows on a GPU, including rows that are being copied to the host."""


@dataclass(frozen=True)
class SearchRows:
    """This rank's rows of the tables.

    Attributes
    ----------
    keys
        Shape (searches, n or number of targets): distances as keys, in the graph's own order.
    predecessor
        Shape (searches, n), -1 where there is none; shape (searches, 0) if predecessors are not wanted.
    batches
        What the searches took and what their check found, in order.
    restricted
        Whether sweeps saw only some vertices, so that nothing could be checked on the device.
    """

    keys: NDArray[Any]
    predecessor: NDArray[np.int32]
    batches: Sequence[Solved]
    restricted: bool = False


def solve_table(
    prepared: Searcher | Sweeper, seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None,
    predecessors: bool, report: Report, kept: SearchCheckpoints | None = None,
) -> SearchRows:
    """Search from each set of seeds, and return the rows. Collective if checkpoints are kept."""
    kept = kept or SearchCheckpoints()
    n, dtype, places = prepared.graph.n, prepared.keys.dtype, prepared.graph.places()
    keys = np.empty((len(seeds), n if targets is None else len(targets)), dtype)
    before = np.empty((len(seeds), n if predecessors else 0), np.uint32)
    whole = WANTS_DISTANCES | (WANTS_PREDECESSORS if predecessors else 0)
    table = RowTable(keys, before, np.zeros((len(seeds), WORK), np.uint64), np.zeros(len(seeds), bool))
    table.load(kept)
    batches = {own.start: solved_of(table.work[own.start : own.stop]) for own in runs_of(table.finished)}
    step = prepared.batch if isinstance(prepared, Sweeper) else rows_at_once(n, prepared.keys, prepared.device.info)
    if targets is not None and isinstance(prepared, Searcher):
        step *= batches_at_once(prepared.device.info)
    for part in kept.while_any(table.unfinished(step)[::-1], table):
        searches = row_searches(seeds[part], targets, places)
        if targets is None:
            solved, rows = prepared.start(searches, whole, keys[part], before[part] if predecessors else None)
            table.begin(part, rows)  # they are copied during the next searches
        else:
            solved = prepared.solve(searches, WANTS_TARGETS)
            keys[part] = solved.target_keys.reshape(len(searches), -1)
            table.finished[part] = True
        batches[part.start], table.work[part] = solved, work_of(solved)
        report(float(table.finished.mean()))
    table.arrive()
    restricted = isinstance(prepared, Sweeper) and prepared.restriction is not None
    return SearchRows(keys, before.view(np.int32), [batches[first] for first in sorted(batches)], restricted)


def rows_at_once(n: int, keys: Keys, info: DeviceInfo) -> int:
    """Return the number of searches of a batch: several for each thread of a CPU, one for each block of a GPU."""
    if info.kind == "cpu":
        return 8 * concurrent_blocks(info)
    most = OUTPUT_BYTES // (batches_at_once(info) * n * (keys.dtype.itemsize + 4))
    return max(1, min(concurrent_blocks(info), most))


def answer_of(rows: SearchRows, keys: Keys, share: range, asked: PathQuestion, parameters: Parameters) -> Distances:
    """Return this rank's part of the answer."""
    column = "vertex" if asked.targets is None else "target"

    def table(name: str, values: NDArray[Any], none: float) -> DistanceTable:
        return distance_table(name, values, share.start, len(asked.seeds), column, none)

    distance = keys.decode(rows.keys)
    none = unreached_of(distance.dtype)
    predecessor = nearest = None
    if parameters.predecessors:
        predecessor = table("predecessor", rows.predecessor, NO_VERTEX)
    if parameters.voronoi:
        owners = [np.where(d != none, roots(b), NO_VERTEX) for d, b in zip(distance, rows.predecessor)]
        nearest = table("nearest", np.array(owners, np.int32).reshape(-1, distance.shape[1]), NO_VERTEX)
    target = None if asked.targets is None else asked.targets.astype(np.int32)
    source = asked.sources.astype(np.int32)
    return Distances(source, table("distance", distance, none), target, predecessor, nearest, rows.restricted)
