"""Compiles the libraries of this folder that stand between a program and the C library (LD_PRELOAD)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def preloading(name: str, folder: Path) -> dict[str, str]:
    """Return the environment of a process into which `{name}.c` is preloaded, or skip the test without a C compiler.

    Parameters
    ----------
    folder
        Gets the library, `{name}.so`.
    """
    if shutil.which("gcc") is None:
        pytest.skip("no gcc, which compiles the library that makes system calls fail")
    library = folder / f"{name}.so"
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run(["gcc", "-Wall", "-Werror", "-O1", "-fPIC", "-shared", source, "-o", library, "-ldl"], check=True)
    return {**os.environ, "LD_PRELOAD": str(library)}
