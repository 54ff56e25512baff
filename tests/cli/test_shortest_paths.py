"""Shortest paths on the command line and in Python: tables, paths of queries, and reductions."""

import gzip
import os
import sys

import h5py
import networkx as nx
import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

import hpcsolve as package
from hpcsolve.algorithms.shortest_paths.engines import ENGINES
from hpcsolve.algorithms.shortest_paths.searches import Want
from hpcsolve.answers.reductions import middle_of
from hpcsolve.errors import InputError
from hpcsolve.formats.dimacs import write_coordinates, write_dimacs
from hpcsolve.output.reader import read_result
from hpcsolve.problems.generate import generate
from hpcsolve.problems.generate.graph import grid_graph, random_graph
from hpcsolve.problems.generate.plane import road_graph
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.libraries import to_networkx, to_scipy
from hpcsolve.wording import counted
from tests.cli.seen import error_line, solution, write_job
from tests.cli.test_altered import PAIRS, RANDOM, other_pairs
from tests.oracles import query_answers

GRID = '{ generate = "grid-graph", rows = 9, columns = 11 }'


@pytest.fixture
def job(tmp_path):
    """Return `job(table, instance)`, which writes a job file."""
    return lambda table, instance=GRID: write_job(tmp_path, "shortest-paths", instance, table)


def expected(graph, labels):
    return dijkstra(to_scipy(graph), indices=[graph.labels.tolist().index(label) for label in labels])


def test_a_file_with_coordinates_read_from_elsewhere(job, run, hpcsolve, test_device, tmp_path_factory):
    folder = job("sources = [4]", '{ file = "g.gr", coordinates = "g.co", directed = false }')
    graph = grid_graph(4, 5)
    write_dimacs(graph, str(folder / "g.gr"))
    write_coordinates(graph, str(folder / "g.co"))
    assert run(folder).returncode == 0
    contents = read_result(folder / "out.h5")
    assert np.array_equal(contents.value("instance", "x"), graph.coordinates[:, 0])
    assert (contents.value("instance", "directed"), contents.value("instance", "arcs")) == (0, graph.arcs)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert hpcsolve("verify", folder / "out.h5", cwd=elsewhere).returncode == 0
    (folder / "g.gr").rename(elsewhere / "moved.gr")
    assert "if it has moved" in error_line(hpcsolve("verify", folder / "out.h5", cwd=elsewhere))
    moved = hpcsolve("verify", folder / "out.h5", "--instance", "moved.gr", cwd=elsewhere)
    assert moved.returncode == 0, moved.stdout + moved.stderr
    write_dimacs(grid_graph(4, 5, seed=2), str(elsewhere / "moved.gr"))
    other = hpcsolve("verify", folder / "out.h5", "--instance", "moved.gr", cwd=elsewhere)
    assert other.returncode == 2 and "not the instance that was solved" in error_line(other)


def test_distances_of_targets_up_to_a_cutoff(job, run):
    folder = job("sources = [1, 50]\ntargets = [7, 3]\ncutoff = 300")
    done = run(folder)
    assert "hpcsolve 0.1.0: shortest-paths, grid-9x11, 99 vertices, 178 edges, undirected" in done.stdout, done.stderr
    assert "table:  distance, 2 x 2, uint32" in done.stdout
    found = read_result(folder / "out.h5").value("solution", "distance")
    every = expected(grid_graph(9, 11), [1, 50])[:, [6, 2]]
    assert np.array_equal(found, np.where(every <= 300, every, 2**32 - 1))


@pytest.mark.parametrize(("fault", "words"), [
    ("fill_disk(200_000)", "out.h5: cannot be written: File too large"),
    ("shutil.rmtree('sub', True)", "out.h5: cannot be written: No such file or directory"),
], ids=["full", "vanished"])
def test_an_output_that_cannot_be_written_ends_all_ranks_with_one_line(fault, words, job, start_ranks, test_device):
    """Where all disks are full nothing is written. Otherwise all ranks send their rows again, to another place."""
    program = (
        "import shutil, sys\nfrom hpcsolve.runner import conclude\nfrom tests.full_disk import fill_disk\n"
        "write = conclude.write_with_tables\n"
        f"def full(*arguments):\n    {fault}\n    return write(*arguments)\n"
        "conclude.write_with_tables = full\nfrom hpcsolve.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    folder = job("sources = [1, 2, 3, 4]", '{ generate = "grid-graph", rows = 300, columns = 300 }')
    (folder / "elsewhere").mkdir()
    options = ("--device", test_device, "--set", "share-gpu=true", "--output", "sub/out.h5")
    environment = {**os.environ, "TMPDIR": str(folder / "elsewhere"), "HOME": str(folder / "none")}
    done = start_ranks(2, sys.executable, "-c", program, "run", "job.toml", *options, cwd=folder, env=environment)
    assert done.returncode == 4 and "check:  PASS" in done.stdout, done.stdout + done.stderr
    assert words in error_line(done)
    written = [*folder.glob("sub/*"), *folder.glob("elsewhere/*/*")]
    assert [path.name for path in written] == ([] if "fill_disk" in fault else ["out.h5"])
    for path in written:
        every = expected(grid_graph(300, 300), [1, 2, 3, 4])
        assert np.array_equal(read_result(path).value("solution", "distance"), every)


def test_estimate_and_generate(job, hpcsolve, test_device):
    folder = job("sources = [1]")
    done = hpcsolve("estimate", "job.toml", "--device", test_device, "-n", "2", cwd=folder)
    assert done.returncode == 0 and "99 vertices" in done.stdout, done.stderr
    assert "measured now with 1 of 1 search" in done.stdout and "the largest that fits" in done.stdout
    made = hpcsolve("generate", "grid-graph", "--set", "rows=3", "--set", "columns=4", "-o", "g.gr", cwd=folder)
    assert made.returncode == 0 and made.stdout == "g.gr: grid-3x4, 12 vertices\n", made.stderr


KEYS = {"n": 60, "degree": 5, "seed": 3, "parts": 2, "low": 0, "high": 4}
"""Keys of a graph with two connected components, many paths of the same length, and arcs of weight 0."""


@pytest.fixture
def queries(job):
    """Return `queries(pairs)`, which writes a job file and the file of queries that it names."""

    def write(pairs=PAIRS, more=""):
        folder = job(f'queries = "pairs.txt"\n{more}', RANDOM)
        (folder / "pairs.txt").write_text("# from, to\n" + "".join(f"{a} {b}\n" for a, b in pairs))
        return folder

    return write


def answers_in(path):
    """Return the distances and paths in a result file in the form of `query_answers`."""
    result = package.load(path)
    distances = [None if np.isinf(value) else value for value in result.distance.tolist()]
    return [(distance, result.path(query)) for query, distance in enumerate(distances)]


@pytest.mark.parametrize("engine", [engine.name for engine in ENGINES if engine.delivers & Want.PATHS])
def test_engines_give_the_same_paths(engine, queries, run, hpcsolve):
    folder = queries()
    assert run(folder, "--set", f"shortest-paths.engine={engine}").returncode == 0
    assert answers_in(folder / "out.h5") == query_answers(random_graph(**KEYS), PAIRS)
    assert hpcsolve("verify", "out.h5", cwd=folder).returncode == 0


@pytest.mark.parametrize("graph", [
    random_graph(50, seed=4, low=2**31, high=2**32 - 1), random_graph(50, seed=5, directed=True, low=0, high=2),
], ids=["long", "directed"])
def test_other_graphs(graph, test_device):
    pairs = np.random.default_rng(1).integers(1, 51, (40, 2))
    result = package.solve(graph, "shortest-paths", device=test_device, queries=pairs, delta=3)
    assert result.verified
    for query, (distance, path) in enumerate(query_answers(graph, pairs)):
        assert result.path(query) == path
        assert result.distance[query] == (np.inf if distance is None else distance)


def test_pairs_from_python(tmp_path, test_device):
    graph = random_graph(**KEYS)
    (tmp_path / "pairs.txt").write_text("1 5\n33 51\n")
    columns = np.array([1, 33]), np.array([5, 51])
    found = [package.solve(graph, "shortest-paths", device=test_device, queries=queries)
             for queries in ([[1, 5], [33, 51]], np.stack(columns, 1), list(zip(*columns, strict=True)),
                             tmp_path / "pairs.txt")]
    for result in found:
        assert list(zip(result.sources, result.targets, strict=True)) == [(1, 5), (33, 51)]
        assert [result.path(0), result.path(1)] == [path for _, path in query_answers(graph, [(1, 5), (33, 51)])]
    assert repr(found[0]).startswith("<shortest-paths: 2 queries, ")
    for query in (-1, 2):
        with pytest.raises(InputError, match=f"there is no query {query}; they are numbered 0 to 1"):
            found[0].path(query)


def test_a_cutoff_hides_what_is_beyond(queries, run, hpcsolve):
    folder = queries(more="cutoff = 4\n")
    assert run(folder).returncode == 0
    right = query_answers(random_graph(**KEYS), PAIRS, cutoff=4)
    assert answers_in(folder / "out.h5") == right and right != query_answers(random_graph(**KEYS), PAIRS)
    assert hpcsolve("verify", "out.h5", cwd=folder).returncode == 0


def test_what_is_said(queries, run, hpcsolve):
    folder = queries()
    first = run(folder)
    lines = [line for line in first.stdout.splitlines() if line.startswith("query:")]
    right = query_answers(random_graph(**KEYS), PAIRS)
    assert lines == [
        f"query:  {a} -> {b}: " + ("not reached" if distance is None else f"{distance}, {counted(len(path), 'vertex')}")
        for (a, b), (distance, path) in zip(PAIRS, right, strict=True)
    ]
    assert "this job is done already" in run(folder).stdout
    many = queries(PAIRS * 3)
    said = run(many, "--overwrite").stdout
    assert f"query:  30 queries, {3 * sum(bool(path) for _, path in right)} reached" in said


def test_a_file_of_queries_by_any_name_and_in_any_form_is_the_same_job(queries, run):
    folder = queries()
    assert run(folder).returncode == 0
    dimacs = f"c x\np aux sp p2p {len(PAIRS)}\n" + "".join(f"q {a} {b}\n" for a, b in PAIRS)
    (folder / "other.gz").write_bytes(gzip.compress(dimacs.encode()))
    assert "this job is done already" in run(folder, "--set", "shortest-paths.queries=other.gz").stdout
    queries(PAIRS[1:])
    refused = run(folder)
    assert refused.returncode == 2 and "of another job or instance" in error_line(refused)


def test_a_result_is_a_job_as_long_as_its_queries_are_those(queries, run, hpcsolve, test_device):
    folder = queries()
    assert run(folder).returncode == 0
    (folder / "elsewhere").mkdir()
    again = ("run", folder / "out.h5", "--output", "again.h5", "--device", test_device)
    done = hpcsolve(*again, cwd=folder / "elsewhere")
    assert done.returncode == 0 and solution(folder / "elsewhere/again.h5") == solution(folder / "out.h5"), done.stderr
    assert hpcsolve("verify", "again.h5", cwd=folder / "elsewhere").returncode == 0
    queries(PAIRS[1:])
    for command in (["verify", folder / "out.h5"], [*again, "--overwrite"]):
        done = hpcsolve(*command, cwd=folder)
        assert done.returncode == 2 and "pairs.txt: has other queries than the job" in error_line(done)
    (folder / "mine.txt").write_text("1 2\n")
    anew = hpcsolve(*again, "--overwrite", "--set", "shortest-paths.queries=mine.txt", cwd=folder)
    assert anew.returncode == 0 and "query:  1 -> 2" in anew.stdout, anew.stderr


def test_verify_without_the_file_of_queries_knows_what_it_held(queries, run, hpcsolve):
    folder = queries()
    assert run(folder).returncode == 0
    (folder / "pairs.txt").unlink()
    assert hpcsolve("verify", "out.h5", cwd=folder).returncode == 0
    with h5py.File(folder / "out.h5", "r+") as file:
        other_pairs(file)
    bad = hpcsolve("verify", "out.h5", cwd=folder)
    assert bad.returncode == 1 and "are not the queries of the job" in bad.stdout


def test_reductions_from_job_to_table(job, run, hpcsolve):
    folder = job('sources = "all"\nreduce = ["count", "nearest", "sum", "farthest"]\ncutoffs = [2000, 9000.5]\nk = 3',
                 '{ generate = "road-graph", n = 500 }')
    done = run(folder, "--set", "shortest-paths.engine=near-far")
    assert done.returncode == 0 and "engine" not in done.stdout, done.stderr
    done = run(folder, "--overwrite")
    assert "radius: " in done.stdout and "closeness: " in done.stdout and "engine: phast" in done.stdout
    right = hpcsolve("verify", "out.h5", cwd=folder)
    assert right.returncode == 0 and "PASS (100 of 500 sources searched again on the host)" in right.stdout
    csv = hpcsolve("export", "out.h5", "-o", "out.csv", cwd=folder)
    heads = "source,x,y,reached,within_2000,within_9000,nearest_1,distance_1,nearest_2,distance_2,nearest_3,distance_3,"
    assert csv.returncode == 0, csv.stderr
    assert (folder / "out.csv").read_text().startswith(heads + "sum,closeness,farthest,farthest_distance")


def test_in_python_beside_scipy():
    """Closeness, eccentricity and centre, with targets too, and on a graph of two components."""
    problem = road_graph(300)
    rows = dijkstra(to_scipy(problem).astype(float))
    found = package.solve(problem, "shortest-paths", sources="all", reduce=["sum", "farthest"])
    assert np.array_equal(found.closeness, 299 / rows.sum(axis=1))
    assert np.array_equal(found.eccentricity, rows.max(axis=1))
    centre = problem.labels[np.flatnonzero(rows.max(axis=1) == rows.max(axis=1).min())]
    assert found.centre == centre.tolist()
    keys = {"sources": [5, 9], "targets": [9, 7, 100], "reduce": ["sum", "nearest"], "k": 1}
    near = package.solve(problem, "shortest-paths", **keys)
    assert near.closeness[1] == 2 / (rows[8, [6, 99]].sum()) and near.contents.value("solution", "radius") is None
    assert near.contents.value("solution", "nearest_target")[1].tolist() == [8]
    two = from_edges([0, 1, 3], [1, 2, 4], [5, 5, 90], n=6)
    split = package.solve(two, "shortest-paths", sources="all", reduce=["sum", "farthest", "nearest"], k=2)
    assert split.contents.value("solution", "reached").tolist() == [3, 3, 3, 2, 2, 1]
    assert split.centre == two.labels[[1]].tolist() and split.contents.value("solution", "diameter") == 90
    assert split.closeness.tolist() == [2 / 15, 2 / 10, 2 / 15, 1 / 90, 1 / 90, 0]
    assert split.contents.value("solution", "nearest_target")[5].tolist() == [5, -1]
    assert middle_of(np.array([10, 5, 10, 90, 90, 0]), np.array([3, 3, 3, 2, 2, 1]))["radius"] == 5


def test_access_beside_scipy():
    """Shares by numpy's own functions, in millionths. The weights are decimals, and then floats without a scale."""
    whole = road_graph(200)
    jobs, targets = np.arange(200) % 13 / 4, np.arange(0, 200, 3)
    decays = [250, {"steps": [[99.5, 0.25], [800, 1]]}, {"exponential": 200.5}, {"gaussian": 321}, {"linear": 500}]
    for scale, reached, count in (8, None, 5), (3, 900, 3):
        graph = from_edges(whole.tails(), whole.heads, whole.weights / scale, n=200, directed=True)
        rows = dijkstra(to_scipy(graph).astype(float), limit=reached or np.inf)[:, targets]
        shares = [rows <= 250, np.select([rows <= 99.5, rows <= 800], [0.25, 1]), np.exp(-rows / 200.5),
                  np.exp(-((rows / 321) ** 2) / 2), np.maximum(1 - rows / 500, 0)]
        found = package.solve(graph, "shortest-paths", sources="all", targets=graph.labels[targets], cutoff=reached,
                              opportunities=jobs[targets], reduce=["access"], decays=decays[:count])
        millionths = np.rint(1e6 * np.array(shares[:count], float)).astype(int) @ (4 * jobs[targets]).astype(int)
        assert np.array_equal(found.access, millionths.T / 4e6)


def test_sums_of_floats_and_too_large_sums_are_refused():
    floats = generate("graph", "road-graph", n=30)
    floats = from_edges(floats.tails(), floats.heads, floats.weights / 3, n=30)
    with pytest.raises(InputError, match='"sum": the weights are floats'):
        package.solve(floats, "shortest-paths", sources="all", reduce=["sum"])
    counts = package.solve(floats, "shortest-paths", sources="all", reduce=["count", "farthest"], cutoffs=[1e9])
    assert counts.contents.value("solution", "count").tolist() == 30 * [[30]]
    far = from_edges(np.arange(9), np.arange(1, 10), np.full(9, 2**60, np.uint64), n=10)
    with pytest.raises(InputError, match="sum of distances exceeds 2"):
        package.solve(far, "shortest-paths", sources="all", reduce=["sum"])
    assert package.solve(far, "shortest-paths", sources="all", reduce=["farthest"]).eccentricity[0] == 9 * 2.0**60


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
