"""Ruin and recreate: parts of the tree of mode best are taken out and joined again, by perturbed lengths.

See cuda_src/host/ruin.cpp. Several searches begin with the same tree and go their own ways (starts). They are dealt
to the ranks and their threads, and advance in launches. After each the run may be stopped or saved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.best.key_vertex import locally_best
from hpcsolve.algorithms.steiner_kmb.best.resume import saved_history, saved_tree
from hpcsolve.algorithms.steiner_kmb.best.setting import Setting
from hpcsolve.algorithms.steiner_kmb.kmb.tree import Work
from hpcsolve.algorithms.steiner_kmb.network import Network, edge_numbers
from hpcsolve.algorithms.steiner_kmb.reductions.reduced_cost import Arcs
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import State, part
from hpcsolve.device.host import Given

FILE = "host/ruin"
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
NO_ARC = 2**32 - 1
"""`none` in ruin.cpp."""


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


@dataclass
class Ruin:
    """The searches by ruin and recreate of this rank.

    Attributes
    ----------
    starts
        The searches of this rank.
    weight
        The weight of the best tree of all ranks.
    number
        Number of rounds of iterated 1-Steiner and launches so far.
    history
        As in `kmb.tree.Work`. On ranks other than 0 it begins with the first launch.
    launches
        Number of launches so far.
    """

    net: Network
    setting: Setting
    starts: Sequence[Start]
    weight: int
    number: int
    history: list[tuple[int, float, int]] = field(default_factory=list)
    launches: int = 0

    @property
    def total(self) -> int:
        """Number of launches in all."""
        launches = max(LAUNCHES_A_SHAKE, math.ceil(work_of_shake(self.net) / WORK_OF_LAUNCH))
        return launches * self.setting.parameters.shakes

    @property
    def nbytes(self) -> int:
        """The bytes that this rank writes into a checkpoint, about."""
        return sum(one.tree.nbytes + one.now.nbytes for one in self.starts)

    def run(self, scale: int) -> None:
        """Search until all work is done or the run must stop. Collective.

        Parameters
        ----------
        scale
            Scale of the graph's weights, for messages.
        """
        stop = self.setting.stop
        stop.nbytes = self.nbytes
        while self.launches < self.total and not stop.ends(self.weight, self.state):
            best = f"{(self.weight + stop.offset) / scale:.10g}"
            self.setting.report(0.7 + 0.2 * self.launches / self.total, f"ruin and recreate: best {best}")
            self._advance()

    def best(self) -> Indices | None:
        """Return the best tree of all ranks on rank 0, of equal ones that of the first start. Collective."""
        found = self.setting.comm.gather(min(self.starts, key=_order, default=None))
        return None if found is None else min((one for one in found if one is not None), key=_order).tree

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
            rows = np.array([(number, weight) for number, _, weight in self.history], np.int64).reshape(-1, 2)
            seconds = np.array([seconds for _, seconds, _ in self.history], np.float64)
            parts += [part("history", 0, rows), part("seconds", 0, seconds)]
        numbers = {"launches": self.launches, "weight": self.weight, "round": self.number,
                   "seconds": self.setting.stop.seconds()}
        return State(numbers, parts, f"in round {self.number + 1}")

    @cached_property
    def _arcs(self) -> Arcs:
        return Arcs(self.net)

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
        self._note(min(weight for _, weights in votes for weight in weights))

    def _note(self, weight: int) -> None:
        """Note the weight of the best tree of all ranks, if it is lighter than before or the last one."""
        if self.launches == self.total or weight < self.weight:
            self.history.append((self.number, self.setting.stop.seconds(), weight + self.setting.stop.offset))
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
        arcs: Given = {"tails": self._arcs.tails, "back": self._arcs.back, "edge": self._arcs.edge.astype(np.uint32)}
        rise, work = np.empty((len(starts), net.n), np.uint32), np.empty(len(starts), np.uint64)
        net.device.call(
            FILE, "ruin_recreate", net=net.group(), threads=net.device.info.threads, searches=len(starts),
            root=int(net.terminals[0]), how=plan, all=arcs, row=chosen.shape[1] // 32,
            chosen=np.packbits(chosen, bitorder="little").view(np.uint32), seeds=np.array(seeds, np.uint64),
            begin=np.array([one.work for one in starts], np.uint64), rise=rise, work=work,
        )
        return [self._with_tree(replace(one, now=self._tree(row), work=int(done)))
                for one, row, done in zip(starts, rise, work)]

    def _tree(self, rise: NDArray[np.uint32]) -> Indices:
        """Return the edges of a tree of parents."""
        below = np.flatnonzero(rise != NO_ARC)
        return np.sort(edge_numbers(self.net, below, self.net.heads[rise[below]]))

    def _with_tree(self, one: Start) -> Start:
        """Return a search whose best tree is the present one if that is lighter, after local search at the end."""
        last = self.launches + 1 == self.total
        found = locally_best(self.net, one.now, self.setting.stop.is_late) if last else one.now
        weight = self.net.weight(found)
        return replace(one, tree=found, weight=weight) if weight < one.weight else one


def _order(one: Start) -> tuple[int, int]:
    return one.weight, one.number


def ruin_from(net: Network, setting: Setting, tree: Indices, work: Work) -> Ruin:
    """Return searches that all begin with the same tree, after the work of rank 0 that led to it."""
    weight = net.weight(tree)
    own = [Start(number, tree, tree, weight) for number in _own_numbers(setting)]
    return Ruin(net, setting, own, weight, work.rounds, list(work.history))


def resumed(net: Network, setting: Setting, saved: Saved) -> Ruin:
    """Return the searches of a checkpoint."""
    own = []
    for number in _own_numbers(setting):
        tree, now = (saved_tree(saved, f"{name} {number}", net) for name in ("tree", "now"))
        work = int(saved.rows("work", range(number, number + 1), (), np.int64, range(2**62))[0])
        own.append(Start(number, tree, now, net.weight(tree), work))
    setting.stop.started -= saved.seconds()
    weight, rounds = saved.integer("weight"), saved.integer("round")
    found = Ruin(net, setting, own, weight, rounds, saved_history(saved))
    found.launches = saved.integer("launches", most=found.total)
    return found


def _own_numbers(setting: Setting) -> range:
    """Return the numbers of this rank's searches."""
    return range(setting.comm.rank, setting.parameters.starts, setting.comm.size)


def work_of_shake(net: Network) -> int:
    """Return the work of a shake, which follows from the graph alone."""
    terminals = len(net.terminals)
    size = min(net.n, AROUND * terminals) + 4 * terminals
    return WORK_AN_ARC * min(len(net.heads), MOST_ARCS) + WORK_FOR_SIZE * size


def factor_of(net: Network) -> int:
    """Return what all lengths are multiplied by."""
    return 1 << max(0, min(MOST_BITS, SUM_BITS - int(net.edges.weights.sum()).bit_length()))


def saved_in_ruin(saved: Saved | None) -> bool:
    """Return whether a checkpoint was written after the rounds of iterated 1-Steiner."""
    return saved is not None and "launches" in saved.numbers
