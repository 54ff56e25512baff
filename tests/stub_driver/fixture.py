"""The pytest fixture `stub`. A test folder's conftest.py takes it with `from tests.stub_driver.fixture import stub`."""

from __future__ import annotations

import pytest

from tests.shared_folder import locked, shared_folder
from tests.stub_driver.build import CannotBuild, Stub, build_stub


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Stub:
    """Return the stub driver, built once for all processes of a test run. Skips where PyCUDA or g++ is missing."""
    folder = shared_folder(tmp_path_factory) / "stub-driver"
    try:
        with locked(folder):
            return Stub(folder) if (folder / "bin" / "nvcc").exists() else build_stub(folder)
    except CannotBuild as reason:
        pytest.skip(f"the CUDA device cannot be tried on the stub driver: {reason}")
