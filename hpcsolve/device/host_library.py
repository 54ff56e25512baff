"""Loads compiled kernel libraries, whose idle OpenMP threads must sleep."""

from __future__ import annotations

import ctypes
import os
import warnings
from pathlib import Path


def open_library(path: Path, threads: int) -> ctypes.CDLL:
    """Load a compiled library whose idle threads sleep.

    OpenMP reads OMP_WAIT_POLICY once, when the first library loads it. Without the variable, idle threads spin for
    milliseconds after each launch, and an ant colony on 4 threads took 30 times the CPU time. What the user has set
    stays.
    """
    if "OMP_WAIT_POLICY" in os.environ:
        return ctypes.CDLL(str(path))
    if threads > 1:
        _warn_of_spinning(path.parent)
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        return ctypes.CDLL(str(path))
    finally:
        del os.environ["OMP_WAIT_POLICY"]  # the environment is the calling program's


def _warn_of_spinning(folder: Path) -> None:
    """Warn if OpenMP was loaded without a policy before the first library of this folder: its threads will spin."""
    try:
        loaded = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if "/libgomp.so" in loaded and os.path.realpath(folder) not in loaded:
        text = "OpenMP was loaded before hpcsolve, so idle threads spin and take the cores of others: start the " \
               "program with OMP_WAIT_POLICY=passive in its environment"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
