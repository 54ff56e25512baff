"""The table of many results says what their files say, exactly, and names the files that it left out."""

import csv
import importlib.util
import io
from decimal import Decimal

import h5py
import numpy as np
import pytest

import hpcsolve as hpcsolve_package
from hpcsolve.algorithms.registry import NAMES
from hpcsolve.analysis.collect import COLUMNS, table_of
from hpcsolve.errors import EnvironmentFault, InputError
from hpcsolve.job import Settings
from hpcsolve.job.convert import keys_of
from tests.steiner_oracle import hypercube

SQUARE = [[0, 3, 4, 9], [3, 0, 9, 4], [4, 9, 0, 3], [9, 4, 3, 0]]
LARGE = "0,{0},{0}\n{0},0,{0}\n{0},{0},0\n".format("12345678901234.567")
"""A tour of three such costs is no float64."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with results of three algorithms, whose names sort otherwise by character than by number."""
    path = tmp_path_factory.mktemp("collect")
    (path / "large.csv").write_text(LARGE)
    graph = np.array([[0, 2, 0], [0, 0, 5], [7, 0, 0]])
    options = {"device": "cpu", "threads": 1}
    solve = hpcsolve_package.solve
    solve(SQUARE, output=path / "n=4.h5", path="open", start=1, **options)
    ants = {"seed": 3, "stop": {"iterations": 2}, "colonies": 2, "bound": False, "optimum": 10, **options}
    solve(SQUARE, "ant-colony", output=path / "n=10.h5", **ants)
    solve(path / "large.csv", output=path / "n=3.h5", **options)
    from scipy.sparse import csr_array

    solve(csr_array(graph), "shortest-paths", output=path / "paths.h5", sources=[0, 2], **options)
    solve(csr_array(graph + graph.T), "steiner-kmb", output=path / "tree.h5", terminals=[0, 2], **options)
    return path


@pytest.fixture(scope="module")
def runs(folder):
    return hpcsolve_package.collect(folder / "*.h5")


def row(runs, name):
    return next(row for row in runs.rows if row["file"].endswith(name))


def test_rows_are_the_files_in_the_order_of_their_numbers(folder, runs):
    assert runs["file"].tolist() == [str(folder / f"{name}.h5") for name in ("n=3", "n=4", "n=10", "paths", "tree")]
    assert runs["n"].tolist() == [3, 4, 4, 3, 3] and runs["n"].dtype == np.int64
    assert hpcsolve_package.collect(folder).rows == runs.rows
    twice = [folder / "n=4.h5", str(folder / "n=*.h5")]
    assert hpcsolve_package.collect(twice)["n"].tolist() == [3, 4, 4]


def test_answers_and_bounds(runs):
    assert runs["cost"][1:3].tolist() == [10, 14] and np.isnan(runs["cost"][3])
    tour, ants, paths, tree = (row(runs, f"{name}.h5") for name in ("n=4", "n=10", "paths", "tree"))
    assert (tour["bound"], tour["gap"], tour["optimal"]) == (10, 0.0, True)
    assert (ants["bound"], ants["gap"], ants["optimal"]) == (None, 0.4, False)
    assert (paths["cost"], paths["bound"], paths["gap"], paths["verified"]) == (None, None, None, True)
    assert tree["cost"] == 7 and tree["bound"] <= 7 and tree["gap"] == (7 - tree["bound"]) / tree["bound"]
    assert runs["verified"].dtype == bool and runs["verified"].all() and runs["complete"].all()


def test_a_gap_is_a_part_of_the_bound(tmp_path):
    """Of a hypercube whose 8 terminals lie at even distances, the fast mode proves less than it finds."""
    found = hpcsolve_package.solve(hypercube(4, 8), "steiner-kmb", mode="kmb", device="cpu", threads=1)
    found.save(tmp_path / "tree.h5")
    cost, bound = found.cost, found.lower_bound
    assert 0 < bound < cost
    tree = hpcsolve_package.collect(tmp_path / "tree.h5").rows[0]
    assert (tree["cost"], tree["bound"], tree["gap"]) == (cost, bound, (cost - bound) / bound)


def test_all_keys_of_the_jobs_are_columns(runs):
    tour, ants = row(runs, "n=4.h5"), row(runs, "n=10.h5")
    assert (tour["algorithm"], tour["held-karp.path"], tour["held-karp.start"]) == ("held-karp", "open", 1)
    assert (ants["seed"], ants["stop.iterations"], ants["ant-colony.colonies"], ants["threads"]) == (3, 2, 2, 1)
    assert tour["ant-colony.colonies"] is None and row(runs, "paths.h5")["shortest-paths.sources"] == "[0, 2]"
    assert np.isnan(runs["stop.iterations"][0]) and runs["stop.iterations"][2] == 2
    assert runs["held-karp.path"].tolist() == ["cycle", "open", None, None, None]


def test_times_memory_and_hosts_are_those_of_the_ranks(folder, runs):
    with h5py.File(folder / "n=10.h5") as file:
        ranks = file["ranks"]
        phases = sum(ranks[f"seconds_{phase}"][0] for phase in ("read", "build", "run", "check", "write"))
        found = row(runs, "n=10.h5")
        assert found["seconds"] == pytest.approx(phases, rel=1e-12)
        assert found["seconds_kernel"] == ranks["seconds_kernel"][0]
        assert found["bytes"] == ranks["peak_bytes"][0] > 0 and found["ranks"] == 1
        assert found["bytes_resident"] == ranks["peak_resident_bytes"][0]
        assert found["host"] == ranks["host"].asstr()[0]
        assert found["created"] == file.attrs["created"]
        assert ranks["device"].asstr()[0].startswith(found["hardware"]) and "thread" in found["hardware"]


def test_two_ranks_are_added_up_or_the_slower_one_counts(mpiexec, tmp_path):
    job = 'algorithm = "held-karp"\ninstance = { generate = "random-matrix", n = 12 }\ndevice = "cpu"\n'
    (tmp_path / "job.toml").write_text(job)
    assert mpiexec(2, "run", "job.toml", "--output", "a.h5", cwd=tmp_path).returncode == 0
    found = hpcsolve_package.collect(tmp_path / "a.h5").rows[0]
    with h5py.File(tmp_path / "a.h5") as file:
        ranks = {name: dataset[:] for name, dataset in file["ranks"].items() if dataset.dtype.kind in "if"}
    assert found["ranks"] == 2 and found["bytes"] == sum(ranks["peak_bytes"])
    both = sum(ranks[f"seconds_{phase}"] for phase in ("read", "build", "run", "check", "write"))
    assert both.shape == (2,) and found["seconds"] == pytest.approx(both[0], rel=1e-12)
    assert found["seconds_kernel"] == max(ranks["seconds_kernel"])


def test_csv_has_exact_numbers(runs, tmp_path):
    runs.save(tmp_path / "runs.csv")
    read = list(csv.DictReader(io.StringIO((tmp_path / "runs.csv").read_text())))
    assert list(read[0]) == list(runs.names)
    assert read[0]["cost"] == read[0]["bound"] == "37037036703703.701" != repr(float(runs["cost"][0]))
    assert row(runs, "n=3.h5")["cost"] == 3 * Decimal("12345678901234.567")
    assert [line["cost"] for line in read[1:]] == ["10", "14", "", "7"]
    assert (read[1]["optimal"], read[2]["optimal"], read[0]["stop.iterations"]) == ("true", "false", "")
    assert [float(line["seconds"]) for line in read] == runs["seconds"].tolist()
    assert (tmp_path / "runs.csv").read_text() == runs.csv()
    with pytest.raises(InputError, match="overwrite=True"):
        runs.save(tmp_path / "runs.csv")
    runs.where("n", 3).save(tmp_path / "runs.csv", overwrite=True)
    assert (tmp_path / "runs.csv").read_text().count("\n") == 4


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="no pandas")
def test_pandas_gets_the_columns(runs):
    frame = runs.to_pandas()
    assert frame["cost"].tolist()[1:3] == [10, 14] and list(frame.columns) == list(runs.names)


@pytest.mark.skipif(importlib.util.find_spec("pandas") is not None, reason="pandas is installed")
def test_pandas_is_asked_for_by_name(runs):
    with pytest.raises(EnvironmentFault, match="pip install pandas"):
        runs.to_pandas()


def test_damaged_files_are_left_out_and_named(folder, tmp_path, hpcsolve):
    good, bad, other = (tmp_path / f"{name}.h5" for name in ("good", "bad", "other"))
    content = (folder / "n=4.h5").read_bytes()
    good.write_bytes(content)
    bad.write_bytes(content[:900] + bytes([content[900] ^ 1]) + content[901:])
    other.write_text("no result")
    with pytest.warns(UserWarning) as said:
        assert hpcsolve_package.collect(tmp_path)["cost"].tolist() == [10]
    assert [str(line.message).split(": ")[1] for line in said] == [str(bad), str(other)]
    done = hpcsolve("collect", good, bad, other, "-o", tmp_path / "t.csv")
    assert done.returncode == 5 and (tmp_path / "t.csv").read_text().count("\n") == 2
    assert [line.split(": ")[:3] for line in done.stderr.splitlines()] == [
        ["hpcsolve", "left out", str(bad)], ["hpcsolve", "left out", str(other)]]
    alone = hpcsolve("collect", bad)
    assert alone.returncode == 5 and alone.stdout == "" and alone.stderr.count("\n") == 1


def test_the_command_writes_what_the_function_returns(folder, runs, tmp_path, hpcsolve):
    shown = hpcsolve("collect", f"{folder}/*.h5")
    assert shown.returncode == 0 and shown.stdout == runs.csv()
    written = hpcsolve("collect", folder, "-o", tmp_path / "t.csv")
    assert written.stdout == f"{tmp_path / 't.csv'}: 5 runs, {len(runs.names)} columns\n"
    assert (tmp_path / "t.csv").read_text() == runs.csv()
    again = hpcsolve("collect", folder, "-o", tmp_path / "t.csv")
    assert again.returncode == 2 and "--overwrite" in again.stderr
    assert hpcsolve("collect", folder, "-o", tmp_path / "t.csv", "--overwrite").returncode == 0


@pytest.mark.parametrize("names, error", [
    (["gone-*.h5"], "gone-*.h5: there is no such file, and no file matches it as a pattern"), ([], "no result file"),
])
def test_no_file_is_an_error(names, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as found:
        hpcsolve_package.collect(names)
    assert error in str(found.value)


def test_columns_have_the_narrowest_type_that_holds_their_values():
    table = table_of([{"a": 1, "b": 1, "c": True, "d": 2**60 + 1, "e": "x", "f": Decimal("0.1")},
                      {"a": 2, "c": False, "e": None, "f": 3}])
    assert [table[name].dtype.kind for name in "abcdef"] == ["i", "f", "b", "O", "O", "f"]
    assert table["d"].tolist() == [2**60 + 1, None] and table["f"].tolist() == [0.1, 3.0]
    assert np.isnan(table["b"][1])
    assert table.where("a", 2).rows == (table.rows[1],) and len(table.where("e", "x", None)) == 2
    assert table.varying() == ("a", "b", "c", "d", "e", "f")
    assert str(table).splitlines()[1].split() == ["1", "1", "true", str(2**60 + 1), "x", "0.1"]
    with pytest.raises(InputError, match="no column 'g'; it has a, b, c, d, e, f"):
        table["g"]


def test_a_notebook_shows_texts_as_they_are():
    shown = table_of([{"<b>": "<script>"}])._repr_html_()
    assert "&lt;script&gt;" in shown and "&lt;b&gt;" in shown and "<script>" not in shown


def test_no_key_of_a_job_has_the_name_of_a_column():
    assert not COLUMNS.keys() & {*keys_of(Settings), *NAMES}
