"""What all tests share: where the data lie, which device is tested, and how ranks are started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from hpcsolve.device.base import Device

# No deadlines on shared machines; the same examples in every run, so that a red build is red for everyone.
hypothesis.settings.register_profile("hpcsolve", deadline=None, derandomize=True)
hypothesis.settings.load_profile("hpcsolve")

# A shell starts background jobs with SIGINT ignored, and every process that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parent.parent

Start = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--on-device`: only the tests that HPCSOLVE_TEST_DEVICE makes a difference to."""
    parser.addoption("--on-device", action="store_true", help="only tests that run on the device under test")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what no device is asked for."""
    if config.getoption("--on-device"):
        names = {"device", "test_device"}
        rest = [item for item in items if names.isdisjoint(getattr(item, "fixturenames", ()))]
        config.hook.pytest_deselected(items=rest)
        items[:] = [item for item in items if item not in set(rest)]


@pytest.fixture(scope="session", autouse=True)
def _session_environment(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One new compile cache for the session; ranks and threads wait quietly; child processes find the package."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder  # all workers' folders lie in one
    cache = shared / "compile-cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    os.environ["HPCSOLVE_CACHE"] = str(cache)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
    paths = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder that holds setup.cfg."""
    return REPOSITORY


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with `tsplib/` in it; tests that need it are skipped where HPCSOLVE_DATA does not name one."""
    name = os.environ.get("HPCSOLVE_DATA", "")
    if not name or not (Path(name) / "tsplib").is_dir():
        pytest.skip("HPCSOLVE_DATA names no folder with tsplib/ in it")
    return Path(name)


@pytest.fixture(scope="session")
def test_device() -> str:
    """`cpu`, or what HPCSOLVE_TEST_DEVICE says (`make test-gpu`: cuda)."""
    return os.environ.get("HPCSOLVE_TEST_DEVICE", "cpu")


@pytest.fixture(scope="session")
def device(test_device: str) -> Iterator[Device]:
    """The device that kernels and algorithms are tested on."""
    from hpcsolve.device.select import open_device
    from hpcsolve.parallel.comm import SerialComm

    opened, _ = open_device(test_device, SerialComm(), share_gpu=True, threads=None)
    with opened:
        yield opened


@pytest.fixture(scope="session")
def run_process() -> Start:
    """`run_process(command, timeout=..., **options)`: a finished process; past the time-out the test fails."""
    return run


@pytest.fixture(scope="session")
def mpiexec_path() -> str:
    """The `mpiexec` beside this interpreter, else that on the PATH; without one (or without mpi4py) a skip."""
    beside = Path(sys.executable).parent / "mpiexec"
    path = str(beside) if beside.exists() else shutil.which("mpiexec")
    if path is None:
        pytest.skip("no mpiexec: pip install mpich (extra `local`)")
    pytest.importorskip("mpi4py", reason="no mpi4py: pip install mpi4py (extra `local`)")
    return path


@pytest.fixture(scope="session")
def start_ranks(mpiexec_path: str) -> Start:
    """`start_ranks(n, *command, timeout=60, **run_options)` runs a command on n ranks; a hang fails the test."""

    def start(n: int, *command: str | Path, timeout: float = 60, **options: object) -> subprocess.CompletedProcess[str]:
        line = [mpiexec_path, *_extra_options(mpiexec_path), "-n", str(n), *map(str, command)]
        return run(line, timeout=timeout, **options)

    return start


@pytest.fixture(scope="session")
def mpiexec(start_ranks: Start) -> Start:
    """`mpiexec(n, *arguments, timeout=60, **run_options)` runs the hpcsolve command line on n ranks."""

    def start(n: int, *arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
        return start_ranks(n, sys.executable, "-m", "hpcsolve", *arguments, **options)

    return start


@pytest.fixture(scope="session")
def hpcsolve() -> Start:
    """`hpcsolve(*arguments, timeout=60, **run_options)` runs the command line as one process."""

    def start(*arguments: str | Path, timeout: float = 60, **options: object) -> subprocess.CompletedProcess[str]:
        return run([sys.executable, "-m", "hpcsolve", *map(str, arguments)], timeout=timeout, **options)

    return start


def run(command: list[str], timeout: float, **options: object) -> subprocess.CompletedProcess[str]:
    """The finished process with its output as text; the whole process group dies with a time-out."""
    process = subprocess.Popen(  # type: ignore[call-overload]
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, **options,
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, errors = process.communicate()
        pytest.fail(f"{' '.join(command)} took more than {timeout} s\n{output}\n{errors}")
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _extra_options(mpiexec: str) -> list[str]:
    """Open MPI counts cores, and refuses root, unless told otherwise; MPICH does neither."""
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False, timeout=30).stdout
    return ["--oversubscribe", "--allow-run-as-root"] if "Open MPI" in version or "prte" in version.lower() else []
