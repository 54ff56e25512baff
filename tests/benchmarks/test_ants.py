"""The ant colonies' benchmark on a tiny instance, and its Ant System in double precision against the textbook."""

import os
import shutil
from functools import partial

import numpy as np
import pytest

from hpcsolve.problems.generate.tsp import uniform_tsp
from hpcsolve.problems.questions import check_tour
from jobs.benchmarks.ants.reference import RULES, DoubleColony, load_reference
from tests.conftest import REPOSITORY
from tests.markdown import tables

RIVAL = """\
def find_tour(distances, duration_seconds):
    return list(range(len(distances)))
"""
MISSING = "raise ModuleNotFoundError(\"No module named 'elkai'\")\n"
N, RADIUS = 40, 1000


@pytest.fixture
def benchmark(program, tmp_path):
    """Return `benchmark(*arguments)`: the program, with cities on a circle and fake rivals."""
    write_ring(tmp_path / "tsplib")
    (tmp_path / "fast_tsp.py").write_text(RIVAL)
    (tmp_path / "elkai.py").write_text(MISSING)
    return partial(program, "ants", packages=[tmp_path])


def write_ring(folder):
    """Write an instance whose optimal tour visits points on a circle in order, and the list of optima."""
    folder.mkdir()
    angles = 2 * np.pi * np.arange(N) / N
    points = np.rint(RADIUS * np.column_stack([np.cos(angles), np.sin(angles)])).astype(int)
    lines = [f"{i + 1} {x} {y}" for i, (x, y) in enumerate(points)]
    head = f"NAME: ring\nTYPE: TSP\nDIMENSION: {N}\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"
    (folder / "ring.tsp").write_text(head + "\n".join(lines) + "\nEOF\n")
    optimum = sum(int(np.hypot(*(points[i] - points[i - 1])) + 0.5) for i in range(N))
    (folder / "optima.csv").write_text(f"name,optimum,type\nring,{optimum},TSP EUC_2D\n")


def number(cell):
    return float(cell.split()[0])


def test_speed(benchmark):
    done = benchmark("speed", "--instances", "ring", "--strategies", "head-tail", "st-group")
    assert done.returncode == 0, done.stderr
    reference, literature, strategies = tables(done.stdout)
    assert reference[0]["instance"] == "ring" and number(reference[0]["hpcsolve, head-tail"]) > 0
    assert number(reference[0]["double precision, full candidate list"]) > 0
    assert literature[0]["Zhou et al., GTX 780"] == ""
    assert number(strategies[0]["st-group"]) > 0


def test_quality_keeps_its_runs(benchmark, tmp_path):
    arguments = ["quality", "--instances", "ring", "--seeds", "3", "--iterations", "8", "--runs", "runs.csv"]
    first, again = benchmark(*arguments), benchmark(*arguments)
    assert first.returncode == 0, first.stderr
    assert "ring, double precision, seed 3: " in first.stderr and again.stderr == ""
    assert tables(first.stdout) == tables(again.stdout)
    statistics, comparison = tables(first.stdout)
    assert [row["solver"] for row in statistics] == ["head-tail", "double precision"]
    assert all(number(row["above the optimum"]) < 20 for row in statistics)
    assert 0 < float(comparison[0]["Mann-Whitney p"]) <= 1
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 6


def test_lengths(benchmark):
    done = benchmark("lengths", "--instances", "ring", "--iterations", "5", "0")
    assert done.returncode == 0, done.stderr
    (rows,) = tables(done.stdout)
    assert [row["after iterations"] for row in rows] == ["0", "5"]
    assert all(abs(float(row["in standard errors"])) < 5 and row["tours of each"] == str(N) for row in rows)


def test_tours(benchmark, tmp_path):
    done = benchmark("tours", "--instances", "ring", "--seconds", "0.5", "2", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    ours, rivals = tables(done.stdout)
    assert ours[0]["2 s"] == "0.000" and ours[0]["by seed, at the end"] == "0.000, 0.000"
    assert [row["solver"] for row in rivals] == ["fast-tsp"]
    assert rivals[0]["runs"].startswith("0.000 (")
    assert "LKH (elkai): skipped, No module named 'elkai'" in done.stdout


def test_ranks(benchmark, mpiexec_path):
    done = benchmark("ranks", "--instances", "ring", "--iterations", "3", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    (walls,) = tables(done.stdout)
    assert [row["wall-clock s"] for row in walls] == ["search", "command"]
    assert all(float(row["efficiency"]) > 0 for row in walls)


def test_versions(benchmark):
    """This checkout beside itself: runs with the same seeds, which all find the optimum."""
    done = benchmark("versions", str(REPOSITORY), "--instances", "ring", "--seconds", "2", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    (rows,) = tables(done.stdout)
    assert [(row["gap"], row["optimal"], row["other: gap"]) for row in rows] == [("0.000 %", "2 of 2", "0.000 %")]


def test_charts(benchmark, tmp_path):
    pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
    for arguments in (["speed"], ["tours", "--seconds", "0.1", "--seeds", "1"]):
        done = benchmark(*arguments, "--instances", "ring", "--charts", "charts")
        assert done.returncode == 0, done.stderr
    drawn = sorted(path.name for path in (tmp_path / "charts").iterdir() if "<svg" in path.read_text())
    assert drawn == ["ant-speed.svg", "ant-tours-ring.svg"]


def test_an_instance_without_optimum(benchmark):
    done = benchmark("speed", "--instances", "rink")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "optima.csv: no optimum of rink" in done.stderr


def test_no_data(benchmark, tmp_path):
    shutil.rmtree(tmp_path / "tsplib")
    done = benchmark("speed")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("jobs.benchmarks.ants: HPCSOLVE_DATA")


CITIES = 90
DRAWS = {"candidates": 200_000, "textbook": 200_000, "head-tail": 2_000_000}  # head-tail draws in several ways


@pytest.fixture(scope="module")
def library():
    if shutil.which(os.environ.get("HPCSOLVE_CXX", "g++")) is None:
        pytest.skip("no C++ compiler")
    return load_reference()


@pytest.fixture(scope="module")
def colony(library):
    with DoubleColony(library, uniform_tsp(CITIES, seed=4), seed=1) as opened:
        opened.iterate("head-tail", 2)  # after more iterations hardly any far city is drawn
        yield opened


def nearest(city, count):
    return np.argsort(uniform_tsp(CITIES, seed=4).cost[city])[:count]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("share, head_gone", [(0, False), (0.5, False), (0.5, True), (0.9, False), (0.9, True)])
def test_next_city(colony, rule, share, head_gone):
    city = 7
    visited = np.random.default_rng(2).random(CITIES) < share
    visited[nearest(city, 35) if head_gone else []] = True
    visited[city] = True
    drawn, weight = colony.draws(rule, city, visited, DRAWS[rule])
    assert drawn.sum() == DRAWS[rule] and not drawn[visited].any()
    order = np.argsort(weight)[np.count_nonzero(visited) :]
    expected = weight[order] / weight.sum() * DRAWS[rule]
    rare = np.searchsorted(np.cumsum(expected), 10)  # rare cities are counted together, as the test requires
    starts = np.array([0, *range(rare + 1, len(order))])
    from scipy.stats import chisquare  # takes a second, which each process that collects the tests would spend

    assert chisquare(np.add.reduceat(drawn[order], starts), np.add.reduceat(expected, starts)).pvalue > 1e-3


def test_iterations(library):
    tsp = uniform_tsp(30, seed=1)
    found = {}
    for rule in RULES:
        with DoubleColony(library, tsp, seed=3) as colony:
            best = colony.iterate(rule, 60)
            assert check_tour(tsp, colony.tour()) == best[-1]
            assert (np.diff(best) <= 0).all() and best[-1] < best[0]
        found[rule] = best[-1]
    assert max(found.values()) < 1.06 * min(found.values())
