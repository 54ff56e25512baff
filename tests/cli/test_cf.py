"""Result files follow the CF conventions: tools that know them show own units and NaN. Older files stay readable."""

import json

import h5py
import networkx as nx
import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from hpcsolve import load, solve
from hpcsolve.errors import DamagedFileError
from hpcsolve.output.hdf5 import sealed

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
    asked = {"rows": {"sources": [3, 0], "predecessors": True}, "columns": {"sources": [0, 3], "targets": [2, 1]},
             "counts": {"sources": [3, 0], "reduce": ["sum"]}, "nearest": {"sources": [0, 3], "voronoi": True},
             "pairs": {"queries": [[0, 2], [0, 3]]}}
    rows = "".join(f"{a},{b},{w}\n" for a, b, w in ROADS.edges.data("weight"))
    (folder / "roads.csv").write_text(f"from,to,w\n{rows}")
    for name, keys in asked.items():
        solve(folder / "roads.csv", "shortest-paths", directed=True, output=folder / f"{name}.h5", **keys, **common)
    (folder / "places.csv").write_text("lat,lon\n48,1\n49,2\n50,3\n50,1\n")
    solve(folder / "places.csv", output=folder / "places.h5", **common)
    solve(np.where(np.tri(3), np.inf, 1), output=folder / "none.h5", **common)
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
    expected = dijkstra(nx.to_scipy_sparse_array(ROADS, nodelist=range(4)), indices=[3, 0])
    assert np.allclose(np.where(np.isinf(expected), np.nan, expected), rows["distance"], 1e-15, 0, equal_nan=True)
    assert np.isnan(rows["distance"]).any() and rows["distance"][1, 1] == pytest.approx(1.5, 1e-15)
    before = rows["predecessor"]
    assert np.isnan(before[1, 0]) and before[1, 1] == 0 and np.isnan(before[1, 3])
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


def to_version_2(path):
    """Turn a file into one of version 2."""
    with h5py.File(path, "r+") as file:
        file.attrs["format_version"] = 2
        file.attrs.setdefault("cost", np.nan)
        file["instance"].pop("unit", None)
        for group in file.values():
            for dataset in group.values():
                if dataset.attrs["units"] == "m":
                    dataset.attrs["units"] = "1"
        solution = file["solution"]
        by_source = [dataset for name, dataset in solution.items() if "source" in dataset.dims[0] and name != "source"
                     ] if "source" in solution and solution["source"].is_scale else []
        if by_source:
            search = solution.create_dataset("search", data=np.arange(len(solution["source"]), dtype=np.int32))
            search.attrs.update({"units": "1", "description": "Number, from 0"})
            search.make_scale("search")
        for dataset in by_source:
            dataset.dims[0].detach_scale(solution["source"])
            dataset.dims[0].attach_scale(solution["search"])


def to_version_1(path):
    """Turn a file into one of version 1."""
    to_version_2(path)
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
        assert file.attrs["format_version"] == 3 and file["solution/cost"].attrs["scale_factor"] == 0.001


@pytest.mark.parametrize("name", ["rows", "places", "none"])
def test_a_file_of_version_2_is_verified_shown_exported_and_saved(name, folder, hpcsolve, tmp_path):
    new, old = (tmp_path / state / "result.h5" for state in ("new", "old"))
    for path in (new, old):
        path.parent.mkdir()
        path.write_bytes((folder / f"{name}.h5").read_bytes())
    to_version_2(old)
    old.write_bytes(sealed(old.read_bytes()))
    with h5py.File(old) as file:
        assert np.isnan(file.attrs["cost"]) == (name != "places") and "unit" not in file["instance"]
        assert ("search" in file["solution"]) == (name == "rows")
    said = [[hpcsolve(*words, cwd=path.parent).stdout for words in (
        ("verify", "result.h5"), ("verify", "result.h5", "--json"), ("collect", "result.h5"))] for path in (new, old)]
    assert said[0] == said[1] and ("PASS" in said[0][0] or name == "none")
    assert hpcsolve("report", "result.h5", "-o", "page.html", cwd=old.parent).returncode == 0
    if name != "none":
        for path in (new, old):
            assert hpcsolve("export", "result.h5", "-o", "rows.csv", cwd=path.parent).returncode == 0
        assert (new.parent / "rows.csv").read_bytes() == (old.parent / "rows.csv").read_bytes()
    load(old).save(tmp_path / "saved.h5")
    with h5py.File(tmp_path / "saved.h5") as file:
        assert file.attrs["format_version"] == 3 and ("cost" in file.attrs) == (name == "places")
        assert name != "rows" or list(file["solution/distance"].dims[0].keys()) == ["source"]


def test_xarray_selects_rows_by_their_source(folder):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed (pip install xarray h5netcdf)")
    pytest.importorskip("h5netcdf", reason="h5netcdf is not installed (pip install xarray h5netcdf)")
    expected = dijkstra(nx.to_scipy_sparse_array(ROADS, nodelist=range(4)), indices=[3, 0])
    with xarray.open_dataset(folder / "rows.h5", group="solution", engine="h5netcdf") as found:
        assert found.distance.dims == found.predecessor.dims == ("source", "vertex")
        for source, row in zip((3, 0), expected):
            assert np.allclose(found.distance.sel(source=source).fillna(np.inf), row, 1e-15, 0)
    with xarray.open_dataset(folder / "columns.h5", group="solution", engine="h5netcdf") as found:
        assert found.distance.sel(source=3, target=2) == pytest.approx(expected[0, 2])
    with xarray.open_dataset(folder / "counts.h5", group="solution", engine="h5netcdf") as found:
        assert found.reached.sel(source=[0, 3]).values.tolist() == np.isfinite(expected[::-1]).sum(1).tolist()
    with xarray.open_dataset(folder / "nearest.h5", group="solution", engine="h5netcdf") as found:
        assert found.distance.dims == ("search", "vertex") and found.source.values.tolist() == [0, 3]


def test_costs_have_the_unit_of_the_instance(folder, tmp_path):
    with h5py.File(folder / "places.h5") as file:
        scaled = [file[name].attrs["units"] for name in ("solution/cost", "legs/cost")]
        assert scaled == ["m", "m"] and file["solution/tour"].attrs["units"] == "1"
    with h5py.File(folder / "rows.h5") as file:
        assert file["solution/distance"].attrs["units"] == "1"
    osrm = {"code": "Ok", "durations": [[0, 3, 4], [3, 0, 5], [4, 5, 0]], "distances": [[0, 30, 40]] * 3}
    for weight, unit in (("durations", "s"), ("distances", "m")):
        solve(osrm, weight=weight, output=tmp_path / f"{unit}.h5", device="cpu", threads=1)
        with h5py.File(tmp_path / f"{unit}.h5") as file:
            assert file["solution/cost"].attrs["units"] == unit == file["instance/unit"].asstr()[()]
    windows = [[0, 100], [0, 100], [0, 100]]
    done = solve(np.ones((3, 3)), windows=windows, time_unit="minute", device="cpu", threads=1)
    assert done.contents.unit == "min"
    line = {"type": "LineString", "coordinates": [[0, 0], [0, 1], [1, 1]]}
    (tmp_path / "lines.geojson").write_text(json.dumps(line))
    solve(tmp_path / "lines.geojson", "shortest-paths", sources=["0,0"], output=tmp_path / "g.h5", device="cpu")
    with h5py.File(tmp_path / "g.h5") as file:
        assert file["solution/distance"].attrs["units"] == "m"


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
