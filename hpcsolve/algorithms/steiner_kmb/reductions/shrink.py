"""Repeats all reductions as long as they remove many edges, and keeps the best tree and bound found on the way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from hpcsolve.algorithms.steiner_kmb.dual_ascent import Ascent, ascent
from hpcsolve.algorithms.steiner_kmb.key_path import exchanged, never
from hpcsolve.algorithms.steiner_kmb.network import Network, network
from hpcsolve.algorithms.steiner_kmb.reductions.apply import joins_terminals, reduced_again
from hpcsolve.algorithms.steiner_kmb.reductions.incumbent import Incumbent, pruned_ascent
from hpcsolve.algorithms.steiner_kmb.reductions.reduced_cost import Arcs, distances_left, too_heavy
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices, ReducedGraph
from hpcsolve.algorithms.steiner_kmb.reductions.special import too_long
from hpcsolve.algorithms.steiner_kmb.reductions.terminals import contractible
from hpcsolve.algorithms.steiner_kmb.trees import closure, improved, nearest, shortest_path_tree

MOST_ROUNDS = 20
WORTHWHILE = 50
"""Rounds end with the first one that removes less than one edge in `WORTHWHILE`, unless `Effort` says otherwise."""
KINDS = ("terminals", "special", "lighter")
"""The kinds that this adds to `ReducedGraph.counts`: edges contracted at terminals, edges removed by the special
distance, and edges removed because they are in no tree lighter than the best one so far."""


@dataclass(frozen=True)
class Rules:
    """Which reductions are used. Tests leave out one at a time.

    Attributes
    ----------
    terminals, special, lighter
        As the kinds in `KINDS`.
    """

    terminals: bool = True
    special: bool = True
    lighter: bool = True


ALL_RULES = Rules()


@dataclass(frozen=True)
class Effort:
    """How much work goes into a round.

    Attributes
    ----------
    arcs
        Roughly the most arcs that the dual ascents of a round scan.
    roots
        The most ascents of a round.
    worthwhile
        Rounds end with the first one that removes less than one edge in so many.
    is_over
        Returns whether the reductions must end as soon as the present step is done.
    """

    arcs: int
    roots: int
    worthwhile: int = WORTHWHILE
    is_over: Callable[[], bool] = never


@dataclass(frozen=True)
class Shrunk:
    """What the reductions leave, which has every tree that is lighter than `weight`.

    Attributes
    ----------
    smaller
        The reduced graph.
    tree, weight
        The best tree so far: edges of the graph as it was read, and its weight.
    bound
        A lower bound on the weight of any tree. If it is `weight`, the tree is optimal, and `smaller` may lack the
        edges of all optimal trees.
    ended_early
        Whether the reductions had to end before they were complete.
    """

    smaller: ReducedGraph
    tree: Indices
    weight: int
    bound: int
    ended_early: bool = False

    @property
    def proven(self) -> bool:
        """Whether the best tree is optimal."""
        return self.bound >= self.weight


def shrunk(
    smaller: ReducedGraph, whole: Network, effort: Effort, rules: Rules = ALL_RULES, first_root: int = 0
) -> Shrunk:
    """Return what all reductions leave of a Steiner problem, after those of mode fast.

    Parameters
    ----------
    whole
        The network of the graph as it was read.
    first_root
        The number of the terminal that is the root of the first ascent.
    """
    first = Shrunk(smaller, np.empty(0, np.int64), -1, 0)
    return shrunk_further(first, whole, effort, rules, first_root)


def shrunk_further(
    start: Shrunk, whole: Network, effort: Effort, rules: Rules = ALL_RULES, first_root: int = 0
) -> Shrunk:
    """Return what repeated reductions leave, given the network of the graph as it was read."""
    best, now = Incumbent(whole, start.tree, start.weight), start
    for number in range(MOST_ROUNDS):
        before = len(now.smaller.edges)
        now = _after_round(now, best, effort, rules, first_root + number)
        if now.proven or now.ended_early or (before - len(now.smaller.edges)) * effort.worthwhile < before:
            break
    return now


def _after_round(now: Shrunk, best: Incumbent, effort: Effort, rules: Rules, number: int) -> Shrunk:
    """Return what a round of all reductions leaves. The first ascent has terminal `number` (modulo k) as its root."""
    smaller = now.smaller
    net = network(smaller.graph, best.whole.device)
    if len(net.terminals) < 2:
        best.offer(smaller, np.empty(0, np.int64))
        return Shrunk(smaller, best.tree, best.weight, best.weight)
    arcs, ascents = Arcs(net), list(_ascents(net, effort, number))
    _offer_trees(arcs, smaller, best, ascents, effort.is_over)
    # A tree lighter than the best one, if there is any, is in the present graph, where these bounds hold.
    bound = min(best.weight, max(now.bound, smaller.offset + max(one.bound.value for one in ascents)))
    found = Shrunk(smaller, best.tree, best.weight, bound)
    if not (found.proven or effort.is_over()):
        found = _without_edges(found, arcs, ascents, effort, rules)
    return replace(found, ended_early=effort.is_over())


def _without_edges(found: Shrunk, arcs: Arcs, ascents: list[Ascent], effort: Effort, rules: Rules) -> Shrunk:
    """Return what a round's reductions leave. When the time is up, the remaining ones are left out."""
    net, smaller, counts = arcs.net, found.smaller, dict.fromkeys(KINDS, 0)
    removed, contracted = np.zeros(len(smaller.edges), dtype=bool), np.empty(0, np.int64)
    if rules.special:
        removed = too_long(net, closure(net))
        counts["special"] = int(removed.sum())
    if rules.terminals and not effort.is_over():
        contracted = contractible(net, nearest(net, net.terminals))
        counts["terminals"] = len(contracted)
    if rules.lighter:
        for one in itertools.takewhile(lambda one: not effort.is_over(), ascents):
            removed = removed | too_heavy(arcs, one, distances_left(arcs, one), found.weight - smaller.offset)
        removed[contracted] = False
        counts["lighter"] = int(removed.sum()) - counts["special"]
    if not joins_terminals(smaller, removed):
        return replace(found, bound=found.weight)
    return replace(found, smaller=reduced_again(smaller, removed, contracted, counts))


def _ascents(net: Network, effort: Effort, number: int) -> Iterator[Ascent]:
    """Yield ascents from several roots, which are spread over the terminals from `number` (modulo k) on."""
    k = len(net.terminals)
    first = ascent(net, number % k)
    yield first
    count = max(1, min(k, effort.roots, effort.arcs // max(1, first.bound.work)))
    for root in sorted({(number + i * k // count) % k for i in range(1, count)} - {number % k}):
        if effort.is_over():
            return
        yield ascent(net, root)


def _offer_trees(
    arcs: Arcs, smaller: ReducedGraph, best: Incumbent, ascents: list[Ascent], is_over: Callable[[], bool]
) -> None:
    """Offer the lightest of the trees by shortest paths and on saturated edges, after key-path exchange."""
    net = arcs.net
    roots = [int(np.searchsorted(net.terminals, one.bound.root)) for one in ascents]
    trees = [improved(net, shortest_path_tree(net, root)) for root in roots[:4]]
    for one, root in zip(ascents, roots):
        if not is_over():
            trees.append(pruned_ascent(arcs, one.rest, root))
    best.offer(smaller, exchanged(net, min(trees, key=net.weight), is_over))
