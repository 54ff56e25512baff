"""The reductions of the rows of all sources, and the answer made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.shortest_paths.engines.phast.sweeper import Sweeper
from hpcsolve.algorithms.shortest_paths.keys import Keys
from hpcsolve.algorithms.shortest_paths.reduce.searching import summaries_of
from hpcsolve.algorithms.shortest_paths.reduce.summary import FARTHEST, REACHED, layout_of, sums_of
from hpcsolve.algorithms.shortest_paths.resume import WORK, RowTable, SearchCheckpoints, solved_of, work_of
from hpcsolve.algorithms.shortest_paths.searcher import Searcher
from hpcsolve.algorithms.shortest_paths.searches import row_searches
from hpcsolve.algorithms.shortest_paths.tables import SearchRows, rows_at_once
from hpcsolve.answers.contents import DistanceTable
from hpcsolve.answers.reductions import Reductions, closeness_of, middle_of, reduction_table
from hpcsolve.errors import InputError, agree
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion, Reduction

SWEEPS_A_BATCH = 4
"""Number of sweeps of all groups between two points where a checkpoint may be written."""


def solve_summaries(
    prepared: Searcher | Sweeper, seeds: Sequence[NDArray[np.int64]], targets: NDArray[np.int64] | None,
    reduction: Reduction, report: Report, kept: SearchCheckpoints,
) -> SearchRows:
    """Search from each source, and return its summary in place of its row. Collective if checkpoints are kept."""
    found = np.empty((len(seeds), layout_of(reduction).entries), prepared.keys.dtype)
    work, finished = np.zeros((len(seeds), WORK), np.uint64), np.zeros(len(seeds), bool)
    table = RowTable(found, np.empty((len(seeds), 0), np.uint32), work, finished)
    table.load(kept)
    step, places = batch_of(prepared), prepared.graph.places()
    waiting = table.unfinished(step)
    with summaries_of(prepared, targets, reduction, min(step, max(1, len(seeds)))) as summaries:
        for part in kept.while_any(waiting[::-1], table):
            solved, rows = summaries.start(row_searches(seeds[part], targets, places), found[part])
            table.begin(part, rows)  # they are copied during the next searches
            table.work[part] = work_of(solved)
            report(float(table.finished.mean()))
        table.arrive()
    return SearchRows(found, table.before.view(np.int32), [solved_of(table.work)])


def batch_of(prepared: Searcher | Sweeper) -> int:
    """Return the number of searches of a batch."""
    if isinstance(prepared, Sweeper):
        return SWEEPS_A_BATCH * prepared.batch
    return rows_at_once(prepared.graph.n, prepared.keys, prepared.device.info)


def reductions_of(rows: SearchRows, keys: Keys, share: range, asked: PathQuestion, graph: Graph, comm: Comm
                  ) -> Reductions:
    """Return the answer, with this rank's rows of the tables. Collective.

    Raises
    ------
    InputError
        A sum of distances does not fit 64 bits.
    """
    wanted = asked.reduction
    assert wanted is not None
    own = _columns(rows.keys, keys, wanted)
    what = 'shortest-paths.reduce: "sum": a sum of distances exceeds 2^64 - 1; divide the weights by a power of ten'
    wrong = InputError(what, graph.name)
    agree(comm, wrong if wanted.sums and own["sum"] is None else None)
    parts = comm.allgather(own)
    found: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in own}
    if wanted.sums:
        found["closeness"] = closeness_of(graph, asked.sources, asked.targets, found["reached"], found["sum"])
    if wanted.whole and wanted.farthest:
        found |= middle_of(found["farthest_distance"], found["reached"])
    cutoff = None
    if wanted.cutoffs:
        cutoff = np.array(wanted.cutoffs, np.float64 if graph.weights.dtype.kind == "f" else np.uint64)
    target = None if asked.targets is None else asked.targets.astype(np.int32)
    found |= _tables(rows.keys, keys, wanted, share.start, len(asked.sources))
    return Reductions(asked.sources.astype(np.int32), target=target, cutoff=cutoff, **found)


def _columns(summaries: NDArray[Any], keys: Keys, wanted: Reduction) -> dict[str, Any]:
    """Return this rank's part of the columns that have a value for each source."""
    found: dict[str, Any] = {"reached": summaries[:, REACHED].astype(np.int64)}
    if wanted.sums:
        found["sum"] = sums_of(summaries, keys)
    if wanted.farthest:
        none = summaries[:, REACHED] == 0
        farthest = np.where(none, keys.unreached, summaries[:, FARTHEST]).astype(keys.dtype)
        found["farthest_distance"] = keys.decode(farthest)
        found["farthest_target"] = _names(summaries[:, FARTHEST + 1])
    return found


def _tables(summaries: NDArray[Any], keys: Keys, wanted: Reduction, first: int, total: int
            ) -> dict[str, DistanceTable]:
    """Return this rank's rows of the tables."""
    layout = layout_of(wanted)
    found: dict[str, NDArray[Any]] = {}
    if wanted.cutoffs:
        found["count"] = layout.counts(summaries).astype(np.uint32)
    if wanted.nearest:
        found["nearest_target"] = _names(layout.nearest_names(summaries))
        found["nearest_distance"] = keys.decode(np.ascontiguousarray(layout.nearest_keys(summaries)))
    return {name: reduction_table(name, values, first, total) for name, values in found.items()}


def _names(words: NDArray[Any]) -> NDArray[np.int32]:
    """Return positions, -1 where the words are all ones."""
    return words.astype(np.uint32).view(np.int32)
