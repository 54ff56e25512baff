"""Shortest paths from Python give the distances of scipy, and paths as lists of vertices."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

import hpcsolve as package
from hpcsolve.errors import InputError
from hpcsolve.problems.generate.graph import random_graph
from hpcsolve.problems.libraries import to_networkx, to_scipy


def test_from_python(test_device):
    graph = random_graph(300, seed=3, directed=True)
    result = package.solve(graph, "shortest-paths", device=test_device, sources=[4, 200], predecessors=True)
    assert np.array_equal(result.distance, dijkstra(to_scipy(graph), indices=[3, 199]))
    assert result.sources == [4, 200] and result.verified and result.predecessor.shape == (2, 300)
    assert repr(result) == "<shortest-paths: distance 2 x 300, predecessor 2 x 300; 300 vertices>"
    sparse = package.solve(to_scipy(graph), "shortest-paths", device=test_device, sources=[3, 199])
    assert np.array_equal(sparse.distance, result.distance)
    with pytest.raises(InputError, match="list is not a graph"):
        package.solve([[0, 1], [1, 0]], "shortest-paths", device=test_device, sources=[0])


def test_paths_out_of_predecessors(test_device):
    graph = random_graph(60, seed=3, parts=2)
    result = package.solve(graph, "shortest-paths", device=test_device, sources=[4, 20], predecessors=True)
    networkx = pytest.importorskip("networkx")
    other = to_networkx(graph)
    for source, row in zip(result.sources, result.distance, strict=True):
        for target, distance in zip(graph.labels.tolist(), row, strict=True):
            path = result.path(source, target)
            if np.isinf(distance):
                assert path == []
            else:
                assert (path[0], path[-1]) == (source, target)
                assert networkx.path_weight(other, path, "weight") == distance
    for ends, message in (((5, 6), "vertex 5 is not a source"), ((4, 61), "no vertex 61"), ((0,), "needs a result of")):
        with pytest.raises(InputError, match=message):
            result.path(*ends)


def test_paths_out_of_a_voronoi_partition_have_names(test_device):
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(["Porto", "Lisbon", "Madrid", "Seville", "Paris"])
    result = package.solve(graph, "shortest-paths", device=test_device, sources=[0, 4], predecessors=True, voronoi=True)
    assert result.sources == ["Porto", "Paris"] and result.targets == []
    assert result.path("Porto", "Lisbon") == ["Porto", "Lisbon"] and result.path("Paris", "Paris") == ["Paris"]
    with pytest.raises(InputError, match="'Lisbon' is nearer to another source, 'Porto'"):
        result.path("Paris", "Lisbon")


@pytest.mark.parametrize("keys", [
    {"sources": [0]}, {"sources": "all", "reduce": ["farthest"]}, {"queries": [[0, 3]]},
    {"sources": [0], "targets": [3]},
])
def test_weights_whose_sums_are_infinite_are_refused(keys, recwarn):
    """A path that cannot be added up is not called one that does not exist."""
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, 1e308, "weight")
    cure = "weights are as large as 1e+308, so that distances may exceed 1.8e308, the largest float; divide"
    with pytest.raises(InputError, match=cure.replace("+", r"\+")):
        package.solve(graph, "shortest-paths", device="cpu", threads=1, **keys)
    nx.set_edge_attributes(graph, 1e307, "weight")
    assert package.solve(graph, "shortest-paths", device="cpu", threads=1, **keys).verified
    assert not recwarn.list


def test_paths_beyond_64_bits_are_refused(test_device):
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, 2**63 - 1, "weight")
    with pytest.raises(InputError, match=r"a path is longer than 2\^64 - 2; divide the weights by a power of ten"):
        package.solve(graph, "shortest-paths", device=test_device, sources=[0])
