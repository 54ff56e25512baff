"""Iterated 1-Steiner on what the reductions leave, then ruin and recreate, whose trees are recombined.

Mode exact begins with all of this, too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.steiner_kmb.best.one_steiner import best_tree
from hpcsolve.algorithms.steiner_kmb.best.ruin import Ruin, resumed, ruin_from, saved_in_ruin
from hpcsolve.algorithms.steiner_kmb.best.setting import Setting
from hpcsolve.algorithms.steiner_kmb.kmb.tree import Work
from hpcsolve.algorithms.steiner_kmb.network import Network, network
from hpcsolve.algorithms.steiner_kmb.reductions.incumbent import Incumbent
from hpcsolve.algorithms.steiner_kmb.reductions.shrink import Effort, Shrunk, shrunk
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices, ReducedGraph, reduced
from hpcsolve.algorithms.steiner_kmb.trees import closure
from hpcsolve.checkpoint.checkpoints import without_writer
from hpcsolve.device.select import on_all_ranks
from hpcsolve.problems.graph import Graph, assembled
from hpcsolve.problems.rounding import narrowed

BEST_EFFORT = Effort(1 << 24, 8)
"""The work of a round of reductions in mode best."""


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


def shrunk_for_best(smaller: ReducedGraph, run: Setting) -> Shrunk:
    """Return what all reductions leave, as much as mode best needs. Collective."""
    effort = replace(BEST_EFFORT, is_over=run.stop.is_due)
    return agreed(run.comm.once_per_host(partial(shrunk, smaller, run.whole, effort)), run)


def polished(now: Shrunk, run: Setting) -> tuple[Shrunk, Work]:
    """Return the reductions with the best tree of all searches, if it is lighter, and the work. Collective."""
    now, work, ruin = _searched(now, run)
    return (now, work) if ruin is None or run.parameters.starts == 1 else recombined(now, work, ruin, run)


def _searched(now: Shrunk, run: Setting) -> tuple[Shrunk, Work, Ruin | None]:
    """Return the reductions with the best tree, the work, and the searches unless the run ended early. Collective."""
    first = (0, run.stop.seconds(), now.weight)
    if now.ended_early:
        return now, Work(0, 0.0, history=[first]), None
    run.stop.offset = now.smaller.offset
    if now.proven or run.stop.meets_target(now.weight - run.stop.offset):
        return now, Work(0, 0.0, history=[first]), None
    net, saved, work = network(now.smaller.graph, run.host), run.stop.checkpoints.saved, Work(0, 0.0)
    if saved is not None and saved_in_ruin(saved):
        ruin = on_all_ranks(run.comm, partial(resumed, net, run, saved))
    else:
        closure_tree = run.comm.once_per_host(partial(closure, net))
        own_tree, work = best_tree(now.smaller.graph, net, closure_tree, run.device, run.comm, run.parameters,
                                   run.report, run.stop, run.seed)
        tree = run.comm.bcast(own_tree)
        if run.stop.met or run.stop.broken_off or tree is None:
            return with_tree(now, tree, run), _after(work, first), None
        ruin = ruin_from(net, run, tree, work)
    started = time.perf_counter()
    ruin.run(now.smaller.graph.scale)
    seconds = work.seconds + time.perf_counter() - started
    work = replace(work, seconds=seconds, rounds=ruin.number, history=ruin.history)
    return with_tree(now, ruin.best(), run), _after(work, first), ruin if ruin.launches == ruin.total else None


def _after(work: Work, first: tuple[int, float, int]) -> Work:
    """Return the work with the history after its first row."""
    return replace(work, history=lighter_and_last([first, *work.history]))


def recombined(now: Shrunk, work: Work, ruin: Ruin, run: Setting) -> tuple[Shrunk, Work]:
    """Return the reductions with the best tree on the edges of the starts' trees, and the work. Collective.

    The edges of all trees are a smaller problem. It is solved as the whole one was, with as many starts, and so on, as
    long as trees become lighter (tour merging: W. Cook, P. Seymour, INFORMS Journal on Computing 15, 2003). A
    checkpoint has the searches in the whole graph.
    """
    checkpoints, run.stop.checkpoints = run.stop.checkpoints, without_writer(run.stop.checkpoints)
    edges = now.smaller.restored(ruin.edges())
    more: Ruin | None = ruin
    while more is not None and len(edges) > len(now.tree):
        graph = _part(now.smaller.graph, run.whole, edges)
        part = replace(run, whole=network(graph, run.host), report=partial(_of_recombination, run.report))
        found, further, more = _searched(shrunk_for_best(reduced(graph), part), part)
        work = _joined(work, further)
        if found.weight >= now.weight:
            break
        now = replace(now, tree=edges[found.tree], weight=found.weight)
        if more is not None:
            edges = edges[found.smaller.restored(more.edges())]
    run.stop.checkpoints = checkpoints
    if run.stop.broken_off:
        checkpoints.save(ruin.state(), last=True)
    return now, work


def _part(graph: Graph, whole: Network, edges: Indices) -> Graph:
    """Return the graph as it was read with some of its edges alone. `graph` is a reduced form of it."""
    part = whole.edges.part(edges)
    return assembled(graph.name, whole.n, part.tails, part.heads, narrowed(part.weights), directed=False,
                     scale=graph.scale, terminals=whole.terminals.astype(np.int64))


def _of_recombination(report: Report, done: float, message: str = "") -> None:
    """Report what is under way in the recombination of trees."""
    report(0.9, f"trees recombined: {message}")


def _joined(work: Work, more: Work) -> Work:
    """Return the sum of some work and of what came after it."""
    history = [*work.history, *((work.rounds + number, seconds, weight) for number, seconds, weight in more.history)]
    return Work(work.relaxed + more.relaxed, work.seconds + more.seconds, work.seconds_copy + more.seconds_copy,
                work.sent + more.sent, work.rounds + more.rounds, lighter_and_last(history))


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
