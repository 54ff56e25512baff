"""Mode best: reductions, iterated 1-Steiner on what they leave, then ruin and recreate, whose trees are recombined.

Mode exact begins with all of this, too. Ruin and recreate takes parts of the tree out and joins the rest again, by
perturbed lengths (cuda_src/host/ruin.cpp). Several searches begin with the same tree and go their own ways (starts).
They are dealt to the ranks and their threads, and advance in launches. After each the run may be stopped or saved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce

import numpy as np

from hpcsolve.algorithms.steiner_kmb.network import Network, network
from hpcsolve.algorithms.steiner_kmb.one_steiner import best_tree, history_arrays, saved_history, saved_tree
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Indices, ReducedGraph, reduced
from hpcsolve.algorithms.steiner_kmb.reductions import Effort, SteinerState, shrunk_together
from hpcsolve.algorithms.steiner_kmb.setting import Setting, Work
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import State, part
from hpcsolve.device.host import Given
from hpcsolve.device.select import on_all_ranks
from hpcsolve.problems.graph import assembled
from hpcsolve.problems.rounding import narrowed

BEST_EFFORT = Effort(1 << 24, 8)
"""The work of a round of reductions in mode best."""
RUIN_FILE = "host/ruin"
LAUNCHES_A_SHAKE, WORK_OF_LAUNCH = 2, 1 << 28
"""A shake takes `LAUNCHES_A_SHAKE` launches, and more if a launch would take more work than `WORK_OF_LAUNCH`: three to
six seconds, for which signals wait."""
WORK_AN_ARC, MOST_ARCS, WORK_FOR_SIZE, AROUND = 1536, 1 << 12, 256, 256
"""A shake takes `WORK_AN_ARC` units of work for each of up to `MOST_ARCS` arcs, `WORK_FOR_SIZE` more for each vertex,
but for at most `AROUND` vertices a terminal, and four times that for each terminal. 10^8 units take one to two
seconds."""
TOLERANCE, MOST_TOLERANCE = 1000, 8000
"""How much heavier than what they replace new paths may be at first, in 65536ths: `TOLERANCE` times the mean number of
neighbours, and at most `MOST_TOLERANCE`. It falls to 0."""
KEYS = 4
"""The most key vertices that a step takes out."""
MOST_BITS, SUM_BITS = 8, 60
"""Lengths are multiplied by up to 2^MOST_BITS, so that they can be perturbed, but only as far as their sum stays below
2^SUM_BITS."""
SEEDS = 1_000_003
"""The seed of a launch is that of the job times this, plus the number of the launch, plus 2^40 times that of the
start."""
NO_PARENT = 2**32 - 1
"""`none` in ruin.cpp."""


def polished(now: SteinerState, run: Setting) -> tuple[SteinerState, Work]:
    """Return the state with the best tree of all searches, if it is lighter, and the work. Collective."""
    now, work, ruin = _searched(now, run)
    return (now, work) if ruin is None or run.parameters.starts == 1 else recombined(now, work, ruin, run)


def _searched(now: SteinerState, run: Setting) -> tuple[SteinerState, Work, Ruin | None]:
    """Return the state with the best tree, the work, and the searches unless the run ended early. Collective."""
    first = (0, run.stop.seconds(), now.weight)
    if now.ended_early or now.proven or run.stop.meets_target(now.weight):
        return now, Work(history=[first]), None
    smaller, saved, work = now.smaller, run.saved, Work()
    net = network(smaller.graph, run.host)
    ruin = Ruin(net, run, smaller)
    if saved is not None and "launches" in saved.numbers:  # written after the rounds of iterated 1-Steiner
        on_all_ranks(run.comm, partial(ruin.resume, saved))
    else:
        own_tree, work = best_tree(smaller, net, run.comm.once_per_host(net.closure), run)
        tree = run.comm.bcast(own_tree)
        if run.stop.met or run.stop.broken_off or tree is None:
            work = replace(work, history=lighter_and_last([first, *work.history]))
            return with_tree(now, tree, run), work, None
        ruin.begin(tree, work)
    ruin.run()
    work = replace(work, rounds=ruin.number, history=lighter_and_last([first, *ruin.history]))
    return with_tree(now, ruin.best(), run), work, ruin if ruin.launches == ruin.total else None


def recombined(now: SteinerState, work: Work, ruin: Ruin, run: Setting) -> tuple[SteinerState, Work]:
    """Return the state with the best tree on the edges of the starts' trees, and the work. Collective.

    The edges of all trees are a smaller problem. It is solved as the whole one was, with as many starts, and so on, as
    long as trees become lighter (tour merging: W. Cook, P. Seymour, INFORMS Journal on Computing 15, 2003). A
    checkpoint has the searches in the whole graph.
    """
    whole, before, report = run.whole, now.smaller.graph, run.report
    edges = now.smaller.restored(ruin.edges())
    more: Ruin | None = ruin
    while more is not None and len(edges) > len(now.tree):
        left = whole.edges.part(edges)
        graph = assembled(before.name, whole.n, left.tails, left.heads, narrowed(left.weights), directed=False,
                          scale=before.scale, terminals=whole.terminals.astype(np.int64))
        part = replace(run, whole=network(graph, run.host), keeps=False,
                       report=lambda done, message="": report(0.9, f"trees recombined: {message}"))
        found, further, more = _searched(shrunk_together(SteinerState(reduced(graph)), part, BEST_EFFORT), part)
        rows = [*work.history, *((work.rounds + number, at, weight) for number, at, weight in further.history)]
        work = replace(work + further, history=lighter_and_last(rows))
        if found.weight >= now.weight:
            break
        now = replace(now, tree=edges[found.tree], weight=found.weight)
        if more is not None:
            edges = edges[found.smaller.restored(more.edges())]
    if run.stop.broken_off and run.writes:
        run.stop.checkpoints.save(ruin.state(), last=True)
    return now, work


def with_tree(now: SteinerState, tree: Indices | None, run: Setting) -> SteinerState:
    """Return the state with a tree of the reduced graph (given on rank 0) if it is lighter. Collective."""
    if tree is not None:
        now = now.with_tree(tree, run.whole)
    edges, weight = run.comm.bcast((now.tree, now.weight))
    return replace(now, tree=np.asarray(edges), weight=weight)


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


@dataclass(frozen=True)
class Start:
    """A search of its own.

    Attributes
    ----------
    number
        Its number among those of all ranks.
    tree, now
        The best tree so far; the present one, which may be heavier.
    weight
        The weight of the best tree.
    work
        What has been done so far.
    """

    number: int
    tree: Indices
    now: Indices
    weight: int
    work: int = 0

    def order(self) -> tuple[int, int]:
        """Return what is smallest for the best of several searches."""
        return self.weight, self.number


@dataclass
class Ruin:
    """The searches by ruin and recreate of this rank, in a reduced graph.

    Attributes
    ----------
    starts
        The searches of this rank.
    weight
        The weight of the best tree of all ranks. As all weights here, it is that in the reduced graph.
    number
        Number of rounds of iterated 1-Steiner and launches so far.
    history
        As in `Work`. On ranks other than 0 it begins with the first launch.
    launches
        Number of launches so far.
    """

    net: Network
    setting: Setting
    smaller: ReducedGraph
    starts: Sequence[Start] = ()
    weight: int = 0
    number: int = 0
    history: list[tuple[int, float, int]] = field(default_factory=list)
    launches: int = 0

    @property
    def total(self) -> int:
        """Number of launches in all."""
        launches = max(LAUNCHES_A_SHAKE, math.ceil(work_of_shake(self.net) / WORK_OF_LAUNCH))
        return launches * self.setting.parameters.shakes

    @property
    def own_numbers(self) -> range:
        """The numbers of this rank's searches."""
        return range(self.setting.comm.rank, self.setting.parameters.starts, self.setting.comm.size)

    def begin(self, tree: Indices, work: Work) -> None:
        """Begin all searches with the same tree, after the work of rank 0 that led to it."""
        self.weight, self.number, self.history = self.net.weight(tree), work.rounds, list(work.history)
        self.starts = [Start(number, tree, tree, self.weight) for number in self.own_numbers]

    def resume(self, saved: Saved) -> None:
        """Go on with the searches of a checkpoint."""
        starts = []
        for number in self.own_numbers:
            tree, now = (saved_tree(saved, f"{name} {number}", self.net) for name in ("tree", "now"))
            work = int(saved.rows("work", range(number, number + 1), (), np.int64, range(2**62))[0])
            starts.append(Start(number, tree, now, self.net.weight(tree), work))
        self.setting.stop.resume(saved)
        self.starts, self.weight, self.number = starts, saved.integer("weight"), saved.integer("round")
        self.history, self.launches = saved_history(saved), saved.integer("launches", most=self.total)

    def run(self) -> None:
        """Search until all work is done or the run must stop. Collective."""
        run, offset = self.setting, self.smaller.offset
        run.stop.nbytes = sum(one.tree.nbytes + one.now.nbytes for one in self.starts)  # of a checkpoint, about
        while self.launches < self.total and not run.ends(self.weight + offset, self.state):
            best = self.smaller.in_own_unit(self.weight)
            run.report(0.7 + 0.2 * self.launches / self.total, f"ruin and recreate: best {best}")
            self._advance()

    def best(self) -> Indices | None:
        """Return the best tree of all ranks on rank 0, of equal ones that of the first start. Collective."""
        found = self.setting.comm.gather(min(self.starts, key=Start.order, default=None))
        return None if found is None else min(filter(None, found), key=Start.order).tree

    def edges(self) -> Indices:
        """Return the edges of all trees, the best and the present ones, on every rank. Collective."""
        own = [tree for one in self.starts for tree in (one.tree, one.now)]
        return reduce(np.union1d, self.setting.comm.allgather(reduce(np.union1d, own, np.empty(0, np.int64))))

    def state(self) -> State:
        """Return what a checkpoint keeps."""
        parts = [part(f"{name} {one.number}", 0, tree) for one in self.starts
                 for name, tree in (("tree", one.tree), ("now", one.now))]
        parts += [part("work", one.number, np.array([one.work])) for one in self.starts]
        if self.setting.comm.rank == 0:
            parts += [part(name, 0, values) for name, values in history_arrays(self.history).items()]
        numbers = {"launches": self.launches, "weight": self.weight, "round": self.number,
                   "seconds": self.setting.stop.seconds()}
        return State(numbers, parts, f"in round {self.number + 1}")

    def _advance(self) -> None:
        """Advance all searches by a launch, or as many as there is time for. Collective.

        A search that is advanced again by the same launch stays as it is.
        """
        advanced: list[Start] = []
        threads = self.net.device.info.threads
        while len(advanced) < len(self.starts) and not self.setting.stop.is_due():
            advanced += self._launched(self.starts[len(advanced) : len(advanced) + threads])
        self.starts = [*advanced, *self.starts[len(advanced) :]]
        votes = self.setting.comm.allgather((len(advanced) == len(self.starts), [one.weight for one in self.starts]))
        if all(done for done, _ in votes):
            self.launches, self.number = self.launches + 1, self.number + 1
        weight = min(weight for _, weights in votes for weight in weights)
        if self.launches == self.total or weight < self.weight:
            self.history.append((self.number, self.setting.stop.seconds(), weight + self.smaller.offset))
        self.weight = weight

    def _launched(self, starts: Sequence[Start]) -> list[Start]:
        """Return some searches after a launch."""
        net, chosen = self.net, np.zeros((len(starts), -len(self.net.edges) % 32 + len(self.net.edges)), np.uint8)
        for bits, one in zip(chosen, starts):
            bits[one.now] = 1
        whole = work_of_shake(net) * self.setting.parameters.shakes
        plan: Given = {
            "end": whole * (self.launches + 1) // self.total, "whole": whole, "factor": factor_of(net), "keys": KEYS,
            "tolerance": min(MOST_TOLERANCE, TOLERANCE * len(net.heads) // net.n),
        }
        seeds = [(self.setting.seed * SEEDS + self.launches + 1 + (one.number << 40)) % 2**64 for one in starts]
        arcs: Given = {"tails": net.tails, "back": net.back, "edge": net.edge_of_arc.astype(np.uint32)}
        rise, work = np.empty((len(starts), net.n), np.uint32), np.empty(len(starts), np.uint64)
        net.device.call(
            RUIN_FILE, "ruin_recreate", net=net.group(), threads=net.device.info.threads, searches=len(starts),
            root=int(net.terminals[0]), how=plan, all=arcs, row=chosen.shape[1] // 32,
            chosen=np.packbits(chosen, bitorder="little").view(np.uint32), seeds=np.array(seeds, np.uint64),
            begin=np.array([one.work for one in starts], np.uint64), rise=rise, work=work,
        )
        last, advanced = self.launches + 1 == self.total, []
        for one, row, done in zip(starts, rise, work):
            below = np.flatnonzero(row != NO_PARENT)
            now = np.sort(net.edge_numbers(below, net.heads[row[below]]))
            tree = net.locally_best(now, self.setting.stop.is_late) if last else now
            if net.weight(tree) < one.weight:
                one = replace(one, tree=tree, weight=net.weight(tree))
            advanced.append(replace(one, now=now, work=int(done)))
        return advanced


def work_of_shake(net: Network) -> int:
    """Return the work of a shake, which follows from the graph alone."""
    terminals = len(net.terminals)
    size = min(net.n, AROUND * terminals) + 4 * terminals
    return WORK_AN_ARC * min(len(net.heads), MOST_ARCS) + WORK_FOR_SIZE * size


def factor_of(net: Network) -> int:
    """Return what all lengths are multiplied by."""
    return 1 << max(0, min(MOST_BITS, SUM_BITS - int(net.edges.weights.sum()).bit_length()))
