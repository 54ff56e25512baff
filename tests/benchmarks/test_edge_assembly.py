"""The benchmark of edge assembly on tiny instances: what it launches and how, CPU seconds, tables, and wrong tours."""

import json
import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from hpcsolve.errors import EnvironmentFault
from hpcsolve.formats import read
from hpcsolve.problems.questions import check_tour
from jobs.benchmarks.common.answers import WrongAnswerError
from jobs.benchmarks.edge_assembly import bounds
from jobs.benchmarks.edge_assembly.instances import instance_named
from jobs.benchmarks.edge_assembly.processes import Watched, watch
from jobs.benchmarks.edge_assembly.runs import Ask, Run, Series
from jobs.benchmarks.edge_assembly.solvers import SOLVERS, GaEax, Hpcsolve
from jobs.benchmarks.edge_assembly.tables import Found, compared, gaps
from tests.benchmarks.test_ants import N, write_ring
from tests.markdown import tables

FAST_TSP = """\
import json, pathlib, sys
def find_tour(matrix, duration_seconds, max_threads):
    seen = pathlib.Path({log!r})
    seen.write_text(json.dumps([len(matrix), str(matrix.dtype), int(matrix[0, 1]), duration_seconds, max_threads]))
    order, left = [0], set(range(1, len(matrix)))
    while left:
        order.append(min(left, key=lambda city: matrix[order[-1], city]))
        left.remove(order[-1])
    return order
"""
ELKAI = """\
import pathlib
def solve_problem(parameters, problem):
    pathlib.Path({log!r}).write_text(parameters)
    assert problem.startswith("NAME")
    n = int(problem.split("DIMENSION:")[1].split()[0])
    print("* 1: Cost = {cost}, Gap = 0.5 %, Time = 0.02 sec.", flush=True)
    return list(range(1, n + 1))
"""
EAX = r"""
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>
#include <cmath>
int main(int count, char **words) {
  std::ifstream file(words[5]);
  std::string word;
  int n = 0;
  while (file >> word && word != "NODE_COORD_SECTION")
    if (word == "DIMENSION") file >> word >> n;
  std::vector<double> x(n), y(n);
  for (int i = 0; i < n; i++) file >> word >> x[i] >> y[i];
  auto far = [&](int a, int b) { return std::hypot(x[a] - x[b], y[a] - y[b]); };
  std::vector<int> order{0};
  std::vector<bool> seen(n);
  seen[0] = true;
  int cost = 0;
  for (int i = 1; i <= n; i++) {  // the nearest unvisited city, which is beside on a circle
    int last = order.back(), next = i < n ? -1 : 0;
    for (int j = 0; i < n && j < n; j++)
      if (!seen[j] && (next < 0 || far(j, last) < far(next, last))) next = j;
    cost += int(far(next, last) + 0.5);
    if (i < n) order.push_back(next), seen[next] = true;
  }
  std::printf("0: %d %d.000000\n1: %d %d.500000\n", cost + 5, cost + 9, cost, cost);
  std::printf("n = 0 val = %d Gen = 1 Time = 0 0\n", cost);
  std::ofstream log("words.txt");
  for (int i = 0; i < count; i++) log << words[i] << "\n";
  std::FILE *best = std::fopen((std::string(words[2]) + "_BestSol").c_str(), "a");
  std::fprintf(best, "%d %d\n", n, cost);
  for (int city : order) std::fprintf(best, "%d ", city + 1);
  std::fprintf(best, "\n");
  std::fclose(best);
  std::fflush(stdout);
  usleep(300000);  // while its memory is looked at
}
"""


@pytest.fixture
def ring(tmp_path, monkeypatch):
    """Return the instance whose cities stand on a circle in order, with its optimum."""
    write_ring(tmp_path / "tsplib")
    monkeypatch.setenv("HPCSOLVE_DATA", str(tmp_path))
    return instance_named("ring", tmp_path)


@pytest.fixture
def rivals(tmp_path, ring):
    """Write stand-ins for all rivals into a folder: each notes how it was started, and takes the nearest city next."""
    (tmp_path / "fast_tsp.py").write_text(FAST_TSP.format(log=str(tmp_path / "fast.json")))
    (tmp_path / "elkai").mkdir()
    (tmp_path / "elkai" / "__init__.py").write_text("")
    (tmp_path / "elkai" / "_elkai.py").write_text(ELKAI.format(log=str(tmp_path / "lkh.txt"), cost=ring.optimum))
    folder = tmp_path / "ml4co_kit" / "solver" / "routing" / "lib" / "ga_eax" / "c_ga_eax_normal"
    folder.mkdir(parents=True)
    (folder / "main.cpp").write_text(EAX)
    (tmp_path / "ml4co_kit" / "__init__.py").write_text("raise ImportError('this needs torch')\n")
    return tmp_path


@pytest.fixture
def benchmark(program, rivals):
    """Return `benchmark(*arguments)`: the program with the stand-ins."""
    return partial(program, "edge_assembly", packages=[rivals])


def test_what_is_launched_of_hpcsolve(ring, tmp_path):
    words = Hpcsolve().command(Ask("ring", "hpcsolve", 4, 2.5), ring, tmp_path / "out.h5")
    assert words[:4] == ["-m", "jobs.benchmarks.edge_assembly.own", "solve", str(ring.path)]
    options = set(pairwise(words))
    for pair in (("--algorithm", "edge-assembly"), ("--seconds", "2.5"), ("--device", "cpu"), ("--set", "threads=1"),
                 ("--set", "seed=4"), ("--set", "edge-assembly.bound=false"), ("--set", f"stop.target={ring.optimum}")):
        assert pair in options


def test_hpcsolve(benchmark, ring):
    done = benchmark("files", "--instances", "ring", "--solvers", "hpcsolve", "--seconds", "1", "2", "--seeds", "1")
    assert done.returncode == 0, done.stderr
    (row,) = tables(done.stdout)[0]
    assert (row["solver"], row["best run"], row["reached"]) == ("hpcsolve", "0.000", "1/1 in 1 s")
    assert 0 < float(row["median s"]) < 60 and float(row["peak MiB"]) > 20
    assert done.stderr.count("ring, hpcsolve, seed 1, limit ") == 2


def test_asymmetric(benchmark):
    done = benchmark("asymmetric", "--instances", "asymmetric:8", "--solvers", "hpcsolve", "fast-tsp", "--seconds", "1",
                     "--seeds", "1")
    assert done.returncode == 0, done.stderr
    (row,) = tables(done.stdout)[0]
    assert (row["solver"], row["best run"], row["reached"]) == ("hpcsolve", "0.000", "1/1 in 1 s")
    assert "- fast-tsp is left out for asymmetric:8: it takes symmetric costs only" in done.stdout
    assert "- asymmetric:8: gaps are counted from the least cost of all runs, " in done.stdout


def test_ranks(benchmark, mpiexec_path):
    done = benchmark("ranks", "--instances", "ring", "--population", "4", "--iterations", "2", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    (walls,) = tables(done.stdout)
    assert [row["wall-clock s"] for row in walls] == ["search, 2 ranks", "search, 2 threads", "command, 2 ranks",
                                                      "command, 2 threads"]
    assert all(float(row["efficiency"]) > 0 and float(row["times as fast"]) > 0 for row in walls)


def test_bounds(benchmark, ring):
    done = benchmark("files", "--bound", "--instances", "ring", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    (row,) = tables(done.stdout)[0]
    assert row["instance"] == "ring" and row["cities"] == str(N) and 0 < int(row["bound"]) <= ring.optimum
    assert float(row["below the optimum, %"]) < 1 and 0 < float(row["CPU s"]) < float(row["whole process, CPU s"])


def test_memory(benchmark):
    done = benchmark("--memory", "--instances", "ring")
    assert done.returncode == 0, done.stderr
    without, with_bound = tables(done.stdout)[0]
    assert (without["bound"], with_bound["bound"]) == ("without", "with") and without["instance"] == "ring"
    for row in (without, with_bound):
        assert float(row["peak MiB"]) > 20 < float(row["estimate MiB"]) and 0.5 < float(row["ratio"]) < 2


def test_a_bound_above_the_optimum_is_refused(ring, monkeypatch):
    high = Watched(((0.5, f"bound {ring.optimum + 1} 0.1 0.2"),), 0.6, 50.0, False)
    monkeypatch.setattr(bounds, "watch", lambda command, seconds: high)
    with pytest.raises(WrongAnswerError, match="is above the optimum"):
        bounds.table([ring], 1)


def test_rivals(benchmark, rivals, ring):
    done = benchmark("files", "--instances", "ring", "--solvers", "fast-tsp", "LKH", "GA-EAX", "--seconds", "0.5", "2",
                     "--seeds", "2", "--patience", "7", "--runs", "runs.jsonl")
    assert done.returncode == 0, done.stderr
    rows = {row["solver"]: row for row in tables(done.stdout)[0]}
    assert list(rows) == ["fast-tsp", "LKH", "GA-EAX"]
    assert all((row["best run"], row["reached"].split()[0]) == ("0.000", "2/2") for row in rows.values())
    assert rows["LKH"]["2 s"] == rows["GA-EAX"]["2 s"] == "0.000" and rows["fast-tsp"]["2 s"].startswith("0.000 (")
    assert all(float(row["median s"]) > 0 and float(row["peak MiB"]) > 1 for row in rows.values())
    n, kind, cost, seconds, threads = json.loads((rivals / "fast.json").read_text())
    assert (n, kind, threads) == (N, "uint16", 1) and seconds > 0
    first, second = ring.in_order(2, rivals)[1][:2]
    assert cost == ring.tsp.between(first, second)
    keys = dict(line.split(" = ") for line in (rivals / "lkh.txt").read_text().splitlines())
    assert keys == {"RUNS": "1", "TRACE_LEVEL": "1", "SEED": "2", "TOTAL_TIME_LIMIT": "7", "OPTIMUM": str(ring.optimum),
                    "STOP_AT_OPTIMUM": "YES", "PROBLEM_FILE": ":stdin:"}
    kept = [json.loads(line) for line in (rivals / "runs.jsonl").read_text().splitlines()]
    assert [(one["ask"]["solver"], one["ask"]["seed"], one["ask"]["limit"]) for one in kept] == [
        (solver, seed, limit) for seed in (1, 2)
        for solver, limit in (("fast-tsp", 0.5), ("fast-tsp", 2), ("LKH", 7), ("GA-EAX", 7))]
    assert all(one["cost"] == ring.optimum and one["checked"] and one["curve"][-1][0] <= one["cpu"] for one in kept)


def test_kept_runs_are_not_repeated(benchmark, rivals):
    arguments = ["files", "--instances", "ring", "--solvers", "LKH", "--seeds", "1", "--runs", "runs.jsonl"]
    first = benchmark(*arguments)
    (rivals / "lkh.txt").unlink()
    again = benchmark(*arguments)
    assert first.returncode == 0 and tables(first.stdout) == tables(again.stdout)
    assert "ring, LKH, seed 1, limit 300 s: " in first.stderr and again.stderr == ""
    assert not (rivals / "lkh.txt").exists()


def test_missing_rivals_are_said(program, ring, tmp_path):
    missing = tmp_path / "sitecustomize.py"
    missing.write_text("import importlib.util as util\nfound = util.find_spec\n"
                       "util.find_spec = lambda name, *more: None if name in ('fast_tsp', 'elkai', 'ml4co_kit')"
                       " else found(name, *more)\n")
    done = program("edge_assembly", "files", "--instances", "ring", "--solvers", "fast-tsp", "LKH", "GA-EAX",
                   packages=[tmp_path])
    assert done.returncode == 0, done.stderr
    for line in ("fast-tsp is left out: fast-tsp is not installed: pip install fast-tsp",
                 "LKH is left out: elkai is not installed: pip install elkai",
                 "GA-EAX is left out: ml4co-kit is not installed: pip install --no-deps ml4co-kit"):
        assert f"- {line}\n" in done.stdout


def test_what_rivals_refuse(tmp_path):
    few, many = (instance_named(name, tmp_path) for name in ("asymmetric:5", "uniform:20001"))
    assert [bool(kind().refusal(few)) for kind in SOLVERS] == [False, True, False, True]
    assert [bool(kind().refusal(many)) for kind in SOLVERS] == [False, True, True, True]


def test_ga_eax_is_told_the_order_of_the_seed(rivals, ring, monkeypatch):
    monkeypatch.syspath_prepend(str(rivals))
    run = GaEax().run(Ask("ring", "GA-EAX", 3, 5.0), ring, rivals)
    assert run.checked and run.cost == ring.optimum
    assert [cost for _, cost in run.curve] == [ring.optimum + 5, ring.optimum]
    assert (rivals / "words.txt").read_text().split()[1:] == ["1", "eax", "100", "30", "ring-order-3.tsp", "1"]
    other = read(rivals / "ring-order-3.tsp").problem.coordinates
    order = ring.in_order(3, rivals)[1]
    assert sorted(order) == list(range(N)) and not np.array_equal(order, np.arange(N))
    np.testing.assert_array_equal(other, ring.tsp.coordinates[order])


def test_a_wrong_cost_is_refused(benchmark, rivals, ring):
    wrong = rivals / "elkai" / "_elkai.py"
    wrong.write_text(ELKAI.format(log=str(rivals / "lkh.txt"), cost=ring.optimum + 1))
    done = benchmark("files", "--instances", "ring", "--solvers", "LKH", "--seeds", "1")
    assert done.returncode == 1
    assert f"LKH, ring: its tour costs {ring.optimum}, and it says {ring.optimum + 1}" in done.stderr


def test_less_than_the_optimum_is_refused(ring, tmp_path, rivals, monkeypatch):
    monkeypatch.syspath_prepend(str(rivals))
    with pytest.raises(WrongAnswerError, match="is less than the optimum"):
        GaEax().run(Ask("ring", "GA-EAX", 1, 5.0), replace(ring, optimum=ring.optimum + 1), tmp_path)


SPIN = """\
import subprocess, sys, time
def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""


def test_cpu_seconds_and_memory_of_a_process_and_its_children():
    program = SPIN + """
print("first", flush=True)
spin(0.3)
held = bytearray(100 << 20)
print("second", flush=True)
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.4: pass"])
"""
    watched = watch([sys.executable, "-c", program], 60)
    (first, one), (second, two) = watched.lines
    assert (one, two, watched.stopped) == ("first", "second", False)
    assert 0.3 <= second - first < 2 and watched.cpu >= second + 0.4
    assert 100 < watched.peak < 400


def test_a_process_is_ended_at_its_limit():
    watched = watch([sys.executable, "-c", SPIN + "print('begun', flush=True)\nspin(60)"], 0.5)
    assert watched.stopped and [text for _, text in watched.lines] == ["begun"] and 0.5 <= watched.cpu < 10


def test_a_process_that_fails():
    with pytest.raises(EnvironmentFault, match="ended with exit code 3: no luck"):
        watch([sys.executable, "-c", "import sys\nprint('no luck', file=sys.stderr)\nsys.exit(3)"], 60)
    with pytest.raises(EnvironmentFault, match="nowhere cannot be started"):
        watch(["/nowhere"], 1)


def run_of(solver, seed, limit, curve):
    """Return a run of the instance `some` with this curve."""
    return Run(Ask("some", solver, seed, limit), curve, curve[-1][1], True, curve[-1][0], 10.0)


def test_the_tables(ring):
    """Gaps, medians and shares, computed by hand."""
    instance = replace(ring, name="some", optimum=1000, n=2000)
    runs = {"hpcsolve": [run_of("hpcsolve", 1, 1, ((0.5, 1100), (0.9, 1010))),
                         run_of("hpcsolve", 2, 1, ((0.6, 1030), (1.1, 1000))),
                         run_of("hpcsolve", 1, 3, ((0.5, 1010), (2.0, 1000))),
                         run_of("hpcsolve", 2, 3, ((0.5, 1020), (2.4, 1000)))],
            "fast-tsp": [run_of("fast-tsp", seed, limit, ((limit + 0.1, 1000 + 40 // limit),))
                         for limit in (1, 3) for seed in (1, 2)],
            "LKH": [run_of("LKH", 1, 300, ((2.0, 1005), (22.0, 1000))), run_of("LKH", 2, 300, ((4.0, 1002),))],
            "GA-EAX": [run_of("GA-EAX", seed, 300, ((2.5, 1008), (8.8, 1000))) for seed in (1, 2)]}
    found = Found(instance, (1.0, 3.0), runs, frozenset({"hpcsolve", "fast-tsp"}))
    rows = {row["solver"]: row for row in tables("\n".join(gaps([found])))[0]}
    assert (rows["hpcsolve"]["1 s"], rows["hpcsolve"]["3 s"]) == ("0.500 (1.0)", "0.000 (2.2)")
    assert (rows["hpcsolve"]["reached"], rows["hpcsolve"]["median s"]) == ("2/2 in 3 s", "2.2")
    assert (rows["fast-tsp"]["1 s"], rows["fast-tsp"]["3 s"]) == ("4.000 (1.1)", "1.300 (3.1)")
    assert (rows["LKH"]["1 s"], rows["LKH"]["3 s"], rows["LKH"]["reached"]) == ("-", "-", "1/2")
    assert rows["LKH"]["median s"] == "-" and rows["GA-EAX"]["3 s"] == "0.800"
    text = compared([found])
    (ratios,) = tables("\n".join(text))
    assert ratios == [{"instance": "some", "hpcsolve": "2.2", "LKH": "-", "GA-EAX": "8.8 (4)"}]
    assert text[-1].endswith("after 3 s: hpcsolve 0.000, fast-tsp 1.300.")


def test_runs_come_back_from_their_file(tmp_path):
    run = run_of("LKH", 1, 300.0, ((2.0, 1005), (22.0, 1000)))
    Series(str(tmp_path / "runs.jsonl")).add(run)
    assert Series(str(tmp_path / "runs.jsonl")).find(run.ask) == run
    assert Series(None).find(run.ask) is None


@pytest.mark.parametrize("name", ["uniform:7", "clustered:300", "asymmetric:6"])
def test_generated_instances(name, tmp_path):
    instance = instance_named(name, tmp_path)
    tsp = instance.tsp
    assert tsp.n == instance.n == int(name.split(":")[1]) and tsp.symmetric == instance.symmetric
    assert instance.optimum is None and check_tour(tsp, np.arange(tsp.n)) > 0


def test_the_chart(benchmark, rivals):
    pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
    done = benchmark("files", "--instances", "ring", "--solvers", "LKH", "GA-EAX", "--seeds", "1", "--charts", "charts")
    assert done.returncode == 0, done.stderr
    (chart,) = (rivals / "charts").iterdir()
    assert chart.name == "edge-assembly-time-to-target.svg" and "<svg" in chart.read_text()


def test_no_such_instance_or_part(benchmark):
    assert "there is no instance moon" in benchmark("--instances", "moon").stderr
    assert "there is no part trees" in benchmark("trees").stderr
