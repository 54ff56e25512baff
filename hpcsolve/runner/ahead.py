"""Builds kernels before MPI starts, because afterwards no process, such as a compiler, can be started safely."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hpcsolve.algorithms.registry import algorithm
from hpcsolve.device import build
from hpcsolve.device.gpus import list_gpus
from hpcsolve.errors import HpcsolveError, ResourceError
from hpcsolve.job.load import load_job


def build_ahead(path: str, overrides: Sequence[str] = (), device: str | None = None) -> float:
    """Build the kernels that a job will load, and return the seconds that it took.

    Every process calls this. On each node one process builds, and the others wait.

    Raises
    ------
    EnvironmentFault
        There is no compiler, or it failed.
    """
    try:
        job = load_job(path, overrides, device=device)
    except HpcsolveError:
        return 0.0  # rank 0 will find the same error, and report it for all ranks
    return timed_build(job.settings.algorithm, job.settings.device)


def timed_build(name: str, device: str) -> float:
    """Build the kernels of an algorithm, and return the seconds that it took. Raises as `build_ahead`."""
    started = time.perf_counter()
    build_for(name, device)
    return time.perf_counter() - started


def build_for(name: str, device: str) -> None:
    """Build the kernels of an algorithm for the device that a job asks for. Raises as `build_ahead`."""
    solver, architectures = algorithm(name), _architectures(device)
    files = solver.kernel_files
    build.ahead(solver.host_kernel_files)  # they run on the CPU whatever the device
    build.ahead(files, architectures)
    if device.lower() == "auto" and architectures:
        build.ahead(files)  # another rank may see no GPU, and then all ranks take the CPU
    if not architectures or device.lower() == "auto":
        build.compiler_identity(build.host_compiler())  # fills a cache: the CPU device asks for it when MPI runs


def _architectures(device: str) -> tuple[str, ...]:
    """Return the architectures of the GPUs that this process sees, none if the job may use no GPU."""
    if device.lower() == "cpu":
        return ()
    try:
        return tuple(sorted({gpu.architecture for gpu in list_gpus()}))
    except ResourceError:
        return ()  # "auto" then takes the CPU, and all ranks together refuse a job that asks for a GPU
