"""Mode exact: mode best, more reductions by the weight of its tree, and the subset program on what is left.

`hpcsolve verify --again` searches again, with other roots and rules.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from hpcsolve.algorithms.base import NO_STOP, UNKNOWN, silent
from hpcsolve.algorithms.steiner_kmb import subset_states
from hpcsolve.algorithms.steiner_kmb.best import BEST_EFFORT, lighter_and_last, polished, with_tree
from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import Mask, ReducedGraph, reduced
from hpcsolve.algorithms.steiner_kmb.reductions import ALL_RULES, Effort, Rules, SteinerState, shrunk_together
from hpcsolve.algorithms.steiner_kmb.setting import RoundStop, Setting, TreeStatement, Work
from hpcsolve.algorithms.steiner_kmb.subset_program import Program
from hpcsolve.algorithms.steiner_kmb.subset_states import Cuts
from hpcsolve.answers.base import Verdict
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


class Searched(NamedTuple):
    """What mode exact has found.

    Attributes
    ----------
    found
        The best tree, and the greatest lower bound.
    work
        This rank's work, with the history.
    ended
        Why the search ended before it was complete, or "".
    sizes
        The numbers of sets, and those of states, by size, from 1.
    """

    found: SteinerState
    work: Work
    ended: str = ""
    sizes: tuple[Sequence[int], Sequence[int]] = ((), ())


def searched(now: SteinerState, memory: int | None, run: Setting, rules: Rules = ALL_RULES) -> Searched:
    """Return the lightest tree, or the best tree and bound if a criterion or the memory ends the search. Collective.

    Parameters
    ----------
    now
        The graph after the reductions of mode fast, and a lower bound from the graph as it was read.
    memory
        Bytes that this rank may take for states, or None for `FREE_PART` of what is free.
    """
    report = run.report  # what is under way, but no share of the work done: nobody knows how much there is
    run = replace(run, report=lambda done, message="": report(0.0 if done == 0 else UNKNOWN, message))
    first = replace(run, keeps=False)  # checkpoints are those of the program
    many, work = len(now.smaller.graph.terminals) > FEW, Work()  # type: ignore[arg-type]
    now = shrunk_together(now, first, BEST_EFFORT if many else effort_for(now.smaller), rules)
    if many:
        now, work = polished(now, first)
    work = replace(work, history=work.history or [(0, run.stop.seconds(), now.weight)])
    if many and not (now.proven or run.stop.met or run.stop.broken_off):
        now = shrunk_together(now, first, effort_for(now.smaller), rules)
    if now.proven or now.ended_early or run.stop.is_over(now.weight):
        return Searched(now, work, "" if now.proven else run.stop.ended(work.rounds))
    terminals = len(now.smaller.graph.terminals)  # type: ignore[arg-type]
    if terminals > subset_states.MOST_TERMINALS:
        most = subset_states.MOST_TERMINALS
        why = f"the reductions left {terminals} terminals, and mode exact can go on with {most} at most"
        return Searched(now, work, why)
    return _by_program(now, work, memory, run, rules)


def effort_for(smaller: ReducedGraph) -> Effort:
    """Return how much work the reductions of a graph are worth."""
    terminals = len(smaller.graph.terminals)  # type: ignore[arg-type]
    small = subset_states.is_small(terminals, len(smaller.edges))
    return THOROUGH if small or terminals > subset_states.MOST_TERMINALS else QUICK


def _by_program(now: SteinerState, work: Work, memory: int | None, run: Setting, rules: Rules) -> Searched:
    """Return what the program finds on what the reductions have left. Collective."""
    cap = int(FREE_PART * run.host.memory_free() / run.comm.local_size) if memory is None else memory
    source = "" if memory is not None else f" ({FREE_PART:.0%} of what was free; [stop] memory sets another limit)"

    def full(nbytes: int) -> str:
        return f"memory: {cap} bytes{source} reached" if nbytes > cap else ""

    run.report(0.0, "dual ascents")
    net, limit = network(now.smaller.graph, run.host), now.weight - now.smaller.offset
    found = subset_states.several_ascents(
        net, run.comm, limit, is_over=lambda nbytes: run.stop.is_over(now.weight, full(nbytes)))
    if found is None:
        return Searched(now, work, f"{run.stop.reason} at the dual ascents")
    ascents, heavy = found
    now = now.bounded(net, [cuts.bound for cuts in ascents])
    if rules.lighter and not now.proven:
        now, ascents = without_heavy(now, ascents, heavy)
    if now.proven:
        return Searched(now, work)
    space = subset_states.Space.of(network(now.smaller.graph, run.host), ascents, rules.states)

    def is_over(nbytes: int) -> bool:
        run.report(UNKNOWN, f"{program.step()}, {counted(len(program.layers.families.vertices), 'state')} so far")
        return run.ends(now.weight, lambda: program.state(run.stop.seconds()), full(nbytes))

    program = Program(space, run.comm, now.weight - now.smaller.offset, is_over)
    if run.saved is not None:
        program.resume(run.saved)
        run.stop.resume(run.saved)
    program.run()
    now = now.raised(program.proven())
    if program.tree is not None:
        now = with_tree(now, program.tree, run)
    if program.complete:
        now = now.solved()
    layers, sizes = program.layers, program.layers.sizes
    begin = [int(layers.families.begin[layers.first_of(size)]) for size in range(1, len(sizes) + 2)]
    states = np.diff(begin).tolist()
    rows = [*work.history, (work.rounds, run.stop.seconds(), now.weight)]
    work = replace(work, relaxed=work.relaxed + sum(states), history=lighter_and_last(rows))
    return Searched(now, work, "" if program.complete else f"{run.stop.reason} at {program.step()}", (sizes, states))


def without_heavy(now: SteinerState, ascents: list[Cuts], heavy: Mask) -> tuple[SteinerState, list[Cuts]]:
    """Return what is left without the edges that are in no lighter tree, and the ascents for that graph.

    No terminal is contracted, so the cuts stay the same. The distances by reduced costs hold for the vertices that
    stay: an edge that replaces a chain is as long as the chain, and without some edges no path is shorter.
    """
    before, now = now.smaller, now.without(heavy, np.empty(0, np.int64), {"lighter": int(heavy.sum())})
    stays = np.isin(before.graph.labels, now.smaller.graph.labels)
    return now, [replace(cuts, reach=cuts.reach[stays]) for cuts in ascents]


def search_again(stated: TreeStatement, contents: Contents) -> Verdict:
    """Return the verdict of a second search on a tree that a result claims to be lightest.

    It takes other roots for the dual ascents, and leaves out the reductions at terminals and by the special distance.
    """
    if not contents.value("solution", "optimal"):
        return Verdict(None, "no second search was made, since the result does not claim that its tree is the lightest")
    graph, cost, comm = stated.problem, int(contents.value("solution", "cost")), SerialComm()
    rules = Rules(terminals=False, special=False, first_root=len(graph.terminals) // 2)
    with HostDevice(len(os.sched_getaffinity(0))) as host:
        exact = msgspec.structs.replace(stated.parameters, mode="exact")
        stop = RoundStop(comm, NO_STOP, None)
        setting = Setting(network(graph, host), host, host, comm, exact, silent, stop, OTHER_SEED)
        found, _, ended, _ = searched(SteinerState(reduced(graph)), None, setting, rules)
    if found.weight < cost:
        return Verdict(False, f"a second search found a tree that weighs {found.weight}, less than {cost}")
    if not found.proven:
        return Verdict(None, f"a second search ended before it was complete: {ended}")
    if found.weight > cost:
        return Verdict(False, f"a second search proved that the lightest tree weighs {found.weight}, not {cost}")
    return Verdict(True, "a second search with other roots and without two of the reductions found no lighter tree")
