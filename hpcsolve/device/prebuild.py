"""Compiles kernels for the CPU or the GPU of other hosts, such as the compute nodes of a cluster."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from hpcsolve.device import build, targets
from hpcsolve.device.compiler import (
    compile_all,
    cuda_compiler,
    host_compiler,
    target_features,
    version_line,
)
from hpcsolve.errors import InputError

CPU_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
GPU_NAME = re.compile(r"sm_\d{2,3}[af]?")


def check_target(name: str, is_gpu: bool) -> None:
    """Raise an `InputError` unless this can be the name of a GPU's architecture (`is_gpu`), or else of a CPU."""
    if is_gpu and not GPU_NAME.fullmatch(name):
        raise InputError(f"GPU {name!r}: name it by its architecture, such as sm_90 (`hpcsolve info` shows it)")
    if not is_gpu and (name == "native" or name.startswith("sm_") or not CPU_NAME.fullmatch(name)):
        raise InputError(f"CPU {name!r}: name it as g++ does, such as znver4 (`g++ --target-help` lists all)")


def build_target(name: str, is_gpu: bool, files: Iterable[str], report: Callable[[str], None]) -> Path:
    """Compile kernel files for a target into the cache, and return their folder. An older folder is replaced.

    Parameters
    ----------
    name
        A CPU as g++ names it, or the architecture of a GPU.
    files
        Kernel files, such as `held_karp/layers`.
    report
        Called with the name of each file when it is compiled.

    Raises
    ------
    InputError
        `name` cannot be the name of a target.
    EnvironmentFault
        There is no compiler, or it failed, or the cache cannot be written.
    """
    check_target(name, is_gpu)
    folder, command = target_folder(name), _command(name, is_gpu)
    described = _description(name, is_gpu, command)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))

    def compile_one(file: str) -> None:
        build.compile_file(file, command, part / targets.kernel_name(file, name))
        report(file)

    try:
        compile_all(compile_one, files, len(os.sched_getaffinity(0)))
        targets.write(part, described)
        _replace(folder, part)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def target_folder(name: str) -> Path:
    """Return the folder of the kernels for a target, which need not exist. Raises as `build.cache_folder`."""
    return build.cache_folder() / targets.folder_name(name, build.target_key())


def _command(name: str, is_gpu: bool) -> list[str]:
    """Return the compiler's command without input and output."""
    if is_gpu:
        return [cuda_compiler(), *build.CUDA_FLAGS.split(), f"-arch={name}"]
    return [host_compiler(), *build.HOST_FLAGS.replace("-march=native", f"-march={name}").split()]


def _description(name: str, is_gpu: bool, command: list[str]) -> targets.Target:
    compiler = version_line(command[0])
    if is_gpu:
        return targets.Target(name, compiler, platform.machine())
    options = target_features(command[0], name)
    return targets.Target(name, compiler, platform.machine(), targets.features_in(options))


def _replace(folder: Path, part: Path) -> None:
    """Rename `part` to `folder`. A process that has loaded kernels from the old folder keeps them."""
    if folder.exists():
        folder.rename(part.with_name(part.name + "-old"))
        shutil.rmtree(part.with_name(part.name + "-old"), ignore_errors=True)
    part.rename(folder)
