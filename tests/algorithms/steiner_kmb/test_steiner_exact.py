"""Mode exact: its program against brute force and a dense program, any ranks and rules, stops with valid bounds.

The long forms, with CPU minutes: HPCSOLVE_TINY_GRAPHS=10000 pytest --timeout=0 FILE -k tiny_graphs (20),
HPCSOLVE_DENSE=5000,12 and -k dense (1), HPCSOLVE_STOP_FILES=all and -k stops (4, and 3 GB).
"""

import csv
import itertools
import os
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from hpcsolve.algorithms import steiner_kmb
from hpcsolve.algorithms.base import NO_STOP, StopCriteria, silent
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.algorithms.steiner_kmb.exact import without_heavy
from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import reduced
from hpcsolve.algorithms.steiner_kmb.reductions import SteinerState
from hpcsolve.algorithms.steiner_kmb.setting import RoundStop, Work
from hpcsolve.algorithms.steiner_kmb.subset_program import Meeting, Program
from hpcsolve.algorithms.steiner_kmb.subset_states import Space, several_ascents
from hpcsolve.device.host import HostDevice
from hpcsolve.formats import read_graph
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.graph import road_steiner
from hpcsolve.problems.graph import from_edges
from tests.steiner_oracle import hardly_shrunk, hypercube, least_weight, tiny_graph
from tests.thread_comm import on_ranks

GRAPHS = int(os.environ.get("HPCSOLVE_TINY_GRAPHS", "40"))
DENSE = [int(word) for word in os.environ.get("HPCSOLVE_DENSE", "150,8").split(",")]
STOP_FILES = os.environ.get("HPCSOLVE_STOP_FILES", "cc6-2p.stp berlin52.stp pace2_002.gr").split()
"""Files of HPCSOLVE_DATA/steiner, or "all", on which stops are tried."""
RULES = range(4)


def solved(graph, stop=NO_STOP, threads=1, comm=None):
    with HostDevice(threads) as device:
        asked = Parameters(mode="exact")
        outcome = steiner_kmb.ALGORITHM.solve(graph, device, comm or SerialComm(), asked, silent, stop)
    assert outcome.answer.check(graph).passed, outcome.answer.check(graph)
    return outcome


def programmed(smaller, limit, device, rules=3, words=0, is_over=lambda nbytes: False):
    """Return the program after its end, without any reduction by bounds before it."""
    net = network(smaller.graph, device)
    every, _ = several_ascents(net, SerialComm(), limit, words)
    program = Program(Space.of(net, every, rules), SerialComm(), limit, is_over)
    program.run()
    return program


def wrong(smaller, least, device, rules, words):
    """Return what is wrong with the program on a reduced graph of this optimum, or nothing."""
    found = programmed(smaller, least + 1, device, rules, words)
    if found.tree is None or found.limit != least or int(smaller.edges.weights[found.tree].sum()) != least:
        return f"{least} is the optimum, {found.limit} was found"
    if programmed(smaller, least, device, rules, words).tree is not None:
        return f"a tree lighter than the optimum {least}"
    return ""


def test_the_program_finds_the_optimum_of_tiny_graphs(host):
    """With both rules, with each alone, and with none. Sets have one word or two, and no bounds reduce the graph."""
    bad = []
    for seed in range(GRAPHS):
        smaller = reduced(tiny_graph(seed))
        if len(smaller.graph.terminals) < 2:
            continue
        least = least_weight(smaller.graph)
        for rules in RULES if GRAPHS > 1000 or seed % 3 == 0 else [3]:
            if text := wrong(smaller, least, host, rules, 1 + seed % 2):
                bad.append((seed, rules, text))
    assert not bad, bad[:5]


@pytest.mark.parametrize("small", [True, False])
def test_mode_exact_on_tiny_graphs(small, monkeypatch):
    """With all reductions: weights of 0, ties, one terminal and two. As in small graphs and in large ones."""
    monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.subset_states.is_small", lambda k, edges: small)
    bad, sizes = [], set()
    for seed in range(GRAPHS):
        graph = tiny_graph(seed)
        sizes.add(len(graph.terminals))
        outcome = solved(graph)
        if not (outcome.cost == least_weight(graph) == outcome.answer.lower_bound and outcome.answer.optimal):
            bad.append(seed)
    assert not bad and sizes > {1, 2}, bad[:5]


def test_what_a_broken_off_program_has_proven(host):
    """After any number of pieces the bound is at most the optimum, and it is of use."""
    for graph, limit in ((hypercube(5, 12, high=100), 1550), (hypercube(6, 13, high=102), 1800)):
        smaller, bounds = reduced(graph), []
        least = programmed(smaller, limit, host).limit
        for pieces in range(1, 60):
            counter = itertools.count(1)
            program = programmed(smaller, limit, host, is_over=lambda nbytes: next(counter) >= pieces)  # noqa: B023
            bounds.append(program.proven())
            if program.complete:
                break
        assert program.complete and bounds[-1] == least
        assert bounds == sorted(bounds) and bounds[-2] <= least and len(set(bounds)) > 3
        assert all(bound > 0.7 * least for bound in bounds if bound)


def dense_weight(graph):
    """Return the optimum by the dense program: every vertex, every set (Dreyfus and Wagner), in numpy and scipy."""
    matrix = csr_array((graph.weights.astype(np.float64), graph.heads, graph.offsets), shape=(graph.n, graph.n))
    distance = dijkstra(matrix).astype(np.int32)
    last, rest = graph.terminals[-1], graph.terminals[:-1]
    best = np.empty((1 << len(rest), graph.n), np.int32)
    for whole in range(1, len(best)):
        low = whole & -whole
        if low == whole:
            best[whole] = distance[rest[whole.bit_length() - 1]]
            continue
        subs = [s for s in _subsets(whole) if s & low and s != whole]
        met = np.min([best[s] + best[whole ^ s] for s in subs], axis=0)
        best[whole] = (distance + met).min(axis=1)
    return int(best[-1][last])


def _subsets(whole):
    found, s = [], whole
    while s:
        found.append(s)
        s = (s - 1) & whole
    return found


def test_against_the_dense_program(host):
    n, k = DENSE
    for graph in (road_steiner(n, k, seed=4), hypercube(7, k, seed=3)):
        least = dense_weight(graph)
        smaller = reduced(graph)
        assert programmed(smaller, least - smaller.offset + 1, host).limit + smaller.offset == least
        assert solved(graph).cost == least


@pytest.mark.parametrize("small", [True, False])
def test_ascents_remove_edges_and_lose_no_lighter_tree(small, host, monkeypatch):
    """Before the program, edges go that are in no lighter tree. The ascents hold for what is left, chains included."""
    monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.subset_states.is_small", lambda k, edges: small)
    gone = 0
    for seed in range(max(GRAPHS // 4, 10)):
        graph = road_steiner(200, 7, seed=seed)
        smaller, whole = reduced(graph), network(graph, host)
        net = network(smaller.graph, host)
        least = solved(graph).cost - smaller.offset
        found = several_ascents(net, SerialComm(), least + 1)
        assert found is not None and len(found[0]) == (len(net.terminals) if small else len(net.terminals) // 2 + 1)
        start = SteinerState(smaller, weight=least + 1 + smaller.offset)
        now, every = without_heavy(start, *found)
        assert now.smaller.graph.n == len(every[0].reach)
        program = Program(Space.of(network(now.smaller.graph, host), every), SerialComm(), least + 1, lambda b: False)
        program.run()
        assert program.limit == least
        assert whole.weight(whole.spanning_tree(now.smaller.restored(program.tree))) == least + smaller.offset
        gone += smaller.graph.n - now.smaller.graph.n
    assert gone > 100


@pytest.mark.parametrize("known", [1711, 1712])
def test_a_better_bound_reaches_the_answer_and_ends_the_search(known, monkeypatch):
    monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.reductions.bounds_of", lambda net, ascents: [known])
    found = solved(hypercube(6, 13, high=102), StopCriteria(memory=1))
    assert (found.cost, found.answer.lower_bound, found.answer.proof) == (1712, known, "search")
    assert found.ended == ("" if known == 1712 else "memory: 1 bytes reached at the dual ascents")


def test_a_better_bound_of_what_the_program_gets_ends_the_search_before_it(monkeypatch):
    monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.reductions.shrunk", hardly_shrunk)
    monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.reductions.bounds_of", lambda net, ascents: [1712])
    found = solved(hypercube(6, 13, high=102))
    assert (found.cost, found.answer.lower_bound, found.answer.proof) == (1712, 1712, "search")
    assert len(found.groups["layers"]["size"].values) == 0


def test_ranks_and_threads_do_not_matter():
    graph = hypercube(5, 12, high=100)

    def stored(outcome):
        return {name: np.asarray(column.values).tobytes() for name, column in outcome.solution.items()}

    alone = solved(graph)
    assert stored(solved(graph, threads=3)) == stored(alone)
    for ranks in (2, 3, 4):
        assert all(stored(other) == stored(alone) for other in on_ranks(ranks, lambda c: solved(graph, comm=c)))
    layers = alone.groups["layers"]
    assert layers["size"].values.tolist() == [1, 2, 3, 4, 5, 6] and (layers["states"].values > 0).all()
    assert (alone.answer.optimal, alone.answer.proof) == (True, "search")


def test_the_lightest_meeting_of_all_ranks_counts_and_of_equal_ones_the_first():
    weights, ids = (9, 4, 4, 3), ((1, 2, 3, 4), (5, 6, 7, 9), (5, 6, 7, 8), None)

    def agreed(comm):
        return Meeting(None, None, comm, weights[comm.rank], ids[comm.rank]).agreed()

    assert on_ranks(4, agreed) == [(4, (5, 6, 7, 8))] * 4


def test_relabelled_graphs_have_the_same_weight():
    graph, rng = hypercube(6, 13, high=102), np.random.default_rng(4)
    once = np.flatnonzero(graph.tails() < graph.heads)
    for _ in range(2):
        names, order = rng.permutation(graph.n), rng.permutation(once)
        other = from_edges(names[graph.tails()[order]], names[graph.heads[order]], graph.weights[order], n=graph.n,
                           terminals=names[graph.terminals])
        assert solved(other).cost == 1712


def test_stops_leave_a_tree_and_a_valid_bound():
    graph, least = hypercube(6, 13, high=102), 1712
    for stop, words in ((StopCriteria(seconds=1e-9), "s reached"), (StopCriteria(target=1900), "target 1900 reached"),
                        (StopCriteria(memory=20_000), "memory: 20000 bytes reached at sets of")):
        for ranks in (1, 3):
            found = on_ranks(ranks, lambda c: solved(graph, stop, comm=c))[0]  # noqa: B023
            answer = found.answer
            assert found.complete and not answer.optimal and words in found.ended, found.ended
            assert 0.8 * least < answer.lower_bound <= least <= found.cost
    assert solved(graph, StopCriteria(memory=1 << 30)).answer.optimal


def test_a_stop_acts_within_reductions_and_ascents(monkeypatch):
    """The clock of each rank counts how often it was looked at, so that every piece of work is the last one once."""
    graph, least = hypercube(6, 13, high=102), 1712
    monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.best.best_tree", no_tree)
    ends = set()
    for looks in (0.5, 3, 25, 100, 165, 190):
        for ranks in (1, 2) if looks in {25, 165} else (1,):
            monkeypatch.setattr(RoundStop, "seconds", counting())
            found = on_ranks(ranks, lambda c: solved(graph, StopCriteria(seconds=looks), comm=c))[0]  # noqa: B023
            assert found.answer.optimal or f"{looks:g} s reached" in found.ended
            assert found.answer.lower_bound <= least <= found.cost
            ends.add(found.ended.partition(" reached ")[2].split(" terminal")[0])
    assert ends > {"before the first round", "at the dual ascents"}
    assert any(end.startswith("at sets of ") for end in ends), ends


@pytest.mark.parametrize("graph", [hypercube(6, 13, high=102), road_steiner(1000, 60, 2), hypercube(9, 140)])
def test_a_stopped_search_is_as_light_as_mode_best(graph):
    """The memory ends it before the program, and the last one has more terminals than that can take."""
    stopped = solved(graph, StopCriteria(memory=1))
    with HostDevice(1) as device:
        best = steiner_kmb.ALGORITHM.solve(graph, device, SerialComm(), Parameters(mode="best"))
    assert stopped.cost <= best.cost and not stopped.answer.optimal


def no_tree(*_):
    return None, Work(0, 0.0, history=[(0, 0.0, 10**6)])


def counting():
    """Return a clock that counts the looks of each rank."""
    looks: dict[int, int] = {}

    def seconds(stop):
        looks[id(stop)] = looks.get(id(stop), 0) + 1
        return float(looks[id(stop)])

    return seconds


def test_more_terminals_than_a_set_can_hold(monkeypatch):
    """The answer is the tree and the bound so far, and the outcome says why it is not proven."""
    monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.subset_states.MOST_TERMINALS", 12)
    outcome = solved(hypercube(6, 13, high=102))
    assert outcome.ended == "the reductions left 13 terminals, and mode exact can go on with 12 at most"
    assert outcome.complete and not outcome.answer.optimal
    assert outcome.answer.lower_bound <= 1712 <= outcome.cost


def test_a_layer_travels_in_several_messages(monkeypatch):
    graph = hypercube(5, 12, high=100)
    alone = on_ranks(2, lambda c: solved(graph, comm=c))[0]
    monkeypatch.setattr("hpcsolve.algorithms.steiner_kmb.subset_program.MESSAGE", 3000)
    found = on_ranks(2, lambda c: solved(graph, comm=c))[0]
    assert (found.cost, found.answer.u.tolist()) == (alone.cost, alone.answer.u.tolist())
    assert found.groups["layers"]["states"].values.tolist() == alone.groups["layers"]["states"].values.tolist()


def test_stops_on_the_files(steiner_dir):
    """After any time, and with hardly any memory: a checked tree, and a bound that is no more than the optimum."""
    with open(steiner_dir / "optima.csv", encoding="utf-8") as table:
        optima = {row["name"]: int(row["best_known"]) for row in csv.DictReader(table)}
    for name in optima if STOP_FILES == ["all"] else STOP_FILES:
        graph = read_graph(str(steiner_dir / name)).problem
        for stop in (StopCriteria(seconds=0.01), StopCriteria(seconds=1), StopCriteria(seconds=5, memory=200_000)):
            answer = solved(graph, stop).answer
            assert answer.lower_bound <= optima[name] <= answer.cost, (name, stop)
            assert not answer.optimal or answer.cost == optima[name], (name, stop)


def test_a_second_search_contradicts_a_wrong_claim():
    graph, parameters = hypercube(5, 10, high=100), Parameters(mode="exact")
    least = solved(graph).cost

    def verdict(cost, optimal=1):
        claims = SimpleNamespace(value=lambda group, name: {"cost": cost, "optimal": optimal}[name])
        return steiner_kmb.ALGORITHM.again(steiner_kmb.ALGORITHM.statement(graph, parameters), claims)

    assert verdict(least).passed is True and verdict(least, optimal=0).passed is None
    assert verdict(least + 1).passed is False and f"weighs {least}, less than" in verdict(least + 1).reason
    assert verdict(least - 1).passed is False and f"the lightest tree weighs {least}" in verdict(least - 1).reason


def test_a_proof_by_dual_ascent_and_one_by_the_search():
    dual = solved(road_steiner(60, 8))
    assert (dual.answer.optimal, dual.answer.proof, dual.answer.ratio) == (True, "dual", 1.0)
    assert len(dual.groups["layers"]["size"].values) == 0
    assert dual.groups["prices"]["price"].values.sum() == dual.cost
