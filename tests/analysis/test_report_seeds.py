"""Runs of one job that differ in the seed are one section: numpy's numbers, a row for each seed, the best in full."""

import h5py
import numpy as np
import pytest

import hpcsolve
from hpcsolve.problems.generate.tsp import uniform_tsp
from hpcsolve.report import page
from hpcsolve.report.seeds import divided
from tests.analysis.results import FRIENDS, changed, solved
from tests.analysis.test_report import read

pytest.importorskip("matplotlib", reason="no matplotlib (extra `plot`)")
SEEDS = range(1, 11)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the files of ten runs that differ in the seed, whose names are in no order and have signs of HTML."""
    folder, problem = tmp_path_factory.mktemp("<b>seeds"), uniform_tsp(80)
    paths = [str(folder / f"{(7 * seed) % 11}&.h5") for seed in SEEDS]
    for seed, path in zip(SEEDS, paths):
        solved(problem, "ant-colony", seed=seed, bound=False, local_search="none", stop={"iterations": 4}, output=path)
    return paths


@pytest.fixture(scope="module")
def costs(files):
    def cost(path):
        with h5py.File(path) as file:
            return int(file.attrs["cost"])

    return np.array([cost(path) for path in files])


@pytest.fixture(scope="module")
def text(files):
    return page.report(files)


def words_of(text):
    return " ".join(" ".join(read(text).texts).split())


def test_the_numbers_are_numpys(text, costs):
    said, least = words_of(text), int(costs.min())
    assert len(set(costs)) > 3, "the runs differ"
    assert f"best {least} mean {costs.mean():.9g} standard deviation {costs.std(ddof=1):.4g} " \
           f"median {np.median(costs):.9g} worst {costs.max()}" in said
    assert f"The best, of seed {SEEDS[costs.argmin()]}, costs {least}; the mean is " \
           f"{100 * (costs.mean() / least - 1):.3g} % above it." in said


def test_a_row_for_each_seed_and_the_best_run_in_full(text, files, costs):
    reader, said = read(text), words_of(text)
    best = int(costs.argmin())
    rows = said[said.index("The runs by seed"):said.index("The best run: seed")]
    at = -1
    for number, (seed, path, cost) in enumerate(zip(SEEDS, files, costs.tolist())):
        row = f"{seed}{' best' if number == best else ''} {cost} {100 * (cost / costs.min() - 1):.3g} % - - "
        assert rows.index(row) > at and path in rows[rows.index(row):]
        at = rows.index(row)
    assert said.count("The best run: seed ") == said.count("Answer") == 1
    assert f"The best run: seed {SEEDS[best]} " in said and f"hpcsolve verify '{files[best]}'" in said
    assert "summary" not in reader.ids and "b" not in reader.tags and len(reader.ids) == len(set(reader.ids))
    assert [alternative[:30] for alternative in reader.alternatives[:2]] == [
        "The costs of 10 seeds: quartil", "The best cost so far of 10 see"]


@pytest.mark.slow
def test_the_order_of_the_files_does_not_count(text, files):
    assert page.report(files[::-1]) == text


@pytest.mark.slow
def test_beside_another_result_they_are_one_row_of_the_summary(files, tmp_path):
    other = tmp_path / "other.h5"
    solved(FRIENDS, "steiner-kmb", terminals=["Ann", "Dan"], output=other)
    text = page.report([str(other), *files[:3]])
    reader, said = read(text), words_of(text)
    assert reader.references[:2] == ["r1", "r2"] and {"r1", "r2", "r2b"} <= set(reader.ids)
    assert said.count(", the best of 3 seeds") == 1 and "11 results" not in said


def test_what_is_one_job(files, tmp_path):
    """Another setting, instance or answer that costs cannot compare is a section of its own, and so is a seed again."""
    runs = [(path, hpcsolve.load(path)) for path in files[:3]]
    first = runs[0][1]
    found = divided([*runs[::-1], runs[0]])
    assert [[run.seed for run in group.runs] for group in found] == [[1, 2, 3], [1]]

    def alone(result):
        return [len(group.runs) for group in divided([("a.h5", first), ("b.h5", result)])] == [1, 1]

    second = runs[1][1]
    assert not alone(second)
    assert alone(changed(second, "instance", sha256="0" * 64))
    assert alone(changed(second, "job", toml=second.job.replace("iterations = 4", "iterations = 5")))
    assert not alone(changed(second, "job", toml=second.job.replace('device = "cpu"', 'device = "cuda"')))
    assert alone(changed(second, "solution", prize=3))
    for attribute in ("complete", "verified"):
        attributes = {**second.contents.attributes, attribute: False}
        assert alone(hpcsolve.Result(type(second.contents)(attributes, second.contents.groups, second.contents.tables)))


def test_costs_that_are_all_the_same(tmp_path):
    """Three runs that find the optimum: no box, and no mean that would be above it."""
    paths = [str(tmp_path / f"{seed}.h5") for seed in (1, 2, 3)]
    for seed, path in enumerate(paths, 1):
        solved([[0, 1, 2], [1, 0, 3], [2, 3, 0]], seed=seed, output=path)
    said = words_of(page.report(paths))
    assert "differ in the seed alone. All cost 6. best 6 mean 6 standard deviation 0" in said
    assert "quartiles" not in said and "The best run: seed 1" in said
