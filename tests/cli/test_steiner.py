"""Steiner trees on the command line and in Python: unusual files, modes, proofs, and the PACE format."""

import csv
import re
from functools import partial

import h5py
import numpy as np
import pytest

import hpcsolve as package
from hpcsolve.errors import InputError
from hpcsolve.formats.steinlib import write_steinlib
from hpcsolve.output.reader import read_result
from hpcsolve.problems.generate.graph import power_law_steiner, road_steiner
from hpcsolve.problems.graph import from_edges
from tests.cli.seen import error_line, write_job
from tests.oracles import least_distances
from tests.steiner_oracle import hypercube

ROAD = '{ generate = "road-steiner", n = 400, terminals = 30 }'


@pytest.fixture
def job(tmp_path):
    """Return `job(table, instance)`, which writes a job file."""
    return lambda table="", instance=ROAD: write_job(tmp_path, "steiner-kmb", instance, table)


def test_the_odd_files(steiner_dir, job, run, test_device):
    """They are solved and checked, or refused in one line, as their table expects."""
    odd = steiner_dir / "odd"
    with open(odd / "expected.csv", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 30
    for row in rows:
        if row["expect"] == "reject":
            with pytest.raises(InputError) as caught:
                package.solve(odd / row["name"], "steiner-kmb", device=test_device)
            assert "\n" not in str(caught.value)
            continue
        found = package.solve(odd / row["name"], "steiner-kmb", device=test_device)
        assert found.verified and found.lower_bound <= float(row["optimum"]) <= found.cost, row
        assert found.cost <= 2 * float(row["optimum"]), row
    folder = job("", f'"{odd / "disconnected_terminals.stp"}"')
    done = run(folder)
    assert done.returncode == 2, done.stdout + done.stderr
    parts = "2 components: one of 2 vertices with terminal 1; one of 2 vertices with terminal 3"
    assert parts in error_line(done) and not (folder / "out.h5").exists()


def test_a_result_is_printed_and_written_as_pace_wants_it(job, run, hpcsolve):
    folder = job()
    first = run(folder)
    assert first.returncode == 0, first.stderr
    assert "hpcsolve 0.1.0: steiner-kmb, road-steiner-400-seed1, 400 vertices, " in first.stdout
    line = re.search(r"cost:   (\d+), at most (1\.\d+) times the optimum: lower bound (\d+)", first.stdout)
    assert float(line[2]) == pytest.approx(int(line[1]) / int(line[3]), abs=1e-5)
    assert first.stdout.count("check:  PASS (a pruned tree") == 1
    contents = read_result(folder / "out.h5")
    assert contents.value("instance", "kind") == "steiner" and len(contents.value("instance", "terminal")) == 30
    assert contents.attributes["verified"] and contents.attributes["cost"] == contents.value("solution", "cost")
    shown = hpcsolve("tree", "out.h5", cwd=folder)
    result, graph = package.load(folder / "out.h5"), road_steiner(400, 30)
    lines = shown.stdout.splitlines()
    assert lines[0] == f"VALUE {result.cost}" == f"VALUE {line[1]}"
    assert [tuple(map(int, text.split())) for text in lines[1:]] == result.tree
    weights = {(a + 1, b + 1): w for a, b, w in zip(graph.tails(), graph.heads, graph.weights.tolist())}
    assert sum(weights[edge] for edge in result.tree) == result.cost
    assert hpcsolve("tree", "out.h5", "-o", "tree.txt", cwd=folder).returncode == 0
    assert (folder / "tree.txt").read_text() == shown.stdout
    assert "exists" in error_line(hpcsolve("tree", "out.h5", "-o", "tree.txt", cwd=folder))
    assert repr(result).startswith(f"<steiner-kmb: cost {result.cost}; 400 vertices")


@pytest.mark.parametrize("mode", ["fast", "kmb", "best"])
def test_an_estimate_says_what_it_knows(mode, job, hpcsolve, test_device):
    options = ("-n", "3", "--device", test_device, "--set", f"steiner-kmb.mode={mode}")
    done = hpcsolve("estimate", "job.toml", *options, cwd=job())
    assert done.returncode == 0, done.stderr
    lines = dict(line.split("  ", 1) for line in done.stdout.splitlines() if "  " in line)
    known = 'not known: mode "best" goes on until no vertex makes its tree lighter, and' if mode == "best" else "about "
    assert lines["time"].strip().startswith(known), lines["time"]
    assert lines["terminals"].strip() == "30" and lines["fits"].strip().startswith("yes")
    assert lines["ranks without work"].strip() == ("2" if mode == "fast" else "0")


def test_from_python_and_a_file_with_decimals(tmp_path, test_device):
    graph = from_edges([0, 1, 2, 0], [1, 2, 3, 3], [0.25, 0.5, 0.125, 9], terminals=[3, 0], labels=[5, 6, 7, 8])
    found = package.solve(graph, "steiner-kmb", device=test_device)
    assert (found.cost, found.tree, found.optimal, found.lower_bound) == (0.875, [(5, 6), (6, 7), (7, 8)], True, 0.875)
    write_steinlib(graph, str(tmp_path / "g.stp"))
    again = package.solve(tmp_path / "g.stp", "steiner-kmb", device=test_device)
    assert (again.cost, again.tree) == (0.875, [(1, 2), (2, 3), (3, 4)])


def test_generate_writes_what_run_reads(hpcsolve, job, run, tmp_path):
    done = hpcsolve("generate", "power-law-steiner", "--n", "50", "--set", "edges=120", "--set", "terminals=7",
                    "-o", "p.stp", cwd=tmp_path)
    assert done.returncode == 0 and "50 vertices" in done.stdout, done.stderr
    assert run(job("", '"p.stp"')).returncode == 0


KEYS = {"n": 150, "edges": 450, "terminals": 25, "low": 0, "high": 4}
"""Keys of a graph with many paths of equal length, and edges of weight 0."""
MODES = ("fast", "kmb", "best")
SQUARE = ((1, 2, 3), (2, 3, 1), (3, 4, 2), (4, 1, 5))


def steinlib(n, edges, terminals, key="E"):
    """Return the text of a SteinLib file. Vertices are numbered from 1."""
    return "\n".join([
        "33D32945 STP File, STP Format Version 1.0", "SECTION Graph", f"Nodes {n}", f"Edges {len(edges)}",
        *(f"{key} {a} {b} {weight}" for a, b, weight in edges), "END",
        "SECTION Terminals", f"Terminals {len(terminals)}", *(f"T {vertex}" for vertex in terminals), "END", "EOF\n",
    ])


def mixed(graph, rng, names):
    """Return the text of a graph's file with other names of vertices, and edges in another order and direction."""
    once = rng.permutation(np.flatnonzero(graph.tails() < graph.heads))
    ends = names[np.stack([graph.tails()[once], graph.heads[once]])]
    ends = np.where(rng.random(len(once)) < 0.5, ends, ends[::-1])
    return steinlib(graph.n, list(zip(*ends, graph.weights[once])), rng.permutation(names[graph.terminals]))


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_the_file_makes_no_difference(mode, tmp_path, test_device):
    graph, rng = power_law_steiner(**KEYS), np.random.default_rng(3)
    solve = partial(package.solve, algorithm="steiner-kmb", device=test_device, mode=mode)
    first, path, own = solve(graph), tmp_path / "mixed.stp", np.arange(1, graph.n + 1)
    ends = zip((graph.tails() + 1).tolist(), (graph.heads + 1).tolist())
    weights = dict(zip(ends, graph.weights.tolist()))
    for _ in range(3):
        path.write_text(mixed(graph, rng, own))
        again = solve(path)
        assert (again.tree, again.cost, again.lower_bound) == (first.tree, first.cost, first.lower_bound)
        names = rng.permutation(own)
        path.write_text(mixed(graph, rng, names))
        renamed = solve(path)
        for name in ("closure_mst", "closure_bottleneck"):
            assert renamed.contents.value("solution", name) == first.contents.value("solution", name)
        back = dict(zip(names.tolist(), own.tolist()))
        assert sum(weights[back[a], back[b]] for a, b in renamed.tree) == renamed.cost


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("terminals", "tree"), [
    ([3], []),
    ([1, 4], [(1, 4)]),
    ([1, 3], [(1, 2), (2, 3)]),
    ([4, 1, 3, 2], [(1, 2), (2, 3), (3, 4)]),
])
def test_one_two_and_all_vertices_are_terminals(terminals, tree, mode, tmp_path, test_device):
    (tmp_path / "g.stp").write_text(steinlib(4, SQUARE, terminals))
    found = package.solve(tmp_path / "g.stp", "steiner-kmb", device=test_device, mode=mode)
    weights = {(min(a, b), max(a, b)): weight for a, b, weight in SQUARE}
    assert (found.tree, found.cost) == (tree, sum(weights[edge] for edge in tree))
    assert found.verified and found.optimal and found.lower_bound == found.cost


def test_weights_beyond_32_bits_and_decimals_are_exact(test_device):
    big = from_edges([0, 1, 0], [1, 2, 2], [2**40 + 1, 2**41 + 3, 2**43], terminals=[0, 2])
    assert package.solve(big, "steiner-kmb", device=test_device).cost == 2**40 + 1 + 2**41 + 3
    small = from_edges([0, 1, 0], [1, 2, 2], [0.1, 0.2, 0.30000001], terminals=[0, 2])
    assert package.solve(small, "steiner-kmb", device=test_device).cost == 0.3


OPTIMUM = 1500


@pytest.fixture
def cube(job, tmp_path):
    """Return a folder with a job whose program has six sizes of sets."""
    write_steinlib(hypercube(5, 12, high=100), str(tmp_path / "cube.stp"))
    return job('mode = "exact"\nshakes = 0', '"cube.stp"')


@pytest.mark.slow
def test_a_second_search_of_a_proof_agrees(cube, run, hpcsolve):
    assert run(cube).returncode == 0
    plain = hpcsolve("verify", "out.h5", cwd=cube)
    assert plain.returncode == 0 and "hpcsolve verify --again searches again" in plain.stdout
    again = hpcsolve("verify", "--again", "out.h5", cwd=cube, timeout=200)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "a second search with other roots and without two of the reductions found no lighter tree" in again.stdout


def test_estimate_names_the_cap_and_a_stop_says_what_it_left(cube, hpcsolve):
    said = hpcsolve("estimate", "job.toml", cwd=cube)
    assert "up to [stop] memory, or else 80% of the free memory" in said.stdout and "cannot be foreseen" in said.stdout
    done = hpcsolve("run", "job.toml", "--device", "cpu", "--set", "stop.memory=100_000", cwd=cube)
    assert done.returncode == 0 and "stopped: memory: 100000 bytes reached at sets of" in done.stdout, done.stdout
    assert "\nsearch: " in done.stdout and "\nproof: " not in done.stdout, done.stdout
    with h5py.File(cube / "out.h5") as file:
        assert file["solution/optimal"][()] == 0 and file.attrs["complete"] == 1
        assert file["solution/lower_bound"][()] <= OPTIMUM <= file["solution/cost"][()]
    again = hpcsolve("verify", "--again", "out.h5", cwd=cube)
    assert again.returncode == 0 and "no second search was made" in again.stdout


def test_mode_exact_in_python(cube):
    found = package.solve(cube / "cube.stp", "steiner-kmb", mode="exact", device="cpu", threads=1)
    assert (found.cost, found.lower_bound, found.verified) == (OPTIMUM, OPTIMUM, True)


@pytest.mark.parametrize("terminals", [[3], [3, 0], [1, 0]], ids=["one", "two", "one place"])
def test_the_matrix_of_few_terminals(terminals, test_device):
    graph = from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [0, 2, 3, 4, 5], terminals=terminals)
    found = package.solve(graph, algorithm="steiner-kmb", device=test_device, mode="kmb", matrix=True)
    table = [[least_distances(graph, [a])[b] for b in terminals] for a in terminals]
    assert np.asarray(found.contents.value("solution", "matrix")).tolist() == table


TOWN_JOB = 'algorithm = "steiner-kmb"\ninstance = { file = "town.gr", directed = false, terminals = "houses.txt" }\n'
TOWN = "p sp 4 6\na 1 2 3\na 2 1 3\na 2 3 4\na 3 2 4\na 3 4 1\na 4 3 1\n"


def test_terminals_beside_a_graph(hpcsolve, tmp_path, test_device):
    """Their file is relative to the job, belongs to the job's identity, and is read again by verify."""
    folder, houses = tmp_path / "jobs", tmp_path / "jobs" / "houses.txt"
    folder.mkdir()
    for name, text in (("town.toml", TOWN_JOB), ("town.gr", TOWN), ("houses.txt", "# houses\n1\n4\n")):
        (folder / name).write_text(text)

    def run(*more):
        return hpcsolve("run", "jobs/town.toml", "--device", test_device, "--output", "town.h5", *more, cwd=tmp_path)

    assert run().returncode == 0
    assert package.load(tmp_path / "town.h5").tree == [(1, 2), (2, 3), (3, 4)]
    assert hpcsolve("verify", "town.h5", cwd=tmp_path).returncode == 0
    houses.write_text("1\n3\n")
    assert hpcsolve("verify", "town.h5", cwd=tmp_path).returncode == 2
    assert "another job or instance" in error_line(run())
    assert run("--set", "instance.terminals=[4, 2]", "--overwrite").returncode == 0
    assert package.load(tmp_path / "town.h5").cost == 5
    assert "terminals: town has no vertex 9" in error_line(run("--set", "instance.terminals=[2, 9]", "--overwrite"))
    assert "instance: terminals must be a list" in error_line(run("--set", "instance.terminals=9", "--overwrite"))
    houses.write_text("1\n9\n")
    assert "houses.txt:2: town has no vertex 9" in error_line(run("--overwrite"))
