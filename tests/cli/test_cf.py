"""Result files follow the CF conventions: tools that know them show own units and NaN. Older files stay readable."""

import h5py
import networkx as nx
import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from hpcsolve import load, solve
from hpcsolve.errors import DamagedFileError

JOB = 'algorithm = "held-karp"\ninstance = "costs.csv"\noutput = "out.h5"\n'
COSTS = np.round(np.random.default_rng(3).random((7, 7)) * 1000, 3)
ROADS = nx.DiGraph()
ROADS.add_weighted_edges_from([(0, 1, 1.5), (1, 2, 2.25), (3, 0, 1.125), (0, 2, 4)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with results whose costs have decimals, named after their algorithms."""
    folder = tmp_path_factory.mktemp("cf")
    common = {"device": "cpu", "threads": 1}
    ants = {"colonies": 2, "stop": {"iterations": 5}}
    solve(COSTS, "ant-colony", output=folder / "ants.h5", **ants, **common)
    asked = {"rows": {"sources": [0, 1], "predecessors": True}, "pairs": {"queries": [[0, 2], [0, 3]]}}
    for name, keys in asked.items():
        solve(ROADS, "shortest-paths", output=folder / f"{name}.h5", **keys, **common)
    tree = {"terminals": [0, 2], "mode": "kmb", "matrix": True}
    solve(ROADS.to_undirected(), "steiner-kmb", output=folder / "tree.h5", **tree, **common)
    return folder


def by_hand(path, group):
    """Return the datasets of a group as the CF conventions have them decoded."""
    found = {}
    with h5py.File(path) as file:
        for name, dataset in file[group].items():
            values, attributes = dataset[()], dataset.attrs
            if "_FillValue" in attributes:
                assert attributes["_FillValue"].dtype == dataset.dtype
                values = np.where(values == attributes["_FillValue"], np.nan, values)
            found[name] = values * attributes["scale_factor"] if "scale_factor" in attributes else values
    return found


def by_xarray(path, group):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed (pip install xarray h5netcdf)")
    pytest.importorskip("h5netcdf", reason="h5netcdf is not installed (pip install xarray h5netcdf)")
    with xarray.open_dataset(path, group=group, engine="h5netcdf") as found:
        return {name: found[name].values for name in found.variables}


@pytest.mark.parametrize("decoded", [by_hand, by_xarray])
def test_decoded_values_are_in_the_own_unit(decoded, folder):
    rows = decoded(folder / "rows.h5", "solution")
    expected = dijkstra(nx.to_scipy_sparse_array(ROADS, nodelist=range(4)), indices=[0, 1])
    assert np.allclose(np.where(np.isinf(expected), np.nan, expected), rows["distance"], 1e-15, 0, equal_nan=True)
    assert np.isnan(rows["distance"]).any() and rows["distance"][0, 1] == pytest.approx(1.5, 1e-15)
    before = rows["predecessor"]
    assert np.isnan(before[0, 0]) and before[0, 1] == 0 and np.isnan(before[0, 3])
    pairs = decoded(folder / "pairs.h5", "solution")["distance"]
    assert pairs[0] == pytest.approx(3.75, 1e-15) and np.isnan(pairs[1])
    tree = decoded(folder / "tree.h5", "solution")
    assert sorted(tree["weight"]) == pytest.approx([1.5, 2.25]) and tree["matrix"][0, 1] == pytest.approx(3.75)


@pytest.mark.parametrize("decoded", [by_hand, by_xarray])
@pytest.mark.parametrize("name", ["ants", "tree"])
def test_attribute_and_dataset_of_one_name_hold_one_value(decoded, name, folder):
    with h5py.File(folder / f"{name}.h5") as file:
        cost = file.attrs["cost"]
        assert file["solution/cost"][()] == round(cost * 1000), "the stored integer is as it was"
    found = decoded(folder / f"{name}.h5", "solution")
    assert found["cost"] == pytest.approx(cost, 1e-15)
    if name == "ants":
        colonies = decoded(folder / "ants.h5", "colonies")
        assert colonies["cost"].min() == pytest.approx(cost, 1e-15)
        assert colonies["cost"].mean() == pytest.approx(colonies["mean"])


def test_whole_numbers_stay_whole(tmp_path):
    solve(np.ones((4, 4), int), device="cpu", output=tmp_path / "r.h5")
    with h5py.File(tmp_path / "r.h5") as file:
        assert "scale_factor" not in file["solution/cost"].attrs and file["instance/scale"][()] == 1


@pytest.fixture
def job(hpcsolve, tmp_path, test_device):
    """Solve a job whose costs have decimals, and return its folder."""
    np.savetxt(tmp_path / "costs.csv", COSTS, "%.3f", ",")
    (tmp_path / "job.toml").write_text(JOB)
    assert hpcsolve("run", "job.toml", "--device", test_device, cwd=tmp_path).returncode == 0
    return tmp_path


def test_another_scale_factor_is_damage_and_none_fails_the_check(job, hpcsolve):
    with h5py.File(job / "out.h5", "r+") as file:
        file["solution/cost"].attrs["scale_factor"] = 0.01
    assert hpcsolve("verify", "out.h5", cwd=job).returncode == 5
    with pytest.raises(DamagedFileError, match="scale_factor of /solution/cost is not 1 / scale"):
        load(job / "out.h5")
    with h5py.File(job / "out.h5", "r+") as file:
        del file["solution/cost"].attrs["scale_factor"]
    done = hpcsolve("verify", "out.h5", cwd=job)
    assert done.returncode == 1 and "FAIL (/solution/cost has no attribute scale_factor;" in done.stdout


def to_version_1(path):
    """Turn a file into one of version 1."""
    with h5py.File(path, "r+") as file:
        file.attrs["format_version"] = 1
        for name in {"legs", "improvements", "edges"} & set(file):  # not known then
            del file[name]
        for group in file.values():
            for dataset in group.values():
                dataset.attrs.pop("scale_factor", None)
                if "_FillValue" in dataset.attrs:
                    dataset.attrs["none"] = dataset.attrs.pop("_FillValue")


def test_a_file_of_version_1_is_verified_printed_and_run_again(job, hpcsolve, test_device):
    new = load(job / "out.h5")
    to_version_1(job / "out.h5")
    old = load(job / "out.h5")
    assert (old.cost, old.tour_labels, old.optimal) == (new.cost, new.tour_labels, new.optimal)
    verified = hpcsolve("verify", "out.h5", cwd=job)
    assert verified.returncode == 0 and "check:  PASS" in verified.stdout, verified.stderr
    again = hpcsolve("run", "job.toml", "--device", test_device, cwd=job)
    assert again.returncode == 0 and "this job is done already" in again.stdout
    copied = hpcsolve("run", "out.h5", "--output", "new.h5", "--device", test_device, cwd=job)
    assert copied.returncode == 0, copied.stderr
    with h5py.File(job / "new.h5") as file:
        assert file.attrs["format_version"] == 2 and file["solution/cost"].attrs["scale_factor"] == 0.001


@pytest.mark.parametrize("name", ["ants", "rows", "pairs", "tree"])
def test_every_kind_of_answer_of_version_1_is_read_as_before(name, folder, tmp_path):
    path = tmp_path / "old.h5"
    path.write_bytes((folder / f"{name}.h5").read_bytes())
    new, _ = load(path), to_version_1(path)
    old = load(path)
    for group, columns in ((group, new.contents.groups[group]) for group in old.contents.groups):
        for key, column in columns.items():
            other = old.contents.groups[group][key]
            assert np.array_equal(other.values, column.values)
            assert (other.none, other.dataset) == (column.none, column.dataset)
    assert {key: (table.none, table.dataset) for key, table in old.contents.tables.items()} == {
        key: (table.none, table.dataset) for key, table in new.contents.tables.items()}
