"""Builds kernels before MPI starts, because afterwards no process, such as a compiler, can be started safely."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.device import build
from hpcsolve.device.build import Code, build_target
from hpcsolve.device.compiler import compile_all
from hpcsolve.device.declaration import for_host
from hpcsolve.device.select import list_gpus
from hpcsolve.errors import ResourceError
from hpcsolve.job import Job
from hpcsolve.output.log import Say, duration, heartbeat, say_nothing
from hpcsolve.runner.reading import say_source
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from hpcsolve.runner.run import CheckpointOptions

SECONDS_A_FILE = {"cpu": 1.0, "gpu": 1.25}
"""Seconds that most files take on an idle core, with g++ 12 and nvcc 13."""
LONGER = {
    "cpu": {
        "held_karp/held_karp": 2.5, "held_karp/orders": 2.5, "host/areas": 7.0, "host/edge_assembly": 5.0,
        "host/first_tour": 2.0, "host/near_cities": 2.5, "host/near_clusters": 2.5, "host/one_steiner": 2.5,
        "host/one_tree": 5.0, "host/subset_program": 4.0, "paths/phast": 2.0, "tours/k_opt": 4.0,
    },
    "gpu": {"held_karp/held_karp": 8.0, "tours/k_opt": 4.0},
}
"""Those of files that take longer: half the CPU seconds that were measured beside other work."""
OWN = ("device", "threads", "share-gpu")
"""Keys of a job that may differ from rank to rank."""
MOST_COMPILERS = 8
"""The most compilers that run at a time, since each takes some hundred MB of memory."""


def prepare_run(job: Job, say: Say = say_nothing) -> float:
    """Build the kernels that a job will load, say what is read next, and return the seconds that building took.

    Every process calls this. On each node one process builds, and the others wait.

    Raises
    ------
    EnvironmentFault
        There is no compiler, or it failed.
    """
    started = time.perf_counter()
    build_for(job, say)
    seconds = time.perf_counter() - started
    say_source(job, say)
    return seconds


def terms_of(job: Job, options: CheckpointOptions) -> dict[str, Any]:
    """Return what all ranks of a run must have in common, for `launch.guard`: all keys but `OWN`, and the options.

    Files are named as in the job file, since each host may have its own copy of it.
    """
    folder = os.path.join(os.path.dirname(os.path.abspath(job.source.file)) if job.source else "", "")
    tables = {key: _without(folder, value) for key, value in job.tables().items() if key not in OWN}
    return {**tables, "--checkpoint-dir": options.folder, "--checkpoint-interval": options.interval,
            "--deadline": options.deadline, "--hang-timeout": options.hang_timeout, "--overwrite": options.overwrite}


def _without(folder: str, value: Any) -> Any:
    """Return a value of a job whose paths, if they begin with a folder, are relative to it."""
    if isinstance(value, dict):
        return {key: _without(folder, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without(folder, inner) for inner in value]
    return value.removeprefix(folder) if isinstance(value, str) else value


def build_for(job: Job, say: Say = say_nothing) -> None:
    """Build the kernels that a job may load, for the device that it asks for. Raises as `prepare_run`."""
    solver = algorithm(job.settings.algorithm)
    files = solver.kernels_of(job.parameters, job.settings.instance, job.settings.stop)
    build_files(files, job.settings.device, solver.cores, say)


def build_files(files: Sequence[str], device: str, cores: Mapping[str, bool], say: Say = say_nothing) -> None:
    """Build kernel files for a device, as a job names it, several at a time. Raises as `prepare_run`.

    Parameters
    ----------
    cores
        As `Algorithm.cores`.
    """
    architectures = _architectures(device)
    codes = tuple(dict.fromkeys(_codes(files, device, architectures, cores)))
    missing = sorted((code for code in codes if not code.is_built()), key=_seconds, reverse=True)
    done: list[Code] = []

    def build_one(code: Code) -> None:
        build.build(code)
        done.append(code)

    if missing:
        at_once = max(1, min(MOST_COMPILERS, len(os.sched_getaffinity(0)), len(missing)))
        aside = "" if all(code.architecture for code in missing) else build.why_none_shipped()
        reason = f"; the wheel's own kernels are not taken: {aside}" if aside else ""
        damaged = [code.file for code in missing if code.is_damaged_in_wheel()]
        reason += f"; damaged in the wheel, install hpcsolve again: {', '.join(damaged)}" if damaged else ""
        say(f"build:  {_compiling(missing, at_once)}{reason}")
        with heartbeat(
            say, lambda seconds: f"build:  {len(done)} of {len(missing)} compiled after {duration(seconds)}"
        ):
            compile_all(build_one, missing, at_once)
    for code in codes:
        build.build(code)  # kept in this process for the device, which may not start a compiler after MPI_Init
    if not architectures or device.lower() == "auto":
        build.compiler_line()  # starts the compiler, if kernels are compiled here, and keeps its answer


def build_for_target(name: str, is_gpu: bool, say: Say = say_nothing) -> Path:
    """Build all kernels for a CPU or a GPU that this host need not have. Raises as `build.build_target`."""
    files = [file for file in dict.fromkeys(file for name in NAMES for file in algorithm(name).kernel_files)
             if not (is_gpu and for_host(file))]
    done: list[str] = []
    with heartbeat(say, lambda seconds: f"build:  {len(done)} of {len(files)} compiled after {duration(seconds)}"):
        return build_target(name, is_gpu, files, done.append)


def _codes(
    files: Sequence[str], device: str, architectures: Sequence[str], cores: Mapping[str, bool]
) -> Iterator[Code]:
    """Yield the code that a run may load. The same code may come twice."""
    yield from (Code(file) for file in files if for_host(file) or file in cores)
    kernels = [file for file in files if not for_host(file)]
    yield from (Code(file, name) for file in kernels if cores.get(file, True) for name in architectures)
    if device.lower() == "auto" or not architectures:
        yield from map(Code, kernels)  # another rank may see no GPU, and then all ranks take the CPU


def _compiling(missing: Sequence[Code], at_once: int) -> str:
    """Return `compiling 5 kernel files with g++, once: about 3 s`."""
    compilers = " and ".join(dict.fromkeys(code.compiler for code in missing))
    each = [_seconds(code) for code in missing]
    seconds = max(*each, sum(each) / at_once)
    return f"compiling {counted(len(missing), 'kernel file')} with {compilers}, once: about {duration(seconds)}"


def _seconds(code: Code) -> float:
    """Return about how long an idle core compiles a file."""
    kind = "gpu" if code.architecture else "cpu"
    return LONGER[kind].get(code.file, SECONDS_A_FILE[kind])


def _architectures(device: str) -> tuple[str, ...]:
    """Return the architectures of the GPUs that this process sees, none if the job may use no GPU."""
    if device.lower() == "cpu":
        return ()
    try:
        return tuple(sorted({gpu.architecture for gpu in list_gpus()}))
    except ResourceError:
        return ()  # "auto" then takes the CPU, and all ranks together refuse a job that asks for a GPU
