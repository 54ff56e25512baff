"""Results hold the datasets that are declared, and values that contradict a declaration are refused."""

import h5py
import numpy as np
import pytest

from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.answers import ANSWERS, answer_type_of_names, answer_type_of_record
from hpcsolve.answers.base import columns_of
from hpcsolve.answers.contents import Dataset, columns, datasets
from hpcsolve.answers.tour import NoTour, Tour
from hpcsolve.output.provenance import ENVIRONMENT
from hpcsolve.output.schema import GROUPS
from hpcsolve.reference import dataset_rows, scales
from tests.docs.samples import make_samples


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Open results that together hold every dataset."""
    paths = make_samples(tmp_path_factory.mktemp("samples"))
    opened = [h5py.File(path) for path in paths]
    yield opened
    for file in opened:
        file.close()


def stored_as(group, dataset):
    """Path, type, dimensions, unit, description and `_FillValue` of a dataset in a file, read with h5py alone."""
    name, kind = dataset.name.split("/")[-1], "text" if dataset.dtype.kind == "O" else dataset.dtype.name
    dimensions = (name,) if dataset.is_scale else tuple(axis.keys()[0] for axis in dataset.dims)
    if name in ("distance", "predecessor") and len(dimensions) == 2:  # to targets, and from all sources at once
        dimensions = ("source", "vertex")
    unit = dataset.file["instance"].get("unit")
    own = unit is not None and dataset.attrs["units"] == unit.asstr()[()]
    texts = "1" if own else dataset.attrs["units"], dataset.attrs["description"]
    return f"/{group}/{name}", kind, dimensions, *texts, "_FillValue" in dataset.attrs


def declared_as(row):
    """The same of a declared dataset, once for each type that it may have."""
    dataset, kinds = row.dataset, row.dataset.types.replace("bool", "uint8").split("|")
    texts = dataset.unit, dataset.description
    return {(f"/{row.group}/{row.name}", kind, dataset.dimensions, *texts, bool(dataset.none)) for kind in kinds}


def all_declared():
    """All declared datasets with the dimension scales beside them."""
    rows = list(dataset_rows())
    where = dict.fromkeys((row.group, row.found_in) for row in rows)
    beside = [scales([row for row in rows if (row.group, row.found_in) == place]) for place in where]
    return set().union(*map(declared_as, [*rows, *(row for some in beside for row in some)]))


@pytest.mark.slow
def test_what_results_hold_is_what_is_declared(files):
    """The oracle of docs/result-file.md: small results together hold all that it lists, and nothing else."""
    found = {stored_as(group, dataset) for file in files for group, members in file.items()
             for dataset in members.values()}
    assert found - all_declared() == set()
    missing = {(path, kind) for path, kind, *_ in all_declared() - found}
    unset = {(f"/provenance/{name}", "text") for name in ENVIRONMENT}
    large = {("/solution/matrix", "uint64"), ("/multipliers/entering", "int64"), ("/multipliers/leaving", "int64")}
    assert missing - unset == large
    assert {row.group for row in dataset_rows()} == set(GROUPS)


def test_the_scaled_integers_of_a_file_are_those_that_are_declared(files):
    """Where the scale is not 1: no dataset of scaled integers without `scale_factor`, and no other one with it."""
    declared = {f"/{row.group}/{row.name}" for row in dataset_rows() if row.dataset.scaled}
    for file in files:
        names = {f"/{group}/{name}" for group, members in file.items() for name in members}
        with_factor = {name for name in names if "scale_factor" in file[name].attrs}
        assert with_factor == (set() if file["instance/scale"][()] == 1 else declared & names)
    assert any(file["instance/scale"][()] != 1 for file in files) and "/solution/cost" in declared


def test_what_is_always_there_is_there(files):
    for file in files:
        name, kind = (file[key].asstr()[()] if key in file else "" for key in ("job/toml", "instance/kind"))
        solver = next(solver for solver in map(algorithm, NAMES) if f'algorithm = "{solver.name}"' in name)
        answer = answer_type_of_names(set(file["solution"]))
        assert answer in solver.answers
        for row in dataset_rows():
            if not row.dataset.optional and row.found_in in ("", kind) and row.group != "solution":
                assert row.name in file[row.group], f"/{row.group}/{row.name}"
            if not row.dataset.optional and row.found_in == solver.name and row.group in file:
                assert row.name in file[row.group], f"/{row.group}/{row.name}"


def test_the_kind_of_answer_follows_from_its_datasets():
    for answer in ANSWERS:
        for record in answer.records:
            assert answer_type_of_record(record) is answer
            required = {name for name, dataset in datasets(record).items() if not dataset.optional}
            assert answer_type_of_names(required) is answer
            assert answer_type_of_names(set(datasets(record))) is answer
            for missing in required:
                assert answer_type_of_names(required - {missing}) in (None, *(set(ANSWERS) - {answer}))
    assert answer_type_of_names(set()) is None
    assert answer_type_of_names({"tour", "cost", "optimal", "infeasible"}) is None
    with_scale = {"tour", "cost", "optimal", "place"}
    assert answer_type_of_names(with_scale) is answer_type_of_record(Tour), "scales do not count"
    assert answer_type_of_names({"source", "target", "distance", "offset"}) is None


def test_values_of_another_type_or_dimension_are_refused():
    tour = np.arange(3, dtype=np.int32)
    assert set(columns_of(Tour(7, tour, True))) == {"cost", "tour", "optimal"}
    assert columns_of(NoTour(True))["infeasible"].values is True
    for wrong in (Tour(7, tour.astype(np.int64), True), Tour(7, tour[:, None], True), Tour(7, 3, True)):
        with pytest.raises(TypeError):
            columns_of(wrong)
    group = {"rows": Dataset("int64|float64", "R", "row", "s"), "text": Dataset("text", "T")}
    found = columns(group, {"rows": np.zeros(2), "text": None})
    assert list(found) == ["rows"] and found["rows"].dataset is group["rows"]
    with pytest.raises(KeyError):
        columns(group, {"other": 1})


def test_an_algorithm_is_found_by_its_own_name():
    assert [algorithm(name).name for name in NAMES] == list(NAMES)
