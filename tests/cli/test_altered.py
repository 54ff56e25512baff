"""Altered result files fail their check or are damaged, which `verify` and `run` print in one line."""

import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

from hpcsolve import load
from hpcsolve.errors import DamagedFileError
from hpcsolve.output import reader
from hpcsolve.output.hdf5 import has_seal
from hpcsolve.output.reader import read_result
from hpcsolve.replacing import make_folder, replacing
from tests.cli.seen import error_line, solution, write_job

PAIRS = [(1, 5), (2, 7), (1, 59), (9, 9), (2, 7), (1, 2), (60, 2), (33, 51), (7, 2), (1, 3)]
RANDOM = '{ generate = "random-graph", n = 60, degree = 5, seed = 3, parts = 2, low = 0, high = 4 }'
GRID = '{ generate = "grid-graph", rows = 9, columns = 11 }'
JOBS = {
    "tour": ("held-karp", '{ generate = "random-matrix", n = 9, seed = 5 }', ""),
    "prizes": ("held-karp", '{ generate = "random-matrix", n = 9, seed = 5 }',
               'objective = "prize"\nprizes = [0, 3, 0, 5, 2, 4, 1, 9, 1]'),
    "ants": ("ant-colony", '{ generate = "clustered-tsp", n = 70, seed = 3 }',
             "ants = 5\ncolonies = 2\n[stop]\niterations = 6"),
    "population": ("edge-assembly", '{ generate = "clustered-tsp", n = 70, seed = 3 }', "population = 5"),
    "tree": ("steiner-kmb", '{ generate = "road-steiner", n = 400, terminals = 30 }', ""),
    "matrix": ("steiner-kmb", '{ generate = "power-law-steiner", n = 120, edges = 300, terminals = 40, high = 3 }',
               'mode = "kmb"\nmatrix = true'),
    "queries": ("shortest-paths", RANDOM, f"queries = {[list(pair) for pair in PAIRS]}"),
    "rows": ("shortest-paths", GRID, "sources = [1, 50]\npredecessors = true"),
    "tied rows": ("shortest-paths", '{ generate = "grid-graph", rows = 3, columns = 3, high = 1 }',
                  "sources = [1]\npredecessors = true"),
    "targets": ("shortest-paths", GRID, "sources = [1, 50]\ntargets = [7, 3]\ncutoff = 300"),
    "nearest": ("shortest-paths", '"g.txt"', "sources = [1, 5]\nvoronoi = true"),
    "reductions": ("shortest-paths", '{ generate = "road-graph", n = 40 }', 'sources = "all"\nk = 3\n'
                   'reduce = ["count", "nearest", "sum", "farthest", "access"]\ncutoffs = [2000, 9000.5]\n'
                   'decays = [{ linear = 900 }]'),
}
SLOW = {"tree": pytest.mark.slow, "reductions": pytest.mark.slow}
CHECKED = {  # what verify says of each before it is altered
    "tour": "every city once", "prizes": "no city twice, the prizes added up",
    "ants": "the multipliers prove the lower bound",
    "population": "the multipliers prove the lower bound",
    "tree": "the prices prove the lower bound", "matrix": "every row of the matrix",
    "queries": "every path added up, every distance and path", "rows": "in every row", "tied rows": "in every row",
    "targets": "every distance found again by a search on the host", "nearest": "",
    "reductions": "40 of 40 sources searched again on the host",
}


@pytest.fixture(scope="module")
def solved(hpcsolve, tmp_path_factory, test_device):
    """Return `solved(name)`: a folder with the job and its result, which passes its check."""
    folder = tmp_path_factory.mktemp("solved")

    def solve(name):
        path = folder / name
        if not path.exists():
            path.mkdir()
            (path / "g.txt").write_text("1 2 1\n2 3 0\n3 4 0\n4 5 9\n")  # two vertices joined by an arc of weight 0
            write_job(path, *JOBS[name])
            done = hpcsolve("run", "job.toml", "--device", test_device, cwd=path, timeout=300)
            assert done.returncode == 0, done.stderr
            (path / "printed").write_text(done.stdout)
            good = hpcsolve("verify", "out.h5", cwd=path)
            assert good.returncode == 0 and "check:  PASS (" in good.stdout and CHECKED[name] in good.stdout
        return path

    return solve


def put(name, value):
    """Return a change: a new dataset in place of an old one, or beside the others."""
    def change(file):
        old = dict(file[name].attrs) if name in file else {}
        if name in file:
            del file[name]
        file[name] = value
        for key in ("units", "description"):
            file[name].attrs[key] = old.get(key, "1")

    return change


def edit(name, place, value):
    """Return a change of values in a dataset, to others or to what a function makes of them."""
    def change(file):
        values = np.array(file[name])
        values[place] = value(values[place]) if callable(value) else value
        file[name][...] = values

    return change


def without(name):
    return lambda file: file.__delitem__(name)


def unnamed(name):
    return lambda file: file.attrs.__delitem__(name)


def said(name, value):
    return lambda file: file.attrs.__setitem__(name, value)


def all_of(*changes):
    return lambda file: [change(file) for change in changes]


def more(value):
    return value + 1


def better(file):
    bound = file["solution/lower_bound"][()] + 1
    file["solution/lower_bound"][()] = bound
    file["solution/ratio"][()] = file["solution/cost"][()] / bound


def other_pairs(file):
    """Replace the answer to a query by the right answer to another one."""
    for name, ends in zip(("source", "target"), np.array(PAIRS).T - 1, strict=True):
        file[f"solution/{name}"][:] = np.r_[ends[:3], 7, ends[4:]]
    file["solution/path"][file["solution/offset"][3]] = 7


def fill_value(file):
    file["solution/distance"].attrs["_FillValue"] = 7


def odd_scales(file):
    file["solution/tour"].attrs["DIMENSION_LIST"] = 7


ANY = Ellipsis
DAMAGED = {  # job: what is changed -> what is said of it; the exit code is 5
    "tour": {
        "tour of floats": (put("solution/tour", np.arange(9.0)), "tour is not a column, each value an integer"),
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
        "odd list of scales": (odd_scales, "DIMENSION_LIST of /solution/tour does not list dimension scales"),
        "job is no TOML": (put("job/toml", "algorithm = = 1"), "damaged: /job/toml is not valid TOML"),
        "no tour at all": (all_of(without("solution"), put("solution/infeasible", 0)), "contradict each other"),
    },
    "tree": {
        "no tree": (without("solution/u"), "/solution is not a complete answer"),
        "texts": (put("prices/root", "x"), "/prices/root is not an integer"),
    },
    "queries": {
        "no path": (without("solution/path"), "damaged: /solution is not a complete"),
    },
    "rows": {
        "row": (put("solution/distance", np.zeros((1, 99), np.uint32)), "has no dimension scale of length 1"),
    },
}
WRONG = {  # the same for answers that fail their check, with exit code 1
    "tour": {
        "swapped": (edit("solution/tour", [3, 4], lambda cities: cities[::-1]), "the tour costs"),
        "twice": (edit("solution/tour", ANY, [0, 1, 2, 3, 3, 5, 6, 7, 8]), "is visited 2 times"),
        "outside": (edit("solution/tour", 2, 99), "out of range"),
        "short": (put("solution/tour", np.arange(3)), ""),
        "cheaper": (all_of(edit("solution/cost", (), 1), said("cost", 1)), "the tour costs"),
        "attribute": (said("cost", 1), "the attribute cost is"),
        "legs": (edit("legs/cost", 0, more), "legs"),
        "labels": (edit("instance/label", 0, 10), "/instance/label"),
        "scale": (put("instance/scale", 2), "scale"),
        "huge cost": (put("solution/cost", np.uint64(2**64 - 1)), ""),
    },
    "prizes": {
        "the prize": (edit("solution/prize", (), more), "the prizes of the tour add up to"),
        "twice": (edit("solution/tour", 2, 0), "is visited 2 times"),
        "begins elsewhere": (edit("solution/tour", ANY, lambda cities: np.roll(cities, 1)), "the tour starts at"),
        "a cheaper point": (edit("solution/curve_costs", 3, lambda cost: cost - 1), "of the curve has cost and prize"),
        "a richer point": (edit("solution/curve_prizes", 3, more), "the curve has"),
        "no last tour": (edit("solution/curve_tours", -1, 0), "the last of which is the tour"),
        "offsets": (edit("solution/curve_offset", 1, 0), "the curve has not one tour for each prize"),
    },
    "ants": {
        "the bound": (edit("solution/lower_bound", (), more), "the multipliers prove"),
        "said to be optimal": (all_of(without("solution/lower_bound"), put("solution/optimal", 1)),
                               "the optimal cost is"),
        "a multiplier": (edit("multipliers/entering", 7, lambda value: value + 10**6), "the multipliers prove"),
        "the special city": (edit("multipliers/special", (), 70), "the special city is 70"),
        "the scale": (edit("multipliers/scale", (), 0), "the scale of multipliers is 0"),
        "few multipliers": (put("multipliers/entering", np.arange(7)), ""),
        "no multipliers": (without("multipliers"), "/multipliers is missing or incomplete"),
        "another method": (put("solution/proof", "magic"), "'magic' is no method that is known"),
    },
    "tree": {
        "an edge's end": (edit("solution/u", 3, 0), "no edge"),
        "an edge's weight": (edit("solution/weight", 2, more), "weighs"),
        "the cost": (edit("solution/cost", (), more), "the attribute cost is"),
        "the attribute": (said("cost", 1), "the attribute cost is 1"),
        "the bound": (edit("solution/lower_bound", (), more), "ratio is"),
        "the bound and the ratio": (better, "the prices prove"),
        "the closure": (edit("solution/closure_mst", (), more), "closure_mst is"),
        "the ratio": (edit("solution/ratio", (), lambda ratio: ratio - 0.01), "ratio is"),
        "a price": (edit("prices/price", 0, lambda price: price - 1), "the prices prove"),
        "a high price": (edit("prices/price", ANY, lambda prices: prices + 10**9), "a set that holds the root"),
        "no prices": (without("prices"), "/prices is missing"),
    },
    "matrix": {
        "a distance": (edit("solution/matrix", (7, 9), more), "row 7"),
        "no matrix": (without("solution/matrix"), "matrix"),
    },
    "queries": {
        "distance": (edit("solution/distance", 2, 1), "query 2, 1 -> 59, has a path of another length"),
        "source": (edit("solution/source", 1, 30), "/solution/source and target are not the queries of the job"),
        "target": (edit("solution/target", 1, 99), "/solution/source and target are not the queries of the job"),
        "pairs": (other_pairs, "/solution/source and target are not the queries of the job"),
        "path": (edit("solution/path", 0, 44), "query 0, 1 -> 5, has a path that begins or ends elsewhere"),
        "offset": (edit("solution/offset", 1, 0), "query 0, 1 -> 5, has a distance and no path, or a path"),
        "label": (edit("instance/label", 3, 77), "/instance/label is not that of the instance"),
        "none": (fill_value, "/solution/distance says that 7 stands for none"),
        "offsets": (put("solution/offset", np.arange(10)), "distance must have one entry for each query"),
    },
    "rows": {
        "distance": (edit("solution/distance", (1, 40), 3), "row 1: vertex"),
        "unreached": (edit("solution/distance", (0, 98), 2**32 - 1), "row 0: vertex 99 has distance none"),
        "predecessor": (edit("solution/predecessor", (0, 5), 88), "row 0: vertex 6 at"),
        "no predecessor": (edit("solution/predecessor", (1, 5), -1), "row 1: vertex 6 at"),
        "sources": (edit("solution/source", ANY, [9, 1]), "/solution/source does not hold the sources of the job"),
    },
    "tied rows": {  # one that fits, and is not the smallest
        "predecessor": (edit("solution/predecessor", (0, 4), 3), "the smallest predecessor of vertex 5 is not"),
    },
    "targets": {
        "distance": (edit("solution/distance", (1, 0), 7), "row 1: vertex 7 has distance 7, not "),
        "target": (edit("solution/target", 1, 3), "target does not hold the"),
    },
    "nearest": {  # both name the farther source, so that no arc contradicts them
        "nearest": (edit("solution/nearest", (0, [2, 3]), 4), "row 0: the nearest source of vertex 3 is not"),
    },
    "reductions": {
        name: (edit(f"solution/{name}", ANY, more), "FAIL") for name in (
            "reached", "sum", "closeness", "count", "nearest_target", "farthest_distance", "radius", "cutoff",
            "access")
    },
}


def cases(table):
    """Return the cases of a table. Those of some kinds of answers are left to the slow tests."""
    return [pytest.param(job, name, id=f"{job}: {name}", marks=SLOW.get(job, ()))
            for job in table for name in table[job]]


ANSWER = ("tour:", "cost:", "source", "target", "table:", "query:", "radius:", "closeness:", "file:")
"""How the lines of an answer begin."""


@pytest.mark.parametrize("job", [pytest.param(job, marks=SLOW.get(job, ())) for job in JOBS])
def test_a_result_is_printed_again_and_is_a_job(job, solved, in_process, tmp_path, test_device):
    """A finished job is not run again. The job of its result gives the same answer, from anywhere."""
    folder, before = solved(job), (solved(job) / "out.h5").stat()
    run = ("run", "job.toml", "--device", test_device, "--set")
    again = in_process(*run, "threads=1", cwd=folder)
    assert again.returncode == 0 and "this job is done already" in again.stdout, again.stderr
    first, second = ([line for line in text.splitlines() if line.startswith(ANSWER)]
                     for text in ((folder / "printed").read_text(), again.stdout))
    assert first == second and len(first) > 1
    other = in_process(*run, "seed=2", cwd=folder)
    assert other.returncode == 2 and "the result of another job or instance" in error_line(other)
    after = (folder / "out.h5").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    copied = in_process("run", folder / "out.h5", "--output", "again.h5", "--device", test_device, cwd=tmp_path)
    assert copied.returncode == 0 and solution(tmp_path / "again.h5") == solution(folder / "out.h5"), copied.stderr
    files = (tmp_path / "again.h5", folder / "out.h5")
    assert len({read_result(path).value("job", "hash") for path in files}) == 1


@pytest.fixture
def folder(solved, tmp_path):
    """Return a folder with the job of a tour and its result."""
    shutil.copytree(solved("tour"), tmp_path, dirs_exist_ok=True)
    return tmp_path


def altered(path, change):
    """Alter the result in a folder."""
    with h5py.File(path / "out.h5", "r+") as file:
        change(file)


@pytest.mark.usefixtures("without_trial")
@pytest.mark.parametrize(("job", "name"), cases(DAMAGED))
def test_an_altered_structure_is_damage(job, name, solved, tmp_path, in_process, test_device):
    change, message = DAMAGED[job][name]
    shutil.copytree(solved(job), tmp_path, dirs_exist_ok=True)
    altered(tmp_path, change)
    verified = in_process("verify", "out.h5", cwd=tmp_path)
    assert verified.returncode == 5 and "damaged" in error_line(verified), verified.stdout
    again = in_process("run", "job.toml", "--device", test_device, cwd=tmp_path)
    if name == "no job":  # without its job nothing says whose result it is
        assert again.returncode in (2, 5)
    else:
        assert again.returncode == 5 and "--overwrite" in error_line(again), again.stdout
    assert message in error_line(again) and "\ntour:" not in again.stdout


def test_another_job_in_the_file_is_damage(solved, tmp_path, in_process, test_device):
    shutil.copytree(solved("rows"), tmp_path, dirs_exist_ok=True)
    text = (read_result(tmp_path / "out.h5").value("job", "toml")).replace("[1, 50]", "[1, 51]")
    altered(tmp_path, lambda file: file["job/toml"].__setitem__((), text))
    for words in (["verify", "out.h5"], ["run", "job.toml", "--device", test_device]):
        done = in_process(*words, cwd=tmp_path)
        assert done.returncode == 5 and "/job/hash is not that of /job/toml" in error_line(done)
    assert "--overwrite" in error_line(done)


@pytest.mark.usefixtures("without_trial")
@pytest.mark.parametrize(("job", "name"), cases(WRONG))
def test_a_changed_answer_fails_though_the_file_says_it_passed(job, name, solved, tmp_path, in_process, test_device):
    change, message = WRONG[job][name]
    shutil.copytree(solved(job), tmp_path, dirs_exist_ok=True)
    altered(tmp_path, change)
    assert not has_seal(tmp_path / "out.h5")
    for words in (["verify", "out.h5"], ["run", "job.toml", "--device", test_device]):
        done = in_process(*words, cwd=tmp_path)
        assert done.returncode == 1 and done.stderr == "", done.stderr
        assert "check:  FAIL" in done.stdout and message in done.stdout and "PASS" not in done.stdout, done.stdout


def test_a_note_beside_a_right_answer_passes(hpcsolve, folder, test_device):
    untouched = hpcsolve("run", "job.toml", "--device", test_device, cwd=folder)
    assert has_seal(folder / "out.h5") and "check:  PASS (when it was solved)" in untouched.stdout
    altered(folder, said("note", "mine"))
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
    altered(folder, without("solution"))
    with pytest.raises(DamagedFileError, match="not a complete answer"):
        load(folder / "out.h5")


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
