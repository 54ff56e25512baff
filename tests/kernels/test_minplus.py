"""The smallest kernel equals numpy for any block size, on every device."""

from __future__ import annotations

import numpy as np
import pytest

from hpcsolve.device.base import Device

SHAPES = [(1, 8, 64, 64), (12, 16, 4096, 1024), (5, 24, 8192, 96)]


@pytest.mark.parametrize(("sources", "targets", "length", "chunk"), SHAPES)
@pytest.mark.parametrize("block", [1, 32, 96])
def test_equals_numpy(sources: int, targets: int, length: int, chunk: int, block: int, device: Device) -> None:
    rng = np.random.default_rng(length)
    values = rng.integers(0, 10000, (sources, length)).astype(np.uint16)
    cost = rng.integers(0, 1000, (sources, targets)).astype(np.uint32)
    out = device.empty((targets, length), np.uint16)
    kernel = device.kernel("held_karp/minplus", "minplus_multiply")
    kernel(-(-length // chunk), block, sources=sources, targets=targets, length=length, chunk=chunk,
           rows=device.upload(values), cost=device.upload(cost * 0x10001), out=out)
    expected = (values[:, None] + cost[:, :, None]).min(axis=0)
    assert np.array_equal(out.download(), expected)
