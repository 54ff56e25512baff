"""Altered result files fail their check or are damaged, which `verify` and `run` print in one line."""

import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

from hpcsolve import cli
from hpcsolve.errors import DamagedFileError
from hpcsolve.output import reader
from hpcsolve.output.hdf5 import has_seal
from hpcsolve.output.reader import read_result
from hpcsolve.replacing import make_folder, replacing
from tests.cli.lines import error_line

JOB = 'algorithm = "held-karp"\ninstance = { generate = "random-matrix", n = 9, seed = 5 }\noutput = "out.h5"\n'


@pytest.fixture(scope="module")
def solved(hpcsolve, tmp_path_factory, test_device):
    folder = tmp_path_factory.mktemp("solved")
    (folder / "job.toml").write_text(JOB)
    done = hpcsolve("run", "job.toml", "--device", test_device, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(solved, tmp_path):
    shutil.copytree(solved, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def command(folder, monkeypatch, capsys):
    """`command(*words)` runs the command line in this process, where one trial of the altered bytes is enough."""
    monkeypatch.chdir(folder)

    def run(*words):
        code = cli.main(words)
        return subprocess.CompletedProcess(words, code, *capsys.readouterr())

    return run


def put(name, value):
    def change(file):
        old = dict(file[name].attrs) if name in file else {}
        if name in file:
            del file[name]
        file[name] = value
        for key in ("units", "description"):
            file[name].attrs[key] = old.get(key, "1")

    return change


def without(name):
    return lambda file: file.__delitem__(name)


def unnamed(name):
    return lambda file: file.attrs.__delitem__(name)


def said(name, value):
    return lambda file: file.attrs.__setitem__(name, value)


STRUCTURE = {
    "tour of floats": (put("solution/tour", np.arange(9.0)), "/solution/tour is not a column, each value an integer"),
    "tour of texts": (put("solution/tour", ["a"] * 9), "/solution/tour"),
    "one city": (put("solution/tour", 3), "/solution/tour"),
    "no solution": (without("solution"), "/solution"),
    "no job": (without("job"), "/job/toml is missing"),
    "no label": (without("instance/label"), "/instance/label is missing"),
    "no kind": (without("instance/kind"), "/instance/kind is missing"),
    "other kind": (put("instance/kind", "graph"), "another kind of problem"),
    "short names": (put("instance/city_name", ["a", "b"]), "/instance/city_name has 2 values"),
    "two costs": (put("solution/cost", np.array([1, 2])), "/solution/cost is not an integer"),
    "cost of text": (put("solution/cost", "12"), "/solution/cost is not an integer"),
    "no cost": (without("solution/cost"), "/solution is not a complete answer"),
    "both": (put("solution/infeasible", 1), "/solution is not a complete answer"),
    **{f"no attribute {name}": (unnamed(name), f"the attribute {name} is missing")
       for name in ("cost", "verified", "complete", "algorithm", "created")},
    "cost is a text": (said("cost", "cheap"), "the attribute cost is not a number"),
    "verified is a text": (said("verified", "yes"), "the attribute verified is not an integer"),
    "odd list of scales": (lambda file: file["solution/tour"].attrs.__setitem__("DIMENSION_LIST", 7),
                           "the attribute DIMENSION_LIST of /solution/tour does not list dimension scales"),
    "job is no TOML": (put("job/toml", "algorithm = = 1"), "damaged: /job/toml is not valid TOML"),
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_an_altered_structure_is_damage(name, command, folder, test_device):
    change, message = STRUCTURE[name]
    with h5py.File(folder / "out.h5", "r+") as file:
        change(file)
    verified = command("verify", "out.h5")
    assert verified.returncode == 5 and "damaged" in error_line(verified), verified.stdout
    again = command("run", "job.toml", "--device", test_device)
    if name == "no job":  # then nothing says whose result it is
        assert again.returncode in (2, 5)
    else:
        assert again.returncode == 5 and "--overwrite" in error_line(again), again.stdout
    assert message in error_line(again) and "\ntour:" not in again.stdout


def swapped(file):
    tour = file["solution/tour"][:]
    file["solution/tour"][:] = tour[[0, 2, 1, *range(3, 9)]]


WRONG = {
    "swapped": swapped,
    "outside": lambda file: file["solution/tour"].__setitem__(2, 99),
    "short": put("solution/tour", np.arange(3)),
    "cheaper": lambda file: (file["solution/cost"].__setitem__((), 1), said("cost", 1)(file)),
    "attribute": said("cost", 1),
    "legs": lambda file: file["legs/cost"].__setitem__(0, file["legs/cost"][0] + 1),
    "labels": lambda file: file["instance/label"].__setitem__(0, 10),
    "scale": put("instance/scale", 2),
    "huge cost": put("solution/cost", np.uint64(2**64 - 1)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_changed_answer_fails_though_the_file_says_it_passed(name, command, folder, test_device):
    with h5py.File(folder / "out.h5", "r+") as file:
        WRONG[name](file)
    assert not has_seal(folder / "out.h5")
    for words in (["verify", "out.h5"], ["run", "job.toml", "--device", test_device]):
        done = command(*words)
        assert done.returncode == 1 and done.stderr == "", done.stderr
        assert "check:  FAIL" in done.stdout and "PASS" not in done.stdout


def test_a_note_beside_a_right_answer_passes(hpcsolve, folder, test_device):
    untouched = hpcsolve("run", "job.toml", "--device", test_device, cwd=folder)
    assert has_seal(folder / "out.h5") and "check:  PASS (when it was solved)" in untouched.stdout
    with h5py.File(folder / "out.h5", "r+") as file:
        file.attrs["note"] = "mine"
    again = hpcsolve("run", "job.toml", "--device", test_device, cwd=folder)
    assert again.returncode == 0 and "check:  PASS (every city once" in again.stdout
    assert "its seal is gone, since it was changed or cut off later" in again.stdout


def test_a_file_without_its_end_says_so(hpcsolve, folder):
    whole = (folder / "out.h5").read_bytes()
    for length in (1, 20, 48):
        (folder / "out.h5").write_bytes(whole[:-length])
        done = hpcsolve("verify", "out.h5", cwd=folder)
        assert done.returncode == 0 and "its seal is gone" in done.stdout, done.stderr


@pytest.mark.parametrize(("program", "said"), [
    ("import os; os.abort()", "libhdf5 crashes when it reads it (SIGABRT)"),
    ("import time; time.sleep(60)", "libhdf5 did not read it within 1 s"),
    (reader.TRIAL.replace("read_all(name)", "while True: pass"), "libhdf5 did not read it within 1 s of CPU time"),
])
def test_a_file_that_crashes_libhdf5_is_damaged(program, said, folder, monkeypatch):
    """Which bytes crash libhdf5 depends on its version, so the child does something else in this test."""
    monkeypatch.setattr(reader, "TRIAL", program)
    monkeypatch.setattr(reader, "TRIAL_SECONDS", 1.0 if "sleep" in program else 60.0)
    monkeypatch.setattr(reader, "TRIAL_CPU_SECONDS", 1)
    assert read_result(folder / "out.h5").attributes["complete"], "a file with its seal needs no trial"
    (folder / "out.h5").write_bytes((folder / "out.h5").read_bytes()[:-1])
    with pytest.raises(DamagedFileError) as error:
        read_result(folder / "out.h5")
    assert said in str(error.value)


def test_a_load_of_what_is_not_whole(folder):
    import hpcsolve

    with h5py.File(folder / "out.h5", "r+") as file:
        del file["solution"]
    with pytest.raises(DamagedFileError, match="not a complete answer"):
        hpcsolve.load(folder / "out.h5")


def test_datasets_that_contradict_each_other_are_damage(hpcsolve, folder):
    with h5py.File(folder / "out.h5", "r+") as file:
        del file["solution"]
        put("solution/infeasible", 0)(file)
    done = hpcsolve("verify", "out.h5", cwd=folder)
    assert done.returncode == 5 and "its datasets contradict each other" in error_line(done), done.stdout


def test_two_runs_with_one_output_leave_each_other_alone(tmp_path):
    path = tmp_path / "out.h5"
    with replacing(path) as first:
        first.write_bytes(b"first")
        make_folder(path)
        with replacing(path) as second:
            assert second != first
            second.write_bytes(b"second")
        assert path.read_bytes() == b"second" and first.read_bytes() == b"first"
    assert path.read_bytes() == b"first" and os.listdir(tmp_path) == ["out.h5"]


def test_parts_of_dead_processes_are_removed_and_no_others(tmp_path):
    dead = subprocess.Popen(["true"])
    dead.wait()
    with replacing(tmp_path / "out.h5") as part:
        part.touch()
        own = f"-{os.getpid()}."
        left = part.name.replace(own, f"-{dead.pid}.")
        of_other_host = f"out.h5.{'0' * 8}{left[15:]}"
        others = [part.name.replace(own, "-1."), of_other_host, "other" + left, "my.part", "out.h5.part"]
        for name in [left, *others]:
            (tmp_path / name).touch()
        make_folder(tmp_path / "out.h5")
        assert sorted(os.listdir(tmp_path)) == sorted([part.name, *others])


def test_a_killed_run_leaves_no_part_to_the_next(hpcsolve, folder, repository, run_process, test_device):
    program = (
        "import os, sys\nfrom hpcsolve import replacing\n"
        "def killed(part):\n"
        "    os.kill(os.getpid(), 9) if part.name.startswith('again.h5.') and part.suffix == '.part' else None\n"
        "replacing.wait_for_disk = killed\nfrom hpcsolve.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, "run", "job.toml", "--device", test_device, "--output", "again.h5"]
    assert run_process(command, timeout=60, cwd=folder).returncode == -9
    assert len(list(folder.glob("again.h5.*.part"))) == 1
    done = hpcsolve("run", "job.toml", "--device", test_device, "--output", "again.h5", cwd=folder)
    assert done.returncode == 0 and sorted(map(str, folder.glob("again*"))) == [str(folder / "again.h5")]


def test_a_virtual_dataset_is_refused_and_the_process_ends_as_it_should(folder, hpcsolve):
    """libhdf5 crashes at the end of a process that has the properties of a virtual dataset open, with SIGSEGV."""
    shutil.copy(folder / "out.h5", folder / "virtual.h5")
    with h5py.File(folder / "virtual.h5", "r+") as file:
        layout = h5py.VirtualLayout(shape=(9,), dtype="i4")
        layout[:] = h5py.VirtualSource(".", "/instance/label", shape=(9,))
        del file["solution/tour"]
        file["solution"].create_virtual_dataset("tour", layout)
    done = hpcsolve("collect", "virtual.h5", "out.h5", cwd=folder)
    line = "hpcsolve: left out: virtual.h5: damaged: /solution/tour takes its data from another file or dataset\n"
    assert (done.returncode, done.stderr) == (5, line)
    assert [row.split(",")[0] for row in done.stdout.splitlines()] == ["file", "out.h5"]
