"""Mode exact: mode best, more reductions by the weight of its tree, and the program on what is left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from hpcsolve.algorithms.base import UNKNOWN, Report
from hpcsolve.algorithms.steiner_kmb.best.polish import BEST_EFFORT, agreed, lighter_and_last, polished, with_tree
from hpcsolve.algorithms.steiner_kmb.best.setting import Setting
from hpcsolve.algorithms.steiner_kmb.exact.program import Program
from hpcsolve.algorithms.steiner_kmb.exact.resume import resume, state_of
from hpcsolve.algorithms.steiner_kmb.exact.space import (
    BOUND_RULE,
    MOST_TERMINALS,
    SEPARATOR_RULE,
    Cuts,
    is_small,
    several_ascents,
    space_of,
)
from hpcsolve.algorithms.steiner_kmb.kmb.tree import Work
from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.reductions.apply import joins_terminals, reduced_again
from hpcsolve.algorithms.steiner_kmb.reductions.shrink import ALL_RULES, Effort, Rules, Shrunk, shrunk, shrunk_further
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Mask, ReducedGraph
from hpcsolve.checkpoint.checkpoints import Wish, without_writer
from hpcsolve.wording import counted

QUICK, THOROUGH = Effort(1 << 24, 16, 5), Effort(1 << 26, 16)
"""The work of reductions: `QUICK` in large graphs that the program can take, because it discards states by the same
bounds; `THOROUGH` in small graphs, and with more terminals than the program can take, where nothing else can prove a
tree."""
FEW = 12
"""Up to this number of terminals the program is quick even with a poor tree, so it begins without mode best. With more,
mode exact begins as mode best: whenever it is stopped, its tree is as light."""
FREE_PART = 0.8
"""The share of the free memory that the states may take, if the job does not give `[stop] memory`."""


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

    found: Shrunk
    work: Work
    ended: str = ""
    sets: list[int] = field(default_factory=list)
    states: list[int] = field(default_factory=list)


def searched(
    smaller: ReducedGraph, least: int, memory: int | None, run: Setting, strategy: Strategy = Strategy()
) -> Searched:
    """Return the lightest tree, or the best tree and bound if a criterion or the memory ends the search. Collective.

    Parameters
    ----------
    smaller
        The graph after the reductions of mode fast.
    least
        A lower bound from the graph as it was read.
    memory
        Bytes that this rank may take for states, or None for `FREE_PART` of what is free.
    """
    run = replace(run, report=partial(_without_share, run.report))
    checkpoints, run.stop.checkpoints = run.stop.checkpoints, without_writer(run.stop.checkpoints)
    run.report(0.0, "reductions")
    rules, root = strategy.reductions, strategy.first_root
    many = len(smaller.graph.terminals) > FEW  # type: ignore[arg-type]
    effort = replace(BEST_EFFORT if many else effort_for(smaller), is_over=run.stop.is_due)
    now = agreed(run.comm.once_per_host(partial(shrunk, smaller, run.whole, effort, rules, root)), run)
    now, work = replace(now, bound=min(now.weight, max(now.bound, least))), Work(0, 0.0)
    if many:
        now, work = polished(now, run)
    work = replace(work, history=work.history or [(0, run.stop.seconds(), now.weight)])
    if many and not (now.proven or run.stop.met or run.stop.broken_off):
        effort = replace(effort_for(now.smaller), is_over=run.stop.is_due)
        now = agreed(run.comm.once_per_host(partial(shrunk_further, now, run.whole, effort, rules, root)), run)
    if not now.ended_early:
        run.stop.offset = now.smaller.offset
    if now.proven or now.ended_early or run.stop.is_over(now.weight - now.smaller.offset):
        return Searched(now, work, "" if now.proven else run.stop.ended(work.rounds))
    terminals = len(now.smaller.graph.terminals)  # type: ignore[arg-type]
    if terminals > MOST_TERMINALS:
        why = f"the reductions left {terminals} terminals, and mode exact can go on with {MOST_TERMINALS} at most"
        return Searched(now, work, why)
    run.stop.checkpoints = checkpoints
    return _by_program(now, work, memory, run, strategy)


def _without_share(report: Report, done: float, message: str = "") -> None:
    """Report what is under way, but no share of the work done, since nobody knows how much there is."""
    report(0.0 if done == 0 else UNKNOWN, message)


def effort_for(smaller: ReducedGraph) -> Effort:
    """Return how much work the reductions of a graph are worth."""
    terminals = len(smaller.graph.terminals)  # type: ignore[arg-type]
    return THOROUGH if terminals > MOST_TERMINALS or is_small(terminals, len(smaller.edges)) else QUICK


@dataclass
class End:
    """When the search must end: at a stop criterion, by an interruption, or for want of memory.

    Attributes
    ----------
    cap, source
        Bytes that this rank may take, and where this number comes from, in words, or "" if the job gives it.
    weight
        The weight of the best tree, in the reduced graph.
    reason
        Why it must end, in words, or "".
    """

    run: Setting
    cap: int
    source: str
    weight: int
    reason: str = ""

    def is_over(self, nbytes: int) -> bool:
        """Return whether the search must end, given the bytes that this rank takes. Collective."""
        stop, caps = self.run.stop, self.run.comm.allgather(self.cap if nbytes > self.cap else None)
        over, full = stop.is_over(self.weight), next((cap for cap in caps if cap is not None), None)
        self.reason = "interrupted" if stop.broken_off else stop.met
        if full is not None and not over:
            self.reason = f"memory: {full} bytes{self.source} reached"
        return bool(self.reason)


def _by_program(now: Shrunk, work: Work, memory: int | None, run: Setting, strategy: Strategy) -> Searched:
    """Return what the program finds on what the reductions have left."""
    offset, stop = now.smaller.offset, run.stop
    net = network(now.smaller.graph, run.host)
    cap = int(FREE_PART * run.host.memory_free() / run.comm.local_size) if memory is None else memory
    source = "" if memory is not None else f" ({FREE_PART:.0%} of what was free; [stop] memory sets another limit)"
    end = End(run, cap, source, now.weight - offset)
    run.report(0.0, "dual ascents")
    found = several_ascents(net, run.comm, end.weight, is_over=end.is_over)
    if found is None:
        return Searched(now, work, f"{end.reason} at the dual ascents")
    now, ascents = _without_heavy(now, *found) if strategy.reductions.lighter else (now, found[0])
    if now.proven:
        return Searched(now, work)
    space = space_of(network(now.smaller.graph, run.host), ascents, strategy.rules)

    def is_over(nbytes: int) -> bool:
        run.report(UNKNOWN, f"{_step(program)}, {counted(len(program.layers.families.vertices), 'state')} so far")
        over = end.is_over(nbytes)
        if stop.wish != Wish.GO_ON and (stop.broken_off or not over):
            stop.checkpoints.save(state_of(program, stop.seconds()), last=over)
        return over

    program = Program(space, run.comm, now.weight - offset, is_over)
    if stop.checkpoints.saved is not None:
        resume(stop.checkpoints.saved, program)
        stop.started -= stop.checkpoints.saved.seconds()
    program.run()
    return _outcome(program, now, work, end, run)


def _without_heavy(now: Shrunk, ascents: list[Cuts], heavy: Mask) -> tuple[Shrunk, list[Cuts]]:
    """Return what is left without the edges that are in no lighter tree, and the ascents for that graph.

    No terminal is contracted, so the cuts stay the same. The distances of a vertex that stays hold: those in what the
    ascents left of the weights are the same along the edge that replaces a chain, and no shorter without some edges.
    """
    before = now.smaller
    bound = min(now.weight, max(now.bound, before.offset + max(cuts.bound for cuts in ascents)))
    if bound == now.weight or not joins_terminals(before, heavy):
        return replace(now, bound=now.weight), ascents
    smaller = reduced_again(before, heavy, np.empty(0, np.int64), {"lighter": int(heavy.sum())})
    stays = np.isin(before.graph.labels, smaller.graph.labels)
    ascents = [replace(cuts, reach=cuts.reach[stays]) for cuts in ascents]
    return replace(now, smaller=smaller, bound=bound), ascents


def _outcome(program: Program, now: Shrunk, work: Work, end: End, run: Setting) -> Searched:
    """Return what a program has found at its end. Collective."""
    proven = program.proven() + now.smaller.offset
    now = replace(now, bound=min(now.weight, max(now.bound, proven)))
    if program.tree is not None:
        now = with_tree(now, program.tree, run)
    if program.complete:
        now = replace(now, bound=now.weight)
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
