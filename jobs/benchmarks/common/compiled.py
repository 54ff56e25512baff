"""Compile the rivals that are written in C++, as a library that ctypes loads or as a program."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hpcsolve.errors import EnvironmentFault


def compile_library(source: Path, flags: str) -> ctypes.CDLL:
    """Compile a C++ file with the compiler of hpcsolve's kernels and return the loaded library.

    Raises
    ------
    EnvironmentFault
        If the file does not compile; the message is the compiler's.
    """
    with tempfile.TemporaryDirectory() as folder:
        return ctypes.CDLL(str(compile_program([source], flags, "", Path(folder) / "rival.so")))


def compile_program(sources: Sequence[Path], flags: str, libraries: str, target: Path) -> Path:
    """Compile C++ files with the compiler of hpcsolve's kernels and return the path of the program, which is `target`.

    Raises
    ------
    EnvironmentFault
        If they do not compile; the message is the compiler's.
    """
    compiler = os.environ.get("HPCSOLVE_CXX", "g++")
    command = [compiler, *flags.split(), *map(str, sources), "-o", str(target), *libraries.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        names = ", ".join(source.name for source in sources)
        raise EnvironmentFault(f"{compiler} could not compile {names}: {done.stderr.strip()}")
    return target


def pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    """Return the address of an array's first element, valid as long as the caller keeps the array."""
    return ctypes.c_void_p(array.ctypes.data)
