"""Builds the stub driver (driver.cpp) and gives the environment in which a process finds it instead of NVIDIA's.

    stub = build_stub(folder)                                     # once
    subprocess.run(command, env=stub.environment(gpus=2))         # the real PyCUDA on two stub GPUs

A process finds its libcuda when it starts, so everything on the stub runs in a subprocess. In pytest the fixture `stub`
builds it once a session, or skips and says why.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.device.compiler import cuda_compiler

HERE = Path(__file__).parent
FLAGS = ["-std=c++17", "-O2", "-fPIC", "-Wall", "-Wextra"]


class CannotBuild(Exception):
    """There is no PyCUDA or no compiler. The message says which."""


@dataclass(frozen=True)
class Stub:
    """A folder with `lib/libcuda.so.1`, `bin/nvcc` and a compile cache of its own."""

    folder: Path

    def environment(self, gpus: int = 1, **settings: str | int) -> dict[str, str]:
        """Return this process's environment with the stub in front.

        Parameters
        ----------
        gpus
            Number of GPUs that it shows.
        settings
            `memory`, `fail_launch`, `nvcc`, ... for STUB_MEMORY and so on (driver.cpp and nvcc.py list them); names in
            capitals go in as they are.
        """
        own = {"CUDA_VISIBLE_DEVICES", "HPCSOLVE_NVCC"}
        environment = {name: value for name, value in os.environ.items() if name not in own}
        environment["STUB_GPUS"] = str(gpus)
        environment["STUB_REAL_NVCC"] = shutil.which(cuda_compiler()) or "nvcc"
        environment["LD_LIBRARY_PATH"] = _joined(self.folder / "lib", os.environ.get("LD_LIBRARY_PATH"))
        environment["PATH"] = _joined(self.folder / "bin", os.environ.get("PATH"))
        environment["PYTHONPATH"] = _joined(HERE.parent.parent, os.environ.get("PYTHONPATH"))
        environment.setdefault("HPCSOLVE_CACHE", str(self.folder / "cache"))
        for name, value in settings.items():
            environment[name if name.isupper() else f"STUB_{name.upper()}"] = str(value)
        return environment


def build_stub(folder: Path) -> Stub:
    """Compile the driver into `folder` and put the fake nvcc beside it.

    Raises
    ------
    CannotBuild
        PyCUDA is not installed, or g++ or nm is missing.
    """
    extension = pycuda_extension()
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in ("lib", "bin", "cache"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    library, objects = folder / "lib" / "libcuda.so.1", []
    for source in ("driver.cpp", "launches.cpp"):
        objects.append(str(folder / f"{source}.o"))
        _run("g++", *FLAGS, "-c", str(HERE / source), "-o", objects[-1])
    missing = _symbols("--undefined-only", "-D", str(extension)) - _symbols("--defined-only", *objects)
    rest = folder / "rest.cpp"
    rest.write_text("".join(f'extern "C" int {name}() {{ return 801; }}\n' for name in sorted(missing)))
    _run("g++", *FLAGS, "-shared", "-Wl,-soname,libcuda.so.1", *objects, str(rest), "-ldl", "-o", str(library))
    compiler = folder / "bin" / "nvcc"
    compiler.write_text(f"#!/bin/sh\nexec '{sys.executable}' -S -E '{HERE / 'nvcc.py'}' \"$@\"\n")
    compiler.chmod(0o755)
    return Stub(folder)


def without_functions(stub: Stub, folder: Path, *names: str) -> Path:
    """Return `folder` with a libcuda.so.1 that lacks some functions, as an old driver does."""
    script, library = folder / "exports.map", folder / "libcuda.so.1"
    script.write_text(f"{{ local: {'; '.join(names)}; }};")
    parts = [str(stub.folder / name) for name in ("driver.cpp.o", "launches.cpp.o", "rest.cpp")]
    _run("g++", *FLAGS, "-shared", "-Wl,-soname,libcuda.so.1", f"-Wl,--version-script={script}", *parts, "-ldl",
         "-o", str(library))
    return folder


def pycuda_extension() -> Path:
    """Return the path of PyCUDA's compiled module, without importing it."""
    package = importlib.util.find_spec("pycuda")
    folders = [] if package is None else package.submodule_search_locations or []
    found = [path for folder in folders for path in Path(folder).glob("_driver*.so")]
    if not found:
        raise CannotBuild(f"PyCUDA is not installed for {sys.executable}: run make pycuda-built")
    return found[0]


def _symbols(*options: str) -> set[str]:
    """Return the CUDA driver functions among a file's symbols."""
    return set(re.findall(r"\b(cu[A-Z]\w*)$", _run("nm", *options), re.MULTILINE))


def _run(*command: str) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        raise CannotBuild(f"{command[0]} is not on the PATH") from None
    except subprocess.CalledProcessError as error:
        raise AssertionError(f"{' '.join(command)}\n{error.stderr}") from None


def _joined(first: Path, others: str | None) -> str:
    return f"{first}:{others}" if others else str(first)
