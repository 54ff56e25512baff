"""`hpcsolve new` writes every example of jobs/ so that it runs where it lies, and overwrites nothing."""

from pathlib import Path

import pytest

from hpcsolve.errors import InputError
from hpcsolve.job import load_job
from hpcsolve.job.examples import examples, write_example
from hpcsolve.runner.reading import read_instance
from tests.cli.seen import error_line
from tests.frame.source import REPOSITORY

NAMES = sorted(path.stem for path in (REPOSITORY / "jobs").glob("*.toml"))


def test_all_examples_are_listed(hpcsolve):
    done = hpcsolve("new")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and [line.split()[0] for line in lines] == NAMES
    assert all(len(line) <= 120 and len(line.split()) > 4 for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_all_its_files(name, tmp_path):
    paths = write_example(name, tmp_path / "new")
    assert paths[0] == tmp_path / "new" / f"{name}.toml"
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in paths)
    if name == "city-sizes":  # a sweep, which reads no file
        return
    job = load_job(str(paths[0]))
    original = load_job(str(REPOSITORY / "jobs" / f"{name}.toml"))
    here, there = read_instance(job), read_instance(original)
    assert here.sha256 == there.sha256
    for file in job.named_files().values():
        assert file.startswith(str(tmp_path)) and Path(file).stat().st_size
    assert "jobs/" not in paths[0].read_text()


def test_the_command_that_comes_next_works(hpcsolve, tmp_path, test_device):
    done = hpcsolve("new", "old-town", "a folder", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "written: a folder/old-town.toml, a folder/old-town.csv"
    assert done.stdout.splitlines()[1:] == [
        "next:    hpcsolve run 'a folder/old-town.toml'", "         hpcsolve report results/old-town.h5 -o report.html",
        "         hpcsolve export results/old-town.h5 -o answer.csv"]
    run = hpcsolve("run", "a folder/old-town.toml", "--device", test_device, cwd=tmp_path)
    assert run.returncode == 0 and "proven optimal" in run.stdout


def test_the_steps_are_those_of_the_readme(in_process, tmp_path):
    readme = (REPOSITORY / "README.md").read_text()
    shown = [line.split("#")[0].replace("--device cpu", "").split() for line in readme.split("```sh\n")[1].splitlines()]
    printed = in_process("new", "places", cwd=tmp_path).stdout.splitlines()[1:]
    assert [line.split()[-len(step):] for line, step in zip(printed, shown[1:4], strict=True)] == shown[1:4]


@pytest.mark.parametrize("name", NAMES)
def test_each_example_has_a_next_step(name, in_process, tmp_path):
    done = in_process("new", name, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.splitlines()[1].startswith("next:    hpcsolve "), done.stderr
    outputs = [line.split()[-3] for line in done.stdout.splitlines()[2:]]
    assert set(outputs) <= {f"results/{name}.h5"}


def test_a_sweep_is_no_job(hpcsolve, tmp_path):
    done = hpcsolve("new", "city-sizes", cwd=tmp_path)
    assert done.stdout.splitlines()[1] == "next:    hpcsolve sweep city-sizes.toml"


def test_nothing_is_overwritten(hpcsolve, tmp_path):
    assert hpcsolve("new", "eu-capitals", cwd=tmp_path).returncode == 0
    assert hpcsolve("new", "lisbon-to-helsinki", cwd=tmp_path).returncode == 0  # with the same instance
    (tmp_path / "eu-capitals.tsp").write_text("mine")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    (tmp_path / "lisbon-to-helsinki.toml").unlink()
    done = hpcsolve("new", "lisbon-to-helsinki", cwd=tmp_path)
    assert done.returncode == 2
    assert "eu-capitals.tsp: exists already with another content; name another folder" in error_line(done)
    del before["lisbon-to-helsinki.toml"]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_a_misspelt_example(tmp_path):
    assert "eu-capitals" in examples()
    near = "river-crossings or river-town or river-town-access"
    with pytest.raises(InputError, match=rf"unknown example 'river'; did you mean {near}\?"):
        write_example("river", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="exists already"):
        (tmp_path / "old-town.csv").mkdir()
        write_example("old-town", tmp_path)
