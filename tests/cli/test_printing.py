"""Closed pipes, full disks, encodings that lack characters, and Ctrl-C while printing never cost a result."""

import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest

from hpcsolve import cli
from hpcsolve.output import log
from hpcsolve.wording import show

MATRIX = "0 1 9\n9 0 1\n1 9 0\n"
NAMED = """NAME : towns
TYPE : TSP
DIMENSION : 3
COMMENT : CITY 1 Łódź
COMMENT : CITY 2 Αθήνα
COMMENT : CITY 3 Bern
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 3 4
3 6 0
EOF
"""
SHELL = '"$@" {}; echo "code ${{PIPESTATUS[0]}}" >&2'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "towns.tsp").write_text(NAMED, encoding="utf-8")
    (tmp_path / "job.toml").write_text('algorithm = "held-karp"\ninstance = "towns.tsp"\noutput = "out.h5"\n')
    return tmp_path


def in_shell(run_process, folder, redirection, *arguments, **environment):
    command = ["bash", "-c", SHELL.format(redirection), "-", sys.executable, "-m", "hpcsolve", *arguments]
    return run_process(command, timeout=60, cwd=folder, env={**os.environ, **environment})


@pytest.mark.parametrize("redirection", ["| true", "> /dev/full", ">&-", "> /dev/full 2>&1"])
def test_a_run_keeps_its_result_when_printing_fails(redirection, run_process, folder, test_device):
    done = in_shell(run_process, folder, redirection, "run", "job.toml", "--device", test_device)
    assert "Traceback" not in done.stderr and "rror" not in done.stderr
    assert done.stderr == "code 0\n"
    with h5py.File(folder / "out.h5") as file:
        assert file.attrs["verified"] == 1


@pytest.mark.parametrize("redirection", ["| true", "> /dev/full", ">&-"])
@pytest.mark.slow
def test_other_commands_end_well_when_printing_fails(redirection, run_process, hpcsolve, folder, test_device):
    assert hpcsolve("run", "job.toml", "--device", test_device, cwd=folder).returncode == 0
    estimate = ["estimate", "job.toml", "--device", test_device]
    for arguments in (["verify", "out.h5"], estimate, ["info"], ["generate", "uniform-tsp", "--n", "5", "-o", "x.tsp"]):
        done = in_shell(run_process, folder, redirection, *arguments)
        assert done.stderr == "code 0\n", arguments


def test_letters_that_the_encoding_lacks(run_process, folder, test_device):
    run = ("run", "job.toml", "--device", test_device)
    done = in_shell(run_process, folder, "", *run, PYTHONIOENCODING="ascii")
    assert done.stderr == "code 0\n"
    assert "\\u0141\\xf3d\\u017a" in done.stdout and "check:  PASS" in done.stdout
    assert "Łódź" in in_shell(run_process, folder, "", *run, PYTHONIOENCODING="utf-8").stdout


def test_a_log_on_a_full_disk_ends_and_the_run_goes_on(folder, test_device, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    with open("/dev/full", "a") as full:
        monkeypatch.setattr(log, "opened", lambda path: full)
        assert cli.main(["run", "job.toml", "--device", test_device, "--log-dir", "logs"]) == 0
    said = capsys.readouterr()
    assert "check:  PASS" in said.out
    assert said.err.count("No space left on device; the log ends here") == 1 and "Traceback" not in said.err


def test_a_stream_that_fails_is_left_alone_afterwards(tmp_path):
    with open("/dev/full", "w") as full:
        show("lost", full)
        show("lost too", full)
    with open(tmp_path / "latin", "w", encoding="latin-1") as file:
        show("é Ł \udc80", file)
    assert (tmp_path / "latin").read_text(encoding="latin-1") == "é \\u0141 \\udc80\n"


def interrupted(command, folder):
    """Start a long job as a terminal would, press Ctrl-C once it computes, and return its exit code and errors."""
    long = [*command, "run", "job.toml", "--device", "cpu", "--set", "instance=costs.npy", "--set", "threads=1"]
    np.save(folder / "costs.npy", np.random.default_rng(1).integers(1, 1000, (28, 28)))
    with subprocess.Popen(
        long, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        for line in process.stdout:
            if line.startswith("memory:"):
                time.sleep(0.1)
                os.killpg(process.pid, signal.SIGINT)
                break
        _, errors = process.communicate(timeout=60)
    left = sorted(path.name for path in folder.iterdir())
    # Before the search has begun there is nothing to keep; how long that takes depends on the machine.
    kept = {75: ["out.h5.checkpoint"], 130: []}[process.returncode]
    assert left == sorted(["costs.npy", "job.toml", "towns.tsp", *kept])
    return process.returncode, errors


SAID = {75: "hpcsolve: interrupted: a checkpoint will be written; another Ctrl-C ends the run at once",
        130: "hpcsolve: interrupted"}


def test_ctrl_c_alone(folder):
    code, errors = interrupted([sys.executable, "-m", "hpcsolve"], folder)
    assert errors == f"{SAID[code]}\n"


def test_ctrl_c_under_mpiexec(mpiexec_path, folder):
    code, errors = interrupted([mpiexec_path, "-n", "2", sys.executable, "-m", "hpcsolve"], folder)
    assert "Traceback" not in errors and errors.count("hpcsolve: interrupted") == 1 and f"{SAID[code]}\n" in errors
