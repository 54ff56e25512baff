"""Ruin and recreate: parts of the tree of mode best are taken out and joined again, by perturbed lengths.

See cuda_src/steiner/ruin.cu. Rank 0 does the work, in launches between which the run may be stopped or saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hpcsolve.algorithms.base import Report
from hpcsolve.algorithms.steiner_kmb.best.key_vertex import locally_best
from hpcsolve.algorithms.steiner_kmb.best.rounds import RoundStop
from hpcsolve.algorithms.steiner_kmb.network import Given, Network, New, edge_numbers, launched
from hpcsolve.algorithms.steiner_kmb.reductions.reduced_cost import Arcs
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.state import State, part
from hpcsolve.parallel.comm import Comm

LAUNCHES_A_SHAKE = 2
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
"""The seed of a launch is that of the job times this, plus the number of the launch."""
NO_ARC = 2**32 - 1
"""The kernel's `none`."""


@dataclass
class Ruin:
    """A search by ruin and recreate, of which all ranks have one. The trees and the history are on rank 0.

    Attributes
    ----------
    shakes
        Number of shakes, the unit of the whole work.
    tree, now
        The best tree so far; the present one, which may be heavier.
    number
        Number of rounds of iterated 1-Steiner and launches so far.
    history
        As in `kmb.tree.Work`.
    launches, done
        Number of launches so far, and their work.
    """

    net: Network
    comm: Comm
    stop: RoundStop
    seed: int
    shakes: int
    tree: Indices
    now: Indices
    number: int
    history: list[tuple[int, float, int]]
    launches: int = 0
    done: int = 0
    weight: int = field(init=False)

    def __post_init__(self) -> None:
        """Weigh the best tree."""
        self.weight = self.net.weight(self.tree)

    def run(self, report: Report, scale: int) -> None:
        """Search until all work is done or the run must stop. Collective."""
        total = LAUNCHES_A_SHAKE * self.shakes
        while self.launches < total and not self.stop.ends(self.weight, self.state):
            best = f"{(self.weight + self.stop.offset) / scale:.10g}"
            report(0.7 + 0.2 * self.launches / total, f"ruin and recreate: best {best}")
            self.launches, self.number = self.launches + 1, self.number + 1
            if self.comm.rank == 0:
                self._launch()
                self._note(self.launches == total)

    def state(self) -> State:
        """Return what a checkpoint keeps."""
        parts = []
        if self.comm.rank == 0:
            rows = np.array([(number, weight) for number, _, weight in self.history], np.int64)
            seconds = np.array([seconds for _, seconds, _ in self.history], np.float64)
            arrays = {"tree": self.tree, "now": self.now, "history": rows, "seconds": seconds}
            parts = [part(name, 0, values) for name, values in arrays.items()]
        numbers = {"launches": self.launches, "done": self.done, "round": self.number, "seconds": self.stop.seconds()}
        return State(numbers, parts, f"in round {self.number + 1}")

    @cached_property
    def _arcs(self) -> Arcs:
        return Arcs(self.net)

    def _launch(self) -> None:
        """Run one launch of the kernel from the present tree."""
        net, now = self.net, np.zeros(len(self.net.edges), np.uint32)
        now[self.now] = 1
        whole = work_of_shake(net) * self.shakes
        plan: Given = {
            "seed": (self.seed * SEEDS + self.launches) % 2**64, "begin": self.done, "whole": whole,
            "end": whole * self.launches // (LAUNCHES_A_SHAKE * self.shakes),
            "factor": factor_of(net), "keys": KEYS,
            "tolerance": min(MOST_TOLERANCE, TOLERANCE * len(net.heads) // net.n),
        }
        space: Given = {"words": New(20 * net.n, np.uint32, scratch=True),
                        "lengths": New(2 * net.n, np.uint64, scratch=True)}
        found = launched(
            net.device, "steiner/ruin", "ruin_recreate", net=net.group(), root=int(net.terminals[0]), how=plan,
            tails=self._arcs.tails, back=self._arcs.back, chosen=now[self._arcs.edge], space=space,
            rise=New(net.n, np.uint32), work=New(1, np.uint64),
        )
        below = np.flatnonzero(found["rise"] != NO_ARC)
        self.now = np.sort(edge_numbers(net, below, net.heads[found["rise"][below]]))
        self.done = int(found["work"][0])

    def _note(self, last: bool) -> None:
        """Note the present tree if it is the best, after local search if it is the last one."""
        found = locally_best(self.net, self.now, self.stop.is_late) if last else self.now
        if (weight := self.net.weight(found)) < self.weight:
            self.tree, self.weight = found, weight
        if last or self.weight + self.stop.offset < self.history[-1][2]:
            self.history.append((self.number, self.stop.seconds(), self.weight + self.stop.offset))


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


def resume(ruin: Ruin, saved: Saved) -> None:
    """Set a search to that of a checkpoint."""
    ruin.launches, ruin.done, ruin.number = (saved.integer(name) for name in ("launches", "done", "round"))
    ruin.stop.started -= float(saved.numbers["seconds"])
    if ruin.comm.rank == 0:
        ruin.tree, ruin.now = (saved.gathered(name, (), np.int64) for name in ("tree", "now"))
        seconds: Sequence[float] = saved.gathered("seconds", (), np.float64).tolist()
        rows = saved.gathered("history", (2,), np.int64).tolist()
        ruin.history = [(number, at, weight) for (number, weight), at in zip(rows, seconds)]
        ruin.weight = ruin.net.weight(ruin.tree)
