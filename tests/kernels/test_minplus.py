"""The smallest kernel: equal to numpy for any block size, one source on every device."""

from __future__ import annotations

import numpy as np
import pytest

from hpcsolve.device.base import Device, LaunchError

SIGNATURE = "i4 i4 i4 i4 u2* u4* u2*"


SHAPES = [(1, 8, 64, 64), (12, 16, 4096, 1024), (5, 24, 8192, 96)]


@pytest.mark.parametrize(("sources", "targets", "length", "chunk"), SHAPES)
@pytest.mark.parametrize("block", [1, 32, 96])
def test_equals_numpy(sources: int, targets: int, length: int, chunk: int, block: int, device: Device) -> None:
    rng = np.random.default_rng(length)
    values = rng.integers(0, 10000, (sources, length)).astype(np.uint16)
    cost = rng.integers(0, 1000, (sources, targets)).astype(np.uint32)
    given = device.upload(values), device.upload(cost * 0x10001)
    out = device.empty((targets, length), np.uint16)
    kernel = device.kernel("minplus", "minplus_multiply", SIGNATURE)
    kernel(-(-length // chunk), block, sources, targets, length, chunk, *given, out)
    expected = (values[:, None] + cost[:, :, None]).min(axis=0)
    assert np.array_equal(out.download(), expected)


def test_wrong_arguments_are_refused_on_every_device(device: Device) -> None:
    kernel = device.kernel("minplus", "minplus_multiply", SIGNATURE)
    good, wrong = device.zeros(64, np.uint16), device.zeros(64, np.uint32)
    with pytest.raises(LaunchError, match="argument 4"):
        kernel(1, 1, 1, 8, 64, 64, wrong, wrong, good)
    with pytest.raises(LaunchError, match="takes 7 arguments"):
        kernel(1, 1, 1, 8, 64, 64, good)
    with pytest.raises(LaunchError, match="argument 0"):
        kernel(1, 1, 2**31, 8, 64, 64, good, wrong, good)
