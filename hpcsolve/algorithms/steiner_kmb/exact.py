"""Mode exact: mode best, more reductions by the weight of its tree, and the subset program on what is left.

A checkpoint keeps the families of all sizes that are finished. `hpcsolve verify --again` searches again, with other
roots and rules.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import NO_STOP, UNKNOWN, Report, silent
from hpcsolve.algorithms.steiner_kmb.best import BEST_EFFORT, lighter_and_last, polished, with_tree
from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Mask, ReducedGraph, reduced
from hpcsolve.algorithms.steiner_kmb.reductions import ALL_RULES, Effort, Rules, SteinerState, shrunk_together, without
from hpcsolve.algorithms.steiner_kmb.setting import RoundStop, Setting, TreeStatement, Work
from hpcsolve.algorithms.steiner_kmb.subset_program import Program
from hpcsolve.algorithms.steiner_kmb.subset_states import (
    BOUND_RULE,
    MOST_TERMINALS,
    SEPARATOR_RULE,
    Cuts,
    Families,
    is_small,
    several_ascents,
    space_of,
)
from hpcsolve.answers.base import Verdict
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.store import State, part
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from hpcsolve.answers.contents import Contents

QUICK, THOROUGH = Effort(1 << 24, 16, 5), Effort(1 << 26, 16)
"""The work of reductions: `QUICK` in large graphs that the program can take, because it discards states by the same
bounds; `THOROUGH` in small graphs, and with more terminals than the program can take, where nothing else can prove a
tree."""
FEW = 12
"""Up to this number of terminals the program is quick even with a poor tree, so it begins without mode best. With more,
mode exact begins as mode best: whenever it is stopped, its tree is as light."""
FREE_PART = 0.8
"""The share of the free memory that the states may take, if the job does not give `[stop] memory`."""
OTHER_SEED = 1_000
"""The seed of the second search, for its shakes and its ruin and recreate."""


@dataclass(frozen=True)
class Strategy:
    """How optimality is proven. `hpcsolve verify --again` uses another strategy than the run that it checks.

    Attributes
    ----------
    reductions, first_root
        The rules of the reductions, and the number of the terminal at which their first dual ascent begins.
    rules
        As in `Space`.
    """

    reductions: Rules = ALL_RULES
    first_root: int = 0
    rules: int = BOUND_RULE | SEPARATOR_RULE


@dataclass(frozen=True)
class Searched:
    """What mode exact has found.

    Attributes
    ----------
    found
        The best tree, and the greatest lower bound.
    work
        This rank's work, with the history.
    ended
        Why the search ended before it was complete, or "".
    sets, states
        Numbers of sets and states by size, from 1.
    """

    found: SteinerState
    work: Work
    ended: str = ""
    sets: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)


def searched(now: SteinerState, memory: int | None, run: Setting, strategy: Strategy = Strategy()) -> Searched:
    """Return the lightest tree, or the best tree and bound if a criterion or the memory ends the search. Collective.

    Parameters
    ----------
    now
        The graph after the reductions of mode fast, and a lower bound from the graph as it was read.
    memory
        Bytes that this rank may take for states, or None for `FREE_PART` of what is free.
    """
    run = replace(run, report=partial(_without_share, run.report))
    first = replace(run, keeps=False)  # checkpoints are those of the program
    run.report(0.0, "reductions")
    rules, root, work = strategy.reductions, strategy.first_root, Work(0, 0.0)
    many = len(now.smaller.graph.terminals) > FEW  # type: ignore[arg-type]
    now = shrunk_together(now, first, BEST_EFFORT if many else effort_for(now.smaller), rules, root)
    if many:
        now, work = polished(now, first)
    work = replace(work, history=work.history or [(0, run.stop.seconds(), now.weight)])
    if many and not (now.proven or run.stop.met or run.stop.broken_off):
        now = shrunk_together(now, first, effort_for(now.smaller), rules, root)
    if now.proven or now.ended_early or run.stop.is_over(now.weight):
        return Searched(now, work, "" if now.proven else run.stop.ended(work.rounds))
    terminals = len(now.smaller.graph.terminals)  # type: ignore[arg-type]
    if terminals > MOST_TERMINALS:
        why = f"the reductions left {terminals} terminals, and mode exact can go on with {MOST_TERMINALS} at most"
        return Searched(now, work, why)
    return _by_program(now, work, memory, run, strategy)


def _without_share(report: Report, done: float, message: str = "") -> None:
    """Report what is under way, but no share of the work done, since nobody knows how much there is."""
    report(0.0 if done == 0 else UNKNOWN, message)


def effort_for(smaller: ReducedGraph) -> Effort:
    """Return how much work the reductions of a graph are worth."""
    terminals = len(smaller.graph.terminals)  # type: ignore[arg-type]
    return THOROUGH if terminals > MOST_TERMINALS or is_small(terminals, len(smaller.edges)) else QUICK


def _by_program(now: SteinerState, work: Work, memory: int | None, run: Setting, strategy: Strategy) -> Searched:
    """Return what the program finds on what the reductions have left."""
    net = network(now.smaller.graph, run.host)
    cap = int(FREE_PART * run.host.memory_free() / run.comm.local_size) if memory is None else memory
    source = "" if memory is not None else f" ({FREE_PART:.0%} of what was free; [stop] memory sets another limit)"
    end = End(run, cap, source, now.weight)
    run.report(0.0, "dual ascents")
    limit = now.weight - now.smaller.offset
    found = several_ascents(net, run.comm, limit, is_over=lambda nbytes: end.is_over(nbytes, run.stop.is_over))
    if found is None:
        return Searched(now, work, f"{end.reason} at the dual ascents")
    ascents, heavy = found
    if strategy.reductions.lighter:
        now, ascents = without_heavy(now, ascents, heavy)
    if now.proven:
        return Searched(now, work)
    space = space_of(network(now.smaller.graph, run.host), ascents, strategy.rules)

    def is_over(nbytes: int) -> bool:
        run.report(UNKNOWN, f"{_step(program)}, {counted(len(program.layers.families.vertices), 'state')} so far")
        return end.is_over(nbytes, lambda weight: run.ends(weight, partial(state_of_program, program, run.stop)))

    program = Program(space, run.comm, now.weight - now.smaller.offset, is_over)
    if run.saved is not None:
        resume_program(run.saved, program)
        run.stop.resume(run.saved)
    program.run()
    return _outcome(program, now, work, end, run)


@dataclass
class End:
    """When the search must end: at a stop criterion, by an interruption, or for want of memory.

    Attributes
    ----------
    cap, source
        Bytes that this rank may take, and where this number comes from, in words, or "" if the job gives it.
    weight
        The weight of the best tree.
    reason
        Why it must end, in words, or "".
    """

    run: Setting
    cap: int
    source: str
    weight: int
    reason: str = ""

    def is_over(self, nbytes: int, stops: Callable[[int], bool]) -> bool:
        """Return whether the search must end, given the bytes that this rank takes. Collective.

        Parameters
        ----------
        stops
            Returns whether the run must stop, given the weight of the best tree.
        """
        caps = self.run.comm.allgather(self.cap if nbytes > self.cap else None)
        over, full = stops(self.weight), next((cap for cap in caps if cap is not None), None)
        self.reason = "interrupted" if self.run.stop.broken_off else self.run.stop.met
        if full is not None and not over:
            self.reason = f"memory: {full} bytes{self.source} reached"
        return bool(self.reason)


def without_heavy(now: SteinerState, ascents: list[Cuts], heavy: Mask) -> tuple[SteinerState, list[Cuts]]:
    """Return what is left without the edges that are in no lighter tree, and the ascents for that graph.

    No terminal is contracted, so the cuts stay the same. The distances of a vertex that stays hold: those in what the
    ascents left of the weights are the same along the edge that replaces a chain, and no shorter without some edges.
    """
    before, now = now.smaller, now.raised(max(cuts.bound for cuts in ascents))
    if not now.proven:
        now = without(now, heavy, np.empty(0, np.int64), {"lighter": int(heavy.sum())})
    stays = np.isin(before.graph.labels, now.smaller.graph.labels)
    return now, [replace(cuts, reach=cuts.reach[stays]) for cuts in ascents]


def _outcome(program: Program, now: SteinerState, work: Work, end: End, run: Setting) -> Searched:
    """Return what a program has found at its end. Collective."""
    now = now.raised(program.proven())
    if program.tree is not None:
        now = with_tree(now, program.tree, run)
    if program.complete:
        now = now.solved()
    layers, sizes = program.layers, program.layers.sizes
    begin = [int(layers.families.begin[layers.first_of(size)]) for size in range(1, len(sizes) + 2)]
    states = np.diff(begin).tolist()
    rows = [*work.history, (work.rounds, run.stop.seconds(), now.weight)]
    work = replace(work, relaxed=work.relaxed + sum(states), seconds=work.seconds + program.seconds,
                   history=lighter_and_last(rows))
    return Searched(now, work, "" if program.complete else f"{end.reason} at {_step(program)}", sizes, states)


def _step(program: Program) -> str:
    """Return which step of the program is under way: `sets of 3 terminals (12 at most)`, or the last step."""
    size, half = len(program.layers.sizes) + 1, program.space.half
    return f"sets of {counted(size, 'terminal')} ({half} at most)" if size <= half else "the meeting of three sets"


def state_of_program(program: Program, stop: RoundStop) -> State:
    """Return the state of a program. Rank 0 writes the families, which all ranks have."""
    own, sizes = program.layers.families, program.layers.sizes
    parts = []
    if program.comm.rank == 0:
        arrays: dict[str, NDArray[Any]] = {
            "sets": own.sets, "begin": own.begin, "vertices": own.vertices, "weights": own.weights, "least": own.least,
            "sizes": np.array(sizes, np.int64),
        }
        parts = [part(name, 0, values) for name, values in arrays.items()]
    return State({"limit": program.limit, "seconds": stop.seconds()}, parts,
                 f"with {counted(len(own.vertices), 'state')} of sets of up to {counted(len(sizes), 'terminal')}")


def resume_program(saved: Saved, program: Program) -> None:
    """Give a program the families of a checkpoint, unless they were found for another weight limit."""
    if saved.integer("limit") != program.limit:
        return
    words = program.space.words
    sets = saved.gathered("sets", (words,), np.uint64, ANY_COUNT)
    count, begin = len(sets), saved.gathered("begin", (), np.uint64, range(len(sets) + 1, len(sets) + 2))
    states = range(int(begin[-1]), int(begin[-1]) + 1)
    whole = Families(sets, begin, saved.gathered("vertices", (), np.uint32, states, range(program.space.net.n)),
                     saved.gathered("weights", (), np.uint64, states),
                     saved.gathered("least", (), np.uint64, range(count, count + 1)))
    sizes = saved.gathered("sizes", (), np.int64, range(program.space.terminals + 1), range(count + 1)).tolist()
    members = np.unpackbits(np.ascontiguousarray(sets).view(np.uint8), axis=1, bitorder="little")
    fits = sum(sizes) == count and begin[0] == 0 and bool((begin[1:] > begin[:-1]).all())
    fits = fits and not members[:, program.space.terminals :].any()
    saved.require(fits and members.sum(axis=1).tolist() == np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist(),
                  "a set of terminals")
    first = 0
    for size in sizes:
        program.add(whole.part(first, first + size))
        first += size


def search_again(stated: TreeStatement, contents: Contents) -> Verdict:
    """Return the verdict of a second search on a tree that a result claims to be lightest.

    It takes other roots for the dual ascents, and leaves out the reductions at terminals and by the special distance.
    """
    if not contents.value("solution", "optimal"):
        return Verdict(None, "no second search was made, since the result does not claim that its tree is the lightest")
    graph, cost, comm = stated.problem, int(contents.value("solution", "cost")), SerialComm()
    strategy = Strategy(replace(ALL_RULES, terminals=False, special=False), len(graph.terminals) // 2)
    with HostDevice(len(os.sched_getaffinity(0))) as host:
        exact = msgspec.structs.replace(stated.parameters, mode="exact")
        stop = RoundStop(comm, NO_STOP, None)
        setting = Setting(network(graph, host), host, host, comm, exact, silent, stop, OTHER_SEED)
        search = searched(SteinerState(reduced(graph)), None, setting, strategy)
    found = search.found
    if found.weight < cost:
        return Verdict(False, f"a second search found a tree that weighs {found.weight}, less than {cost}")
    if not found.proven:
        return Verdict(None, f"a second search ended before it was complete: {search.ended}")
    if found.weight > cost:
        return Verdict(False, f"a second search proved that the lightest tree weighs {found.weight}, not {cost}")
    return Verdict(True, "a second search with other roots and without two of the reductions found no lighter tree")
