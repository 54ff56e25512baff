"""The device that the tests of this folder open."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hpcsolve.device.base import Device
from hpcsolve.device.cuda import CudaDevice
from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import list_gpus


@pytest.fixture
def device(test_device: str) -> Iterator[Device]:
    """Open a device of the kind under test: the CPU, or with HPCSOLVE_TEST_DEVICE=cuda the first GPU, real or stub."""
    with new_device(test_device) as opened:
        yield opened


def new_device(kind: str) -> Device:
    """Return a new device of this kind."""
    return HostDevice(threads=2) if kind == "cpu" else CudaDevice(list_gpus()[0])
