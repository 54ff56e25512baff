"""What large arrays do between ranks of one host and of several; MPICH can make ranks believe in several hosts."""

import os
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hpcsolve.parallel import host_memory
from hpcsolve.parallel.comm import SerialComm

PROGRAM = Path(__file__).with_name("shared_program.py")
GROUPS = [(1, 1), (2, 1), (3, 1), (2, 2), (5, 2), (4, 3)]
"""Ranks, hosts."""


def start(start_ranks, ranks, hosts, scenario):
    begin = time.monotonic()
    environment = os.environ | ({"MPIR_CVAR_NUM_CLIQUES": str(hosts)} if hosts > 1 else {})
    done = start_ranks(ranks, sys.executable, PROGRAM, hosts, scenario, env=environment, timeout=30)
    assert time.monotonic() - begin < 15
    return done


@pytest.fixture
def hosts_of(mpiexec_path):
    """Skips several hosts where MPI cannot pretend them."""
    library = pytest.importorskip("hpcsolve.parallel.mpi", reason="no mpi4py (extra `local`)").mpi_library()

    def check(hosts):
        if hosts > 1 and "MPICH" not in library:
            pytest.skip("only MPICH can make one host look like several")
        return hosts

    return check


@pytest.mark.parametrize(("ranks", "hosts"), GROUPS)
def test_every_rank_has_the_value(start_ranks, hosts_of, ranks, hosts):
    done = start(start_ranks, ranks, hosts_of(hosts), "values")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of {ranks} ok" for rank in range(ranks)]


@pytest.mark.parametrize(("ranks", "hosts"), [(3, 1), (4, 2)])
def test_one_copy_a_host_where_it_can_be(start_ranks, hosts_of, ranks, hosts):
    done = start(start_ranks, ranks, hosts_of(hosts), "memory")
    assert (done.returncode, done.stdout.count("ok\n")) == (0, ranks), done.stderr


def test_arrays_outlive_mpi(start_ranks):
    done = start(start_ranks, 3, 1, "after_the_end")
    assert (done.returncode, done.stdout.count("ok\n")) == (0, 3), done.stderr


@pytest.mark.parametrize(("ranks", "hosts"), [(3, 1), (4, 2)])
def test_an_error_while_making_is_everybodys(start_ranks, hosts_of, ranks, hosts):
    done = start(start_ranks, ranks, hosts_of(hosts), "wrong")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == ["hpcsolve: error: here:7: found wrong"]


def test_a_bug_while_making_ends_all(start_ranks):
    done = start(start_ranks, 3, 1, "bug")
    assert done.returncode == 70
    assert re.search(r"^hpcsolve: rank 0 of 3 on \S+ failed: KeyError\('nothing'\)", done.stderr, re.M)


def test_nothing_writes_through(start_ranks):
    assert start(start_ranks, 2, 1, "write").returncode not in (0, 70)


def test_one_rank_makes_its_own():
    made = SerialComm().once_a_host(lambda: np.zeros(10**6))
    assert made.flags.writeable


def test_memory_that_cannot_be():
    with pytest.raises(OSError):
        host_memory.reserve(1 << 55)


def test_another_memory_is_not_taken_for_ours():
    place = host_memory.reserve(4096)
    other = host_memory.Place(place.process, place.descriptor, (place.inode[0], place.inode[1] + 1), 4096)
    with pytest.raises(FileNotFoundError):
        host_memory.readable(other)
    host_memory.writable(place)[:] = 7
    read = host_memory.readable(place)
    os.close(place.descriptor)
    assert read.tolist() == [7] * 4096 and not read.flags.writeable


def test_parts_lie_on_boundaries():
    memory = np.zeros(host_memory.total([1, 64, 65]), np.uint8)
    assert len(memory) == 64 + 64 + 128
    found = host_memory.parts(memory, [1, 64, 65])
    assert [len(part) for part in found] == [1, 64, 65]
    assert [part.ctypes.data - memory.ctypes.data for part in found] == [0, 64, 128]
