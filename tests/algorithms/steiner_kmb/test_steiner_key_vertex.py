"""Key-vertex elimination: each move is the best one, as a search in plain Python says, and makes the tree lighter.

The long form: HPCSOLVE_TINY_GRAPHS=10000 pytest --timeout=0 tests/algorithms/steiner_kmb/test_steiner_key_vertex.py
"""

import itertools
import os

import numpy as np

from hpcsolve.algorithms.steiner_kmb.network import (
    PATHS,
    VERTICES,
    network,
)
from hpcsolve.algorithms.steiner_kmb.reduced_graph import reduced
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.steiner import check_tree
from tests.oracles import least_distances
from tests.steiner_oracle import hypercube, least_weight, tiny_graph

GRAPHS = int(os.environ.get("HPCSOLVE_TINY_GRAPHS", "120"))


def poor_tree(net, seed):
    """Return a pruned spanning tree in a random order of the edges, which is not the lightest one."""
    own = net.edges.weights.copy()
    net.edges.weights[:] = np.random.default_rng(seed).permutation(len(own)).astype(np.uint64)
    tree = net.spanning_tree(np.arange(len(own)))
    net.edges.weights[:] = own
    return tree


def components(vertices, pairs):
    """Return the components of a forest."""
    found = [{v} for v in sorted(vertices)]
    for u, v in pairs:
        one, other = (next(part for part in found if w in part) for w in (u, v))
        if one is not other:
            found.remove(other)
            one |= other
    return found


def gain_of(graph, net, tree, key):
    """Return what the elimination of a key vertex saves: its key paths, less a spanning tree of the components."""
    pairs = list(zip(net.edges.tails[tree].tolist(), net.edges.heads[tree].tolist()))
    degree = np.bincount(np.array(pairs).ravel(), minlength=net.n)
    gone, grown = {key}, True
    while grown:  # from the key vertex along vertices of degree 2
        more = {w for pair in pairs if set(pair) & gone for w in pair if degree[w] == 2 and not net.is_terminal[w]}
        grown = not more <= gone
        gone |= more
    left = [pair for pair in pairs if not set(pair) & gone]
    parts = components({v for pair in pairs for v in pair} - gone, left)
    own = net.weight(tree) - net.weight(np.array([e for e, pair in zip(tree, pairs) if pair in left], np.int64))
    distances = [least_distances(graph, sorted(part)) for part in parts]
    ways = sorted((min(distances[i][v] for v in parts[j]), i, j)
                  for i, j in itertools.combinations(range(len(parts)), 2))
    top, cost = list(range(len(parts))), 0
    for way, i, j in ways:
        if top[i] != top[j]:
            cost += way
            top = [top[j] if t == top[i] else t for t in top]
    return own - cost


def test_every_elimination_is_the_best_for_its_vertex(host):
    """A move saves what plain searches say, and the tree after it is valid and no heavier than promised."""
    tried = made = 0
    for seed in range(GRAPHS):
        graph = reduced(tiny_graph(seed)).graph if seed % 3 else hypercube(4, 3 + seed % 4, seed)
        net = network(graph, host)
        tree = poor_tree(net, seed)
        if not len(tree):
            continue
        degree = np.bincount(np.concatenate([net.edges.tails[tree], net.edges.heads[tree]]), minlength=net.n)
        keys = np.flatnonzero((degree > 2) & (net.is_terminal == 0)).tolist()
        expected = sorted(gain for key in keys if (gain := gain_of(graph, net, tree, key)) > 0)
        found = net.moves(tree, VERTICES)
        assert sorted(move.gain for move in found) == expected, seed
        assert [move.gain for move in found] == expected[::-1]
        for move in found:
            left = np.setdiff1d(tree, move.removed)
            after = net.edges.part(net.spanning_tree(np.union1d(left, move.added)))
            assert check_tree(graph, after.tails, after.heads, after.weights) <= net.weight(tree) - move.gain
        tried, made = tried + len(keys), made + len(found)
    assert made > GRAPHS // 6 and tried > made


def test_local_search_ends_where_neither_move_helps(host):
    lighter = 0
    for seed in range(GRAPHS):
        graph = reduced(tiny_graph(seed)).graph if seed % 3 else hypercube(4, 3 + seed % 4, seed)
        net = network(graph, host)
        tree = poor_tree(net, seed)
        last = net.locally_best(tree)
        edges = net.edges.part(last)
        assert check_tree(graph, edges.tails, edges.heads, edges.weights) == net.weight(last) <= net.weight(tree)
        assert net.weight(last) >= least_weight(graph) and not (len(last) and net.moves(last, PATHS))
        found = net.moves(last, VERTICES) if len(last) else []
        assert not found, (seed, [move.gain for move in found])
        lighter += net.weight(last) < net.weight(net.locally_best(tree, kinds=(PATHS,)))
    assert lighter > 2


def test_what_finds_no_room_or_is_too_much_is_left_out(host):
    net = network(hypercube(6, 20, high=110), host)
    tree = net.improved(poor_tree(net, 1))
    many = net.moves(tree, VERTICES)
    few = net.moves(tree, VERTICES, 15)
    assert 0 < len(few) < len(many) and {move.gain for move in few} <= {move.gain for move in many}
    assert net.moves(tree, VERTICES, budget=100) == []


def test_a_hub_is_replaced_by_a_ring(host):
    """No single key path can be exchanged with gain, but all three together can."""
    hub = from_edges([0, 0, 0, 1, 2], [1, 2, 3, 2, 3], [5, 5, 5, 7, 7], terminals=[1, 2, 3])
    net = network(hub, host)
    star = np.flatnonzero(net.edges.tails == 0)
    assert net.moves(star, PATHS) == [] and [move.gain for move in net.moves(star, VERTICES)] == [1]
    assert net.weight(net.locally_best(star)) == 14


def test_a_path_between_parts_may_lie_within_the_region_of_the_hub(host):
    """Vertices 4 to 7 are nearer to the hub than to the ends of its paths, and join these by 13 each, not 20."""
    edges = [(0, 1, 10), (0, 2, 10), (0, 3, 10), (0, 4, 5), (0, 5, 5), (0, 6, 5), (0, 7, 5),
             (1, 4, 6), (4, 5, 1), (2, 5, 6), (2, 6, 6), (6, 7, 1), (3, 7, 6)]
    net = network(from_edges(*zip(*edges), terminals=[1, 2, 3]), host)
    star = np.flatnonzero((net.edges.tails == 0) & (net.edges.heads <= 3))
    assert [move.gain for move in net.moves(star, VERTICES)] == [30 - 26]
