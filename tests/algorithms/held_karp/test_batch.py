"""Batches of small instances: tours are those of brute force, for any ranks, and a job has all of them in one file."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import hpcsolve
from hpcsolve import formats, solve
from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.base import Outcome, StopCriteria
from hpcsolve.algorithms.held_karp import Parameters
from hpcsolve.analysis.export import export
from hpcsolve.answers.schedule import time_text
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.formats.npy import read_batch
from hpcsolve.job import load_job
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.rounding import Costs
from hpcsolve.problems.tsp import NO_ARC, TspBatch, batch_of, from_matrix, part_of_costs
from hpcsolve.runner.reading import read_instance
from hpcsolve.runner.verify import verify_file
from tests.cli.seen import solution
from tests.order_oracle import a_day, best_order
from tests.solvers import plan_of
from tests.thread_comm import ThreadComm, on_ranks


def random_batch(*sizes: tuple[int, int], sparse: float = 0.2, seed: int = 0) -> TspBatch:
    """Return random instances, (number, cities) of each size, with negative costs and missing arcs."""
    rng, costs = np.random.default_rng(seed), []
    for count, n in sizes:
        cost = rng.integers(-20, 100, (count, n, n))
        cost[(rng.random(cost.shape) < sparse) | np.eye(n, dtype=bool)] = NO_ARC
        costs.append(cost)
    return batch_of_arrays(*costs)


def batch_of_arrays(*arrays: np.ndarray) -> TspBatch:
    """Return the batch of arrays of integers, whose diagonals do not count."""
    for array in arrays:
        array[:, range(array.shape[1]), range(array.shape[1])] = NO_ARC
    return TspBatch("random", tuple(part_of_costs(Costs(array, 1), "random") for array in arrays))


def tours_of(batch: TspBatch, outcome: Outcome) -> list[tuple[int, list[int]] | None]:
    """Return the cost and the tour of each instance, None where it has none."""
    answer = outcome.answer
    parts = np.split(answer.tours, batch.offset[1:-1])
    verdict = answer.check(batch, (TourQuestion(),) * len(batch.parts))
    assert verdict.passed, verdict
    return [(int(cost), tour.tolist()) if found else None
            for cost, tour, found in zip(answer.costs, parts, answer.found, strict=True)]


@pytest.mark.parametrize("path", ["cycle", "open"])
def test_equals_brute_force(path: str, device: Device) -> None:
    batch = random_batch((30, 7), (3, 1), (5, 2), (40, 6), (20, 3), sparse=0.5)
    outcome = held_karp.ALGORITHM.solve(batch, device, SerialComm(), Parameters(path=path))  # type: ignore[arg-type]
    parts = np.split(outcome.answer.tours, batch.offset[1:-1])
    best = [best_order(batch.instance(number), TourQuestion(path)) for number in range(batch.count)]
    assert outcome.answer.found.tolist() == [one is not None for one in best] and None in best
    assert [(int(c), t.tolist()) for c, t, b in zip(outcome.answer.costs, parts, best) if b] == [b for b in best if b]


def test_equals_the_large_solver_at_15(device: Device) -> None:
    batch = random_batch((4, 15), (4, 12), sparse=0.0)
    found = tours_of(batch, held_karp.ALGORITHM.solve(batch, device, SerialComm(), Parameters()))
    instances = map(batch.instance, range(batch.count))
    alone = [held_karp.ALGORITHM.solve(one, device, SerialComm(), Parameters()) for one in instances]
    assert [one and one[0] for one in found] == [outcome.cost for outcome in alone]


def test_ranks_do_not_change_the_tours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hpcsolve.algorithms.held_karp.batch.PIECE", 5)
    batch = random_batch((13, 6), (7, 8))
    alone = tours_of(batch, held_karp.ALGORITHM.solve(batch, HostDevice(2), SerialComm(), Parameters()))

    def work(comm: ThreadComm) -> Outcome:
        with HostDevice(1) as device:
            outcome = held_karp.ALGORITHM.solve(batch, device, comm, Parameters())
            need = plan_of(held_karp.ALGORITHM, batch, Parameters(), comm.size, device.info)
            assert device.memory_peak <= need.device_bytes[comm.rank]
            return outcome

    for ranks in (1, 2, 3, 30):
        assert tours_of(batch, on_ranks(ranks, work)[0]) == alone


def test_a_job_solves_and_verifies_a_batch(hpcsolve: Callable[..., Any], tmp_path: Path, test_device: str) -> None:
    rng = np.random.default_rng(5)
    costs = rng.integers(1, 100, (20, 6, 6)) / 10
    np.savez(tmp_path / "costs.npz", costs)
    job = 'algorithm = "held-karp"\ninstance = { batch = "costs.npz" }\noutput = "out.h5"\n'
    (tmp_path / "job.toml").write_text(job)
    run = hpcsolve("run", "job.toml", "--device", test_device, cwd=tmp_path, timeout=300)  # which compiles the kernels
    assert "20 tours, proven optimal" in run.stdout
    assert "check:  PASS" in hpcsolve("verify", "out.h5", cwd=tmp_path).stdout
    hpcsolve("export", "out.h5", "-o", "out.csv", cwd=tmp_path)
    hpcsolve("report", "out.h5", "-o", "out.html", cwd=tmp_path)
    row = (tmp_path / "out.csv").read_text().splitlines()[3].split(",")
    best = best_order(from_matrix(costs[2]), TourQuestion())
    assert best is not None and float(row[1]) == best[0] / 10 and row[2] == " ".join(map(str, best[1]))


def test_a_folder_of_files_is_a_batch(tmp_path: Path) -> None:
    for number, scale in enumerate((1, 10, 1)):
        costs = np.random.default_rng(number).integers(1, 9, (4 + number, 4 + number)) / scale
        np.save(tmp_path / f"{number}.npy", costs)
    batch, _ = read_batch(str(tmp_path), formats.read)
    listed, _ = read_batch([str(tmp_path / f"{number}.npy") for number in range(3)], formats.read)
    alone = [formats.read(tmp_path / f"{number}.npy").problem for number in range(3)]
    assert batch.cities.tolist() == [4, 5, 6] and batch.scale == max(tsp.scale for tsp in alone)
    for number, tsp in enumerate(alone):
        assert np.array_equal(batch.instance(number).cost, tsp.cost) and batch.instance(number).scale == tsp.scale
        assert np.array_equal(batch.instance(number).cost, listed.instance(number).cost)
    assert batch_of(alone, "same").offset.tolist() == [0, 4, 9, 15]


def test_the_files_of_a_batch_keep_their_names(hpcsolve: Callable[..., Any], tmp_path: Path) -> None:
    for name, cost in {"day/mon.npy": 1, "day/tue.npy": 2, "holiday/mon.npy": 3}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        np.save(tmp_path / name, np.full((3, 3), cost))
    job = 'algorithm = "held-karp"\ninstance = {{ batch = {} }}\noutput = "out.h5"\n'
    for batch, names in (("'day'", ["mon.npy", "tue.npy"]),
                         ("['holiday/mon.npy', 'day/tue.npy']", ["holiday/mon.npy", "day/tue.npy"])):
        (tmp_path / "job.toml").write_text(job.format(batch))
        hpcsolve("run", "job.toml", "--device", "cpu", "--overwrite", cwd=tmp_path)
        hpcsolve("export", "out.h5", "-o", "out.csv", "--overwrite", cwd=tmp_path)
        rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
        assert [row["name"] for row in rows] == names and all(row["tour"] == "0 2 1" for row in rows)
        hpcsolve("report", "out.h5", "-o", "out.html", "--overwrite", cwd=tmp_path)
        page = (tmp_path / "out.html").read_text()
        assert all(f"<td>{name}</td>" in page for name in names)
    with h5py.File(tmp_path / "out.h5", "r+") as file:
        file["solution/costs"][1] += 1
    assert "instance 1 (day/tue.npy): the tour costs 6, not 7" in hpcsolve("verify", "out.h5", cwd=tmp_path).stdout


ASKED = {
    "ends": {"path": "open", "start": 3, "end": 1}, "start": {"start": 2, "forbidden": [(0, 1), (1, 3)]},
    "latency": {"objective": "latency"}, "open latency": {"objective": "latency", "path": "open", "end": 2},
    "bottleneck": {"objective": "bottleneck"}, "lexicographic": {"objective": "lexicographic", "path": "open"},
    "before": {"before": [(3, 1), (1, 2)]}, "places": {"position": [(2, 3)], "not_position": [(1, 2)]},
    "bounds": {"method": "bounded"}, "one weight for each city": {"objective": "latency", "weights": [0, 3, 1, 1, 5]},
    "loads": {"load": [3, -1, -1, 2, -1], "capacity": 4},
}
"""What is asked of instances without time windows, the cities by their labels."""


@pytest.mark.parametrize("name", ASKED)
def test_each_answer_is_that_of_brute_force_and_that_of_the_instance_alone(name: str, device: Device) -> None:
    """With small costs many tours are equally good, and so each method has to keep to the tie rule."""
    parameters, rng = Parameters(**ASKED[name]), np.random.default_rng(len(name))  # type: ignore[arg-type]
    sizes = [5] if {"weights", "load"} & set(ASKED[name]) else [5, 4, 7]
    batch = batch_of_arrays(*(rng.integers(0, 4, (3, n, n)) for n in sizes), rng.integers(0, 900, (2, 5, 5)))
    stated = held_karp.ALGORITHM.statement(batch, parameters)
    outcome = held_karp.ALGORITHM.run(stated, device, SerialComm())
    assert outcome.answer.check(batch, stated.question).passed and stated.by_kernel.all() == (name in ("ends", "start"))
    for number, tour in enumerate(np.split(outcome.answer.tours, batch.offset[1:-1])):
        question, alone = stated.of(number).question, held_karp.ALGORITHM.run(stated.of(number), device, SerialComm())
        cost, found = int(outcome.answer.costs[number]), bool(outcome.answer.found[number])
        assert best_order(batch.instance(number), question) == ((cost, tour.tolist()) if found else None)
        if found:
            assert (alone.answer.cost, alone.answer.tour.tolist()) == (cost, tour.tolist())


@pytest.mark.parametrize("objective", ["sum", "finish", "latency"])
def test_days_with_windows_of_their_own(objective: str, device: Device) -> None:
    """Of three days one cannot be kept, which no other day minds. Times have another scale on one of them."""
    days = [replace(tsp, windows=question.windows) for tsp, question in (a_day(n, n, 150) for n in (6, 7, 5))]
    closed = days[1].windows
    assert closed is not None
    days[1] = replace(days[1], windows=replace(closed, earliest=closed.latest))
    days[2] = replace(days[2], scale=10)
    batch = batch_of(days, "week")
    stated = held_karp.ALGORITHM.statement(batch, Parameters(objective=objective))  # type: ignore[arg-type]
    answer = held_karp.ALGORITHM.run(stated, device, SerialComm()).answer
    assert answer.check(batch, stated.question).passed and batch.scale == 10 and answer.proven is None
    for number, (tsp, factor) in enumerate(zip(days, (10, 10, 1))):
        best = best_order(tsp, stated.question[number])
        found = (int(answer.costs[number]), answer.tours[slice(*batch.offset[number : number + 2])].tolist())
        assert (found if answer.found[number] else None) == (best and (best[0] * factor, best[1]))
    assert answer.found.any()


def test_a_kernel_that_is_not_taken_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain sums whose costs are too far apart for 32 bits, or too large, are solved alone, by the same tie rule."""
    far = batch_of_arrays(np.array([[[0, 1, far], [1, 0, 3], [4, 5, 0]] for far in (9, 2**40)]))
    stated = held_karp.ALGORITHM.statement(far, Parameters())
    assert stated.by_kernel.tolist() == [True, False]
    assert tours_of(far, held_karp.ALGORITHM.run(stated, HostDevice(1), SerialComm())) == [
        best_order(far.instance(number), TourQuestion()) for number in (0, 1)]
    batch = batch_of_arrays(np.random.default_rng(1).integers(0, 3, (6, 7, 7)))

    def tours(most: int) -> list[tuple[int, list[int]] | None]:
        monkeypatch.setattr("hpcsolve.algorithms.held_karp.batch.MOST_CITIES", most)
        return tours_of(batch, held_karp.ALGORITHM.solve(batch, HostDevice(1), SerialComm(), Parameters()))

    assert tours(15) == tours(6)


def test_what_is_not_proven_says_so(device: Device) -> None:
    """A criterion to stop at holds for each instance. Those of few cities are proven all the same."""
    batch = batch_of([from_matrix(np.random.default_rng(n).integers(1, 99, (n, n))) for n in (16, 5)], "two")
    stated = held_karp.ALGORITHM.statement(batch, Parameters(objective="latency"))
    answer = held_karp.ALGORITHM.run(stated, device, SerialComm(), criteria=StopCriteria(target=1e9)).answer
    assert answer.proven.tolist() == [False, True] and answer.check(batch, stated.question).passed
    assert 0 < answer.lower_bounds[0] < answer.costs[0] and answer.lower_bounds[1] == answer.costs[1]
    wrong = replace(answer, lower_bounds=answer.costs + 1)
    assert "instance 0: the lower bound" in wrong.check(batch, stated.question).reason


def write_week(folder: Path) -> None:
    """Write files of days with time windows, of 3 to 21 cities. One has decimals, and of another there is no tour."""
    folder.mkdir()
    for name, n in (("mon", 11), ("tue", 21), ("thu", 5)):
        tsp, question = a_day(n, 3, 60)
        windows = question.windows
        assert windows is not None
        if name == "thu":
            windows = replace(windows, latest=windows.earliest)
        spans = zip(windows.earliest.tolist(), windows.latest.tolist())
        rows = [*np.where(tsp.cost == NO_ARC, 0, tsp.cost).tolist(), *spans]
        (folder / f"{name}.txt").write_text(f"{n}\n" + "".join(f"{' '.join(map(str, row))}\n" for row in rows))
    (folder / "wed.tsp").write_text(
        "NAME: wed\nTYPE: TSPTW\nDIMENSION: 3\nSERVICE_TIME: 2.5\nEDGE_WEIGHT_TYPE: EXPLICIT\n"
        "EDGE_WEIGHT_FORMAT: FULL_MATRIX\nEDGE_WEIGHT_SECTION\n0 1 2\n3 0 4\n5 6 0\n"
        "TIME_WINDOW_SECTION\n1 0 40\n2 3 9\n3 0 20\n-1\nDEPOT_SECTION\n1\n-1\nEOF\n")


def test_a_folder_of_days_on_any_ranks(mpiexec: Callable[..., Any], hpcsolve: Callable[..., Any],
                                       tmp_path: Path) -> None:
    write_week(tmp_path / "week")
    table = '[held-karp]\nobjective = "finish"\ntime-unit = "minute"\n'
    (tmp_path / "job.toml").write_text(f'algorithm = "held-karp"\ninstance = {{ batch = "week" }}\n{table}')
    answers = []
    for ranks, launch in ((1, hpcsolve), (2, partial(mpiexec, 2)), (3, partial(mpiexec, 3))):
        run = launch("run", "job.toml", "--output", f"{ranks}.h5", "--device", "cpu", cwd=tmp_path, timeout=300)
        assert "tours:  3 tours, 1 instance without a tour, proven optimal" in run.stdout, run.stdout + run.stderr
        assert "(time of the end)\nstops:  from 00:00 to" in run.stdout and "check:  PASS" in run.stdout
        answers.append(solution(tmp_path / f"{ranks}.h5"))
    assert answers[0] == answers[1] == answers[2]
    assert "their constraints kept, the time of the end from its" in hpcsolve("verify", "2.h5", cwd=tmp_path).stdout
    hpcsolve("export", "2.h5", "-o", "all.csv", cwd=tmp_path)
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert [row["name"] for row in rows] == ["mon.txt", "thu.txt", "tue.txt", "wed.tsp"]
    assert not rows[1]["cost"] and not rows[1]["tour"]
    for number in (0, 2, 3):  # the answer, its end and its stops are those of the file alone
        row = rows[number]
        alone = solve(tmp_path / "week" / row["name"], "held-karp", objective="finish", time_unit="minute",
                      device="cpu")
        end = round(alone.cost * alone.contents.scale)
        assert float(row["cost"]) == alone.cost and row["end"] == time_text(alone.contents, end)
        assert row["tour"] == " ".join(map(str, alone.tour_labels))
        hpcsolve("export", "2.h5", "--number", str(number), "-o", f"{number}.csv", cwd=tmp_path)
        export(alone.contents, "alone", str(tmp_path / "alone.csv"))
        assert (tmp_path / f"{number}.csv").read_text() == (tmp_path / "alone.csv").read_text()
    for number, why in ((1, "states that there is no tour"), (4, "has 4 instances, numbered from 0; there is no 4")):
        assert why in hpcsolve("export", "2.h5", "--number", str(number), "-o", "none.csv", cwd=tmp_path).stderr


def test_a_wrong_file_of_a_folder_is_named(hpcsolve: Callable[..., Any], tmp_path: Path) -> None:
    write_week(tmp_path / "week")
    (tmp_path / "job.toml").write_text('algorithm = "held-karp"\ninstance = { batch = "week" }\n')
    wrong = {
        "held-karp.start=9": "instance 1 (thu.txt): held-karp.start: ",
        "held-karp.objective=bottleneck": "instance 0 (mon.txt): held-karp.objective: the instance has time windows",
        "instance.n=3": "instance: no key 'n' beside batch: a folder or list of files takes weight and speed",
    }
    for override, message in wrong.items():
        refused = hpcsolve("run", "job.toml", "--set", override, "--device", "cpu", cwd=tmp_path)
        assert refused.returncode == 2 and message in refused.stderr
    (tmp_path / "week" / "zoo.txt").write_text("3\n0 1 2\n3 0\n")
    refused = hpcsolve("run", "job.toml", "--device", "cpu", cwd=tmp_path)
    assert refused.returncode == 2 and "zoo.txt" in refused.stderr


def test_what_cannot_be(tmp_path: Path, device: Device) -> None:
    with pytest.raises(InputError, match=r'held-karp\.layout: a batch does not take "compact"'):
        plan_of(held_karp.ALGORITHM, random_batch((2, 5)), Parameters(layout="compact"))
    one_tour = {"count": True, "best": 3, "arcs": True}
    for key, value in one_tour.items():
        with pytest.raises(InputError, match=rf"held-karp\.{key}: a batch has one tour of all cities for each"):
            plan_of(held_karp.ALGORITHM, random_batch((2, 5)), Parameters(**{key: value}))
    with pytest.raises(InputError, match=r'held-karp\.objective: a batch has one tour .* does not take "prize"; solve'):
        plan_of(held_karp.ALGORITHM, random_batch((2, 5)), Parameters(objective="prize", prizes=[1] * 5))
    with pytest.raises(InputError, match=r"instance 2: held-karp\.weights: 5 weights for 4 cities"):
        plan_of(held_karp.ALGORITHM, random_batch((2, 5), (1, 4)), Parameters(objective="latency", weights=[1] * 5))
    with pytest.raises(InputError, match=r"instance 0: held-karp\.objective: \"finish\" needs windows"):
        plan_of(held_karp.ALGORITHM, random_batch((2, 5)), Parameters(objective="finish"))
    with pytest.raises(ResourceError, match="instance 0: 60 cities"):
        plan_of(held_karp.ALGORITHM, random_batch((1, 60)), Parameters(objective="bottleneck"))
    for wrong in (2**64 - 1, 2**64 - 9, 2**63 + 1, -(2**63), -(2**62)):  # in int64 the first ones are -1 and -9
        costs = np.ones((2, 3, 3), np.uint64 if wrong > 0 else np.int64)
        costs[1, 0, 2] = wrong
        np.save(tmp_path / "large.npy", costs)
        with pytest.raises(InputError, match="from city 0 to city 2 of instance 1 is too large"):
            read_batch(str(tmp_path / "large.npy"), formats.read)
    np.save(tmp_path / "flat.npy", np.ones((3, 4)))
    with pytest.raises(InputError, match=r"shape \(3, 4\); it must be \(instances, n, n\)"):
        read_batch(str(tmp_path / "flat.npy"), formats.read)


def test_an_array_of_a_program_is_a_batch(tmp_path: Path) -> None:
    """The answer is that of the file, with which it is verified, and each tour is that of its instance alone."""
    costs = np.random.default_rng(8).integers(1, 60, (12, 6, 6))
    np.savez(tmp_path / "costs.npz", costs)
    found = hpcsolve.solve(costs, device="cpu", path="open", output=tmp_path / "all.h5")
    alone = [hpcsolve.solve(one, device="cpu", path="open").cost for one in costs]
    assert found.table("solution")["costs"].tolist() == alone and repr(found) == "<held-karp: 12 tours>"
    with pytest.raises(InputError, match="its instance came from standard input or a program; give its file"):
        verify_file(str(tmp_path / "all.h5"))
    assert verify_file(str(tmp_path / "all.h5"), str(tmp_path / "costs.npz"))[1].passed
    with pytest.raises(InputError, match=r"name its file, --set instance\.batch=FILE"):
        read_instance(load_job(str(tmp_path / "all.h5")))
    with pytest.raises(InputError, match="holds object; it must hold integers or floats"):
        hpcsolve.solve((costs + 0.9).astype(object), device="cpu")
    with pytest.raises(InputError, match=r"has shape \(2, 3, 4\); it must be \(instances, n, n\)"):
        hpcsolve.solve(costs[:2, :3, :4], device="cpu")
    with pytest.raises(InputError, match=r"must be \(n, n\), from row to column, a batch a numpy array of shape"):
        hpcsolve.solve(costs.tolist(), device="cpu")
