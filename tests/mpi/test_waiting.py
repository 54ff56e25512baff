"""A rank that waits sleeps most of the time, yet notices soon that the wait is over."""

import time

import pytest

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
