"""What only a CUDA device can get wrong. `test_stub.py` runs this on the stub driver, `make test-gpu` on a GPU."""

import ctypes

import numpy as np
import pytest

from hpcsolve.device.cuda import CudaDevice
from hpcsolve.device.select import list_gpus, load_library
from hpcsolve.errors import EnvironmentFault, LaunchError
from tests.device.test_protocol import minplus


@pytest.fixture(autouse=True)
def _only_with_a_gpu(test_device):
    if test_device == "cpu":
        pytest.skip("needs a GPU or the stub driver; test_stub.py runs it on that")


def current_context():
    """Return the context that any other user of CUDA in this process would find."""
    context = ctypes.c_void_p()
    load_library().cuCtxGetCurrent(ctypes.byref(context))
    return context.value


def primary_context_is_active():
    """Return whether anything in this process holds the primary context of GPU 0."""
    flags, active = ctypes.c_uint(), ctypes.c_int()
    load_library().cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active))
    return bool(active.value)


def test_the_context_is_current_only_inside_calls_and_gone_after_closing():
    before = primary_context_is_active()  # in a whole run on a GPU the tests' common device holds it
    device = CudaDevice(list_gpus()[0])
    assert current_context() is None and primary_context_is_active()
    minplus(device, 32)
    device.staging(100, np.uint8)
    with pytest.raises(LaunchError):
        device.kernel("held_karp/minplus", "no_such_kernel")
    assert current_context() is None
    device.close()
    assert current_context() is None and primary_context_is_active() == before


def test_a_context_that_another_holds_outlives_the_device():
    with CudaDevice(list_gpus()[0]) as held:
        test_the_context_is_current_only_inside_calls_and_gone_after_closing()
        minplus(held, 32)


def test_the_driver_tells_how_many_blocks_are_resident():
    gpu = list_gpus()[0]
    with CudaDevice(gpu) as device:
        file, name = "held_karp/minplus", "minplus_multiply"
        few, many = (device.resident_blocks(file, name, threads) // gpu.multiprocessors for threads in (1024, 64))
        assert 1 <= few <= 2 and few < many <= 32
        assert device.resident_blocks(file, name, 2048) == gpu.multiprocessors  # such a launch is refused
        with pytest.raises(EnvironmentFault, match="no_such_kernel: the driver does not tell"):
            device.resident_blocks(file, "no_such_kernel", 64)
        minplus(device, 32)


def test_a_block_that_no_gpu_has_is_refused_and_the_device_works_on():
    with CudaDevice(list_gpus()[0]) as device:
        kernel = device.kernel("held_karp/minplus", "minplus_multiply")
        rows, cost, out = (device.zeros(512, dtype) for dtype in (np.uint16, np.uint32, np.uint16))
        with pytest.raises(EnvironmentFault, match="minplus_multiply, 1 blocks of 2048 threads, failed on GPU 0"):
            kernel(1, 2048, sources=1, targets=8, length=64, chunk=64, rows=rows, cost=cost, out=out)
        minplus(device, 32)


def test_freed_and_closed_are_told_apart():
    device = CudaDevice(list_gpus()[0])
    buffer = device.zeros(8, np.int64)
    part = buffer.view(2, 2)
    buffer.free()
    with pytest.raises(LaunchError, match="was freed"):
        part.download()
    left = device.zeros(8, np.int64)
    device.close()
    with pytest.raises(LaunchError, match="is closed"):
        left.download()
    with pytest.raises(LaunchError, match="is closed"):
        device.memory_free()
    left.free()


def test_what_nobody_has_any_more_is_given_back():
    with CudaDevice(list_gpus()[0]) as device:
        free = device.memory_free()
        for _ in range(10):
            device.empty(free // 2, np.uint8)
        staging = [device.staging(100_000, np.uint8) for _ in range(3)]
        del staging
        assert device.memory_free() > free // 2
