"""The benchmark of Held-Karp prints its tables and chart, and fails if a solver finds a wrong optimum."""

import re
from math import comb

import pytest

from hpcsolve.algorithms.held_karp.lattice.split import Share, split_cities
from jobs.benchmarks.held_karp.instructions import Registers, work
from release.wheel import kinds_for_this_cpu
from tests.markdown import tables

RIGHT = """\
from functools import cache

def solve_flat(flat, n):
    @cache
    def back_from(city, left):
        return min((flat[city * n + j] + back_from(j, left - {j}) for j in left), default=flat[city * n])

    return [], back_from(0, frozenset(range(1, n)))
"""
WRONG_AT_10 = RIGHT.replace("return [], back_from(", "return [], (n == 10) + back_from(")


@pytest.fixture
def benchmark(program, tmp_path):
    """Return `benchmark(held_karp, *options)`: the program, with fake packages.

    `held_karp` has this source, and a python-tsp is not installed.
    """

    def start(held_karp, *options):
        (tmp_path / "held_karp.py").write_text(held_karp)
        (tmp_path / "python_tsp.py").write_text("raise ModuleNotFoundError(\"No module named 'python_tsp'\")\n")
        return program("held_karp", "--repeats", "1", *options, packages=[tmp_path])

    return start


def test_tables_and_chart(benchmark):
    done = benchmark(RIGHT, "--sizes", "8", "10")
    assert done.returncode == 0, done.stderr
    assert "All solvers found the same optima: 8 instances" in done.stdout
    ours = tables(done.stdout.split("## hpcsolve", 1)[1])[0]
    assert [row["n"] for row in ours] == ["8"] * 4 + ["10"] * 4
    assert {row["states"] for row in ours} == {"16-bit", "32-bit"}
    assert all(float(row["solve, CPU s"]) >= float(row["kernels, CPU s"]) > 0 for row in ours)
    rivals = tables(done.stdout.split("## Rivals", 1)[1])[0]
    assert len(rivals) == 2 * 5
    assert all(float(row["ratio, CPU"]) > 0 for row in rivals if row["solver"] != "hpcsolve")
    assert "python-tsp: skipped, No module named" in done.stdout
    assert re.search(r"^- vectors: (AVX-512|AVX2|128-bit)", done.stdout, re.MULTILINE)
    assert re.search(r"^- peak of a core, a CPU second: [\d.e+]+ min-adds", done.stdout, re.MULTILINE)
    assert re.search(r"^  10 \|.*h", done.stdout, re.MULTILINE), "the chart has a line for n = 10"


@pytest.mark.parametrize("cities", [12, 17, 25])
def test_the_counts_for_a_gpu_are_those_of_the_plan(cities):
    """With registers of one value every min-add is useful, and the empty set is left for the depot's sake."""
    split = split_cities(cities)
    from_depot = sum(comb(split.low, inner) * (cities - inner) for inner in range(split.low + 1))
    expected = Share(split, 1, 0, symmetric=False, itemsize=2).operations() + 2 * from_depot
    assert work(split, Registers(itemsize=2, lane_bits=0, together=1)).min_adds == expected


def test_a_wrong_optimum_fails(benchmark):
    done = benchmark(WRONG_AT_10, "--sizes", "8", "10")
    assert done.returncode == 1
    assert re.search(r"optima differ, n = 10, .*held-karp \(Rust\) \d+", done.stderr)
    assert "optima differ, n = 8" not in done.stderr
    assert "**The solvers found different optima**" in done.stdout


def test_a_picture(benchmark, tmp_path):
    pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
    done = benchmark(RIGHT, "--sizes", "8", "--chart", tmp_path / "times.svg")
    assert done.returncode == 0, done.stderr
    assert "<svg" in (tmp_path / "times.svg").read_text()


def test_builds_of_a_wheel_are_compared(program):
    """Each kind of CPU that a wheel has kernels for, and this CPU can stand for, has a column."""
    kinds = kinds_for_this_cpu()
    if not kinds:
        pytest.skip("this CPU can run no kernels of a wheel")
    done = program("held_karp.builds", "--sizes", "10", "--repeats", "2")
    assert done.returncode == 0, done.stderr
    row, = tables(done.stdout)[0]
    assert list(row) == ["n", *(f"{kind} / native" for kind in kinds)]
    assert all(float(value) > 0 for value in row.values())
