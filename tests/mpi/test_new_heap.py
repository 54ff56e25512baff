"""Where MPI is started, and that an error of its start is not lost."""

import threading

import pytest

mpi = pytest.importorskip("hpcsolve.parallel.mpi", reason="no mpi4py (extra `local`)")

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
