"""A description of the machine and of the software, for the head of every report."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from importlib import metadata

from hpcsolve.device import build
from hpcsolve.device.base import Device
from jobs.benchmarks.common.timing import load

EXTENSIONS = (("__AVX512BW__", "AVX-512", 64), ("__AVX2__", "AVX2", 32), ("", "128-bit", 16))
"""In the order of cuda_src/device/host.cuh: the compiler's macro, the extension's name, bytes of a register."""


def vector_extension() -> tuple[str, int]:
    """Return the vector extension that the compiler uses for kernels here, and the bytes of its registers."""
    compiler = os.environ.get("HPCSOLVE_CXX", "g++")
    flags = os.environ.get("HPCSOLVE_CXXFLAGS", build.HOST_FLAGS).split()
    machine = [flag for flag in flags if flag.startswith("-m")]
    command = [compiler, *machine, "-dM", "-E", "-x", "c++", os.devnull]
    macros = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return next((name, width) for macro, name, width in EXTENSIONS if macro in macros)


def describe_machine(device: Device, threads: int, packages: tuple[str, ...], cores: int | None = None) -> list[str]:
    """Return lines of Markdown: date, device, vector registers, compiler, and the versions of these packages."""
    extension, width = vector_extension()
    other = "" if extension == "AVX-512" else "; **no AVX-512 here**, so figures for AVX-512 cannot be checked"
    cores = cores or len(os.sched_getaffinity(0))
    compiler, flags = os.environ.get("HPCSOLVE_CXX", "g++"), os.environ.get("HPCSOLVE_CXXFLAGS", build.HOST_FLAGS)
    return [
        f"- {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}, {platform.system()} {platform.machine()}",
        f"- device: {device.info.name}; {cores} cores available, {threads} used by each solver that can",
        f"- vectors: {extension}, {width} bytes, {width // 2} 16-bit values at a time{other}",
        f"- compiler: {device.info.compiler}; on the CPU, for kernels and OpenMP rivals: `{compiler} {flags}`",
        f"- versions: Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in ("hpcsolve", "numpy", *packages)),
    ]


def describe_load(before: float) -> str:
    """Return a line of Markdown with the load before the benchmark and now."""
    return f"- runnable processes: {before:.1f} before, {load():.1f} at the end (one-minute means)"


def version(package: str) -> str:
    """Return the version of an installed package, or "(not installed)"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"
