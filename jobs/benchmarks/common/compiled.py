"""Compile the rivals that are written in C++ and load them with ctypes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
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
    compiler = os.environ.get("HPCSOLVE_CXX", "g++")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "rival.so"
        command = [compiler, *flags.split(), str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise EnvironmentFault(f"{compiler} could not compile {source.name}: {done.stderr.strip()}")
        return ctypes.CDLL(str(target))


def pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    """Return the address of an array's first element, valid as long as the caller keeps the array."""
    return ctypes.c_void_p(array.ctypes.data)
