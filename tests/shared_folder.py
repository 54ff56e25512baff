"""The folder that all processes of a test run share: xdist's workers, and the pytest that a test starts."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NAME = "HPCSOLVE_TEST_FOLDER"
"""The environment variable by which a test's processes know the folder."""


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the folder of compiled code, which is that of the pytest above this one if a test has started this one."""
    own = factory.getbasetemp()
    return Path(os.environ.setdefault(NAME, str(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time make what is to be in a folder."""
    with folder.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
