"""The command line on 1 to 5 ranks writes the same bytes to /solution and one consistent row per rank to /ranks."""

import re
import sys
from itertools import cycle, pairwise
from typing import NamedTuple, get_args, get_type_hints

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from hpcsolve import load, solve
from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.formats.steinlib import write_steinlib
from hpcsolve.output.reader import read_result
from hpcsolve.problems.generate.graph import grid_graph, power_law_steiner, random_graph
from hpcsolve.problems.libraries import to_scipy
from tests.cli.seen import solution
from tests.cli.test_altered import PAIRS, RANDOM
from tests.oracles import least_distances, query_answers
from tests.steiner_oracle import hypercube

mpi_library = pytest.importorskip("hpcsolve.parallel.mpi", reason="no mpi4py (extra `local`)").mpi_library

PLACES = np.random.default_rng(7).random((11, 2))
SOURCES = [1, 99, 50, 2, 11, 98]
PRIZES = f'objective = "prize"\nprizes = {[7 * city % 11 for city in range(13)]}'
TIES = '{ generate = "power-law-steiner", n = 150, edges = 450, terminals = 25, low = 0, high = 4 }'
"""A graph with many paths of equal length, and edges of weight 0."""
MERGED = {"n": 120, "edges": 300, "terminals": 40, "low": 0, "high": 3}
"""Keys of a graph with edges of weight 0 between terminals, some of which the reductions merge."""
ENGINES = get_args(get_type_hints(Parameters)["engine"])


def runs(*counts, **settings):
    """Return runs on so many ranks with these settings."""
    return [(count, [f"{key}={value}" for key, value in settings.items()]) for count in counts]


def engines(mode):
    """Return runs on several ranks that cover every engine of a mode, and both ways to halt."""
    names = ENGINES if mode == "kmb" else ENGINES[:1] * 3
    more = zip(cycle((2, 3, 4, 1)), names, cycle(("bottleneck", "terminals")))
    return [*runs(1), *((n, [f"steiner-kmb.engine={engine}", f"steiner-kmb.halt={halt}"]) for n, engine, halt in more)]


def check_tables(found):
    assert np.array_equal(found.value("solution", "distance"), dijkstra(to_scipy(grid_graph(9, 11)), indices=[
        label - 1 for label in SOURCES]))
    assert "cost" not in found.attributes and np.isnan(found.cost) and found.tables["predecessor"].none == -1
    assert found.value("instance", "kind") == "graph" and found.value("instance", "vertices") == 99


def check_paths(found):
    columns = found.groups["solution"]
    graph = random_graph(n=60, degree=5, seed=3, parts=2, low=0, high=4)
    assert np.array_equal(np.stack([columns["source"].values, columns["target"].values], 1), np.array(PAIRS) - 1)
    distance, offset = columns["distance"], columns["offset"].values
    assert (distance.dataset.dimension, distance.none) == ("query", np.iinfo(distance.values.dtype).max)
    assert found.tables == {}
    paths = [(columns["path"].values[a:b] + 1).tolist() for a, b in pairwise(offset)]
    distances = [None if value == distance.none else value for value in distance.values.tolist()]
    assert list(zip(distances, paths)) == query_answers(graph, PAIRS)


def check_matrix(found):
    graph = power_law_steiner(**MERGED)
    terminals = graph.terminals.tolist()
    table = [[least_distances(graph, [a])[b] for b in terminals] for a in terminals]
    assert found.value("solution", "matrix").tolist() == table
    assert found.value("instance", "terminal").tolist() == terminals
    assert sum(d == 0 for row in table for d in row) > len(terminals), "terminals in one place"


def check_ants(found):
    assert found.value("ranks", "operations").sum() == 6 * 5 * 70 * 6


def check_rounded(found):
    one = solve(cdist(PLACES, PLACES), device="cpu")
    assert (one.contents.value("solution", "cost"), one.tour.tolist()) == (
        found.value("solution", "cost"), found.value("solution", "tour").tolist())


class Case(NamedTuple):
    """A job, its runs, a pattern in what all of them print, and a check of the first one's file."""

    algorithm: str
    instance: str
    table: str = ""
    runs: list = runs(1, 2, 3, 4)
    said: str = "check:  PASS"
    check: object = lambda found: None


TOUR = Case("held-karp", '{ generate = "random-matrix", n = 20, high = 30 }', runs=runs(1, 2, 3, 4, 5))
ANTS = Case("ant-colony", '{ generate = "clustered-tsp", n = 70, seed = 3 }',
            "ants = 5\ncolonies = 6\noptimum = 2000\n[stop]\niterations = 6\n",
            said="colonies: 6: minimum (?s:.*) % above the optimum, ", check=check_ants)
GRAPHS = Case("shortest-paths", '{ generate = "grid-graph", rows = 9, columns = 11 }',
              f"sources = {SOURCES}\npredecessors = true", said=r"check:  PASS \(no arc shortens a distance",
              check=check_tables)
QUERIES = GRAPHS._replace(
    instance=RANDOM, table='queries = "pairs.txt"', check=check_paths,
    said=r"check:  PASS \(no arc shortens a distance.*every path added up in numpy")
SUMS = GRAPHS._replace(
    instance='{ generate = "road-graph", n = 500 }', check=lambda found: None,
    table='sources = "all"\nreduce = ["count", "nearest", "sum", "farthest", "access"]\ncutoffs = [2000, 9000.5]\n'
          'k = 3\ndecays = [3000, { gaussian = 2000 }]',
    runs=[*runs(1, **{"shortest-paths.engine": "near-far"}), *runs(2, 3)],
    said=r"check:  PASS \(4 of 500 sources searched again on the host\)")
TREE = Case("steiner-kmb", TIES)
CASES = {
    "one-way": TOUR,
    "all equal": TOUR._replace(instance='"equal.npy"', said=f"cost:   {7 * 15}, "),
    "open": TOUR._replace(instance='{ generate = "clustered-tsp", n = 19, seed = 3 }',
                          table='path = "open"\nstart = 4', runs=runs(1, 3)),
    "prizes": TOUR._replace(instance='{ generate = "uniform-tsp", n = 13 }', runs=runs(1, 2, 3), table=PRIZES),
    "prizes by bounds": TOUR._replace(instance='{ generate = "uniform-tsp", n = 13 }',
                                      table=f'budget = 900\nmethod = "bounded"\n{PRIZES}'),
    "tiny": TOUR._replace(instance='{ generate = "uniform-tsp", n = 3 }', runs=runs(1, 4)),
    "rounded": TOUR._replace(instance='"flat.csv"', runs=runs(1, 2), check=check_rounded),
    "ants": ANTS, "ant-system": ANTS._replace(table='variant = "ant-system"\n' + ANTS.table, runs=runs(1, 3)),
    "population": Case("edge-assembly", '{ generate = "clustered-tsp", n = 120, seed = 3 }', "population = 7",
                       runs=[*runs(1, threads=2), *runs(2, 3, 5, threads=1)],
                       said="stopped: .* after .* generations(?s:.*)bound:  "),
    "paired population": Case("edge-assembly", '{ generate = "random-matrix", n = 60 }', "population = 6\nstart = 4",
                              runs=runs(1, 3)),
    "areas": Case("edge-assembly", '{ generate = "uniform-tsp", n = 13000 }',
                  "population = 2\nbound = false\n[stop]\niterations = 1",
                  runs=[*runs(1, threads=1), *runs(2, threads=2)], said="stopped: 1 round done"),
    "tables": GRAPHS, "queries": QUERIES, "reductions": SUMS,
    **{mode: TREE._replace(table=f'mode = "{mode}"', runs=engines(mode)) for mode in ("fast", "kmb", "best")},
    "exact": TREE._replace(
        instance='"cube.stp"', table='mode = "exact"\nshakes = 0',
        runs=[*runs(1, threads=1), *runs(2, threads=2), *runs(3, 4, threads=1)],
        said=r"proven optimal: lower bound(?s:.*)\nproof:  [0-9]+ states of [0-9]+ sets of up to 6 terminals\n"),
    "matrix": TREE._replace(
        instance='{ generate = "power-law-steiner", ' + ", ".join(f"{k} = {v}" for k, v in MERGED.items()) + " }",
        table='mode = "kmb"\nmatrix = true', check=check_matrix,
        runs=[*runs(1), (2, ["steiner-kmb.engine=tile"]), (3, ["steiner-kmb.engine=near-far"]),
              (4, ["steiner-kmb.engine=p-pull"])]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of jobs."""
    path = tmp_path_factory.mktemp("ranks")
    np.save(path / "equal.npy", np.full((15, 15), 7))
    np.savetxt(path / "pairs.txt", PAIRS, "%d")
    np.savetxt(path / "flat.csv", cdist(PLACES, PLACES), "%.17g", ",")
    write_steinlib(hypercube(5, 12, high=100), str(path / "cube.stp"))
    for name, (algorithm, instance, table, *_) in CASES.items():
        job = f'algorithm = "{algorithm}"\ninstance = {instance}\nshare-gpu = true\n[{algorithm}]\n{table}\n'
        (path / f"{name}.toml").write_text(job)
    return path


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name == "reductions" else [pytest.mark.slow])
                                  for name in CASES])
def test_the_answer_does_not_depend_on_the_ranks(name, folder, mpiexec, test_device):
    found, case = [], CASES[name]
    for number, (ranks, settings) in enumerate(case.runs):
        out, sets = folder / f"{name}-{number}.h5", [word for one in settings for word in ("--set", one)]
        done = mpiexec(ranks, "run", f"{name}.toml", "--device", test_device, "--output", out, *sets, cwd=folder,
                       timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"ranks:  {ranks} (" in done.stdout and done.stdout.count("PASS") == 1
        assert re.search(case.said, done.stdout), done.stdout
        idle = f"idle:   {ranks - 1} of {ranks} ranks have no work"
        assert (idle in done.stdout) == (name in ("tiny", "fast") and ranks > 1)
        found.append(solution(out))
        check_ranks(read_result(out), ranks)
    assert [number for number, other in enumerate(found) if other != found[0]] == []
    contents = read_result(folder / f"{name}-0.h5")
    assert contents.attributes["verified"]
    case.check(contents)


def check_ranks(contents, ranks):
    """Check that /ranks has a row per rank, and that no rank took more memory than estimated."""
    columns = {name: column.values for name, column in contents.groups["ranks"].items()}
    assert all(len(values) == ranks for values in columns.values())
    assert columns["rank"].tolist() == list(range(ranks))
    assert (columns["peak_bytes"] <= columns["estimated_bytes"]).all()
    assert (columns["seconds_run"] >= columns["seconds_kernel"]).all()
    assert contents.value("provenance", "mpi") == library(ranks)


def library(ranks):
    """What is said of MPI on so many ranks."""
    return mpi_library() if ranks > 1 else "not started: one process"


def test_threads_do_not_matter_either(folder, hpcsolve, test_device):
    outs = [folder / f"threads-{count}.h5" for count in (1, 2, 3)]
    for count, out in enumerate(outs, 1):
        run = ("run", "all equal.toml", "--device", test_device, "--set", f"threads={count}", "--output", out)
        assert hpcsolve(*run, cwd=folder).returncode == 0
    assert len({str(solution(out)) for out in outs}) == 1


@pytest.mark.slow
def test_more_ranks_than_sources(folder, mpiexec, test_device):
    run = ("run", "tables.toml", "--device", test_device, "--set", "shortest-paths.sources=[5]", "--output", "few.h5")
    done = mpiexec(3, *run, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert np.array_equal(load(folder / "few.h5").distance, dijkstra(to_scipy(grid_graph(9, 11)), indices=[4]))


def test_a_refusal_reaches_all_ranks(folder, mpiexec, test_device):
    big = ("instance.n=40", "held-karp.method=lattice", "output=big.h5")
    sets = [word for one in big for word in ("--set", one)]
    done = mpiexec(2, "run", "one-way.toml", "--device", test_device, *sets, cwd=folder)
    assert done.returncode == 3
    assert done.stderr.count("cities fit on 2 ranks with this memory") == 1
    assert not (folder / "big.h5").exists()


@pytest.mark.parametrize("ranks", [1, 2])
def test_info_has_a_line_a_rank(ranks, mpiexec, tmp_path):
    done = mpiexec(ranks, "info", cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line[:8] for line in lines if line.startswith("rank ")] == [f"rank {k}/{ranks}" for k in range(ranks)]
    assert f"MPI        {library(ranks)}" in lines


def test_log_files(folder, mpiexec, test_device):
    run = ("run", "tiny.toml", "--device", test_device, "--output", "logged.h5")
    done = mpiexec(2, *run, "--log-dir", "logs", "--quiet", cwd=folder)
    assert done.returncode == 0
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["tour", "cost", "check", "file"]
    logs = sorted((folder / "logs").iterdir())
    assert [path.name for path in logs] == ["rank-0000.log", "rank-0001.log"]
    assert all("device of this rank" in path.read_text() for path in logs)


def test_python_on_several_ranks(start_ranks, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import hpcsolve\ncomm = hpcsolve.join()\n"
        "result = hpcsolve.solve([[0, 1, 9], [9, 0, 1], [1, 9, 0]], comm=comm, device='cpu')\n"
        "line = f'{comm.rank} {comm.size} {result.cost} {result.tour.tolist()}\\n'\n"
        "print(line, end='', flush=True)\ncomm.finalize()\n"  # at once: the ranks print at the same time
    )
    done = start_ranks(2, sys.executable, program, cwd=tmp_path)
    assert sorted(done.stdout.splitlines()) == ["0 2 3 [0, 1, 2]", "1 2 3 [0, 1, 2]"], done.stderr


GROUPS = """
from mpi4py import MPI
import hpcsolve
from hpcsolve.errors import InputError
from hpcsolve.parallel.launch import ranks_of
SQUARE = [[0, 1, 9], [9, 0, 1], [1, 9, 0]]
world = MPI.COMM_WORLD
request = world.irecv(source=(world.rank + 1) % world.size)  # a message of the caller's own
part = world.Split(color=world.rank // 2, key=-world.rank)
found = [hpcsolve.solve(SQUARE, comm=world, device="cpu").cost]
found += [hpcsolve.solve([[0, 5], [world.rank // 2, 0]], "held-karp", part, device="cpu").cost]
try:
    hpcsolve.solve(SQUARE, "held-karp", part, device="cpu", start=9)
except InputError as error:
    found += [str(error)[-13:]]
for _ in range(400):  # MPICH has 2048 communicators
    with ranks_of(part):
        pass
world.send(world.rank, dest=(world.rank - 1) % world.size)
lines = world.gather((part.rank, part.size, found, request.wait()))
if world.rank == 0:
    print(lines)
for given in (world.Split(MPI.UNDEFINED), part.Create_intercomm(0, world, 3 if world.rank < 2 else 1)):
    try:
        hpcsolve.solve(SQUARE, comm=given)
    except InputError as error:
        if world.rank == 0:
            print(error)
"""


def test_python_with_communicators_of_mpi4py(start_ranks, tmp_path):
    """All ranks, and parts of them that solve different problems at the same time."""
    (tmp_path / "program.py").write_text(GROUPS)
    done = start_ranks(4, sys.executable, tmp_path / "program.py", cwd=tmp_path, timeout=120)
    lines, null, inter = done.stdout.splitlines()
    one, other = [3, 5, "mbered 0 to 2"], [3, 6, "mbered 0 to 2"]
    assert lines == str([(1, 2, one, 1), (0, 2, one, 2), (1, 2, other, 3), (0, 2, other, 0)]), done.stderr
    assert null.startswith("comm: MPI.COMM_NULL, so this process is no rank of")
    assert inter.startswith("comm: an intercommunicator joins two groups")
    assert done.returncode == 0 and done.stderr == ""
