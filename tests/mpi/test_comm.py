"""The communicator's members on 1 to 4 real ranks and without MPI, where MPI is started, and how a rank waits."""

import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from hpcsolve.parallel.comm import SerialComm, agree_minimum

PROGRAM = Path(__file__).with_name("comm_program.py")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_member_on_real_ranks(start_ranks, ranks):
    done = start_ranks(ranks, sys.executable, PROGRAM)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {rank} of {ranks} ok" for rank in range(ranks)]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 13, 64, 100])
def test_a_broadcast_reaches_every_rank_once(size):
    binomial_tree = pytest.importorskip("hpcsolve.parallel.mpi", reason="no mpi4py (extra `local`)").binomial_tree
    children = [child for rank in range(size) for child in binomial_tree(rank, size)[1]]
    assert sorted(children) == list(range(1, size))
    assert all(binomial_tree(child, size)[0] == rank for rank in range(size) for child in binomial_tree(rank, size)[1])
    assert max(len(binomial_tree(rank, size)[1]) for rank in range(size)) <= (size - 1).bit_length()


def test_one_rank_alone():
    comm = SerialComm()
    assert (comm.rank, comm.size, comm.local_rank, comm.local_size) == (0, 1, 0, 1)
    assert comm.bcast("x") == "x"
    assert comm.gather(3) == [3] == comm.allgather(3)
    assert agree_minimum(comm, 2**80) == 2**80
    with pytest.raises(AssertionError):
        comm.send(np.zeros(1), 0)
    with pytest.raises(AssertionError):
        comm.receive(np.zeros(1), 0)


mpi = pytest.importorskip("hpcsolve.parallel.mpi", reason="no mpi4py (extra `local`)")


@pytest.mark.parametrize("questions", [1, 2, 30])
def test_what_has_ended_is_not_asked_again(questions):
    asked = []
    mpi.wait_until(lambda: asked.append(None) or len(asked) == questions)
    assert len(asked) == questions


def test_a_long_wait_takes_little_of_a_core():
    started, taken = time.perf_counter(), time.thread_time()
    mpi.wait_until(lambda: time.perf_counter() - started >= 0.3)
    assert time.perf_counter() - started >= 0.3
    assert time.thread_time() - taken < 0.1


PMI2 = {"PMI_FD": "5", "SLURM_STEP_ID": "0"}


@pytest.mark.parametrize(("environment", "same"), [(PMI2, False), ({"PMI_FD": "5"}, True), ({}, True)])
def test_a_new_thread_under_pmi2_only(environment, same):
    threads = []
    mpi.call_with_own_heap(lambda: threads.append(threading.current_thread()), environment)
    assert len(threads) == 1 and (threads[0] is threading.current_thread()) == same


@pytest.mark.parametrize("environment", [PMI2, {}])
def test_errors_come_through(environment):
    with pytest.raises(ZeroDivisionError):
        mpi.call_with_own_heap(lambda: 1 / 0, environment)
