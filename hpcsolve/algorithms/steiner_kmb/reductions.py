"""Reductions by searches and bounds for modes best and exact, and trees found meanwhile (cuda_src/host/reductions.cpp).

The first kind leaves at least one lightest tree of the graph: edges in some lightest tree are contracted
(`contractible`), and edges that are in no lightest tree are removed, by the special distance (`too_long`). The second
kind leaves every tree that is lighter than the best one so far: edges are removed by dual ascents (`Ascent.too_heavy`).
If the best tree so far is optimal, perhaps no lightest tree is left.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.bounds import REDUCTIONS_FILE, Ascent, LowerBound, ascent, bounds_of
from hpcsolve.algorithms.steiner_kmb.network import PATHS, ClosureTree, Network, Regions, network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices, Mask, ReducedGraph, first_of_runs
from hpcsolve.algorithms.steiner_kmb.setting import Setting
from hpcsolve.algorithms.steiner_kmb.subset_states import BOUND_RULE, SEPARATOR_RULE
from hpcsolve.device.host import Given
from hpcsolve.problems.rounding import LARGEST_SUM

MOST_ROUNDS = 20
WORTHWHILE = 50
"""Rounds end with the first one that removes less than one edge in `WORTHWHILE`, unless `Effort` says otherwise."""
NO_TREE = LARGEST_SUM + 1
"""The weight of the best tree as long as there is none: all trees are lighter."""
KINDS = ("terminals", "special", "lighter")
"""The kinds that this adds to `ReducedGraph.counts`: edges contracted at terminals, edges removed by the special
distance, and edges removed because they are in no tree lighter than the best one so far."""
NO_EDGE = np.uint64(2**64 - 1)
"""In place of the weight of the second lightest edge of a cut that has only one edge."""
SLOTS = 5
"""The number of nearest terminals of a vertex that are tried as the first terminal of a path."""


@dataclass(frozen=True)
class Rules:
    """How optimality is proven. `hpcsolve verify --again` uses other rules than the run that it checks.

    Attributes
    ----------
    terminals, special, lighter
        Which reductions are used, as the kinds in `KINDS`. Tests leave out one at a time.
    first_root
        The number of the terminal at which the first dual ascent begins.
    states
        As `rules` in `Space`.
    """

    terminals: bool = True
    special: bool = True
    lighter: bool = True
    first_root: int = 0
    states: int = BOUND_RULE | SEPARATOR_RULE


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
class SteinerState:
    """What a search knows: a graph that has every tree lighter than `weight`, the best tree so far, and a lower bound.

    Attributes
    ----------
    smaller
        The reduced graph. Its `offset` and `restored` lead to the graph as it was read.
    tree, weight
        The best tree so far: edges of the graph as it was read, pruned and ascending, and its weight. Without a tree
        the weight is `NO_TREE`.
    bound
        A lower bound. If it is `weight`, the tree is optimal, and `smaller` may lack the edges of all optimal trees.
    ended_early
        Whether the reductions had to end before they were complete.
    """

    smaller: ReducedGraph
    bound: LowerBound = field(default_factory=LowerBound)
    tree: Indices = field(default_factory=lambda: np.empty(0, np.int64))
    weight: int = NO_TREE
    ended_early: bool = False

    @property
    def proven(self) -> bool:
        """Whether the best tree is optimal."""
        return self.bound.value >= self.weight

    def with_tree(self, tree: Indices, whole: Network) -> SteinerState:
        """Return the state with a tree of the reduced graph, pruned in the graph as it was read, if it is lighter."""
        found = whole.spanning_tree(self.smaller.restored(tree))
        weight = whole.weight(found)
        return replace(self, tree=found, weight=weight) if weight < self.weight else self

    def raised(self, bound: int) -> SteinerState:
        """Return the state with a bound on the trees of the reduced graph, if it is greater.

        A tree lighter than the best one, if there is any, is in the reduced graph, where the bound holds.
        """
        value = min(self.weight, bound + self.smaller.offset)
        return replace(self, bound=replace(self.bound, value=value)) if value > self.bound.value else self

    def bounded(self, net: Network, ascents: Iterable[int]) -> SteinerState:
        """Return the state with its bound raised to the greatest of `bounds_of`, given the network of the graph."""
        return self.raised(max(bounds_of(net, ascents)))

    def without(self, removed: Mask, contracted: Indices, counts: Mapping[str, int]) -> SteinerState:
        """Return the state without some edges of the reduced graph, with others contracted: `reduced_again`.

        If the terminals are in several connected components then, no tree is lighter than the best one.
        """
        if not self.smaller.joins_terminals(~removed):
            return self.solved()
        return replace(self, smaller=self.smaller.reduced_again(removed, contracted, counts))

    def solved(self) -> SteinerState:
        """Return the state after it was shown that no tree is lighter than the best one."""
        return self.raised(self.weight)


def shrunk(now: SteinerState, whole: Network, effort: Effort, rules: Rules = ALL_RULES) -> SteinerState:
    """Return what repeated reductions leave of a Steiner problem, after those of mode fast.

    Parameters
    ----------
    whole
        The network of the graph as it was read.
    """
    for number in range(MOST_ROUNDS):
        before = len(now.smaller.edges)
        now = _after_round(now, whole, effort, rules, rules.first_root + number)
        if now.proven or now.ended_early or (before - len(now.smaller.edges)) * effort.worthwhile < before:
            break
    return now


def shrunk_together(now: SteinerState, run: Setting, effort: Effort, rules: Rules = ALL_RULES) -> SteinerState:
    """Return what repeated reductions leave, the same on all ranks. One rank of each host makes them. Collective.

    If they had to end early on any host, it is the tree and the bound of rank 0.
    """
    effort = replace(effort, is_over=run.stop.is_due)
    now = run.comm.once_per_host(partial(shrunk, now, run.whole, effort, rules))
    if not any(run.comm.allgather(now.ended_early)):
        return now
    tree, weight, bound = run.comm.bcast((now.tree, now.weight, now.bound))
    run.stop.is_over(weight)
    return replace(now, tree=np.asarray(tree), weight=weight, bound=bound, ended_early=True)


def _after_round(now: SteinerState, whole: Network, effort: Effort, rules: Rules, number: int) -> SteinerState:
    """Return what a round of all reductions leaves. The first ascent has terminal `number` (modulo k) as its root."""
    net = network(now.smaller.graph, whole.device)
    if len(net.terminals) < 2:
        return now.with_tree(np.empty(0, np.int64), whole).solved()
    ascents = list(_ascents(net, effort, number))
    tree = light_tree(net, ascents, effort.is_over)
    now = now.with_tree(tree, whole).bounded(net, [one.dual.value for one in ascents])
    if not (now.proven or effort.is_over()):
        now = _without_edges(now, net, ascents, effort, rules)
    return replace(now, ended_early=effort.is_over())


def _ascents(net: Network, effort: Effort, number: int) -> Iterator[Ascent]:
    """Yield ascents from several roots, which are spread over the terminals from `number` (modulo k) on."""
    k = len(net.terminals)
    first = ascent(net, number % k)
    yield first
    count = max(1, min(k, effort.roots, effort.arcs // max(1, first.dual.work)))
    for root in sorted({(number + i * k // count) % k for i in range(1, count)} - {number % k}):
        if effort.is_over():
            return
        yield ascent(net, root)


def light_tree(net: Network, ascents: list[Ascent], is_over: Callable[[], bool]) -> Indices:
    """Return the lightest of the trees by shortest paths and on saturated edges, after key-path exchange."""
    roots = [int(np.searchsorted(net.terminals, one.dual.root)) for one in ascents]
    trees = [net.improved(net.shortest_path_tree(root)) for root in roots[:4]]
    trees += (one.tree(root) for one, root in zip(ascents, roots) if not is_over())
    return net.locally_best(min(trees, key=net.weight), is_over, (PATHS,))


def _without_edges(
    now: SteinerState, net: Network, ascents: list[Ascent], effort: Effort, rules: Rules
) -> SteinerState:
    """Return what a round's reductions leave. When the time is up, the remaining ones are left out."""
    smaller, counts = now.smaller, dict.fromkeys(KINDS, 0)
    removed, contracted = np.zeros(len(smaller.edges), dtype=bool), np.empty(0, np.int64)
    if rules.special:
        removed = too_long(net, net.closure())
        counts["special"] = int(removed.sum())
    if rules.terminals and not effort.is_over():
        contracted = contractible(net, net.nearest(net.terminals))
        counts["terminals"] = len(contracted)
    if rules.lighter:
        for one in itertools.takewhile(lambda one: not effort.is_over(), ascents):
            removed = removed | one.too_heavy(now.weight - smaller.offset, *one.distances())
        removed[contracted] = False
        counts["lighter"] = int(removed.sum()) - counts["special"]
    return now.without(removed, contracted, counts)


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
    chosen, is_region = chosen[order], is_region[order]
    edges = net.edge_numbers(tails[chosen], heads[chosen])
    touched, crossed, found = set[int](), set[int](), []
    columns = edges, is_region, tails[chosen], near.base[tails[chosen]], net.edges.tails[edges], net.edges.heads[edges]
    for edge, region, owner, base, tail, head in zip(*(column.tolist() for column in columns)):
        if base in crossed if region else owner in touched:  # an edge before it has crossed the cut
            continue
        found.append(edge)
        touched |= {tail, head}
        if near.base[tail] != near.base[head]:
            crossed |= {int(near.base[tail]), int(near.base[head])}
    return np.array(found, np.int64)


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
