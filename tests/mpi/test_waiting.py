"""A rank that waits sleeps most of the time, yet notices soon that the wait is over."""

import time

import pytest

from hpcsolve.parallel.waiting import wait_until


@pytest.mark.parametrize("seconds", [0.0, 0.0005, 0.3])
def test_waiting(seconds):
    started, taken = time.perf_counter(), time.thread_time()
    asked = []

    def ended():
        asked.append(time.perf_counter() - started)
        return asked[-1] >= seconds

    wait_until(ended)
    assert asked[-1] >= seconds
    assert time.thread_time() - taken < 0.05 + 0.2 * seconds
    assert len(asked) == 1 if seconds == 0 else len(asked) > 2
