"""Fixtures of several files."""

import signal
import subprocess
import threading

import pytest

from hpcsolve.cli import main


@pytest.fixture
def run(hpcsolve, test_device):
    """Return `run(folder, *options)`, which runs `job.toml` there."""
    return lambda folder, *more: hpcsolve("run", "job.toml", "--device", test_device, *more, cwd=folder, timeout=200)


@pytest.fixture
def in_process(monkeypatch, capfd):
    """Return `in_process(*arguments, cwd=folder)`, which runs the command line in this process."""
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # the command sets its own

    def start(*arguments, cwd):
        monkeypatch.chdir(cwd)
        capfd.readouterr()
        try:
            code = main(list(map(str, arguments)))
        except SystemExit as end:
            code = end.code
        return subprocess.CompletedProcess(arguments, code, *capfd.readouterr())

    yield start
    signal.signal(signal.SIGINT, before)
