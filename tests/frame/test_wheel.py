"""The wheel has all modules, kernels and types, and works without the checkout. The source has all tracked files."""

import json
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

import h5py
import numpy as np
import pytest

from release.check import BUILD_SOURCE
from release.wheel import CROSS_COMPILERS, KINDS_OF_CPU, build_wheel, kernel_files, kinds_for_this_cpu, plain_wheel
from tests.frame.source import KERNELS, PACKAGE, REPOSITORY

setuptools = pytest.importorskip("setuptools", "70.1", reason="no setuptools >= 70.1 (extra `test`)")

ASK = "import hpcsolve.device.build as build; print(build.source_folder()); print(build.__file__)"
NEW = "import sys; from hpcsolve.cli import main; sys.exit(main(['new', 'eu-capitals']))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel for any machine."""
    return plain_wheel(tmp_path_factory.mktemp("wheel"))


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
    assert extras == {"mpi", "local", "cuda", "plot", "completion", "test", "dev", "site"}


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


MAPS = """
import pathlib, re, sys
from hpcsolve.cli import main
sys.argv[1:] = ["run", "river-town.toml", "--device", "cpu", "--output", "maps.h5",
               "--set", "shortest-paths.engine=phast"]
main()
print(sorted(set(re.findall("/.*(?:shipped|libgomp|libstdc).*", pathlib.Path("/proc/self/maps").read_text()))))
"""
JOBS = ("one-way", "river-town")
FILES = ("held_karp/held_karp", *(f"paths/{name}" for name in (
    "bellman_ford", "dijkstra", "near_far", "near_far_grid", "phast", "plateaus", "summaries")),
    "host/contraction", "host/hierarchy")
"""What these jobs need: `make release-check` compiles all files."""


def kinds_here():
    """Return the kinds of CPUs whose kernels a wheel has and this CPU can run, or skip the test if there is none."""
    if shutil.which("g++") is None or shutil.which("readelf") is None:
        pytest.skip("no g++ and readelf")
    return kinds_for_this_cpu() or pytest.skip("a wheel has no kernels for this CPU")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the wheel with the kernels that `JOBS` need, for those CPUs that this one can stand for."""
    return build_wheel(tmp_path_factory.mktemp("wheel-with-kernels"), kinds_here(), FILES)


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """Install this wheel into a new environment, and return `run(program, *arguments)`, which finds no compiler there.

    What hpcsolve needs comes from the environment of the tests.
    """
    pytest.importorskip("pip", reason="no pip")
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True, timeout=120)
    python, site = folder / "venv" / "bin" / "python", next((folder / "venv" / "lib").glob("python3*/site-packages"))
    settings = {"PATH": str(python.parent), "HOME": str(folder), "HPCSOLVE_CACHE": str(folder / "cache")}
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "-q",
                    str(built)], check=True, timeout=120, env=settings)
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def run(program, *arguments, **more):
        done = subprocess.run([python.parent / program, *arguments], cwd=folder, env={**settings, **more},
                              capture_output=True, text=True, check=False, timeout=280)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    run.folder, run.shipped = folder, site / "hpcsolve" / "shipped"
    return run


@pytest.mark.timeout(3000)
def test_the_wheel_with_kernels_says_for_which_machines_it_is(built):
    """The oldest glibc that its name promises has all symbols that its libraries need."""
    promised = re.fullmatch(rf"hpcsolve-.*-py3-none-manylinux_2_(\d+)_{platform.machine()}\.whl", built.name)
    archive = zipfile.ZipFile(built)
    content = {name: archive.read(name) for name in archive.namelist() if "/shipped/" in name and ".so" in name}
    needed = [int(minor) for library in content.values() for minor in re.findall(rb"GLIBC_2\.(\d+)", library)]
    assert max(needed) == int(promised[1])
    kernels = [name for name in content if name.endswith(".so")]
    assert len(kernels) == len(kinds_here()) * len(FILES) and set(FILES) < set(kernel_files())
    assert not archive.testzip()
    meta = archive.read(next(name for name in archive.namelist() if name.endswith("/WHEEL"))).decode()
    assert f"Tag: py3-none-manylinux_2_{promised[1]}_{platform.machine()}" in meta and "Root-Is-Purelib: false" in meta


@pytest.mark.parametrize("compiler", CROSS_COMPILERS)
def test_a_wheel_for_another_machine(compiler, tmp_path, monkeypatch):
    """`make check-aarch64` runs its kernels."""
    if shutil.which(compiler) is None or shutil.which("readelf") is None:
        pytest.skip(f"no {compiler} and readelf")
    monkeypatch.setenv("HPCSOLVE_CXX", compiler)
    machine = compiler.partition("-")[0]
    wheel = build_wheel(tmp_path, files=["held_karp/minplus"])
    assert re.fullmatch(rf"hpcsolve-.*-py3-none-manylinux_2_\d+_{machine}\.whl", wheel.name)
    archive = zipfile.ZipFile(wheel)
    targets = [json.loads(archive.read(name)) for name in archive.namelist() if name.endswith("/target.json")]
    assert [target["name"] for target in targets] == list(KINDS_OF_CPU[machine])
    assert {target["machine"] for target in targets} == {machine}
    libraries = [archive.read(name) for name in archive.namelist() if re.search(r"\.so(\.1)?$", name)]
    assert {int.from_bytes(library[18:20], "little") for library in libraries} == {183}  # EM_AARCH64
    assert len(libraries) == len(targets) + 1


def test_it_solves_where_there_is_no_compiler(installed):
    installed("hpcsolve", "new", "one-way")
    said = installed("hpcsolve", "run", "one-way.toml", "--device", "cpu")
    assert "proven optimal" in said and "compiling" not in said
    said = installed("hpcsolve", "info")
    assert re.search(rf"^kernels    compiled for {kinds_here()[-1]} in the wheel, with g\+\+", said, re.M), said
    assert "problem: no C++ compiler" not in said
    assert [path.name for path in (installed.folder / "cache").glob("*.so")] == []


def test_all_its_kernels_share_one_openmp(installed):
    installed("hpcsolve", "new", "river-town")
    loaded = installed("python", "-c", MAPS)
    assert loaded.count("libgomp") == 1 and str(installed.shipped / "libgomp.so.1") in loaded
    assert loaded.count("/shipped/target-") >= 3


@pytest.mark.timeout(1200)
def test_answers_are_those_of_kernels_for_this_very_cpu(installed, hpcsolve, repository, tmp_path):
    for name in JOBS:
        job, native = repository / "jobs" / f"{name}.toml", tmp_path / f"{name}.h5"
        assert hpcsolve("run", job, "--device", "cpu", "--output", native, timeout=280).returncode == 0
        with h5py.File(native) as result:
            solution = {key: result["solution"][key][()] for key in result["solution"]}
            assert not result["provenance/compiler"].asstr()[()].endswith("wheel")
        for kind in kinds_here():
            others = [path for path in installed.shipped.glob("target-*") if f"-{kind}-" not in path.name]
            for path in others:
                path.rename(path.with_name(f"hidden-{path.name}"))
            try:
                installed("hpcsolve", "run", str(job), "--device", "cpu", "--output", f"{name}.h5", "--overwrite")
            finally:
                for path in others:
                    path.with_name(f"hidden-{path.name}").rename(path)
            with h5py.File(installed.folder / f"{name}.h5") as result:
                assert result["provenance/compiler"].asstr()[()].endswith(f", for {kind}, in the wheel")
                assert set(result["solution"]) == set(solution)
                for key, value in solution.items():
                    assert np.array_equal(result["solution"][key][()], value), (name, kind, key)


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
