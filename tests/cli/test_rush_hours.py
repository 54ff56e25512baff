"""Travel times by time of departure on the command line: ranks, the schedule of the answer, verify, what is refused."""

import h5py
import numpy as np
import pytest

from hpcsolve import load
from hpcsolve.answers.schedule import schedule_in
from hpcsolve.output.reader import read_result
from tests.cli.seen import error_line, solution

JOB = """algorithm = "held-karp"
instance = "m.npy"
output = "out.h5"
share-gpu = true
[held-karp]
objective = "finish"
windows = "windows.csv"
travel-times = "rush.csv"
time-unit = "minute"
"""
WINDOWS = "city,earliest,latest,service\n0,7:00,18:00,\n1,8:00,9:30,0:10\n5,9:00,11:00,0:15\n"
FACTORS = "time,factor\n6:00,1\n7:30,1.8\n9:00,1.1\n16:00,1.2\n"


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a job of 12 cities, whose travel times are those of a morning."""
    points = np.random.default_rng(3).integers(0, 40, (12, 2))
    cost = np.abs(points[:, None] - points).sum(axis=2)
    np.save(tmp_path / "m.npy", cost)
    times = np.array([360, 450, 540, 960])
    np.save(tmp_path / "tables.npy", np.floor(cost * np.array([1, 1.8, 1.1, 1.2])[:, None, None] + 0.5))
    (tmp_path / "windows.csv").write_text(WINDOWS)
    (tmp_path / "rush.csv").write_text(FACTORS)
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "tables.toml").write_text(JOB.replace("rush.csv", "tables.npy") + f"departures = {times.tolist()}\n")
    return tmp_path


def test_ranks_and_forms_of_the_file_find_the_same(folder, mpiexec, hpcsolve, test_device):
    found = []
    for ranks, job in ((1, "job"), (2, "job"), (3, "tables")):
        done = mpiexec(ranks, "run", f"{job}.toml", "--device", test_device, "--output", f"{ranks}.h5", cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "check:  PASS (every city once, its constraints kept, the time of the end from the in" in done.stdout
        assert "stops:  from 07:00 to 10:47, with 00:25 service" in done.stdout
        found.append(solution(folder / f"{ranks}.h5"))
        assert "check:  PASS" in hpcsolve("verify", f"{ranks}.h5", cwd=folder).stdout
    assert found[1:] == found[:1] * 2
    again = hpcsolve("run", "3.h5", "--device", test_device, "--output", "again.h5", cwd=folder)
    assert again.returncode == 0 and solution(folder / "again.h5") == found[0]


def test_the_schedule_is_the_one_that_is_driven(folder, hpcsolve, test_device):
    assert hpcsolve("run", "job.toml", "--device", test_device, cwd=folder).returncode == 0
    contents = read_result(folder / "out.h5")
    schedule, tables = schedule_in(contents), np.load(folder / "tables.npy")
    for at, (tail, head) in enumerate(zip(schedule.city[:-1], schedule.city[1:])):
        left = schedule.departure[at]
        takes = np.interp(left, [360, 450, 540, 960], tables[:, tail, head])
        assert schedule.arrival[at + 1] == left + int(np.floor(takes + 1e-9))
    assert schedule.departure[-1] == contents.value("solution", "cost") == 647
    assert load(folder / "out.h5").cost == 647


@pytest.mark.parametrize(("name", "change", "message"), [
    ("cost", lambda value: value - 1, "/solution/cost is 646"),
    ("tour", lambda value: [*value[:-2], value[-1], value[-2]], "the tour costs 6"),
])
def test_an_altered_result_fails(name, change, message, folder, hpcsolve, test_device):
    assert hpcsolve("run", "job.toml", "--device", test_device, cwd=folder).returncode == 0
    with h5py.File(folder / "out.h5", "r+") as file:
        value = file[f"solution/{name}"]
        value[...] = change(value[()])
    done = hpcsolve("verify", "out.h5", cwd=folder)
    assert done.returncode != 0 and message in done.stdout + done.stderr


def test_a_file_that_has_changed_is_refused(folder, hpcsolve, test_device):
    assert hpcsolve("run", "job.toml", "--device", test_device, cwd=folder).returncode == 0
    (folder / "rush.csv").write_text(FACTORS.replace("1.8", "1.9"))
    line = error_line(hpcsolve("verify", "out.h5", cwd=folder))
    assert "rush.csv: is not the file of the job (its SHA-256 differs); --set held-karp.travel-times=FILE uses" in line


def test_windows_that_contradict_each_other_by_the_hour(folder, hpcsolve, test_device):
    """Without the rush hour there is time enough."""
    takes = np.load(folder / "m.npy")[0, 1]
    table = f"city,earliest,latest\n0,7:30,\n1,7:30,{7 + (30 + takes) // 60}:{(30 + takes) % 60:02d}\n"
    (folder / "windows.csv").write_text(table)
    done = hpcsolve("run", "job.toml", "--device", test_device, cwd=folder)
    assert "why:    the windows of these 2 cities contradict each other, those of fewer do not: 0 (" in done.stdout
    (folder / "rush.csv").write_text("time,factor\n0,1\n")
    done = hpcsolve("run", "job.toml", "--device", test_device, "--output", "calm.h5", cwd=folder)
    assert "proven optimal" in done.stdout


@pytest.mark.parametrize(("keys", "message"), [
    ({"objective": "position"}, "held-karp."),
    ({"method": "lattice", "best": 2}, "departure are solved by method = \"bounded\" alone, for one tour; remove"),
    ({"departures": [1]}, "held-karp.departures: the times of departure of a table of factors stand in its column"),
    ({"travel-times": "tables.npy"}, "held-karp.travel-times: a .npy file has tables alone; give the time of"),
    ({"departures": "true"}, "held-karp.departures"),
    ({"travel-times": "none.csv"}, "none.csv: cannot be read"),
])
def test_what_is_refused(keys, message, folder, hpcsolve, test_device):
    sets = [word for key, value in keys.items() for word in ("--set", f"held-karp.{key}={value}")]
    done = hpcsolve("run", "job.toml", "--device", test_device, *sets, cwd=folder)
    assert done.returncode == 2 and message in error_line(done)


def test_departures_without_travel_times(folder, hpcsolve, test_device):
    (folder / "job.toml").write_text(JOB.replace('travel-times = "rush.csv"', "departures = [3]"))
    assert "held-karp.departures: these are the times of tables of travel-times" in error_line(
        hpcsolve("run", "job.toml", "--device", test_device, cwd=folder))


def test_rounded_costs_are_refused(folder, hpcsolve, test_device):
    np.save(folder / "m.npy", np.load(folder / "m.npy") / 7)
    line = error_line(hpcsolve("run", "job.toml", "--device", test_device, cwd=folder))
    assert "held-karp.travel-times: the costs of the instance have been rounded" in line
