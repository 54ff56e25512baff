"""Every command of the Steiner benchmark prints its tables, limits its rivals and finds wrong answers."""

import os
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from hpcsolve.algorithms.steiner_kmb import Parameters
from hpcsolve.algorithms.steiner_kmb.kmb import Pairs
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.generate.graph import power_law_steiner
from hpcsolve.problems.steiner import closure_spanning_tree
from jobs.benchmarks.common.answers import WrongAnswerError
from jobs.benchmarks.steiner import searches, variants, with_scipy
from jobs.benchmarks.steiner.instances import Instance, read_instance, weight_of
from jobs.benchmarks.steiner.rivals import all_rivals, scipy_rivals
from jobs.benchmarks.steiner.runs import Timing, own_run, rival_run
from jobs.benchmarks.steiner.speed import KMB, engines
from tests.markdown import tables

STEINLIB = """\
33D32945 STP File, STP Format Version 1.0
SECTION Graph
Nodes 4
Edges 6
E 1 4 3
E 2 4 3
E 3 4 3
E 1 2 5
E 2 3 5
E 1 3 5
END
SECTION Terminals
Terminals 3
T 1
T 2
T 3
END
EOF
"""
"""Kou, Markowsky and Berman's tree weighs 10, the optimal one 9."""


@pytest.fixture
def data(tmp_path):
    """`data(optimum, closure_mst)`: a folder with one file and with tables that claim these values."""

    def write(optimum=9, closure_mst=10):
        folder = tmp_path / "data" / "steiner"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pace.stp").write_text(STEINLIB)
        (folder / "optima.csv").write_text(f"name,vertices,best_known,source\npace.stp,4,{optimum},Here 1 = star\n")
        (folder / "reference.csv").write_text(f"name,closure_mst,closure_bottleneck\npace.stp,{closure_mst},5\n")
        return folder.parent

    return write


@pytest.fixture
def benchmark(program, repository):
    """Return `benchmark(*arguments, data=...)`: the program, with its instances in this folder."""
    return partial(program, "steiner", data=repository)


def test_rivals(benchmark, data):
    done = benchmark("rivals", "--instances", "star", "road:90:8", "--repeats", "1", "--every", data=data())
    assert done.returncode == 0, done.stderr
    star, road = tables(done.stdout)
    solvers = {row["star: n 4, m 6, k 3"]: row for row in star}
    assert solvers["hpcsolve, best"]["weight"] == "9" and solvers["hpcsolve, best"]["weight / optimum"] == "1.0000"
    assert float(solvers[KMB]["/ kmb"]) == 1
    assert all(float(row["seconds"]) > 0 and row["weight"] in ("9", "10") for row in star)
    assert list(solvers) == [row[next(iter(row))] for row in road]
    assert {row["weight / optimum"] for row in road} == {"-"}
    assert "Mode fast on all 1 files: at most 0." in done.stdout
    _, skipped = all_rivals()
    assert all(line in done.stdout for line in skipped)


def test_quality_finds_what_contradicts_the_tables(benchmark, data, mpiexec_path):
    done = benchmark("quality", "--modes", "best", "kmb", data=data())
    assert done.returncode == 0, done.stderr
    rows, means = tables(done.stdout)
    assert (rows[0]["mode"], rows[0]["weight"], rows[0]["weight / optimum"]) == ("best", "9", "1.0000")
    assert [row["mode"] for row in means] == ["best", "kmb"] and "All trees and bounds are valid" in done.stdout
    for claimed, message in (((9, 11), "closure_bottleneck are (10, 5), in the reference (11, 5)"),
                             ((10, 10), "a tree weighs 9, less than the optimum 10"),
                             ((8, 10), "lower_bound is 9, more than 8")):
        done = benchmark("quality", "--modes", "best", data=data(*claimed))
        assert done.returncode == 1 and message in done.stdout, done.stdout + done.stderr


def test_ranks(benchmark, mpiexec_path):
    done = benchmark("ranks", "--instances", "road:200:9", "--repeats", "1", "--modes", "kmb")
    assert done.returncode == 0, done.stderr
    walls = tables(done.stdout)
    assert [len(table) for table in walls] == [3, 3]
    assert all(float(row["efficiency"]) > 0 for table in walls for row in table)


@pytest.mark.parametrize(("name", "hint"), [("lin37", "HPCSOLVE_DATA must name"), ("road:5", "road:20000:500")])
def test_instances_that_are_not_there(benchmark, name, hint):
    done = benchmark("rivals", "--instances", name)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and hint in done.stderr


@pytest.fixture(scope="module")
def small():
    """An instance with edges of weight 0, which scipy may take for missing edges."""
    graph = power_law_steiner(n=120, edges=300, terminals=15, low=0, high=3)
    return Instance("small", "", graph)


@pytest.mark.parametrize("low", [0, 1])
def test_rivals_find_trees(low):
    """No tree is heavier than the closure's. On edges of weight 0 a rival from another library may find no tree."""
    instance = Instance("small", "", power_law_steiner(n=120, edges=300, terminals=15, low=low, high=3))
    rivals = all_rivals()[0]
    rows = {rival.name: rival_run(rival.name, instance, rival.prepare(instance.graph), 1, 60, 10) for rival in rivals}
    ours = [rows[rival.name] for rival in scipy_rivals()]
    assert ours[0].weight == ours[1].weight, "both search from each terminal"
    for row in rows.values():
        if low == 0 and row not in ours and row.failed:
            assert row.failed.startswith("wrong: small: a tree has a cycle"), row
        else:
            assert row.weight is not None and row.weight <= closure_spanning_tree(instance.graph).weight, row


def test_the_time_of_a_tree_is_without_the_lower_bound():
    """In mode best the table of distances takes longer than the lower bound: both times must show that."""
    parameters, instance = Parameters(mode="best"), read_instance("road:1000:40")
    with HostDevice(1) as device:
        timing = own_run("best", instance, device, parameters, 3)
    assert timing.seconds is not None and timing.whole is not None
    assert timing.whole / 2 < timing.seconds < timing.whole


def test_rivals_are_limited(small):
    def call(what):
        return rival_run("rival", small, what, 1, 1, 4)  # type: ignore[arg-type]

    assert call(lambda: time.sleep(30)).failed == "more than 1 s"
    assert call(lambda: np.ones(1 << 32)).failed == "more than 4 GiB"
    assert call(lambda: os._exit(3)).failed == "ended without a tree (limit 4 GiB)"


def test_wrong_trees_are_refused(small):
    tree = with_scipy.all_terminals(small.graph)()
    weight = weight_of(small, tree)
    with pytest.raises(WrongAnswerError, match="less than the optimum"):
        weight_of(replace(small, optimum=weight + 1), tree)
    with pytest.raises(WrongAnswerError, match="does not join all"):
        weight_of(small, tree[1:])
    with pytest.raises(WrongAnswerError, match="an edge that is not in the graph"):
        weight_of(small, np.concatenate([tree, [[0, 0]]]))


def test_searches_by_both_engines_find_the_same_pairs(small, monkeypatch):
    rows = [searches.measure(small, halt, 1) for halt in searches.HALTS]
    assert all(row.seconds["tile"] and row.seconds["phast"] and row.chosen == "tile" for row in rows)
    (table,) = tables("\n".join(searches.table(rows)))
    assert [row["searches end at"] for row in table] == ["bottleneck", "terminals"]
    pairs = iter([(Pairs(*np.ones((3, 2), np.int64) * number), 0) for number in (1, 2)])
    monkeypatch.setattr(searches, "spanned_rows", lambda *_: next(pairs))
    with pytest.raises(WrongAnswerError):
        searches.measure(small, "bottleneck", 1)


def test_variants(small):
    with HostDevice(1) as device:
        rows = variants.by_engine(small, device, 1)
        assert [row.solver for row in rows] == list(engines()) and all(row.arcs > 0 for row in rows)
        swept = variants.by_sweeps(small, device, 1)
        assert [row.sweeps for row in swept] == [1, 2, 3, 4, 5] and swept[0].rounds <= swept[-1].rounds
        at_once = variants.by_searches_at_once(small, device, 1)
        assert list(at_once) == [1, 2, 4, 8, 16, 32] and len({row.weight for row in [*at_once.values(), *rows]}) == 1
        more = variants.by_terminals(read_instance("road:300:40"), device, 1)
        assert list(more) == [32, 40] and all(timing.weight for timings in more.values() for timing in timings)
    text = [*variants.engine_table(small, rows), "", *variants.sweep_table(small, swept), "",
            *variants.at_once_table(small, at_once), "",
            *variants.terminal_table(small, more)]
    assert [len(table) for table in tables("\n".join(text))] == [len(engines()), 5, 6, 2]


def test_charts(small, tmp_path):
    pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
    from jobs.benchmarks.steiner import charts

    own, rival = Timing("hpcsolve, kmb", 0.1, 20, whole=0.2, bound=18), Timing("scipy", 0.2, 19)
    late = Timing("networkx", None, None, failed="more than 1 s")
    charts.draw_solvers(small, [own, rival, late], tmp_path)
    charts.draw_at_once(small, {1: own, 2: rival}, tmp_path)
    charts.draw_terminals(small, {8: [own, rival], 15: [rival, late]}, tmp_path)
    charts.draw_engines(small, [Timing("dijkstra", 0.1, 20), Timing("tile", 0.05, 20)], tmp_path)
    charts.draw_sweeps(small, [variants.Sweep(1, 0.1, 20.0), variants.Sweep(2, 0.11, 22.0)], tmp_path)
    drawn = sorted(path.name for path in tmp_path.iterdir() if "<svg" in path.read_text())
    assert drawn == [f"steiner-{part}-small.svg" for part in ("at-once", "engines", "solvers", "sweeps", "terminals")]
