"""Steiner trees on the command line: unusual files, altered results, and the PACE format."""

import csv
import re

import h5py
import numpy as np
import pytest

import hpcsolve as package
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats import write_steinlib
from hpcsolve.output.reader import read_result
from hpcsolve.problems.generate.graph import road_steiner
from hpcsolve.problems.graph import from_edges
from hpcsolve.runner.verify import verify_file
from tests.cli.lines import error_line

JOB = 'algorithm = "steiner-kmb"\ninstance = {}\noutput = "out.h5"\n\n[steiner-kmb]\n{}\n'
ROAD = '{ generate = "road-steiner", n = 400, terminals = 30 }'


@pytest.fixture
def job(tmp_path):
    """Return `job(table, instance)`, which writes a job file."""

    def write(table="", instance=ROAD):
        (tmp_path / "job.toml").write_text(JOB.format(instance, table))
        return tmp_path

    return write


def solution(path):
    """Return types, shapes, bytes and attributes of all datasets in /solution and /prices."""
    with h5py.File(path) as file:
        return {
            d.name: (d.dtype.str, d.shape, d[()].tobytes(), d.attrs["units"], d.attrs["description"])
            for group in ("solution", "prices") for d in file[group].values()
        }


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


def test_a_result_is_printed_verified_solved_again_and_written_as_pace_wants_it(job, run, hpcsolve, test_device):
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
    again = run(folder)
    assert "this job is done already" in again.stdout and line[0] in again.stdout
    checked = hpcsolve("verify", "out.h5", cwd=folder)
    assert checked.returncode == 0 and "the prices prove the lower bound" in checked.stdout
    done = hpcsolve("run", "out.h5", "--output", "b.h5", "--device", test_device, cwd=folder)
    assert done.returncode == 0 and solution(folder / "out.h5") == solution(folder / "b.h5"), done.stderr
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


@pytest.mark.parametrize(("table", "instance", "message"), [
    ('mode = "beast"', ROAD, "job.toml:6: steiner-kmb.mode"),
    ("modes = 1", ROAD, "job.toml:6: steiner-kmb.modes: unknown key; did you mean mode?"),
    ("", '{ generate = "road-steiner", n = 4, terminals = 5 }', "terminals is 5; a graph of 4 vertices has at most 4"),
    ("", '{ generate = "road-graph", n = 4 }', "unknown generator 'road-graph'"),
    ("[stop]\nseconds = 3", ROAD, "stop.seconds: steiner-kmb has no"),
    ("", '"arcs.gr"', "a Steiner problem is undirected"),
    ("", '"edges.txt"', "has no terminals"),
])
def test_bad_questions_are_one_line(table, instance, message, job, run):
    folder = job(table, instance)
    (folder / "arcs.gr").write_text("p sp 2 1\na 1 2 3\n")
    (folder / "edges.txt").write_text("1 2 3\n")
    done = run(folder)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in error_line(done)
    assert not (folder / "out.h5").exists()


def put(name, change):
    def alter(file):
        file[name][...] = change(file[name][...])

    return alter


def said(file):
    file.attrs["cost"] = 1


def better(file):
    bound = file["solution/lower_bound"][()] + 1
    file["solution/lower_bound"][()] = bound
    file["solution/ratio"][()] = file["solution/cost"][()] / bound


ALTERED = {
    "an edge's end": (put("solution/u", lambda u: np.where(np.arange(len(u)) == 3, 0, u)), "no edge"),
    "an edge's weight": (put("solution/weight", lambda w: w + (np.arange(len(w)) == 2)), "weighs"),
    "the cost": (put("solution/cost", lambda c: c + 1), "the attribute cost is"),
    "the attribute": (said, "the attribute cost is 1"),
    "the bound": (put("solution/lower_bound", lambda b: b + 1), "ratio is"),
    "the bound and the ratio": (better, "the prices prove"),
    "the closure": (put("solution/closure_mst", lambda c: c + 1), "closure_mst is"),
    "the ratio": (put("solution/ratio", lambda r: r - 0.01), "ratio is"),
    "a price": (put("prices/price", lambda p: np.where(np.arange(len(p)) == 0, p - 1, p)), "the prices prove"),
    "a high price": (put("prices/price", lambda p: p + 10**9), "a set that holds the root"),
    "no prices": (lambda file: file.__delitem__("prices"), "/prices is missing"),
    "no tree": (lambda file: file.__delitem__("solution/u"), "/solution is not a complete answer"),
    "texts": (lambda file: (file.__delitem__("prices/root"), put_text(file)), "/prices/root is not an integer"),
}


def put_text(file):
    file["prices/root"] = "x"
    file["prices/root"].attrs.update({"units": "1", "description": "x"})


@pytest.mark.slow
def test_altered_results_fail(job, run, hpcsolve):
    folder = job()
    assert run(folder).returncode == 0
    whole = (folder / "out.h5").read_bytes()
    for name, (alter, message) in ALTERED.items():
        (folder / "bad.h5").write_bytes(whole)
        with h5py.File(folder / "bad.h5", "r+") as file:
            alter(file)
        try:
            found = verify_file(str(folder / "bad.h5"))[1]
            assert found.passed is False and message in found.reason, (name, found)
        except DamagedFileError as error:
            assert message in str(error), (name, error)
    bad = hpcsolve("verify", "bad.h5", cwd=folder)
    assert bad.returncode == 5 and message in error_line(bad)


def test_generate_writes_what_run_reads(hpcsolve, tmp_path, test_device):
    done = hpcsolve("generate", "power-law-steiner", "--n", "50", "--set", "edges=120", "--set", "terminals=7",
                    "-o", "p.stp", cwd=tmp_path)
    assert done.returncode == 0 and "50 vertices" in done.stdout, done.stderr
    (tmp_path / "job.toml").write_text(JOB.format('"p.stp"', ""))
    assert hpcsolve("run", "job.toml", "--device", test_device, cwd=tmp_path).returncode == 0
