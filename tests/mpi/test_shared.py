"""Large arrays are shared by the ranks of a host. MPICH can pretend that one host is several."""

import os
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hpcsolve.parallel import segments
from hpcsolve.parallel.comm import SerialComm

mpi = pytest.importorskip("hpcsolve.parallel.mpi", reason="no mpi4py (extra `local`)")
PROGRAM = Path(__file__).with_name("shared_program.py")
RANKS_AND_HOSTS = [(1, 1), (2, 1), (3, 1), (2, 2), (5, 2), (4, 3)]


def start(start_ranks, ranks, hosts, scenario):
    begin = time.monotonic()
    environment = os.environ | ({"MPIR_CVAR_NUM_CLIQUES": str(hosts)} if hosts > 1 else {})
    done = start_ranks(ranks, sys.executable, PROGRAM, hosts, scenario, env=environment, timeout=30)
    assert time.monotonic() - begin < 15
    return done


@pytest.fixture
def hosts_of(mpiexec_path):
    """Return a function that skips a test for several hosts where MPI cannot pretend them."""
    library = mpi.mpi_library()

    def check(hosts):
        if hosts > 1 and "MPICH" not in library:
            pytest.skip("only MPICH can make one host look like several")
        return hosts

    return check


@pytest.mark.parametrize(("ranks", "hosts"), RANKS_AND_HOSTS)
def test_every_rank_has_the_value(start_ranks, hosts_of, ranks, hosts):
    done = start(start_ranks, ranks, hosts_of(hosts), "values")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of {ranks} ok" for rank in range(ranks)]


@pytest.mark.parametrize(("ranks", "hosts"), [(3, 1), (4, 2)])
@pytest.mark.slow
def test_ranks_of_a_host_share_one_copy(start_ranks, hosts_of, ranks, hosts):
    done = start(start_ranks, ranks, hosts_of(hosts), "memory")
    assert (done.returncode, done.stdout.count("ok\n")) == (0, ranks), done.stderr


def test_arrays_outlive_mpi(start_ranks):
    done = start(start_ranks, 3, 1, "after_the_end")
    assert (done.returncode, done.stdout.count("ok\n")) == (0, 3), done.stderr


@pytest.mark.parametrize(("ranks", "hosts"), [(3, 1), (4, 2)])
def test_an_error_in_make_reaches_all_ranks(start_ranks, hosts_of, ranks, hosts):
    done = start(start_ranks, ranks, hosts_of(hosts), "wrong")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == ["hpcsolve: error: here:7: found wrong"]


def test_a_bug_in_make_ends_all_ranks(start_ranks):
    done = start(start_ranks, 3, 1, "bug")
    assert done.returncode == 70
    assert re.search(r"^hpcsolve: rank 0 of 3 on \S+ failed: KeyError\('nothing'\)", done.stderr, re.M)


def test_writing_to_shared_memory_kills_the_run(start_ranks):
    assert start(start_ranks, 2, 1, "write").returncode not in (0, 70)


def test_a_single_rank_gets_its_own_array():
    made = SerialComm().once_per_host(lambda: np.zeros(10**6))
    assert made.flags.writeable


def test_more_memory_than_the_host_has_is_refused():
    with pytest.raises(OSError):
        segments.reserve_segment(1 << 55)


def test_a_segment_of_another_process_is_not_taken_for_ours():
    segment = segments.reserve_segment(4096)
    other = segments.Segment(segment.process, segment.descriptor, (segment.inode[0], segment.inode[1] + 1), 4096)
    with pytest.raises(FileNotFoundError):
        segments.map_for_reading(other)
    segments.map_for_writing(segment)[:] = 7
    read = segments.map_for_reading(segment)
    os.close(segment.descriptor)
    assert read.tolist() == [7] * 4096 and not read.flags.writeable


def test_parts_lie_on_boundaries():
    memory = np.zeros(mpi.aligned_bytes([1, 64, 65]), np.uint8)
    assert len(memory) == 64 + 64 + 128
    found = mpi.aligned_parts(memory, [1, 64, 65])
    assert [len(part) for part in found] == [1, 64, 65]
    assert [part.ctypes.data - memory.ctypes.data for part in found] == [0, 64, 128]
