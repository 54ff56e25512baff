"""`make` says in one line what a new machine lacks and what to do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frame.source import REPOSITORY

TOOLS = ["sh", "grep", "sed", "tail", "touch", "echo", "cat", "rm", "make", "expand"]
OLD = '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.8.10 && exit\nexit 1\n'
NO_VENV = f'#!/bin/sh\ncase "$*" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"\n'
REAL = f'#!/bin/sh\nexec {sys.executable} "$@"\n'


@pytest.fixture
def checkout(tmp_path):
    """Return a folder with the Makefile and what it needs, beside a `path` with common tools but no compiler."""
    if shutil.which("make") is None:
        pytest.skip("no make")
    folder, path = tmp_path / "check out", tmp_path / "path"
    (folder / "hpcsolve").mkdir(parents=True)
    path.mkdir()
    for name in ("Makefile", "setup.cfg", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, folder)
    (folder / "hpcsolve" / "__init__.py").write_text('__version__ = "0"\n')
    for name in TOOLS:
        (path / name).symlink_to(shutil.which(name))
    return folder


def make(folder: Path, target: str, python: str | None = None, compiler: bool = True, **variables: str) -> str:
    """Run `make`, which must fail, and return its only error line apart from make's own."""
    path = folder.parent / "path"
    if python is not None:
        program(path / "python3", python)
    if compiler:
        program(path / "g++", "#!/bin/sh\n")
    environment = {"PATH": str(path), "HOME": str(folder), "LC_ALL": "C", **variables}
    done = subprocess.run(
        ["make", target], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 2, done.stdout
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make: ***")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.parametrize("target", ["run", "test"])
def test_no_compiler(checkout, target):
    assert "no g++" in (line := make(checkout, target, REAL, compiler=False))
    assert "apt install g++" in line


@pytest.mark.parametrize("target", ["run", "test"])
def test_no_python(checkout, target):
    assert "no python3: install Python 3.10" in make(checkout, target)


def test_an_old_python(checkout):
    assert "Python 3.8.10, and 3.10 or newer is needed" in (line := make(checkout, "run", OLD))
    assert "make PYTHON=" in line


def test_no_venv_module(checkout):
    assert "apt install python3-venv" in make(checkout, "run", NO_VENV)
    assert not (checkout / ".venv").exists()


def test_no_package_index(checkout):
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull}
    line = make(checkout, "run", REAL, **nowhere)
    assert "no package index answers" in line
    assert "PIP_INDEX_URL" in line
    assert not (checkout / ".venv" / "installed").exists()


NO_PYCUDA = f'#!/bin/sh\ncase "$*" in *pycuda*) exit 1;; esac\nexec {sys.executable} "$@"\n'


def installed(checkout: Path) -> None:
    """Put a Python without PyCUDA into the checkout's .venv, as if all else was installed."""
    (checkout / ".venv" / "bin").mkdir(parents=True)
    program(checkout / ".venv" / "bin" / "python", NO_PYCUDA)
    (checkout / ".venv" / "installed").touch()


def test_no_pycuda_and_no_nvcc(checkout):
    installed(checkout)
    line = make(checkout, "test-gpu", HPCSOLVE_PYCUDA_WHEEL="")
    assert "no nvcc to build it with: load the CUDA toolkit's module, name its nvcc in HPCSOLVE_NVCC" in line
    assert "HPCSOLVE_PYCUDA_WHEEL=file.whl" in line


def test_a_pycuda_that_cannot_be_built(checkout):
    """The toolkit is that of an nvcc off the PATH, which says where its headers are."""
    installed(checkout)
    nvcc = checkout.parent / "nvcc"
    program(nvcc, "#!/bin/sh\necho '#$ TOP=/toolkit/bin/..' >&2\necho '#$ INCLUDES=\"-I/toolkit/include\"' >&2\n")
    script = 'echo "$HOME $PATH $CPATH: error: no cuda.h"\nexit 1\n'
    program(checkout / ".venv" / "bin" / "python", f"#!/bin/sh\n{script}")
    program(checkout.parent / "path" / "mkdir", f'#!/bin/sh\nexec {shutil.which("mkdir")} "$@"\n')
    program(checkout.parent / "path" / "ln", f'#!/bin/sh\nexec {shutil.which("ln")} "$@"\n')
    line = make(checkout, "test-gpu", HPCSOLVE_PYCUDA_WHEEL="", HPCSOLVE_NVCC=str(nvcc))
    assert "pip could not build PyCUDA" in line and line.endswith("/toolkit/include: error: no cuda.h")
    assert "/check out/build/pycuda /toolkit/bin/../bin:" in line


def test_a_gpu_is_given_only_what_it_can_change():
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "--on-device", "tests/device", "tests/formats"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    files = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert {"tests/device/test_cuda.py", "tests/device/test_protocol.py"} <= files, done.stdout
    assert not files & {"tests/device/test_stub.py", "tests/device/test_build.py", "tests/formats/test_tsplib.py"}


def test_no_gpu(checkout):
    """Without PyCUDA, driver or GPU one line says which, and no test runs into it."""
    settings = {"HPCSOLVE_TEST_DEVICE": "cuda", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "pytest", "-q", "--on-device", "tests/device"]
    done = subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **settings}, capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == 3 and "Exit: no tests on cuda: " in done.stdout + done.stderr
    assert "passed" not in done.stdout and "error" not in done.stdout


def test_on_device_leaves_out_what_runs_on_no_device(run_process, repository):
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "--on-device", "tests/kernels/test_minplus.py"]
    environment = {**os.environ, "HPCSOLVE_TEST_DEVICE": "cpu"}
    collected = run_process(command, timeout=60, cwd=repository, env=environment).stdout
    assert "test_the_peak_equals_numpy" in collected and "test_the_peak_reads_no_memory" not in collected


def test_an_installation_that_fails(checkout):
    """For any other reason it prints the last line of the log and where the log is."""
    (checkout / "setup.cfg").write_text("[metadata\n")
    program(checkout.parent / "path" / "uv", "#!/bin/sh\nexit 1\n")
    fake = '#!/bin/sh\necho "ERROR: the disk is full" >&2\nexit 1\n'
    (checkout / ".venv" / "bin").mkdir(parents=True)
    program(checkout / ".venv" / "bin" / "python", fake)
    line = make(checkout, "run", REAL)
    assert ".venv/install.log" in line
    assert line.endswith("ERROR: the disk is full")


def test_continuous_integration_sees_what_a_newcomer_sees(tmp_path):
    """Its own variables do not reach `make`, but for those that find programs, data and a package index."""
    program(tmp_path / "make", "#!/bin/sh\necho \"$@\"\nenv\n")
    kept = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": "/", "HPCSOLVE_DATA": "/d", "PIP_CERT": "/c d",
            "UV_INDEX_URL": "u", "https_proxy": "p", "NO_PROXY": "q", "SSL_CERT_FILE": "s"}
    scrubbed = {"CI": "true", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "3", "HPCSOLVE_CXX": "none"}
    done = subprocess.run(["bash", str(REPOSITORY / ".ci" / "run")], env=kept | scrubbed, capture_output=True,
                          text=True, check=True, timeout=20)
    command, *variables = done.stdout.splitlines()
    found = dict(line.split("=", 1) for line in variables)
    assert command == "--no-print-directory test-all"
    assert {name: found.pop(name) for name in kept} == kept
    assert set(found) <= {"PWD", "SHLVL", "_"}, "a shell sets these itself"


def test_help_lists_every_target():
    listed = subprocess.run(["make", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    names = {line.split()[0] for line in listed.splitlines()}
    tests = {"test", "test-all", "test-planted", "test-gpu", "test-oldest", "check-cuda", "gpu-budget", "check-races"}
    assert names >= tests | {"run", "lint", "bench", "docs", "clean", "help"}
