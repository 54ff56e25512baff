"""Every command of the shortest-paths benchmark prints its tables, and stops if a solver is wrong."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from hpcsolve.device.host import HostDevice
from jobs.benchmarks.common.answers import WrongAnswerError
from jobs.benchmarks.shortest_paths import hierarchies, many, queries, single, widths
from jobs.benchmarks.shortest_paths.graphs import job_instance, read_network
from tests.markdown import tables


@pytest.fixture
def benchmark(program):
    """Return `benchmark(*arguments)`: the program, without any files of instances."""
    return partial(program, "shortest_paths")


def test_single(benchmark):
    done = benchmark("single", "--graphs", "road:500", "rmat:8", "--repeats", "1", "--sources", "2")
    assert done.returncode == 0, done.stderr
    times, ratios = tables(done.stdout)
    assert [row["milliseconds"] for row in times] == [row["graph"] for row in ratios] == ["road:500", "rmat:8"]
    assert {"search", "scipy, layout order", "scipy, file order"} <= set(times[0])
    assert all(float(cell) >= 0 for row in times for name, cell in row.items() if name != "milliseconds")
    assert all(float(row["work"]) >= 1 and float(row["ratio"]) > 0 for row in ratios)


def test_tables(benchmark):
    done = benchmark("tables", "--graphs", "road:500", "--sources", "9", "--counts", "1", "300", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    prepared, swept, *_ = tables(done.stdout)
    assert float(prepared[0]["preparation, s"]) > 0 and int(prepared[0]["break-even"]) >= 0
    assert [row["sources"] for row in swept] == ["1", "300"] and all(float(row["sweep"]) > 0 for row in swept)


def test_engines(benchmark):
    """The choice is told for each number of sources, and a graph without a hierarchy has none."""
    done = benchmark("engines", "--graphs", "road-network:900", "rmat:13", "--counts", "2", "90", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    (found,) = tables(done.stdout)
    assert [(row["graph"], row["sources"]) for row in found] == [
        ("road-network:900", "2"), ("road-network:900", "90"), ("rmat:13", "2"), ("rmat:13", "90")]
    assert [row["by, new"] for row in found] == ["near-far", "phast", "near-far", "near-far"]
    assert [row["phast, new"] == row["phast, kept"] == "-" for row in found] == [False, False, True, True]
    assert "Largest loss: " in done.stdout


def test_other_programs_are_measured_and_checked(small, monkeypatch, tmp_path):
    """Some of a row's distances are enough, and unreached vertices do not matter."""

    def row(wrong, given, source, vertices):
        return np.asarray(dijkstra(given.in_file_order, indices=source)[vertices] + wrong)

    for wrong, columns in ((0, None), (0, 50), (1, 50)):
        rival = hierarchies.Rival(lambda network: network, partial(row, wrong), columns)
        monkeypatch.setattr(hierarchies, "RIVALS", {"scipy": rival, "no_such_module": rival})
        if wrong:
            with pytest.raises(WrongAnswerError):
                many.measure(small, [2], 1)
            continue
        times = many.measure(small, [2, 5], 1)
        assert list(times.rivals) == ["scipy"] and times.kept > 12 * small.graph.n
        prepared, _, others = tables("\n".join(many.table(small, times, 1)))
        assert [row["program"] for row in others] == ["scipy"] and "hierarchy, MB" in prepared[0]


def test_road_networks_without_coordinates_are_found(tmp_path, monkeypatch):
    (tmp_path / "roads").mkdir()
    text = "SECTION Graph\nNodes 2\nEdges 1\nE 1 2 7\nEND\n\nSECTION Terminals\nTerminals 1\nT 1\nEND\n\nEOF\n"
    (tmp_path / "roads" / "X.pace.gr").write_text(text)
    monkeypatch.setenv("HPCSOLVE_DATA", str(tmp_path))
    assert read_network("X", 1).graph.weights.tolist() == [7, 7]
    assert job_instance("X") == f'{{ file = "{tmp_path}/roads/X.pace.gr" }}'
    assert job_instance("road-network:50") == '{ generate = "road-network", n = 50 }'


def test_targets_and_all_pairs(benchmark):
    """A restricted sweep and the reductions are compared before a table is printed."""
    done = benchmark("targets", "--graphs", "road:900", "--sources", "40", "--counts", "1", "5", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    (above,) = tables(done.stdout)
    assert [row["targets"] for row in above] == ["1", "5"] and 0 < int(above[0]["vertices above"]) < 450
    done = benchmark("all-pairs", "--graphs", "road:300", "--checked", "20")
    assert done.returncode == 0, done.stderr
    (reduced,) = tables(done.stdout)
    assert "300 sources" in done.stdout and "20 random sources are equal" in done.stdout
    assert float(reduced[0]["CPU s"]) > 0


def test_ranks(benchmark, mpiexec_path):
    done = benchmark("ranks", "--graphs", "grid:20", "--sources", "5", "--repeats", "1", "--predecessors")
    assert done.returncode == 0, done.stderr
    (walls,) = tables(done.stdout)
    assert len(walls) == 3 and all(float(row["efficiency"]) > 0 for row in walls)


@pytest.mark.parametrize(("graph", "hint"), [("new-york", "HPCSOLVE_DATA must name"), ("rode:5", "road:1000000")])
def test_graphs_that_are_not_there(benchmark, graph, hint):
    done = benchmark("single", "--graphs", graph)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and hint in done.stderr


@pytest.fixture(scope="module")
def small():
    return read_network("road:300", 3)


def test_widths(small):
    rows = widths.measure(small, [0.5, 4.0], 1)
    assert [row.engine for row in rows] == ["near-far-block"] * 4 + ["near-far-grid"] * 4
    narrow, wide, adaptive, _ = rows[:4]
    assert 1 <= narrow.work < wide.work and narrow.rounds > wide.rounds
    assert wide.delta == pytest.approx(4 * adaptive.delta, abs=4)
    text = widths.tables(small, rows, 1)
    assert [len(table) for table in tables("\n".join(text))] == [4, 4]


def test_launches_are_counted_until_the_host_reads_back(small):
    found = widths.sweep(small, [1.0], [1, 64], 1)
    (_, one), (_, many), (_, default) = found.values()
    assert one < many == 64 * -(-one // 64) and default >= one
    assert len(tables("\n".join(widths.sweep_table(small, found, 1)))[0]) == 1


def test_queries(small):
    points = queries.measure(small, [0.25], 2, 1)
    assert {point.rank for point in points} == {2, 3, 4, 5, 6, 7, 8}
    exact = [point for point in points if point.solver == queries.DIJKSTRA]
    assert all(point.efficiency == 1 for point in exact) and exact[0].arcs < exact[-1].arcs
    assert all(0 < point.efficiency <= 1 for point in points)
    assert len(tables("\n".join(queries.table(small, points, 1)))[0]) == 7


def test_a_wrong_answer_stops_the_benchmark(small):
    graph = small.graph
    wrong = replace(small, graph=replace(graph, weights=graph.weights + np.uint32(1)))  # not so in the layout
    with pytest.raises(WrongAnswerError, match="road:300: the solvers found different answers"):
        single.measure(wrong, 1, HostDevice(1))


def test_charts(benchmark, small, tmp_path):
    pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
    from jobs.benchmarks.shortest_paths import charts

    done = benchmark("batches", "--graphs", "grid:12", "--repeats", "1", "--charts", str(tmp_path))
    assert done.returncode == 0, done.stderr
    charts.draw_single([single.measure(small, 1, HostDevice(1))], tmp_path)
    charts.draw_widths("a", widths.measure(small, [1.0], 1), tmp_path)
    charts.draw_tables("a", many.measure(small, [1, 4], 1), tmp_path)
    charts.draw_queries("a", queries.measure(small, [1.0], 6, 1), tmp_path)
    drawn = sorted(path.name for path in tmp_path.iterdir() if "<svg" in path.read_text())
    parts = ("queries-a", "single", "sweep-grid-12", "tables-a", "widths-a")
    assert drawn == [f"shortest-paths-{part}.svg" for part in parts]
