"""Fixtures of all benchmarks: a compiler, and their programs."""

import os
import shutil
import sys

import pytest


@pytest.fixture(autouse=True)
def _compiler():
    """Skip the test where no kernel can be compiled."""
    if shutil.which(os.environ.get("HPCSOLVE_CXX", "g++")) is None:
        pytest.skip("no C++ compiler")


@pytest.fixture
def program(run_process, repository, tmp_path):
    """Return `program(name, *arguments, packages=(), data=folder)`, which runs a benchmark in a new folder.

    Its instances are in the folder `data`, and Python packages in these folders hide installed ones.
    """

    def start(name, *arguments, packages=(), data=tmp_path, **variables):
        paths = os.pathsep.join(map(str, (*packages, repository)))
        environment = {**os.environ, "PYTHONPATH": paths, "HPCSOLVE_DATA": str(data), **variables}
        command = [sys.executable, "-m", f"jobs.benchmarks.{name}", *map(str, arguments)]
        return run_process(command, timeout=200, env=environment, cwd=tmp_path)

    return start
