"""Shortest paths on the command line have the same tables for any ranks, and bad questions are refused."""

import os
import sys
from functools import partial

import h5py
import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from hpcsolve.formats import write_coordinates, write_dimacs
from hpcsolve.output.reader import read_result
from hpcsolve.problems.generate.graph import grid_graph
from hpcsolve.problems.libraries import to_scipy
from tests.cli.lines import error_line
from tests.cli.stored import solution
from tests.cli.wrong_solver import require_found_out

JOB = 'algorithm = "shortest-paths"\ninstance = {}\noutput = "out.h5"\n\n[shortest-paths]\n{}\n'
GRID = '{ generate = "grid-graph", rows = 9, columns = 11 }'


@pytest.fixture
def job(tmp_path):
    """Return `job(table, instance)`, which writes a job file."""

    def write(table, instance=GRID):
        (tmp_path / "job.toml").write_text(JOB.format(instance, table))
        return tmp_path

    return write


def expected(graph, labels):
    return dijkstra(to_scipy(graph), indices=[graph.labels.tolist().index(label) for label in labels])


@pytest.mark.slow
def test_one_to_four_ranks_give_the_same_tables(job, mpiexec, test_device):
    folder = job("sources = [1, 99, 50, 2, 11, 98]\npredecessors = true")
    found = []
    for ranks in (1, 2, 3, 4):
        out = folder / f"{ranks}.h5"
        more = ("--device", test_device, "--set", "share-gpu=true", "--output", out)
        done = mpiexec(ranks, "run", "job.toml", *more, cwd=folder, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("check:  PASS (no arc shortens a distance") == 1
        found.append(solution(out))
        assert len(read_result(out).value("ranks", "rank")) == ranks
    assert all(other == found[0] for other in found)
    contents = read_result(folder / "1.h5")
    graph = grid_graph(9, 11)
    assert np.array_equal(contents.value("solution", "distance"), expected(graph, [1, 99, 50, 2, 11, 98]))
    assert contents.attributes["verified"] and np.isnan(contents.attributes["cost"])
    assert contents.tables["predecessor"].none == -1
    assert contents.value("instance", "kind") == "graph" and contents.value("instance", "vertices") == 99


@pytest.mark.slow
def test_more_ranks_than_sources(job, mpiexec, test_device):
    folder = job("sources = [5]")
    done = mpiexec(3, "run", "job.toml", "--device", test_device, "--set", "share-gpu=true", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    found = read_result(folder / "out.h5").value("solution", "distance")
    assert np.array_equal(found, expected(grid_graph(9, 11), [5]))


def test_a_finished_job_is_printed_again_and_a_result_is_a_job(job, run, hpcsolve, test_device):
    folder = job("sources = { random = 3 }\nvoronoi = true")
    first = run(folder)
    assert first.returncode == 0, first.stderr
    assert "hpcsolve 0.1.0: shortest-paths, grid-9x11, 99 vertices, 178 edges, undirected" in first.stdout
    assert "table:  nearest, 1 x 99, int32" in first.stdout
    again = run(folder)
    assert "this job is done already" in again.stdout
    chosen = [line for line in first.stdout.splitlines() if line.startswith(("source", "table"))]
    assert [line for line in again.stdout.splitlines() if line.startswith(("source", "table"))] == chosen
    done = hpcsolve("run", "out.h5", "--output", "b.h5", "--device", test_device, cwd=folder)
    assert done.returncode == 0 and solution(folder / "out.h5") == solution(folder / "b.h5"), done.stderr
    assert run(folder, "--set", "instance.seed=2").returncode == 2


@pytest.mark.parametrize(("table", "message"), [
    ("sources = [1, 100]", "shortest-paths.sources: grid-9x11 has no vertex 100; its vertices are numbered 1 to 99"),
    ("sources = [3, 3]", "shortest-paths.sources: vertex 3 is listed twice"),
    ("sources = []", "shortest-paths.sources: the list is empty"),
    ("sources = 'terminals'", "shortest-paths.sources: grid-9x11 has no terminals"),
    ("sources = { random = 100 }", "shortest-paths.sources: 100 random sources, but only 99 vertices"),
    ("", "the key shortest-paths.sources is missing"),
    ("sources = [1]\ncutof = 3", "job.toml:7: shortest-paths.cutof: unknown key; did you mean cutoff or cutoffs?"),
    ("sources = [1, 'x']", "shortest-paths.sources: grid-9x11 has no vertex 'x'"),
    ("sources = [1, 2.5]", "job.toml:6: shortest-paths.sources"),
    ("sources = [1]\n[stop]\nseconds = 3", "stop.seconds: shortest-paths has no partial answer"),
    ("sources = [1]\n[held-karp]\npath = 'open'", "held-karp: this table has no effect"),
])
def test_bad_questions_are_one_line(table, message, job, run):
    folder = job(table)
    done = run(folder)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in error_line(done)
    assert [path.name for path in folder.iterdir()] == ["job.toml"]


@pytest.mark.parametrize(("content", "message"), [
    ("NAME : x\nTYPE : TSP\nDIMENSION : 3\n", "g.gr:1: is a travelling salesman problem (TSPLIB), not a graph"),
    (None, "g.gr: cannot be read"),
])
def test_bad_graphs_are_one_line(content, message, job, run):
    folder = job("sources = [1]", '{ file = "g.gr" }')
    if content is not None:
        (folder / "g.gr").write_text(content)
    done = run(folder)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in error_line(done)


@pytest.mark.parametrize(("instance", "message"), [
    ('{ file = "g.gr", colour = 1 }', "no key 'colour' beside file"),
    ('{ file = "g.gr", directed = 1 }', "directed true or false"),
    ('{ file = "g.gr", coordinates = "none.co" }', "none.co: cannot be read"),
    ('{ n = 4 }', "a table needs generate"),
    ('{ generate = "uniform-tsp", n = 4 }', "unknown generator 'uniform-tsp'"),
])
def test_bad_instances_are_one_line(instance, message, job, run):
    folder = job("sources = [1]", instance)
    write_dimacs(grid_graph(2, 2), str(folder / "g.gr"))
    done = run(folder)
    assert done.returncode == 2 and message in error_line(done), done.stdout + done.stderr


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


def change(table, row, vertex, value):
    def apply(file):
        file[f"solution/{table}"][row, vertex] = value

    return apply


def wrong_source(file):
    file["solution/source"][:] = [9, 1]


def another_job(file):
    text = file["job/toml"].asstr()[()].replace("[1, 50]", "[1, 51]")
    file["job/toml"][()] = text


def missing_row(file):
    kept = file["solution/distance"][:1]
    del file["solution/distance"]
    file["solution/distance"] = kept


@pytest.mark.parametrize(("tamper", "message", "code"), [
    (change("distance", 1, 40, 3), "row 1: vertex", 1),
    (change("distance", 0, 98, 2**32 - 1), "row 0: vertex 99 has distance none", 1),
    (change("predecessor", 0, 5, 88), "row 0: vertex 6 at", 1),
    (change("predecessor", 1, 5, -1), "row 1: vertex 6 at", 1),
    (another_job, "/job/hash is not that of /job/toml", 5),
    (wrong_source, "/solution/source does not hold the sources of the job", 1),
    (missing_row, "/solution/distance has no dimension scale of length 1", 5),
])
def test_verify_finds_a_wrong_table(tamper, message, code, job, run, hpcsolve):
    folder = job("sources = [1, 50]\npredecessors = true")
    assert run(folder).returncode == 0
    good = hpcsolve("verify", "out.h5", cwd=folder)
    assert good.returncode == 0 and "check:  PASS (in every row" in good.stdout
    with h5py.File(folder / "out.h5", "r+") as file:
        tamper(file)
    bad = hpcsolve("verify", "out.h5", cwd=folder)
    assert bad.returncode == code and message in bad.stdout + bad.stderr, bad.stdout + bad.stderr


def test_verify_finds_a_predecessor_that_fits_and_is_not_the_smallest(job, run, hpcsolve):
    folder = job("sources = [1]\npredecessors = true", '{ generate = "grid-graph", rows = 3, columns = 3, high = 1 }')
    assert run(folder).returncode == 0
    with h5py.File(folder / "out.h5", "r+") as file:
        assert file["solution/predecessor"][0, 4] == 1
        file["solution/predecessor"][0, 4] = 3
    bad = hpcsolve("verify", "out.h5", cwd=folder)
    assert bad.returncode == 1
    assert "row 0: the smallest predecessor of vertex 5 is not the one in the result" in bad.stdout


def test_verify_finds_a_wrong_nearest_source(job, run, hpcsolve):
    """Two vertices joined by an arc of weight 0 both name the farther source, so that no arc contradicts them."""
    folder = job("sources = [1, 5]\nvoronoi = true", '"g.txt"')
    (folder / "g.txt").write_text("1 2 1\n2 3 0\n3 4 0\n4 5 9\n")
    assert run(folder).returncode == 0
    assert hpcsolve("verify", "out.h5", cwd=folder).returncode == 0
    with h5py.File(folder / "out.h5", "r+") as file:
        assert file["solution/nearest"][0].tolist() == [0, 0, 0, 0, 4]
        file["solution/nearest"][0, 2:4] = 4
    bad = hpcsolve("verify", "out.h5", cwd=folder)
    assert bad.returncode == 1 and "row 0: the nearest source of vertex 3 is not the one in the result" in bad.stdout


def test_targets_are_searched_again_to_verify_them(job, run, hpcsolve):
    folder = job("sources = [1, 50]\ntargets = [7, 3]\ncutoff = 300")
    assert run(folder).returncode == 0
    found = read_result(folder / "out.h5").value("solution", "distance")
    every = expected(grid_graph(9, 11), [1, 50])[:, [6, 2]]
    assert np.array_equal(found, np.where(every <= 300, every, 2**32 - 1))
    done = hpcsolve("verify", "out.h5", cwd=folder)
    assert done.returncode == 0 and "PASS (every distance found again by a search on the host)" in done.stdout
    for tamper, message in ((change("distance", 1, 0, 7), f"row 1: vertex 7 has distance 7, not {found[1, 0]}"),
                            (lambda file: file["solution/target"].__setitem__(1, 3), "target does not hold the")):
        with h5py.File(folder / "out.h5", "r+") as file:
            tamper(file)
        bad = hpcsolve("verify", "out.h5", cwd=folder)
        assert bad.returncode == 1 and message in bad.stdout, bad.stdout + bad.stderr


LIES = {  # what a wrong solver would do to its rows, and on which rank -> what finds it
    ("answer.distance.values[0, 40] = 0", "0"): "rank 0: row 0: vertex",
    ("answer.distance.values[-1, 40] += 1", "comm.size - 1"): "row 2: vertex 41 has distance",
    ("outcome = dataclasses.replace(outcome, rank={**outcome.rank, 'wrong': 2})", "0"): "2 entries contradict the arcs",
}


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_fails_its_check_is_exit_1(lie, ranks, job, start_ranks, test_device):
    folder, (line, rank) = job("sources = [1, 99, 50]"), lie
    require_found_out(partial(start_ranks, ranks), folder, test_device, "shortest_paths", line, LIES[lie], rank)


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
