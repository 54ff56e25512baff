"""Reductions by searches and bounds for modes best and exact, and trees found meanwhile (cuda_src/host/reductions.cpp).

The first kind leaves at least one lightest tree of the graph: edges in some lightest tree are contracted
(`contractible`), and edges that are in no lightest tree are removed, by the special distance (`too_long`). The second
kind leaves every tree that is lighter than the best one so far: edges are removed by dual ascents (`too_heavy`). If the
best tree so far is optimal, perhaps no lightest tree is left.

All reductions are repeated as long as they remove many edges. The best tree and bound found on the way are kept. Trees
are grown on the arcs that an ascent saturated, too (ascend and prune).

Edges in some lightest tree are found by two tests at the terminals (Duin and Volgenant, Networks 19, 1989). Both look
at a cut around a terminal: the edges that leave the terminal alone, or its region, the vertices to which no other
terminal is nearer. Every tree has an edge of the cut. Extend the lightest edge of the cut by shortest paths, to the
terminal and to a terminal outside. If this path is no longer than the second lightest edge of the cut, it can take the
place of any other edge of the cut in a tree, so some lightest tree has the lightest edge. (Special cases: a terminal of
degree 1, and a terminal whose lightest edge leads to another terminal.)

These edges are contracted one after the other. A test still holds if no edge of its cut has been contracted: then the
cut has the same edges, and no path has become longer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.dual_ascent import REDUCTIONS_FILE, Ascent, ascent, distances_left, too_heavy
from hpcsolve.algorithms.steiner_kmb.network import ClosureTree, Network, Regions, exchanges, locally_best, network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import (
    Indices,
    Mask,
    ReducedGraph,
    first_of_runs,
    joins_terminals,
    reduced_again,
)
from hpcsolve.device.host import Given

MOST_ROUNDS = 20
WORTHWHILE = 50
"""Rounds end with the first one that removes less than one edge in `WORTHWHILE`, unless `Effort` says otherwise."""
KINDS = ("terminals", "special", "lighter")
"""The kinds that this adds to `ReducedGraph.counts`: edges contracted at terminals, edges removed by the special
distance, and edges removed because they are in no tree lighter than the best one so far."""
NO_EDGE = np.uint64(2**64 - 1)
"""In place of the weight of the second lightest edge of a cut that has only one edge."""
SLOTS = 5
"""The number of nearest terminals of a vertex that are tried as the first terminal of a path."""


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
    is_over: Callable[[], bool] = lambda: False


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


@dataclass
class Incumbent:
    """The best tree so far in the graph as it was read.

    Attributes
    ----------
    whole
        The graph as it was read.
    tree, weight
        The numbers of the tree's edges, ascending, and its weight, which is -1 as long as there is no tree.
    """

    whole: Network
    tree: Indices
    weight: int = -1

    def offer(self, smaller: ReducedGraph, tree: Indices) -> None:
        """Take a tree of a reduced graph, pruned in the graph as it was read, if it is lighter."""
        found = self.whole.spanning_tree(smaller.restored(tree))
        weight = self.whole.weight(found)
        if self.weight < 0 or weight < self.weight:
            self.tree, self.weight = found, weight


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
    ascents = list(_ascents(net, effort, number))
    offer_trees(net, smaller, best, ascents, effort.is_over)
    # A tree lighter than the best one, if there is any, is in the present graph, where these bounds hold.
    bound = min(best.weight, max(now.bound, smaller.offset + max(one.bound.value for one in ascents)))
    found = Shrunk(smaller, best.tree, best.weight, bound)
    if not (found.proven or effort.is_over()):
        found = _without_edges(found, net, ascents, effort, rules)
    return replace(found, ended_early=effort.is_over())


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


def offer_trees(
    net: Network, smaller: ReducedGraph, best: Incumbent, ascents: list[Ascent], is_over: Callable[[], bool]
) -> None:
    """Offer the lightest of the trees by shortest paths and on saturated edges, after key-path exchange."""
    roots = [int(np.searchsorted(net.terminals, one.bound.root)) for one in ascents]
    trees = [net.improved(net.shortest_path_tree(root)) for root in roots[:4]]
    for one, root in zip(ascents, roots):
        if not is_over():
            trees.append(pruned_ascent(net, one.rest, root))
    best.offer(smaller, locally_best(net, min(trees, key=net.weight), is_over, (exchanges,)))


def pruned_ascent(net: Network, rest: NDArray[np.uint64], root: int) -> Indices:
    """Return a tree grown from terminal number `root` on the saturated edges, improved on all edges."""
    saturated = np.zeros(len(net.edges), dtype=bool)
    saturated[net.edge_of_arc[rest == 0]] = True
    arcs = saturated[net.edge_of_arc]
    counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(arcs)])
    part = replace(net, edges=net.edges.part(saturated), offsets=counts[net.offsets].astype(np.uint32),
                   heads=net.heads[arcs], weights=net.weights[arcs])
    return net.improved(np.flatnonzero(saturated)[part.shortest_path_tree(root)])


def _without_edges(found: Shrunk, net: Network, ascents: list[Ascent], effort: Effort, rules: Rules) -> Shrunk:
    """Return what a round's reductions leave. When the time is up, the remaining ones are left out."""
    smaller, counts = found.smaller, dict.fromkeys(KINDS, 0)
    removed, contracted = np.zeros(len(smaller.edges), dtype=bool), np.empty(0, np.int64)
    if rules.special:
        removed = too_long(net, net.closure())
        counts["special"] = int(removed.sum())
    if rules.terminals and not effort.is_over():
        contracted = contractible(net, net.nearest(net.terminals))
        counts["terminals"] = len(contracted)
    if rules.lighter:
        for one in itertools.takewhile(lambda one: not effort.is_over(), ascents):
            removed = removed | too_heavy(net, one, *distances_left(net, one), found.weight - smaller.offset)
        removed[contracted] = False
        counts["lighter"] = int(removed.sum()) - counts["special"]
    if not joins_terminals(smaller, removed):
        return replace(found, bound=found.weight)
    return replace(found, smaller=reduced_again(smaller, removed, contracted, counts))


def too_long(net: Network, closure_tree: ClosureTree) -> Mask:
    """Return which edges have a path between their ends, from terminal to terminal, whose legs are all shorter."""
    edges, removed = net.edges, np.empty(len(net.edges), np.uint32)
    closure: Given = {"count": len(closure_tree.length), "first": closure_tree.first, "second": closure_tree.second,
                      "length": closure_tree.length}
    net.device.call(
        REDUCTIONS_FILE, "reductions_special", net=net.group(), slots=min(SLOTS, len(net.terminals)), closure=closure,
        edges=len(edges), tails=edges.tails.astype(np.uint32), heads=edges.heads.astype(np.uint32),
        weights=edges.weights, removed=removed,
    )
    return removed > 0


def contractible(net: Network, near: Regions) -> Indices:
    """Return edges that are all together in some lightest tree, given the regions of the terminals."""
    tails, heads = net.tails, net.heads
    across = near.base[tails] != near.base[heads]
    lengths = near.distance[tails] + net.weights + near.distance[heads]
    at_terminals = _passing(tails, net.weights, lengths, net.is_terminal[tails] > 0, across)
    at_regions = _passing(near.base[tails], net.weights, lengths, across, across)
    chosen = np.concatenate([at_terminals, at_regions])
    is_region = np.arange(len(chosen)) >= len(at_terminals)
    order = np.lexsort((is_region, chosen, net.weights[chosen]))
    edges = net.edge_numbers(tails[chosen], heads[chosen])
    return _one_after_the_other(net, near.base, tails[chosen[order]], edges[order], is_region[order])


def _passing(
    cut: NDArray[np.uint32], weights: NDArray[np.uint64], lengths: NDArray[np.uint64], inside: NDArray[np.bool_],
    across: NDArray[np.bool_],
) -> Indices:
    """Return the lightest arc of each cut for which the test holds.

    Parameters
    ----------
    cut
        The number of the cut of each arc.
    lengths
        The length of each arc, extended to terminals at both ends.
    inside
        Which arcs belong to a cut.
    across
        Which arcs lead from one region to another.
    """
    arcs = np.flatnonzero(inside)
    arcs = arcs[np.lexsort((weights[arcs], cut[arcs]))]
    owner = cut[arcs]
    first = np.flatnonzero(first_of_runs(owner))
    second = np.minimum(first + 1, len(arcs) - 1)
    has_two = (second > first) & (owner[second] == owner[first])
    limit = np.where(has_two, weights[arcs[second]], NO_EDGE)
    found: Indices = arcs[first[(across[arcs[first]] & (lengths[arcs[first]] <= limit)) | ~has_two]]
    return found


def _one_after_the_other(
    net: Network, base: NDArray[np.uint32], owners: NDArray[np.uint32], edges: Indices, is_region: NDArray[np.bool_]
) -> Indices:
    """Return the edges whose cut no edge before them has crossed. `owners` are vertices of the cuts."""
    touched, crossed, chosen = set[int](), set[int](), []
    ends = zip(net.edges.tails[edges].tolist(), net.edges.heads[edges].tolist())
    for edge, owner, region, (tail, head) in zip(edges.tolist(), owners.tolist(), is_region.tolist(), ends):
        if int(base[owner]) in crossed if region else owner in touched:
            continue
        chosen.append(edge)
        touched |= {tail, head}
        if base[tail] != base[head]:
            crossed |= {int(base[tail]), int(base[head])}
    return np.array(chosen, np.int64)
