"""Starts compilers, g++ for the CPU and nvcc for a GPU, with a time limit, so that none can block a run forever."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from hpcsolve.errors import EnvironmentFault, ResourceError

T = TypeVar("T")

SECONDS_BETWEEN_LOOKS = 0.01
MARK = "HPCSOLVE_COMPILER"
"""The variable of the environment by which the processes of a compiler are found."""
SECONDS = 600.0
"""Seconds that a compiler may take for a file, about one on an idle core. Where many compile, nvcc has taken 30."""


def host_compiler() -> str:
    """Return the C++ compiler's command, HPCSOLVE_CXX or g++."""
    return os.environ.get("HPCSOLVE_CXX", "g++")


def cuda_compiler() -> str:
    """Return nvcc's command, HPCSOLVE_NVCC or nvcc."""
    return os.environ.get("HPCSOLVE_NVCC", "nvcc")


@functools.cache
def compiler_identity(compiler: str) -> str:
    """Return what the compiler says of its version, with the date and size of its executable.

    Raises
    ------
    EnvironmentFault
        The compiler is not on the PATH, cannot be started, or does not end.
    """
    path = shutil.which(compiler)
    if path is None:
        nvcc = "install the CUDA toolkit or load its module, name its nvcc in HPCSOLVE_NVCC, or run with --device cpu"
        cxx = "install a C++ compiler (g++), or name one in HPCSOLVE_CXX"  # nvcc needs one too
        raise EnvironmentFault(f"{compiler} is not on the PATH: {nvcc if compiler == cuda_compiler() else cxx}")
    status = os.stat(path)
    return f"{_run([compiler, '--version']).stdout}{status.st_mtime_ns} {status.st_size}"


def version_line(compiler: str) -> str:
    """Return the line of `compiler --version` that has the version. Raises as `compiler_identity`."""
    lines = compiler_identity(compiler).splitlines()
    return next((line for line in lines if "release" in line), lines[0])


@functools.cache
def target_features(compiler: str, cpu: str = "native") -> str:
    """Return the features of a CPU, by default this one, as the compiler sees them.

    They are part of the name of a kernel in the cache. The name of the CPU's model would not do, since a virtual
    machine may hide features.

    With an output of its own the compiler makes no temporary files, which a kill would leave.
    """
    return _run([compiler, f"-march={cpu}", "-Q", "--help=target", "-S", "-o", os.devnull]).stdout


@functools.cache
def target_machine(compiler: str) -> str:
    """Return the instruction set that a C++ compiler makes code for, as `platform.machine` names it on 64-bit CPUs."""
    machine = _run([compiler, "-dumpmachine"]).stdout.partition("-")[0]
    return {"powerpc64le": "ppc64le"}.get(machine, machine)


def compile_with(command: list[str], source: str, output: Path, seconds: float) -> None:
    """Run a compiler whose temporary files go to the folder of its output.

    Parameters
    ----------
    source
        The name of what it compiles, for messages.
    seconds
        Time limit.

    Raises
    ------
    EnvironmentFault
        It failed, or did not end. The message has its first error.
    """
    result = _run(command, seconds, output.parent)
    if result.returncode == 0 and output.is_file():
        return
    lines = result.stderr.strip().splitlines() or [f"exit code {result.returncode}, and no output"]
    first = next((line for word in ("No space left", "error") for line in lines if word in line), lines[0])
    advice = "; name an older g++ in NVCC_CCBIN" if "unsupported GNU version" in first else ""
    raise EnvironmentFault(f"{command[0]} could not compile {source}: {first}{advice}")


def _run(command: list[str], seconds: float | None = None, temporary: Path | None = None
         ) -> subprocess.CompletedProcess[str]:
    """Run a compiler to its end.

    Raises
    ------
    EnvironmentFault
        It cannot be started, or takes too long.
    ResourceError
        No more processes can be started, or memory is used up.
    """
    limit = SECONDS if seconds is None else max(seconds, 0.0)
    mark = f"{os.getpid()}-{os.urandom(6).hex()}"
    variables = {**os.environ, MARK: mark, **({"TMPDIR": str(temporary)} if temporary else {})}
    setting = "HPCSOLVE_NVCC" if command[0] == cuda_compiler() else "HPCSOLVE_CXX"
    _running.add(mark)
    try:
        require_going_on()
        with _forked(command, variables) as process:
            try:
                output, errors = process.communicate(timeout=limit)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(command, process.returncode, output, errors)
    except subprocess.TimeoutExpired:
        _kill(mark)
        fault = f"has not ended after {limit:.0f} s"
    except OSError as error:
        fault = f"cannot be started: {error.strerror}"
        if error.errno in (errno.EAGAIN, errno.ENOMEM):  # fork's
            raise ResourceError(f"{command[0]} {fault}: raise the limit of processes (ulimit -u, pids of the cgroup) "
                                "or of memory") from None
    except BaseException:
        _kill(mark)
        raise
    finally:
        _running.discard(mark)
    raise EnvironmentFault(f"{command[0]} {fault}: try `{command[0]} --version`, or name another compiler in {setting}")


def _forked(command: list[str], variables: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start a compiler, and let signals wait meanwhile.

    Python's hooks of fork, such as that of logging, ignore exceptions, so one that a signal raises there would be lost.
    """
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, errors="replace", env=variables, preexec_fn=_let_signals_end)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


_running: set[str] = set()
"""The marks of the compilers that this process has started."""


class _Own(threading.local):
    """What each thread has of its own: in those of `compile_all` the event that is set once all of them are to end."""

    ended: threading.Event | None = None


_own = _Own()


def compile_all(compile_one: Callable[[T], object], items: Iterable[T], at_once: int) -> None:
    """Call a function that compiles for each item, in at most so many threads at a time.

    When one raises an exception, or a signal raises one in this thread, all compilers are ended before it is passed on.
    """
    # An event for each call, which stays set: where a signal comes while the pool starts a thread, the pool does not
    # know of this thread and does not wait for it.
    ended = threading.Event()

    def compile_unless_ended(item: T) -> None:
        _own.ended = ended
        compile_one(item)

    with ThreadPoolExecutor(at_once) as pool:
        try:
            list(pool.map(compile_unless_ended, items))
        except BaseException:
            ended.set()  # for threads that are about to start one, or wait for the lock of a kernel
            while _running:
                for mark in tuple(_running):
                    _kill(mark)
                time.sleep(SECONDS_BETWEEN_LOOKS)
            raise


def require_going_on() -> None:
    """Raise `EnvironmentFault` in a thread of `compile_all` that is to end."""
    if _own.ended is not None and _own.ended.is_set():
        raise EnvironmentFault("compiling was ended")


def _kill(mark: str) -> None:
    """Kill a compiler and the programs that it has started, also those whose parent has ended.

    They stay in the process group of this process, which launchers kill as a whole. So they are told by their mark.
    """
    found = True
    while found:
        found = False
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or belongs to somebody else
                if f"\0{MARK}={mark}\0".encode() in b"\0" + (entry / "environ").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
                    found = True


def _let_signals_end() -> None:
    """Let signals end this child, even if its parent blocks or handles them (hpcsolve/parallel/interrupts.py)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
