"""What is lost at the end of a run.

What is raised while libhdf5 writes through a Python file, or lost there, never makes an incomplete result file. And a
full disk, a folder that has vanished or a permission that was removed never loses the answer.
"""

import os
import re
import shutil

import numpy as np
import pytest

import hpcsolve
from hpcsolve import load
from hpcsolve.errors import NotWritten
from hpcsolve.output import large_tables
from hpcsolve.runner import conclude
from tests.cli.seen import error_line, solution
from tests.cli.test_tables import write

KEPT = large_tables.FailureKeeper


def calls_of(monkeypatch, event):
    """Call `event` in place of each write of libhdf5 to the file, and return a list that gets all calls."""
    calls = []

    class Struck(KEPT):
        def write(self, data):
            calls.append(len(data))
            return event(len(calls), super().write, data)

    monkeypatch.setattr(large_tables, "FailureKeeper", Struck)
    return calls


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, None], ids=["Ctrl-C", "memory", "lost"])
def test_a_write_that_is_lost_below_libhdf5_leaves_the_old_file(error, tmp_path, monkeypatch):
    """Whatever happens to the n-th write, for every n: the file is whole, or the old one stays and that is said."""
    values, path = np.arange(4000, dtype=np.uint32).reshape(4, 1000), tmp_path / "r.h5"
    refused = []

    def lost(wanted):
        def event(number, write, data):
            if number != wanted:
                return write(data)
            if error is not None:
                raise error
            return len(data)

        return event

    calls = calls_of(monkeypatch, lost(0))
    write(path, values)
    whole = path.read_bytes()
    path.write_bytes(b"old")
    for wanted in range(1, len(calls) + 1):
        calls_of(monkeypatch, lost(wanted))
        try:
            write(path, values)
        except BaseException as raised:  # noqa: BLE001 (what it is depends on where libhdf5 was, and on its version)
            assert path.read_bytes() == b"old"
            refused.append(raised)
        else:
            assert path.read_bytes() == whole, f"write {wanted}"
            path.write_bytes(b"old")
        assert [p.name for p in tmp_path.iterdir()] == ["r.h5"]
    assert len(refused) > len(calls) / 2 > 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_failure_below_libhdf5_is_raised_at_the_end(error, tmp_path, monkeypatch):
    def event(number, write, data):
        if number == 2:
            monkeypatch.setattr("hpcsolve.output.large_tables.FailureKeeper.attempt", attempt)
        return write(data)

    def attempt(self, function, *arguments):
        monkeypatch.undo()
        return KEPT.attempt(self, struck, *arguments)

    def struck(*arguments):
        raise error

    calls_of(monkeypatch, event)
    with pytest.raises(error):
        write(tmp_path / "r.h5", np.zeros((2, 2), np.uint32))
    assert list(tmp_path.iterdir()) == []


JOB = """algorithm = "{}"
instance = {{ generate = "{}", n = 12, seed = 1 }}
output = "out/r.h5"
threads = 1
{}
"""
JOBS = {
    "ants": JOB.format("ant-colony", "uniform-tsp", "[ant-colony]\nants = 4\n[stop]\niterations = 6"),
    "tour": JOB.format("held-karp", "uniform-tsp", ""),
    "rows": JOB.format("shortest-paths", "road-graph", "[shortest-paths]\nsources = [1, 2, 3, 4]"),
    "tree": JOB.format("steiner-kmb", "road-steiner", "").replace("n = 12", "n = 12, terminals = 4"),
}


def vanish(folder):
    shutil.rmtree(folder / "out")


def replace_folder(folder):
    vanish(folder)
    (folder / "out").write_text("another program's")


def take_permission(folder):
    """Root may write everywhere, so the process becomes nobody."""
    (folder / "out").chmod(0o555)
    if os.geteuid() == 0:
        for path in [folder, *folder.parents]:
            path.chmod(path.stat().st_mode | 0o055)
        (folder / "elsewhere").chmod(0o777)
        os.seteuid(65534)


def make_pipe(folder):
    os.mkfifo(folder / "out" / "r.h5")


FAULTS = {  # what happens to the folder of the output -> the end of what is said of it
    "vanished": (vanish, "No such file or directory; choose another file; "),
    "replaced": (replace_folder, "Not a directory; choose another file; "),
    "no permission": (take_permission, "Permission denied; choose another file; "),
    "a pipe": (make_pipe, "is a pipe, and only regular files are written; choose another output; "),
}


@pytest.fixture
def solved(in_process, tmp_path, monkeypatch):
    """Return `solved(job, fault, *options)`: what a command said whose output has a fault when its search has ended."""
    (tmp_path / "elsewhere").mkdir()
    for name, folder in {"TMPDIR": "elsewhere", "HOME": "none"}.items():
        monkeypatch.setenv(name, str(tmp_path / folder))

    def solve(job, fault, *options):
        (tmp_path / "job.toml").write_text(JOBS[job])
        check = conclude.check_answer

        def late(*arguments):
            fault(tmp_path)
            return check(*arguments)

        monkeypatch.setattr(conclude, "check_answer", late)
        try:
            return in_process("run", "job.toml", "--device", "cpu", "--quiet", *options, cwd=tmp_path)
        finally:
            if os.getuid() == 0:
                os.seteuid(0)
            monkeypatch.setattr(conclude, "check_answer", check)

    return solve


@pytest.mark.parametrize(("job", "name"), [*((job, "vanished") for job in JOBS), *(("ants", name) for name in FAULTS)])
def test_an_answer_outlives_the_place_of_its_output(job, name, solved, tmp_path):
    """It is printed as ever, and its file is the one that the output would have been."""
    fault, words = FAULTS[name]
    whole = solved(job, lambda folder: None, "--output", "whole.h5")
    assert whole.returncode == 0 and "check:  PASS" in whole.stdout, whole.stderr
    done = solved(job, fault, "--checkpoint-interval", "never")
    (kept,) = (tmp_path / "elsewhere").glob("*/*")
    assert done.returncode == 4 and done.stdout == whole.stdout.replace("file:   whole.h5", f"file:   {kept}")
    assert error_line(done).endswith(f"{words}the result is in {kept}")
    assert kept.name == "r.h5" and kept.parent.name.startswith("hpcsolve-")
    assert solution(kept) == solution(tmp_path / "whole.h5")
    assert load(kept).cost == load(tmp_path / "whole.h5").cost or job == "rows"


def test_the_places_are_tried_in_turn(solved, tmp_path, monkeypatch):
    """First the folder of the checkpoints, where the folder of this run is beside the answer, then TMPDIR and home."""
    done = solved("ants", vanish, "--checkpoint-dir", "kept")
    (kept,) = (tmp_path / "kept").glob("hpcsolve-*/r.h5")
    assert done.returncode == 4 and error_line(done).endswith(f"the result is in {kept}")
    again = solved("ants", lambda folder: None, "--checkpoint-dir", "kept")
    assert again.returncode == 0 and os.listdir(tmp_path / "kept") == [kept.parent.name]
    assert solution(tmp_path / "out" / "r.h5") == solution(kept)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    assert solved("tour", vanish, "--overwrite").returncode == 4
    assert len(list((tmp_path / "elsewhere").glob("*/r.h5"))) == 1


def test_an_answer_that_no_place_takes_is_printed(solved, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    done = solved("tour", vanish)
    assert done.returncode == 4 and re.findall(r"(?m)^(\w+): ", done.stdout) == ["tour", "cost", "check"]
    words = (f"nor could anything be written in {tmp_path / 'none'}; the answer is in no file: it is printed above, "
             "and in Python it is the attribute `result` of this error")
    assert error_line(done).endswith(words)


def test_the_checkpoints_vanish_with_the_output(solved, tmp_path):
    """So does the lease, which is no reason to think that another run has the answer, unless it is there."""
    done = solved("ants", vanish, "--checkpoint-interval", "0")
    (kept,) = (tmp_path / "elsewhere").glob("*/r.h5")
    assert done.returncode == 4 and error_line(done).endswith(f"or the folder was removed; the result is in {kept}")

    def another_run_ends(folder):
        vanish(folder)
        (folder / "out").mkdir()
        shutil.copy(kept, folder / "out")

    done = solved("ants", another_run_ends, "--checkpoint-interval", "0")
    assert done.returncode == 4 and error_line(done).endswith("or the folder was removed") and done.stdout == ""
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1


def test_python_gets_the_answer_that_could_not_be_written(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    costs, check = np.arange(16).reshape(4, 4), conclude.check_answer

    def late(*arguments):
        shutil.rmtree(tmp_path / "out")
        return check(*arguments)

    monkeypatch.setattr(conclude, "check_answer", late)
    with pytest.raises(NotWritten) as lost:
        hpcsolve.solve(costs, "held-karp", device="cpu", output=tmp_path / "out" / "r.h5")
    result = lost.value.result
    assert result.verified and load(next(tmp_path.glob("*/r.h5"))).tour.tolist() == result.tour.tolist()
    monkeypatch.setattr(conclude, "check_answer", check)
    assert hpcsolve.solve(costs, "held-karp", device="cpu").cost == result.cost
