"""The kernels give the same bits when they are compiled for Arm, and the check that says so can fail."""

import pytest

from tests.aarch64.check import check, missing


@pytest.mark.timeout(900)  # minutes of a quiet machine: every kernel and function is compiled
def test_kernels_give_the_same_bits_on_arm(tmp_path):
    """`make check-aarch64` tries those of a wheel too, which takes as long again."""
    if reason := missing():
        pytest.skip(reason)
    assert check(tmp_path, as_shipped=False) == ""
