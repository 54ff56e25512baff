"""`hpcsolve info`: lines with versions, devices and compilers, and a line for each problem with them."""

from __future__ import annotations

import os
import platform
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import hpcsolve
from hpcsolve.device import array_cache
from hpcsolve.device.build import cache_folder, ready_target, why_none_shipped
from hpcsolve.device.compiler import cuda_compiler, host_compiler, version_line
from hpcsolve.device.select import driver_version, list_gpus
from hpcsolve.errors import HpcsolveError
from hpcsolve.memory import available_memory
from hpcsolve.output.provenance import LIBRARIES, version
from hpcsolve.wording import counted, size

BUILT = "kernels    compiled for "


def general_lines(mpi_library: str) -> Iterator[str]:
    """Yield the lines that are the same on every rank."""
    yield f"hpcsolve   {hpcsolve.__version__}, Python {platform.python_version()}"
    yield "libraries  " + ", ".join(f"{name} {version(name) or 'not installed'}" for name in LIBRARIES)
    yield f"MPI        {mpi_library}"


def compilers() -> list[str]:
    """Return lines with both compilers, the cache folder, and the kernels that are ready for this CPU.

    This starts the compilers, so it must be called before MPI starts.
    """
    lines = [f"{Path(name).name:10} {_compiler(name)}" for name in (host_compiler(), cuda_compiler())]
    try:
        lines.append(f"cache      {cache_folder()}: {_kept()}")
        ready, aside = ready_target(""), why_none_shipped()
        lines += [f"kernels    those of the wheel are not taken: {aside}"] if aside else []
        maker = "in the wheel" if ready and ready.is_shipped else "by hpcsolve build"
        lines += [f"{BUILT}{ready.target.name} {maker}, with {ready.target.compiler}"] if ready else []
    except HpcsolveError as error:
        lines.append(f"cache      problem: {error}")
    return lines


def _kept() -> str:
    """Return what the cache folder has, in words. Raises as `cache_folder`."""
    kernels = [path for path in cache_folder().rglob("*") if path.suffix in (".so", ".cubin")]
    arrays = array_cache.files()
    sizes = [size(array_cache.nbytes(paths)) for paths in (kernels, arrays)]
    return f"kernels {sizes[0]}, {counted(len(arrays), 'file')} of hierarchies {sizes[1]}"


def problem_lines(compiler_lines: list[str]) -> Iterator[str]:
    """Yield a line for each problem that would prevent a run."""
    if "not on the PATH" in compiler_lines[0] and not compiler_lines[-1].startswith(BUILT):
        yield "problem: no C++ compiler: the CPU cannot be used; install a C++ compiler, or load its module"
    if not version("mpi4py"):
        way_out = "pip install mpi4py mpich on a workstation, mpi4py alone with the MPI of a cluster"
        yield f"problem: no mpi4py: one rank only; {way_out}"
    elif not shutil.which("mpiexec") and not shutil.which("srun"):
        yield "problem: neither mpiexec nor srun on the PATH: activate the virtual environment, or load the MPI module"


def rank_line(rank: int, ranks: int) -> str:
    """Return a line with host, cores, memory and GPUs of one rank."""
    cores = counted(len(os.sched_getaffinity(0)), "core")
    return f"rank {rank}/{ranks} on {socket.gethostname()}: {cores}, {size(available_memory())} free; {_gpus()}"


def _compiler(name: str) -> str:
    try:
        return f"{version_line(name)} ({shutil.which(name)})"
    except HpcsolveError as error:
        return str(error)


def _gpus() -> str:
    try:
        gpus = ", ".join(f"{gpu} {size(gpu.memory)} {gpu.architecture}" for gpu in list_gpus())
        return f"{gpus}; driver for CUDA {driver_version()}"
    except HpcsolveError as error:
        return f"no GPU: {error}"
