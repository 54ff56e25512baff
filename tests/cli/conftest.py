"""A fixture of several files."""

import pytest


@pytest.fixture
def run(hpcsolve, test_device):
    """Return `run(folder, *options)`, which runs `job.toml` there."""
    return lambda folder, *more: hpcsolve("run", "job.toml", "--device", test_device, *more, cwd=folder, timeout=200)
