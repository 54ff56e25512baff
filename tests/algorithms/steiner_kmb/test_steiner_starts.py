"""Several searches by ruin and recreate: each goes its own way, and what is good in any of their trees is joined."""

from dataclasses import replace
from functools import partial

import numpy as np

from hpcsolve.algorithms import steiner_kmb
from hpcsolve.algorithms.base import NO_STOP, StopCriteria, silent
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.algorithms.steiner_kmb.best import Ruin, Start, recombined
from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import reduced
from hpcsolve.algorithms.steiner_kmb.reductions import SteinerState
from hpcsolve.algorithms.steiner_kmb.setting import Work
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.graph import from_edges
from tests.algorithms.steiner_kmb.test_steiner_best import Impatient, is_right
from tests.algorithms.steiner_kmb.test_steiner_key_vertex import poor_tree
from tests.algorithms.steiner_kmb.test_steiner_ruin import ruin_from, search, setting_for, weighed
from tests.steiner_oracle import hypercube, least_weight
from tests.thread_comm import on_ranks

BRIDGE = 50


def two_halves():
    """Return two hypercubes with a bridge between terminals of both, and the hypercubes."""
    halves = [hypercube(4, 5, seed) for seed in (1, 2)]
    edges = [(half.tails() + 16 * i, half.heads + 16 * i, half.weights) for i, half in enumerate(halves)]
    bridge = ([halves[0].terminals[0]], [halves[1].terminals[0] + 16], [BRIDGE])
    tails, heads, weights = (np.concatenate(parts) for parts in zip(*edges, bridge))
    terminals = np.concatenate([halves[0].terminals, halves[1].terminals + 16])
    return from_edges(tails, heads, weights, terminals=terminals, n=32), halves


def moved(net, half, tree, first):
    """Return the numbers that edges of a half have in the whole graph, where the half begins with vertex `first`."""
    return net.edge_numbers(half.edges.tails[tree] + first, half.edges.heads[tree] + first)


def test_what_is_good_in_two_trees_is_joined(host):
    """Each tree is lightest in one half of the graph and poor in the other one."""
    graph, halves = two_halves()
    net, nets = network(graph, host), [network(half, host) for half in halves]
    poor = [poor_tree(half, 5) for half in nets]
    good = [search(half, tree).best() for half, tree in zip(nets, poor)]
    least = [least_weight(half) for half in halves]
    assert [half.weight(tree) for half, tree in zip(nets, good)] == least
    bridge = net.edge_numbers(halves[0].terminals[:1], halves[1].terminals[:1] + 16)
    trees = [np.sort(np.concatenate([bridge, *(moved(net, half, tree, 16 * i)
                                               for i, (half, tree) in enumerate(zip(nets, pair)))]))
             for pair in ((good[0], poor[1]), (poor[0], good[1]))]
    weights = [net.weight(tree) for tree in trees]
    assert min(weights) > sum(least) + BRIDGE
    setting = setting_for(net, shakes=0, starts=2)
    starts = [Start(i, tree, tree, weight) for i, (tree, weight) in enumerate(zip(trees, weights))]
    smaller = reduced(graph)
    assert smaller.graph.n == graph.n
    ruin = Ruin(net, setting, smaller, starts, min(weights))
    now = SteinerState(smaller, tree=trees[int(np.argmin(weights))], weight=min(weights))
    found, _ = recombined(now, Work(0, 0.0, history=[(0, 0.0, now.weight)]), ruin, setting)
    assert weighed(net, found.tree) == found.weight == sum(least) + BRIDGE
    assert np.isin(found.tree, np.union1d(*trees)).all()


def test_each_start_goes_its_own_way(host):
    net = network(reduced(hypercube(7, 64)).graph, host)
    tree = poor_tree(net, 1)
    alone, found = search(net, tree), search(net, tree, starts=3)
    assert [one.number for one in found.starts] == [0, 1, 2]
    assert np.array_equal(found.starts[0].now, alone.starts[0].now)
    assert len({one.now.tobytes() for one in found.starts}) == 3
    assert found.weight == min(one.weight for one in found.starts) == weighed(net, found.best()) <= alone.weight
    assert np.array_equal(found.edges(), np.unique(np.concatenate([one.tree for one in found.starts]
                                                                  + [one.now for one in found.starts])))


def test_ranks_do_not_matter(device, host):
    net = network(reduced(hypercube(6, 20)).graph, host)
    tree = poor_tree(net, 1)

    def work(comm):
        own = replace(net, device=HostDevice(2))
        made = ruin_from(own, setting_for(own, 1, 1, 3, comm), tree)
        made.run()
        best = made.best()
        history = [(number, weight) for number, _, weight in made.history]
        return None if best is None else best.tobytes(), made.edges().tobytes(), made.weight, history

    alone = on_ranks(1, work)[0]
    for ranks in (2, 3, 4):  # with four, the last one has nothing to do
        found = on_ranks(ranks, work)
        assert found[0] == alone and all(one[1:] == alone[1:] for one in found)


def test_a_launch_that_is_cut_short_keeps_what_is_done(monkeypatch):
    """With one thread the searches advance one after the other. The rest of them follow when the run goes on."""
    with HostDevice(1) as host:
        net = network(reduced(hypercube(7, 64)).graph, host)
        tree = poor_tree(net, 1)
        whole = search(net, tree, starts=3)
        made = ruin_from(net, setting_for(net, 1, 1, 3), tree)
        due, over = iter([False, True]), iter([False, True])  # after the first search, and so after the first launch
        with monkeypatch.context() as patch:
            patch.setattr(made.setting.stop, "is_due", partial(next, due))
            patch.setattr(made.setting.stop, "is_over", lambda *_: next(over))
            made.run()
        assert made.launches == 0 and [one.work > 0 for one in made.starts] == [True, False, False]
        assert made.weight == made.starts[0].weight < net.weight(tree)
        assert np.array_equal(made.best(), made.starts[0].tree)
        made.run()
        assert [one.now.tobytes() for one in made.starts] == [one.now.tobytes() for one in whole.starts]
        assert made.weight == whole.weight and np.array_equal(made.best(), whole.best())


def run(graph, device, comm, stop=NO_STOP):
    return steiner_kmb.ALGORITHM.solve(graph, device, comm, Parameters(mode="best", shakes=1, starts=4), silent, stop)


def test_it_can_be_stopped_at_any_time(device, monkeypatch):
    """Patience ends in ruin and recreate, and in the recombination of trees."""
    graph, costs = hypercube(7, 64), []
    for patience in (1, 156, 220, 10**6):
        monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.solve.RoundStop", partial(Impatient, patience=patience))
        found = on_ranks(2, lambda comm: run(graph, HostDevice(1), comm))
        assert is_right(graph, found[0]) and len({outcome.cost for outcome in found}) == 1
        costs.append(found[0].cost)
    assert costs[-1] == run(graph, device, SerialComm()).cost == min(costs) < costs[0]
    assert run(graph, device, SerialComm(), StopCriteria(target=costs[0] - 1)).cost < costs[0]
