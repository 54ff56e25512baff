"""The wheel has all modules, kernels and types, and works without the checkout. The source has all tracked files."""

import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.frame.source import KERNELS, PACKAGE, REPOSITORY

setuptools = pytest.importorskip("setuptools", "70.1", reason="no setuptools >= 70.1 (extra `test`)")

BUILD = "import sys, setuptools.build_meta as backend; print(backend.build_wheel(sys.argv[1]))"
BUILD_SOURCE = "import sys, setuptools.build_meta as backend; print(backend.build_sdist(sys.argv[1]))"
ASK = "import hpcsolve.device.build as build; print(build.source_folder()); print(build.__file__)"
NEW = "import sys; from hpcsolve.cli import main; sys.exit(main(['new', 'eu-capitals']))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel from a copy of the source, so that the checkout is not written to."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in ("hpcsolve", "cuda_src", "jobs"):
        shutil.copytree(REPOSITORY / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / file, source)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(target)], cwd=source, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return next(target.glob("hpcsolve-*.whl"))


def test_all_kernels_and_modules_are_in_it(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    kernels = {f"hpcsolve/cuda_src/{path.relative_to(KERNELS)}" for path in KERNELS.rglob("*") if path.is_file()}
    modules = {str(path.relative_to(REPOSITORY)) for path in PACKAGE.rglob("*.py")}
    assert kernels
    examples = {f"hpcsolve/jobs/{path.name}" for path in (REPOSITORY / "jobs").iterdir() if path.is_file()}
    examples.remove("hpcsolve/jobs/README.md")
    assert kernels | modules | {"hpcsolve/py.typed"} <= names
    assert {name for name in names if name.startswith("hpcsolve/jobs/")} == examples
    assert {name.split("/")[0] for name in names} <= {"hpcsolve", wheel.name.split("-py3")[0] + ".dist-info"}


def test_it_says_what_it_needs(wheel):
    archive = zipfile.ZipFile(wheel)
    read = {name.split("/")[-1]: archive.read(name).decode() for name in archive.namelist() if ".dist-info/" in name}
    assert "hpcsolve = hpcsolve.__main__:main" in read["entry_points.txt"]
    assert "MIT License" in read["LICENSE"]
    assert "Requires-Python: >=3.10" in read["METADATA"]
    extras = {line.split(": ")[1] for line in read["METADATA"].splitlines() if line.startswith("Provides-Extra")}
    assert extras == {"mpi", "local", "cuda", "plot", "completion", "test", "dev"}


def test_it_finds_its_own_kernels(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", ASK], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=60,
    )
    inside = ("hpcsolve/cuda_src", "hpcsolve/device/build.py")
    assert done.stdout.splitlines() == [str(tmp_path / part) for part in inside]


def test_it_writes_an_example(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    done = subprocess.run(
        [sys.executable, "-c", NEW], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True, text=True, check=False, timeout=60,
    )
    assert done.returncode == 0, done.stderr
    for name in ("eu-capitals.toml", "eu-capitals.tsp"):
        assert (tmp_path / name).read_text() == (REPOSITORY / "jobs" / name).read_text().replace("jobs/", "")


@pytest.fixture(scope="module")
def distributed(tmp_path_factory):
    """Return the names of the files in the source distribution, and of those that git tracks."""
    source, target = tmp_path_factory.mktemp("tracked"), tmp_path_factory.mktemp("sdist")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    tracked = [name for name in listed.stdout.split("\0") if name and (REPOSITORY / name).is_file()]
    links = {"hpcsolve/cuda_src": "../cuda_src", "hpcsolve/jobs": "../jobs"}
    assert {name: str((REPOSITORY / name).readlink()) for name in links} == links
    for name in [*tracked, *links]:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, source / name, follow_symlinks=False)
    done = subprocess.run(
        [sys.executable, "-c", BUILD_SOURCE, str(target)], cwd=source, capture_output=True, text=True, check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(target.glob("hpcsolve-*.tar.gz"))) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}, set(tracked)


def test_the_source_distribution_has_what_the_repository_has(distributed):
    names, tracked = distributed
    assert {"CITATION.cff", "docs/README.md", "docs/picture.svg", "jobs/eu-capitals.toml"} <= tracked
    assert tracked - names == {".gitignore"}


PROGRAM = """
import hpcsolve
result = hpcsolve.solve([[0, 1], [1, 0]])
reveal_type(result)
reveal_type(hpcsolve.load("r.h5").cost)
hpcsolve.load(7)
"""


def test_mypy_finds_the_types(tmp_path):
    """A user's program gets the types of the Python interface from an editable install."""
    pytest.importorskip("mypy", reason="mypy is not installed (extra `dev`)")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280)
    assert 'Revealed type is "hpcsolve.analysis.load.Result"' in done.stdout, done.stdout + done.stderr
    assert 'Revealed type is "float"' in done.stdout
    assert 'Argument 1 to "load" has incompatible type "int"' in done.stdout and "Found 1 error" in done.stdout
