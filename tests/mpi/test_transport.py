"""Half runs over several GPUs have the same bits by each way of messages, with the planned bytes and no waiting."""

import re
import sys
from unittest import mock

import pytest

from hpcsolve.algorithms.held_karp.lattice import split
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.comm import SerialComm
from tests.mpi import transport_program as program

SAID = {"staged": "through page-locked memory",
        "shared": "through page-locked memory that the ranks of a host share",
        "peer": "from GPU to GPU (CUDA IPC)",
        "mpi": "by the MPI library, which takes the memory of GPUs"}


def expected():
    """Return the SHA-256 of the middle layers by one CPU."""
    with HostDevice(threads=1) as device, mock.patch.dict(split.PACE, program.PACES):
        return program.middle_layers(device, SerialComm())


@pytest.mark.parametrize("ranks", [2, 4, pytest.param(8, marks=pytest.mark.slow)])
def test_every_way_has_the_same_bits(stub, start_ranks, tmp_path, ranks):
    environment = stub.environment(ranks, nvcc="single", ipc=1, trace=tmp_path / "calls")
    done = start_ranks(ranks, sys.executable, "-m", "tests.mpi.transport_program", timeout=200, env=environment)
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    assert [(way, found) for way, found, _ in lines] == [(way, expected()) for way in SAID]
    others = "1 rank" if ranks == 2 else f"{ranks - 1} ranks"
    assert [notes for *_, notes in lines] == [f"messages of rank 0: with {others} {words}" for words in SAID.values()]


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "cities"), [(2, 17), (6, 11)])
def test_a_stopped_run_goes_on_by_another_way_and_on_cpus(stub, start_ranks, tmp_path, ranks, cities):
    """With 11 cities two of six ranks have no slices."""
    environment = stub.environment(ranks, nvcc="single", ipc=1, trace=tmp_path / "calls")
    command = (sys.executable, "-m", "tests.mpi.transport_program", tmp_path / "checkpoints", cities)
    (tmp_path / "checkpoints").mkdir()
    done = start_ranks(ranks, *command, timeout=200, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {*SAID, "cpu", "mixed"} <= set(done.stdout.split())


JOB = """
algorithm = "held-karp"
device = "cuda"
output = "out.h5"
instance = { generate = "random-matrix", n = 13 }
[held-karp]
method = "lattice"
"""


@pytest.mark.parametrize(("settings", "code", "words"), [
    ({"ipc": 0}, 0, "rank 0: with 1 rank through page-locked memory that the ranks of a host share\n"),
    ({"ipc": 1, "HPCSOLVE_WAYS": "staged"}, 0, "rank 0: with 1 rank through page-locked memory\n"),
    ({"fail_pinned": 1}, 0, "proven optimal"),
    ({"HPCSOLVE_WAYS": "peer nccl"}, 4, "HPCSOLVE_WAYS: nccl is no way to send messages; choose from peer, mpi"),
])
def test_what_is_refused_has_another_way(stub, mpiexec, tmp_path, settings, code, words):
    (tmp_path / "job.toml").write_text(JOB)
    done = mpiexec(2, "run", "job.toml", cwd=tmp_path, env=stub.environment(2, nvcc="single", **settings), timeout=200)
    assert done.returncode == code and re.search(words, done.stdout + done.stderr), done.stdout + done.stderr
