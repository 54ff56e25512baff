"""The command `hpcsolve sweep`: it runs what is missing, and keeps what is done whatever ended it before."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hpcsolve.analysis.load import load
from hpcsolve.isolated import search_path
from hpcsolve.sweep import expand, number_ranges, run_all
from tests.conftest import REPOSITORY
from tests.processes import processes, wait_until

RUN = b"main_of_run"
"""A word in the command of a sweep's runs."""

SIZES = """
algorithm = "held-karp"
instance = { generate = "random-matrix", n = [5, 7], seed = "1..2" }
device = "cpu"
threads = 1
"""
SLOW = """
algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 30 }
seed = "1..5"
device = "cpu"
threads = 1
ant-colony.bound = false
[stop]
seconds = 1.5
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sizes.toml").write_text(SIZES)
    (tmp_path / "slow.toml").write_text(SLOW)
    return tmp_path


def results(folder, name):
    """The result files of a sweep, with the time when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in sorted((folder / "results" / name).glob("*.h5"))}


def test_a_sweep_runs_what_is_missing(folder, hpcsolve):
    first = hpcsolve("sweep", "sizes.toml", "-j", "2", cwd=folder)
    assert first.returncode == 0, first.stderr
    assert "4 runs (2 values of instance.n x 2 values of instance.seed), 0 done, 4 to run" in first.stdout
    written = results(folder, "sizes")
    assert list(written) == [f"instance.n={n},instance.seed={seed}.h5" for n in (5, 7) for seed in (1, 2)]
    found = load(folder / "results" / "sizes" / "instance.n=7,instance.seed=2.h5")
    assert len(found.tour) == 7 and found.verified and "seed = 2" in found.job
    dry = hpcsolve("sweep", "sizes.toml", "--set", "instance.n=5..7", "--dry-run", cwd=folder)
    assert [line for line in dry.stdout.splitlines() if not line.startswith("#")] == [
        f"hpcsolve run sizes.toml --set instance.n=6 --set instance.seed={seed} "
        f"--output results/sizes/instance.n=6,instance.seed={seed}.h5  # {number}" for seed, number in ((1, 2), (2, 3))]
    more = hpcsolve("sweep", "sizes.toml", "--set", "instance.n=5..7", "--device", "auto", cwd=folder)
    assert "6 runs (3 values of instance.n x 2 values of instance.seed), 4 done, 2 to run" in more.stdout
    assert results(folder, "sizes").items() > written.items() and len(results(folder, "sizes")) == 6
    assert 'device = "auto"' in load(folder / "results" / "sizes" / "instance.n=6,instance.seed=1.h5").job


@pytest.mark.slow
def test_a_failure_does_not_stop_the_others(folder, hpcsolve):
    done = hpcsolve("sweep", "sizes.toml", "--set", "instance.n=[0, 60, 6]",
                    "--set", "held-karp.method=lattice", cwd=folder)
    assert done.returncode == 3
    errors = done.stderr.splitlines()
    assert len(errors) == 4 and len(results(folder, "sizes")) == 2
    assert errors[0].startswith("hpcsolve: instance.n=0,instance.seed=1: exit code 2: ")
    assert errors[2].startswith("hpcsolve: instance.n=60,instance.seed=1: exit code 3: ")
    assert "2 of 6 runs solved" in done.stdout


def test_a_run_that_is_killed_has_the_exit_code_of_a_shell(folder, monkeypatch):
    monkeypatch.chdir(folder)
    runs = expand("sizes.toml").runs[:2]
    killed = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    failures = run_all(runs, 2, killed, lambda fraction, text: None)
    assert [one.run for one in failures] == list(runs)
    assert {(one.exit_code, one.reason) for one in failures} == {(137, "killed by SIGKILL")}


@pytest.mark.slow
def test_the_result_of_another_job_is_kept_unless_told_otherwise(folder, hpcsolve):
    sweep = ["sweep", "sizes.toml", "--set", "instance.n=[5]"]
    assert hpcsolve(*sweep, cwd=folder).returncode == 0
    before = results(folder, "sizes")
    other = hpcsolve(*sweep, "--set", "held-karp.path=open", cwd=folder)
    assert other.returncode == 2 and other.stderr.count("the result of another job or instance") == 2
    assert results(folder, "sizes") == before
    assert hpcsolve(*sweep, "--set", "held-karp.path=open", "--overwrite", cwd=folder).returncode == 0
    assert all(stamp > before[name] for name, stamp in results(folder, "sizes").items())


def start(folder, *more):
    line = [sys.executable, "-m", "hpcsolve", "sweep", "slow.toml", "-j", "2", *more]
    return subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT", "SIGTERM"])
@pytest.mark.slow
def test_killed_half_way_and_started_again(folder, hpcsolve, name):
    """The runs under way end with the sweep, and no finished run is run again."""
    sweep = start(folder)
    wait_until(lambda: len(results(folder, "slow")) >= 2 and len(processes(folder, RUN)) == 2)
    sweep.send_signal(signal.Signals[name])
    output, errors = sweep.communicate(timeout=30)
    assert sweep.returncode == {"SIGKILL": -9, "SIGINT": 130, "SIGTERM": 75}[name], errors
    wait_until(lambda: not processes(folder, RUN))
    kept = {file: stamp for file, stamp in results(folder, "slow").items()
            if load(folder / "results" / "slow" / file).contents.attributes["complete"]}
    assert 2 <= len(kept) < 5 and not list(folder.glob("results/slow/*.part"))
    if name != "SIGKILL":
        assert f"{len(kept)} of 5 runs are done; the same command goes on from there" in output
        stopped = "stopped by SIGTERM; run the same command again"
        assert errors == f"hpcsolve: {'interrupted' if name == 'SIGINT' else stopped}\n"
    again = hpcsolve("sweep", "slow.toml", cwd=folder)
    assert again.returncode == 0 and f"{len(kept)} done, {5 - len(kept)} to run" in again.stdout
    assert results(folder, "slow").items() >= kept.items() and len(results(folder, "slow")) == 5


def test_mpiexec_is_refused_in_one_line(folder, mpiexec):
    done = mpiexec(2, "sweep", "sizes.toml", cwd=folder)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "hpcsolve: error: a sweep starts its runs itself, each as one process: start it without mpiexec or srun\n")
    assert not (folder / "results").exists()


def test_one_run_by_its_number(folder, hpcsolve, mpiexec):
    """`--missing` counts what is left for a job array, and `--run` solves one of it, also on several ranks."""
    def missing():
        return hpcsolve("sweep", "sizes.toml", "--missing", cwd=folder).stdout.strip()

    assert missing() == "0-3"
    assert hpcsolve("sweep", "sizes.toml", "--run", "1", "--quiet", cwd=folder).returncode == 0
    assert missing() == "0,2-3"
    done = mpiexec(2, "sweep", "sizes.toml", "--run", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "ranks:  2" in done.stdout and missing() == "0,3"
    assert list(results(folder, "sizes")) == ["instance.n=5,instance.seed=2.h5", "instance.n=7,instance.seed=1.h5"]


@pytest.mark.parametrize(("words", "expected"), [
    (["--run", "4"], "there is no run 4: the sweep has 4 runs, counted from 0"),
    (["--run", "0", "--set", "instance.n=[]"], "instance.n"),
])
def test_a_run_that_is_not_there_is_refused_once(folder, mpiexec, words, expected):
    done = mpiexec(2, "sweep", "sizes.toml", *words, cwd=folder)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("hpcsolve: error: ") == 1 and expected in done.stderr


@pytest.mark.parametrize(("numbers", "text"), [
    ([], ""), ([0], "0"), ([0, 1, 2], "0-2"), ([1, 3, 4, 7], "1,3-4,7"), ([0, 2], "0,2")])
def test_numbers_as_slurm_writes_them(numbers, text):
    assert number_ranges(numbers) == text


IMPORTED = """
import sys
from hpcsolve.cli import main
assert main(["run", "sizes.toml", "--set", "instance.n=5", "--set", "instance.seed=1", "--output", "out.h5"]) == 0
print(*{name.partition(".")[0] for name in sys.modules} - set(sys.builtin_module_names))
"""
PLANTED = "open('MARK', 'a').write(__name__ + '\\n')\nraise SystemExit(9)\n"


def test_nothing_in_the_working_directory_is_executed(folder, run_process):
    """Neither by the runs of a sweep nor by the child that tries a file without a seal."""
    found = run_process([sys.executable, "-c", IMPORTED], timeout=60, cwd=folder)
    names = set(found.stdout.splitlines()[-1].split()) - {"__main__"}
    assert {"numpy", "msgspec", "h5py", "hpcsolve", "json", "os", "encodings"} <= names
    with open(folder / "out.h5", "ab") as file:
        file.write(b"x")  # its seal is gone
    for name in names:
        (folder / f"{name}.py").write_text(PLANTED.replace("MARK", str(folder / "executed")))
    command = str(Path(sys.executable).with_name("hpcsolve"))
    swept = run_process([command, "sweep", "sizes.toml", "-j", "2"], timeout=60, cwd=folder)
    assert (swept.returncode, len(results(folder, "sizes"))) == (0, 4), swept.stderr
    verified = run_process([command, "verify", "out.h5"], timeout=60, cwd=folder)
    assert verified.returncode == 0, verified.stderr
    assert not (folder / "executed").exists(), (folder / "executed").read_text()
    run_process([sys.executable, "-m", "hpcsolve", "info"], timeout=60, cwd=folder)
    assert (folder / "executed").exists(), "python -m executes them, or this test cannot fail"


def test_a_process_imports_from_where_this_one_does(tmp_path, monkeypatch):
    """The working directory counts only where PYTHONPATH names it."""
    here, user, other = (str(tmp_path / name) for name in ("here", "user", "other"))
    os.mkdir(here)
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", ["", here, user, "../other", str(REPOSITORY)])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert search_path() == [user, other, str(REPOSITORY)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", here]))
    assert search_path() == [here, user, other, str(REPOSITORY)]
    monkeypatch.setattr(sys, "path", ["", user])
    monkeypatch.chdir(REPOSITORY)
    assert search_path() == [user, str(REPOSITORY)]
