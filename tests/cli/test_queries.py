"""Queries on the command line have the same paths for any ranks and engine, and bad ones are refused."""

import gzip
from functools import partial
from typing import get_args

import h5py
import numpy as np
import pytest

import hpcsolve as package
from hpcsolve.algorithms.shortest_paths.engines import EngineName
from hpcsolve.errors import InputError
from hpcsolve.output.reader import read_result
from hpcsolve.problems.check_distances import no_path_of
from hpcsolve.problems.generate.graph import random_graph
from hpcsolve.wording import counted
from tests.cli.lines import error_line
from tests.cli.stored import solution
from tests.cli.wrong_solver import require_found_out
from tests.oracles import least_distances, smallest_predecessors

KEYS = {"n": 60, "degree": 5, "seed": 3, "parts": 2, "low": 0, "high": 4}
"""Keys of a graph with two connected components, many paths of the same length, and arcs of weight 0."""
TABLE = "{ generate = \"random-graph\", " + ", ".join(f"{key} = {value}" for key, value in KEYS.items()) + " }"
JOB = 'algorithm = "shortest-paths"\ninstance = {}\noutput = "out.h5"\n\n[shortest-paths]\nqueries = {}\n'
PAIRS = [(1, 5), (2, 7), (1, 59), (9, 9), (2, 7), (1, 2), (60, 2), (33, 51), (7, 2), (1, 3)]


@pytest.fixture
def job(tmp_path):
    """Return `job(pairs)`, which writes a job file and the file of queries that it names."""

    def write(pairs=PAIRS, instance=TABLE, more=""):
        (tmp_path / "job.toml").write_text(JOB.format(instance, '"pairs.txt"') + more)
        (tmp_path / "pairs.txt").write_text("# from, to\n" + "".join(f"{a} {b}\n" for a, b in pairs))
        return tmp_path

    return write


def expected(graph, pairs, cutoff=None):
    """Return the distance and the labels along the path of each pair by the textbook, None and [] if there is none."""
    answers = []
    for source, target in (np.array(pair) - 1 for pair in pairs):
        distance = least_distances(graph, [source])
        before, path = smallest_predecessors(graph, [source], distance), [int(target)]
        if distance[target] is None or (cutoff is not None and distance[target] > cutoff):
            answers.append((None, []))
            continue
        while path[0] != source:
            path.insert(0, before[path[0]])
        answers.append((distance[target], [vertex + 1 for vertex in path]))
    return answers


def answers_in(path):
    """Return the distances and paths in a result file in the form of `expected`."""
    result = package.load(path)
    distances = [None if np.isinf(value) else value for value in result.distance.tolist()]
    return [(distance, result.path(query)) for query, distance in enumerate(distances)]


@pytest.mark.slow
def test_one_to_four_ranks_give_the_same_paths(job, mpiexec, test_device):
    folder, found = job(), []
    for ranks in (1, 2, 3, 4):
        more = ("--device", test_device, "--set", "share-gpu=true", "--output", f"{ranks}.h5")
        done = mpiexec(ranks, "run", "job.toml", *more, cwd=folder, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "check:  PASS (no arc shortens a distance" in done.stdout
        assert "every path added up in numpy" in done.stdout
        found.append(solution(folder / f"{ranks}.h5"))
    assert all(other == found[0] for other in found)
    assert answers_in(folder / "1.h5") == expected(random_graph(**KEYS), PAIRS)
    contents = read_result(folder / "1.h5")
    columns = contents.groups["solution"]
    assert np.array_equal(np.stack([columns["source"].values, columns["target"].values], 1), np.array(PAIRS) - 1)
    distance = columns["distance"]
    assert (distance.dimension, distance.none) == ("query", no_path_of(distance.values.dtype))
    assert contents.tables == {} and contents.attributes["verified"]


@pytest.mark.parametrize("engine", get_args(EngineName))
def test_engines_give_the_same_paths(engine, job, run, hpcsolve):
    folder = job()
    assert run(folder, "--set", f"shortest-paths.engine={engine}").returncode == 0
    assert answers_in(folder / "out.h5") == expected(random_graph(**KEYS), PAIRS)
    assert hpcsolve("verify", "out.h5", cwd=folder).returncode == 0


@pytest.mark.parametrize("graph", [
    random_graph(50, seed=4, low=2**31, high=2**32 - 1), random_graph(50, seed=5, directed=True, low=0, high=2),
], ids=["long", "directed"])
def test_other_graphs(graph, test_device):
    pairs = np.random.default_rng(1).integers(1, 51, (40, 2))
    result = package.solve(graph, "shortest-paths", device=test_device, queries=pairs, delta=3)
    assert result.verified
    for query, (distance, path) in enumerate(expected(graph, pairs)):
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
        assert [result.path(0), result.path(1)] == [path for _, path in expected(graph, [(1, 5), (33, 51)])]
    assert repr(found[0]).startswith("<shortest-paths: 2 queries, ")
    for query in (-1, 2):
        with pytest.raises(InputError, match=f"there is no query {query}; they are numbered 0 to 1"):
            found[0].path(query)


def test_a_cutoff_hides_what_is_beyond(job, run, hpcsolve):
    folder = job(more="cutoff = 4\n")
    assert run(folder).returncode == 0
    right = expected(random_graph(**KEYS), PAIRS, cutoff=4)
    assert answers_in(folder / "out.h5") == right and right != expected(random_graph(**KEYS), PAIRS)
    assert hpcsolve("verify", "out.h5", cwd=folder).returncode == 0


def test_what_is_said(job, run, hpcsolve):
    folder = job()
    first = run(folder)
    lines = [line for line in first.stdout.splitlines() if line.startswith("query:")]
    right = expected(random_graph(**KEYS), PAIRS)
    assert lines == [
        f"query:  {a} -> {b}: " + ("not reached" if distance is None else f"{distance}, {counted(len(path), 'vertex')}")
        for (a, b), (distance, path) in zip(PAIRS, right, strict=True)
    ]
    assert "this job is done already" in run(folder).stdout
    many = job(PAIRS * 3)
    said = run(many, "--overwrite").stdout
    assert f"query:  30 queries, {3 * sum(bool(path) for _, path in right)} reached" in said


def test_a_file_of_queries_by_any_name_and_in_any_form_is_the_same_job(job, run):
    folder = job()
    assert run(folder).returncode == 0
    dimacs = f"c x\np aux sp p2p {len(PAIRS)}\n" + "".join(f"q {a} {b}\n" for a, b in PAIRS)
    (folder / "other.gz").write_bytes(gzip.compress(dimacs.encode()))
    assert "this job is done already" in run(folder, "--set", "shortest-paths.queries=other.gz").stdout
    job(PAIRS[1:])
    refused = run(folder)
    assert refused.returncode == 2 and "of another job or instance" in error_line(refused)


def test_a_result_is_a_job_as_long_as_its_queries_are_those(job, run, hpcsolve, test_device):
    folder = job()
    assert run(folder).returncode == 0
    (folder / "elsewhere").mkdir()
    again = ("run", folder / "out.h5", "--output", "again.h5", "--device", test_device)
    done = hpcsolve(*again, cwd=folder / "elsewhere")
    assert done.returncode == 0 and solution(folder / "elsewhere/again.h5") == solution(folder / "out.h5"), done.stderr
    assert hpcsolve("verify", "again.h5", cwd=folder / "elsewhere").returncode == 0
    job(PAIRS[1:])
    for command in (["verify", folder / "out.h5"], [*again, "--overwrite"]):
        done = hpcsolve(*command, cwd=folder)
        assert done.returncode == 2 and "pairs.txt: has other queries than the job" in error_line(done)
    (folder / "mine.txt").write_text("1 2\n")
    anew = hpcsolve(*again, "--overwrite", "--set", "shortest-paths.queries=mine.txt", cwd=folder)
    assert anew.returncode == 0 and "query:  1 -> 2" in anew.stdout, anew.stderr


def put(name, place, value):
    return lambda file: file[f"solution/{name}"].__setitem__(place, value)


def other_pairs(file):
    """Replace the answer to a query by the right answer to another one."""
    for name, ends in zip(("source", "target"), np.array(PAIRS).T - 1, strict=True):
        file[f"solution/{name}"][:] = np.r_[ends[:3], 7, ends[4:]]
    file["solution/path"][file["solution/offset"][3]] = 7


def shorter_file(file):
    kept = file["solution/offset"][:-1]
    del file["solution/offset"]
    file["solution/offset"] = kept


FAULTS = {
    "distance": (put("distance", 2, 1), "query 2, 1 -> 59, has a path of another length than its distance"),
    "source": (put("source", 1, 30), "/solution/source and target are not the queries of the job"),
    "target": (put("target", 1, 99), "/solution/source and target are not the queries of the job"),
    "pairs": (other_pairs, "/solution/source and target are not the queries of the job"),
    "path": (put("path", 0, 44), "query 0, 1 -> 5, has a path that begins or ends elsewhere"),
    "offset": (put("offset", 1, 0), "query 0, 1 -> 5, has a distance and no path, or a path and no distance"),
    "offsets": (shorter_file, "source, target and distance must have one entry for each query"),
    "none": (lambda file: file["solution/distance"].attrs.__setitem__("_FillValue", 7),
             "/solution/distance says that 7 stands for none"),
    "label": (lambda file: file["instance/label"].__setitem__(3, 77), "/instance/label is not that of the instance"),
    "distance of a table": (lambda file: file.__delitem__("solution/path"), "damaged: /solution is not a complete"),
}


@pytest.fixture(scope="module")
def solved(tmp_path_factory, hpcsolve, test_device):
    folder = tmp_path_factory.mktemp("solved")
    (folder / "job.toml").write_text(JOB.format(TABLE, [list(pair) for pair in PAIRS]))
    assert hpcsolve("run", "job.toml", "--device", test_device, cwd=folder, timeout=200).returncode == 0
    good = hpcsolve("verify", "out.h5", cwd=folder)
    assert good.returncode == 0 and "check:  PASS (every path added up, every distance and path" in good.stdout
    return (folder / "out.h5").read_bytes()


@pytest.mark.parametrize("name", FAULTS)
def test_verify_finds_a_wrong_answer(name, solved, tmp_path, hpcsolve):
    (tmp_path / "out.h5").write_bytes(solved)
    change, message = FAULTS[name]
    with h5py.File(tmp_path / "out.h5", "r+") as file:
        change(file)
    bad = hpcsolve("verify", "out.h5", cwd=tmp_path)
    assert bad.returncode in (1, 5) and message in bad.stdout + bad.stderr, bad.stdout + bad.stderr
    assert "Traceback" not in bad.stderr and "PASS" not in bad.stdout


def test_verify_without_the_file_of_queries_knows_what_it_held(job, run, hpcsolve):
    folder = job()
    assert run(folder).returncode == 0
    (folder / "pairs.txt").unlink()
    assert hpcsolve("verify", "out.h5", cwd=folder).returncode == 0
    with h5py.File(folder / "out.h5", "r+") as file:
        other_pairs(file)
    bad = hpcsolve("verify", "out.h5", cwd=folder)
    assert bad.returncode == 1 and "are not the queries of the job" in bad.stdout


@pytest.mark.parametrize(("queries", "more", "message"), [
    ('"pairs.txt"', "", "pairs.txt:3: random-60-seed3 has no vertex 61; its vertices are numbered 1 to 60"),
    ('"none.txt"', "", "none.txt: cannot be read: No such file"),
    ('"empty.txt"', "", "empty.txt: is empty"),
    ('"job.toml"', "", "job.toml:1: expected a source, a target"),
    ("[]", "", "shortest-paths.queries: the list is empty"),
    ("[[1, 61]]", "", "shortest-paths.queries: random-60-seed3 has no vertex 61"),
    ("[[1, 2, 3]]", "", "job.toml:6: shortest-paths.queries[0]: expected list of length 2, got 3"),
    ("[1, 2]", "", "job.toml:6: shortest-paths.queries[0]: expected list, got integer"),
    ("[[1, 2]]", "queries-sha256 = 'x'\n", "shortest-paths.queries-sha256: queries does not name a file"),
    ('"pairs.txt"', "queries-sha256 = 'x'\n", "pairs.txt: has other queries than the job"),
    ("3", "", "job.toml:6: shortest-paths.queries: expected"),
    *(("[[1, 2]]", f"{key}\n", f"shortest-paths.{key.split()[0]}: queries already name all sources and targets")
      for key in ("sources = [1]", "targets = [2]", "voronoi = true", "predecessors = true")),
])
def test_bad_queries_are_one_line(queries, more, message, tmp_path, run):
    (tmp_path / "job.toml").write_text(JOB.format(TABLE, queries) + more)
    (tmp_path / "pairs.txt").write_text("1 2\n\n2 61\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "out.h5").write_text("somebody's")
    done = run(tmp_path, "--overwrite")
    assert done.returncode == 2 and message in error_line(done), done.stdout + done.stderr
    assert (tmp_path / "out.h5").read_text() == "somebody's" and len(list(tmp_path.iterdir())) == 4


LIES = {  # what a wrong solver would do to its columns -> what finds it
    "answer.path[1] += 1": "rank 0: query 0, 1 -> 5, has a path",
    "answer.distance[-1] += 1": "rank 0: query 9, 1 -> 3, has a path of another length",
    "outcome = dataclasses.replace(outcome, rank={**outcome.rank, 'wrong': 2})": "2 entries contradict the arcs",
}


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_fails_its_check_is_exit_1(lie, ranks, job, start_ranks, test_device):
    folder = job([pair for pair in PAIRS if pair != (1, 59)] + [(1, 3)])
    require_found_out(partial(start_ranks, ranks), folder, test_device, "shortest_paths", lie, LIES[lie])
