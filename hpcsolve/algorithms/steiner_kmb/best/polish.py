"""Iterated 1-Steiner on what the reductions leave, then ruin and recreate. Mode exact begins with both, too."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.steiner_kmb.best.one_steiner import best_tree
from hpcsolve.algorithms.steiner_kmb.best.rounds import RoundStop
from hpcsolve.algorithms.steiner_kmb.best.ruin import Ruin, resume, saved_in_ruin
from hpcsolve.algorithms.steiner_kmb.kmb.tree import Work
from hpcsolve.algorithms.steiner_kmb.network import Network, network
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters
from hpcsolve.algorithms.steiner_kmb.reductions.incumbent import Incumbent
from hpcsolve.algorithms.steiner_kmb.reductions.shrink import Shrunk
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.algorithms.steiner_kmb.trees import closure
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import Comm


@dataclass(frozen=True)
class Setting:
    """What a run works with on each rank.

    Attributes
    ----------
    whole
        The network of the graph as it was read.
    host
        The CPU, which is also `device` if the job has no GPU.
    """

    whole: Network
    host: Device
    device: Device
    comm: Comm
    parameters: Parameters
    report: Report
    stop: RoundStop
    seed: int


def agreed(now: Shrunk, run: Setting) -> Shrunk:
    """Return what the reductions have found, the same on all ranks. Collective.

    If they had to end early on any host, it is the tree and the bound of rank 0.
    """
    if not any(run.comm.allgather(now.ended_early)):
        return now
    tree, weight, bound, offset = run.comm.bcast((now.tree, now.weight, now.bound, now.smaller.offset))
    run.stop.offset = offset
    run.stop.is_over(weight - offset)
    return replace(now, tree=np.asarray(tree), weight=weight, bound=bound, ended_early=True)


def polished(now: Shrunk, run: Setting) -> tuple[Shrunk, Work]:
    """Return the reductions with the best tree of iterated 1-Steiner, if it is lighter, and the work. Collective."""
    first = (0, run.stop.seconds(), now.weight)
    if now.ended_early:
        return now, Work(0, 0.0, history=[first])
    run.stop.offset = now.smaller.offset
    if now.proven or run.stop.meets_target(now.weight - run.stop.offset):
        return now, Work(0, 0.0, history=[first])
    net = network(now.smaller.graph, run.host)
    tree, work = _searched(now, net, run)
    return with_tree(now, tree, run), replace(work, history=lighter_and_last([first, *work.history]))


def _searched(now: Shrunk, net: Network, run: Setting) -> tuple[Indices | None, Work]:
    """Return the edges of the best tree in the reduced graph, on rank 0, and this rank's work. Collective."""
    tree, work, saved = None, Work(0, 0.0), run.stop.checkpoints.saved
    if not saved_in_ruin(saved):
        closure_tree = run.comm.once_per_host(partial(closure, net))
        tree, work = best_tree(now.smaller.graph, net, closure_tree, run.device, run.comm, run.parameters, run.report,
                               run.stop, run.seed)
        if run.stop.met or run.stop.broken_off or run.comm.bcast(tree is None):
            return tree, work
    return _recreated(now, net, tree, work, run)


def _recreated(
    now: Shrunk, net: Network, tree: Indices | None, work: Work, run: Setting
) -> tuple[Indices | None, Work]:
    """Return the tree and the work after ruin and recreate. Collective."""
    first = np.empty(0, np.int64) if tree is None else tree
    ruin = Ruin(net, run.comm, run.stop, run.seed, run.parameters.shakes, first, first, work.rounds, list(work.history))
    saved = run.stop.checkpoints.saved
    if saved is not None and saved_in_ruin(saved):
        resume(ruin, saved)
    run.stop.nbytes = 2 * ruin.tree.nbytes
    started = time.perf_counter()
    ruin.run(run.report, now.smaller.graph.scale)
    seconds = work.seconds + time.perf_counter() - started
    best = ruin.tree if run.comm.rank == 0 else None
    return best, replace(work, seconds=seconds, rounds=ruin.number, history=ruin.history)


def with_tree(now: Shrunk, tree: Indices | None, run: Setting) -> Shrunk:
    """Return the reductions with a tree of the reduced graph (given on rank 0) if it is lighter. Collective."""
    found: tuple[Indices, int] | None = None
    if tree is not None:
        best = Incumbent(run.whole, now.tree, now.weight)
        best.offer(now.smaller, tree)
        found = best.tree, best.weight
    edges, weight = run.comm.bcast(found) or (now.tree, now.weight)
    return replace(now, tree=np.asarray(edges), weight=weight, bound=min(weight, now.bound))


def lighter_and_last(rows: Sequence[tuple[int, float, int]]) -> list[tuple[int, float, int]]:
    """Return the rows (rounds, seconds, weight) of each lighter tree, and one with the lightest weight at the end."""
    found: list[tuple[int, float, int]] = []
    for row in rows:
        if found and row[0] == found[-1][0] and row[2] < found[-1][2]:
            found[-1] = row
        elif not found or row[2] < found[-1][2]:
            found.append(row)
    if rows[-1][0] > found[-1][0]:
        found.append((*rows[-1][:2], found[-1][2]))
    return found
