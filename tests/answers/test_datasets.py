"""Results hold the datasets that are declared, and values that contradict a declaration are refused."""

import h5py
import numpy as np
import pytest

from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.answers import ANSWERS, type_in, type_of
from hpcsolve.answers.base import columns_of
from hpcsolve.answers.dataset import Dataset, columns, datasets, required
from hpcsolve.answers.tour import NoTour, Tour
from hpcsolve.output.contents import GROUPS
from hpcsolve.output.provenance import ENVIRONMENT
from hpcsolve.output.reference import reference
from tests.docs.samples import make_samples


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Open results that together hold every dataset."""
    paths = make_samples(tmp_path_factory.mktemp("samples"))
    opened = [h5py.File(path) for path in paths]
    yield opened
    for file in opened:
        file.close()


def stated(dataset):
    """Types, dimensions, unit and description of a dataset in a file."""
    kind = "text" if dataset.dtype.kind == "O" else dataset.dtype.name
    dimensions = tuple(axis.keys()[0] for axis in dataset.dims if axis.keys())
    return kind, dimensions, dataset.attrs["units"], dataset.attrs["description"]


def declared(dataset):
    """The same as it is declared: all that it may be."""
    kinds = dataset.types.replace("bool", "uint8").split("|")
    return {(kind, dataset.dimensions, dataset.unit, dataset.description) for kind in kinds}


def test_every_dataset_of_a_result_is_declared(files):
    rows = list(reference())
    for file in files:
        for group, members in file.items():
            scales = {name for name, d in members.items() if d.is_scale and d.attrs["description"] == "Number, from 0"}
            for name in members.keys() - scales:
                kind, dimensions, *rest = stated(members[name])
                if members[name].is_scale:
                    dimensions = (name,)
                if dimensions == ("search", "target"):  # tables of distances at targets
                    dimensions = ("search", "vertex")
                known = [declared(row.dataset) for row in rows if (row.group, row.name) == (group, name)]
                assert (kind, dimensions, *rest) in set().union(*known), f"/{group}/{name}"


def test_every_declared_dataset_is_in_some_result(files):
    found = {f"/{group}/{name}" for file in files for group, members in file.items() for name in members}
    unset = {f"/provenance/{name}" for name in ENVIRONMENT}
    assert {f"/{row.group}/{row.name}" for row in reference()} - found - unset == {"/solution/proof"}
    assert {row.group for row in reference()} == set(GROUPS)


def test_what_is_always_there_is_there(files):
    for file in files:
        name, kind = (file[key].asstr()[()] if key in file else "" for key in ("job/toml", "instance/kind"))
        solver = next(solver for solver in map(algorithm, NAMES) if f'algorithm = "{solver.name}"' in name)
        answer = type_in(set(file["solution"]))
        assert answer in solver.answers
        for row in reference():
            if row.always and row.found_in in ("", kind) and row.group != "solution":
                assert row.name in file[row.group], f"/{row.group}/{row.name}"
            if row.always and row.found_in == solver.name and row.group in file:
                assert row.name in file[row.group], f"/{row.group}/{row.name}"


def test_the_kind_of_answer_follows_from_its_datasets():
    for answer in ANSWERS:
        for record in answer.records:
            assert type_of(record) is answer
            assert type_in(set(required(record))) is answer and type_in(set(datasets(record))) is answer
            for missing in required(record):
                assert type_in(set(required(record)) - {missing}) in (None, *(set(ANSWERS) - {answer}))
    assert type_in(set()) is None
    assert type_in({"tour", "cost", "optimal", "infeasible"}) is None
    assert type_in({"tour", "cost", "optimal", "place"}) is type_of(Tour), "scales do not count"
    assert type_in({"source", "target", "distance", "offset"}) is None


def test_values_of_another_type_or_dimension_are_refused():
    tour = np.arange(3, dtype=np.int32)
    assert set(columns_of(Tour(7, tour, True))) == {"cost", "tour", "optimal"}
    assert columns_of(NoTour(True))["infeasible"].values is True
    for wrong in (Tour(7, tour.astype(np.int64), True), Tour(7, tour[:, None], True), Tour(7, 3, True)):
        with pytest.raises(TypeError):
            columns_of(wrong)
    group = {"rows": Dataset("int64|float64", "R", "row", "s"), "text": Dataset("text", "T")}
    found = columns(group, {"rows": np.zeros(2), "text": None})
    assert list(found) == ["rows"] and (found["rows"].unit, found["rows"].dimension) == ("s", "row")
    with pytest.raises(KeyError):
        columns(group, {"other": 1})


def test_an_algorithm_is_found_by_its_own_name():
    assert [algorithm(name).name for name in NAMES] == list(NAMES)
