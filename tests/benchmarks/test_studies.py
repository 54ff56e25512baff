"""Every study prints its tables and writes its figures, with what was measured, and says which instances stand in."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from hpcsolve.device.host import HostDevice
from jobs.benchmarks.ants.instances import read_or_generate
from jobs.benchmarks.common.answers import WrongAnswerError
from jobs.benchmarks.held_karp import memory, published
from jobs.benchmarks.shortest_paths import search_space
from jobs.benchmarks.shortest_paths.graphs import read_network
from tests.markdown import tables

FIGURES = {
    "held-karp": ["held-karp-memory", "held-karp-time"],
    "near-far": ["shortest-paths-queries-road-400", "shortest-paths-space-road-400", "shortest-paths-sweep-rmat-6",
                 "shortest-paths-sweep-road-400"],
    "ants": ["ant-launches", "ant-speed", "ant-speed-ups", "ant-strategies"],
    "kmb": [f"steiner-{part}-road-200-12" for part in ("at-once", "engines", "sweeps", "terminals")],
}
TABLES = {
    "held-karp": ["n", "program", "n", "n"],
    "near-far": ["road:400: search", "road:400: rank", "road:400: delta", "rmat:6: delta"],
    "ants": ["instance"] * 6,
    "kmb": ["the study's program", "road:200:12, k 12", *[f"road:200:12, k 12: {what}" for what in "kp"],
            "road:200:12, k 12: terminals"],
}
"""Name of the first column of each table, in the order of the report."""
TOWN = "p sp 3 4\na 1 2 5\na 2 1 5\na 2 3 7\na 3 2 7\n"
PLACES = "p aux sp co 3\nv 1 0 0\nv 2 5 0\nv 3 12 0\n"


@pytest.fixture
def study(program):
    """Return `study(name, *options)`: the program on its smallest instances, without any published ones."""
    pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
    return lambda name, *options, **more: program("studies", name, "--tiny", *options, **more)


@pytest.mark.parametrize("name", FIGURES)
def test_tables_and_figures(study, tmp_path, name):
    done, folder = study(name), tmp_path / "build" / "studies" / name
    assert done.returncode == 0, done.stderr
    report, _, last = done.stdout.rpartition("\n\n")
    assert (folder / "tables.md").read_text() == f"{report}\n"
    assert last == f"Written to build/studies/{name}: tables.md and {len(FIGURES[name])} figures\n"
    assert [next(iter(table[0])) for table in tables(report)] == TABLES[name]
    drawn = sorted(path.name for path in folder.glob("*.svg") if "<svg" in path.read_text())
    assert drawn == sorted(f"{figure}.svg" for figure in FIGURES[name])
    assert all(f"![{figure}]({figure})" in report for figure in drawn)


@pytest.mark.parametrize(("name", "shown"), [
    ("held-karp", "hpcsolve, compact, GPU"), ("ants", "st-group:step:512"), ("kmb", "bellman-ford-push"),
])
def test_a_gpu(study, stub, name, shown):
    done = study(name, "--device", "cuda", **stub.environment(nvcc="single"))
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout and "- device: Stub" in done.stdout


def test_a_road_network_of_ones_own(study, tmp_path):
    assert "or name another graph" in study("near-far", "--graph", "town").stderr
    (tmp_path / "roads").mkdir()
    (tmp_path / "roads" / "town.gr").write_text(TOWN)
    (tmp_path / "roads" / "town.co").write_text(PLACES)
    done = study("near-far", "--graph", "town", "--output", "out")
    assert done.returncode == 0, done.stderr
    assert tables(done.stdout)[0][-1]["settled"] == "3"
    assert (tmp_path / "out" / "shortest-paths-space-town.svg").exists()


def test_stand_ins_say_for_what_they_stand(monkeypatch, tmp_path):
    monkeypatch.setenv("HPCSOLVE_DATA", str(tmp_path))
    instance = read_or_generate("d198")
    assert (instance.tsp.n, instance.name, instance.published_name) == (198, "uniform-198", "d198")
    assert np.isnan(instance.gap(1.0))


def test_the_table_of_the_post_has_a_value_for_each_set_and_last_city():
    for n in (2, 5, 9):
        pairs = sum(1 for whole in range(1 << n - 1) for last in range(n - 1) if whole >> last & 1)
        assert published.full_table_bytes(n) == 4 * pairs
    assert published.full_table_bytes(published.NUMBA_N) == pytest.approx(published.NUMBA_BYTES, rel=0.05)


def test_memory_is_what_was_planned():
    rows = memory.measure({"planes": [12, 13], "compact": [12]}, HostDevice, 14)
    assert [row.n for row in rows] == [12, 13, 14] * 3
    measured = [row for row in rows if row.measured is not None]
    assert len(measured) == 5 and all(row.measured == row.planned for row in measured)
    shown = {row["n"]: row for row in tables("\n".join(memory.table(rows)))[0]}
    assert list(shown) == ["12", "13", "14"]
    by_case = {(row.n, row.case): row for row in rows}
    for (n, case), row in by_case.items():
        assert shown[str(n)][f"{case}: planned"] == str(row.planned)
        assert int(shown[str(n)]["full table, post"]) == published.full_table_bytes(n)
    compact = by_case[13, memory.LAYOUTS["compact"][0]]
    assert 0 < compact.planned - published.full_table_bytes(13) < 30000, "its table, and small ones beside it"


def test_resident_memory_is_about_what_was_planned(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    rows = memory.measure({"planes": [], "compact": []}, HostDevice, 26)
    found = memory.resident([26])
    assert list(found) == [26]
    shown = tables("\n".join(memory.resident_table(found, rows)))[0][0]
    assert shown["resident"] == str(found[26]) and 0.8 < float(shown["resident / planned"]) < 1.2


@pytest.fixture(scope="module")
def small():
    return read_network("road:600", 2)


def test_search_spaces(small):
    query, graph = search_space.choose_query(small, 250), small.graph
    matrix = coo_array((graph.weights.astype(float), (graph.tails(), graph.heads)), shape=(graph.n, graph.n)).tocsr()
    distance = dijkstra(matrix, indices=query.source)
    assert np.count_nonzero(distance < distance[query.target]) <= 250 == query.rank
    spaces = search_space.measure(small, query)
    exact, narrow, wide, whole = (space.settled for space in spaces)
    assert np.array_equal(exact, distance <= distance[query.target])
    assert all(settled[query.target] for settled in (narrow, wide)) and whole.all()
    assert (exact <= narrow).all() and narrow.sum() < wide.sum() < graph.n
    for space in spaces:
        bound = distance[space.settled].max()
        assert np.array_equal(space.settled, distance <= bound), "what is nearer than a settled vertex is settled"
        heads = {int(head) for tail, head in zip(graph.tails(), graph.heads) if space.settled[tail]}
        assert set(np.flatnonzero(space.reached)) == heads - set(np.flatnonzero(space.settled))
    rows = tables("\n".join(search_space.table(small, query, spaces)))[0]
    assert [int(row["settled"]) for row in rows] == [int(space.settled.sum()) for space in spaces]
    assert [int(row["arcs"]) for row in rows] == [space.arcs for space in spaces]


def test_wrong_distances_end_the_study(small):
    query = search_space.choose_query(small, 250)
    with pytest.raises(WrongAnswerError, match="road:600"):
        search_space.measure(small, replace(query, distance=query.distance + (query.distance > 0)))
