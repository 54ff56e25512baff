"""Fixtures of all tests: folders, the device under test, and functions that start processes and ranks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests.in_process import commands_in_process
from tests.shared_folder import locked, shared_folder

if TYPE_CHECKING:
    from hpcsolve.device.base import Device
    from hpcsolve.device.host import HostDevice
    from tests.stub_driver.build import Stub

# No deadlines on shared machines, and the same examples in every run, so that a failure is the same for everyone.
hypothesis.settings.register_profile("hpcsolve", deadline=None, derandomize=True)
hypothesis.settings.load_profile("hpcsolve")

# A shell starts background jobs with SIGINT ignored, and every process that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parent.parent

SLOW = (
    "aarch64", "algorithms/shortest_paths/test_large_graphs.py", "algorithms/test_on_stub_driver.py", "benchmarks",
    "checkpoint/test_kills.py", "cli/test_gpu.py", "device/test_stub.py",
    "docs/test_examples.py", "docs/test_site.py", "faults", "frame/test_makefile.py", "frame/test_wheel.py", "fuzz",
    "gpu_code", "one_hash", "ptx", "races", "slurm/test_cluster.py", "slurm/test_faults.py", "slurm/test_recipes.py",
    "stub_driver",
)
"""Folders and files of which all tests are slow: whole programs, compilers, drivers, faults. They are in `test-all`."""

Start = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--on-device`, for the tests whose device HPCSOLVE_TEST_DEVICE chooses."""
    parser.addoption("--on-device", action="store_true", help="only tests that run on the device under test")


def pytest_sessionstart(session: pytest.Session) -> None:
    """End the run with one line if HPCSOLVE_TEST_DEVICE names a device that cannot be opened."""
    from hpcsolve.device.select import open_device
    from hpcsolve.errors import HpcsolveError
    from hpcsolve.parallel.comm import SerialComm

    device = os.environ.get("HPCSOLVE_TEST_DEVICE", "cpu")
    if device == "cpu" or hasattr(session.config, "workerinput"):  # pytest-xdist gives it to its workers
        return
    try:
        open_device(device, SerialComm())[0].close()
    except HpcsolveError as error:
        pytest.exit(f"no tests on {device}: {error}", returncode=error.exit_code)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of `SLOW`, and leave out those without a device if `--on-device` is given."""
    named = {REPOSITORY / "tests" / name for name in SLOW}
    slow = {path for path in {item.path for item in items} if not named.isdisjoint([path, *path.parents])}
    for item in items:
        if item.path in slow:
            item.add_marker(pytest.mark.slow)
    if config.getoption("--on-device"):
        names = {"device", "test_device"}
        rest = [item for item in items if names.isdisjoint(getattr(item, "fixturenames", ()))]
        config.hook.pytest_deselected(items=rest)
        items[:] = [item for item in items if item not in set(rest)]


@pytest.fixture(scope="session", autouse=True)
def _session_environment(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Set the environment of child processes: caches of compiled code, quiet waiting, and the path of the package.

    HPCSOLVE_TEST_CACHE names a cache that outlives this run: `make test-all` has two runs of pytest.
    """
    own = shared_folder(tmp_path_factory) / "compile-cache"
    cache = Path(os.environ.get("HPCSOLVE_TEST_CACHE", own))
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["HPCSOLVE_CACHE"] = str(cache)
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):  # else each process that a test starts compiles hpcsolve anew
        os.environ["PYTHONPYCACHEPREFIX"] = str(own.with_name("bytecode"))
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
    paths = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


@pytest.fixture(scope="session", autouse=True)
def _kernels_built_ahead(_session_environment: None, pytestconfig: pytest.Config) -> None:
    """Build this worker's share of all kernels for the GPU, since nvcc takes longer than some tests wait.

    It must not ask for `test_device`, by which `--on-device` tells its tests.
    """
    from hpcsolve.device import build
    from hpcsolve.device.select import list_gpus

    on_gpu = os.environ.get("HPCSOLVE_TEST_DEVICE", "cpu") != "cpu"
    if on_gpu and pytestconfig.getoption("--on-device") and hasattr(pytestconfig, "workerinput"):
        number, count = int(pytestconfig.workerinput["workerid"][2:]), pytestconfig.workerinput["workercount"]
        folder, architecture = build.source_folder(), list_gpus()[0].architecture
        for path in sorted(folder.glob("*/*.cu"))[number::count]:
            build.build(build.Code(path.relative_to(folder).with_suffix("").as_posix(), architecture))


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the folder that holds setup.cfg."""
    return REPOSITORY


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder that HPCSOLVE_DATA names, or skip the test if it has no `tsplib/`."""
    name = os.environ.get("HPCSOLVE_DATA", "")
    if not name or not (Path(name) / "tsplib").is_dir():
        pytest.skip("HPCSOLVE_DATA names no folder with tsplib/ in it")
    return Path(name)


@pytest.fixture(scope="session")
def steiner_dir(data_dir: Path) -> Path:
    """Return the folder of Steiner problems in the one that HPCSOLVE_DATA names, or skip the test without it."""
    if not (data_dir / "steiner").is_dir():
        pytest.skip("HPCSOLVE_DATA has no steiner/")
    return data_dir / "steiner"


@pytest.fixture(scope="session")
def test_device() -> str:
    """Return the value of HPCSOLVE_TEST_DEVICE (`make test-gpu`: cuda), by default `cpu`."""
    return os.environ.get("HPCSOLVE_TEST_DEVICE", "cpu")


@pytest.fixture(scope="session")
def device(test_device: str) -> Iterator[Device]:
    """Open the device that kernels and algorithms are tested on."""
    from hpcsolve.device.select import open_device
    from hpcsolve.parallel.comm import SerialComm

    opened, _ = open_device(test_device, SerialComm(), share_gpu=True, threads=None)
    with opened:
        yield opened


@pytest.fixture(scope="session")
def host() -> Iterator[HostDevice]:
    """Open the CPU's cores for functions that run on them alone, whatever device the kernels are tested on."""
    from hpcsolve.device.host import HostDevice

    with HostDevice() as opened:
        yield opened


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Stub:
    """Return the stub driver, built once for all processes of a test run. Skips where PyCUDA or g++ is missing."""
    from tests.stub_driver.build import CannotBuild, Stub, build_stub

    folder = shared_folder(tmp_path_factory) / "stub-driver"
    try:
        with locked(folder):
            return Stub(folder) if (folder / "bin" / "nvcc").exists() else build_stub(folder)
    except CannotBuild as reason:
        pytest.skip(f"the CUDA device cannot be tried on the stub driver: {reason}")


@pytest.fixture(scope="session")
def run_process() -> Start:
    """Return `run_process(command, timeout, **options)`, which runs a process to its end."""
    return run


@pytest.fixture(scope="session")
def mpiexec_path() -> str:
    """Return the `mpiexec` beside this interpreter or on the PATH, or skip the test without it or mpi4py."""
    beside = Path(sys.executable).parent / "mpiexec"
    path = str(beside) if beside.exists() else shutil.which("mpiexec")
    if path is None:
        pytest.skip("no mpiexec: pip install mpich (extra `local`)")
    pytest.importorskip("mpi4py", reason="no mpi4py: pip install mpi4py (extra `local`)")
    return path


@pytest.fixture(scope="session")
def start_ranks(mpiexec_path: str) -> Start:
    """Return `start_ranks(n, *command, timeout=60, **options)`, which runs a command on n ranks."""

    def start(n: int, *command: str | Path, timeout: float = 60, **options: object) -> subprocess.CompletedProcess[str]:
        line = [mpiexec_path, *_extra_options(mpiexec_path), "-n", str(n), *map(str, command)]
        return run(line, timeout=timeout, **options)

    return start


@pytest.fixture(scope="session")
def mpiexec(start_ranks: Start, hpcsolve: Start) -> Start:
    """Return `mpiexec(n, *arguments, timeout=60, **options)`, which runs the command line of hpcsolve on n ranks.

    One rank has a launcher the first time only, since `hpcsolve` starts it in a third of the time.
    """
    launched = False

    def start(n: int, *arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        nonlocal launched
        if n == 1 and launched:
            return hpcsolve(*arguments, **options)
        launched = launched or n == 1
        return start_ranks(n, sys.executable, "-m", "hpcsolve", *arguments, **options)

    return start


@pytest.fixture(scope="session")
def hpcsolve(_session_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Return `hpcsolve(*arguments, timeout=60, own_process=False, **options)`, which runs the command line.

    In a test run the first start of each command is that of a new process, so that a module that lacks an import of its
    own is found. So is each start with `own_process`, which shows what a process takes of memory, with other options
    than `cwd`, or in another environment. All others are calls of `cli.main`.
    """
    here, environment = commands_in_process(), _environment()
    started = shared_folder(tmp_path_factory) / "started"
    started.mkdir(exist_ok=True)

    def start(
        *arguments: str | Path, timeout: float = 60, own_process: bool = False, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        words = list(map(str, arguments))
        other = own_process or not set(options) <= {"cwd"} or _environment() != environment
        if _is_new(started / Path(*words[:1]).name) or other:
            return run([sys.executable, "-m", "hpcsolve", *words], timeout=timeout, **options)
        return here(words, **options)

    return start


def _is_new(file: Path) -> bool:
    """Make a file, and return whether no process of this test run has made it before."""
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _environment() -> dict[str, str]:
    """Return the environment of this process, without what pytest, or the first run that looks for GPUs, changes."""
    changed = {"PYTEST_CURRENT_TEST", "CUDA_DEVICE_ORDER"}
    return {name: value for name, value in os.environ.items() if name not in changed}


def run(command: list[str], timeout: float, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a process to its end and return it with its output as text, or fail the test after the time-out."""
    process = subprocess.Popen(  # type: ignore[call-overload]
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, **options,
    )
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, errors = process.communicate()
        pytest.fail(f"{' '.join(command)} took more than {timeout} s\n{output}\n{errors}")
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _extra_options(mpiexec: str) -> list[str]:
    """Return the options that let Open MPI start more ranks than cores, and run as root. MPICH needs none."""
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False, timeout=30).stdout
    return ["--oversubscribe", "--allow-run-as-root"] if "Open MPI" in version or "prte" in version.lower() else []
