"""Fixtures of several files."""

import pytest

from tests.in_process import commands_in_process


@pytest.fixture
def run(hpcsolve, test_device):
    """Return `run(folder, *options)`, which runs `job.toml` there."""
    return lambda folder, *more: hpcsolve("run", "job.toml", "--device", test_device, *more, cwd=folder, timeout=200)


@pytest.fixture(scope="session")
def in_process():
    """Return `in_process(*arguments, cwd=".")`, which runs the command line in this process, whatever is patched."""
    here = commands_in_process()
    return lambda *arguments, cwd=".": here(list(map(str, arguments)), cwd)


@pytest.fixture
def without_trial(monkeypatch):
    """Read files without a seal at once. Else a process reads each first, which takes most of the time of some tests.

    Files that crash libhdf5 have tests of their own.
    """
    monkeypatch.setattr("hpcsolve.output.reader._failure", lambda *of_the_file: "")
