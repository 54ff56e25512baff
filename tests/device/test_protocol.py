"""All devices behave alike. `test_stub.py` runs these tests on the stub driver too, `make test-gpu` on a real GPU."""

import gc
import time

import numpy as np
import pytest

from hpcsolve.errors import LaunchError, ResourceError
from tests.device.conftest import new_device


@pytest.mark.parametrize("dtype", ["u1", "u2", "i4", "u4", "i8", "u8", "f8"])
@pytest.mark.parametrize("shape", [0, 1, 7, (3, 5), (0, 4), (2, 3, 4)])
def test_a_download_returns_the_upload(device, dtype, shape):
    array = np.random.default_rng(1).integers(0, 100, shape).astype(dtype)
    buffer = device.upload(array)
    array_before = array.copy()
    array[...] = 0
    assert (buffer.shape, buffer.dtype, buffer.nbytes) == (array.shape, array.dtype, array.nbytes)
    assert np.array_equal(buffer.download(), array_before)


def test_zeros_and_fill(device):
    buffer = device.zeros((3, 4), np.uint16)
    assert not buffer.download().any()
    buffer.view(4, 4).fill(0xFF)
    assert buffer.download().tolist() == [[0] * 4, [0xFFFF] * 4, [0] * 4]


def test_a_view_shares_memory_and_keeps_it(device):
    whole = device.upload(np.arange(24, dtype=np.int64))
    part = whole.view(6, (2, 3))
    inner = part.view(1, 2)
    assert part.address == whole.address + 6 * 8
    inner.upload(np.array([-1, -2]))
    assert whole.download()[5:10].tolist() == [5, 6, -1, -2, 9]
    part.free()
    del whole
    gc.collect()
    device.zeros(1000, np.int64)
    assert part.download().tolist() == [[6, -1, -2], [9, 10, 11]]


@pytest.mark.parametrize(("start", "shape"), [(0, 25), (24, 1), (20, (2, 3)), (-1, 1), (-3, 3)])
def test_a_view_outside_is_refused(device, start, shape):
    with pytest.raises(LaunchError, match="not inside"):
        device.zeros(24, np.int64).view(start, shape)


@pytest.mark.parametrize("wrong", [np.zeros(3, "i4"), np.zeros(4, "i8"), np.zeros((1, 3), "i8"), np.array(1, "i8")])
def test_an_upload_of_another_shape_or_type_is_refused(device, wrong):
    with pytest.raises(LaunchError, match="int64"):
        device.zeros(3, np.int64).upload(wrong)


@pytest.mark.parametrize("wrong", [np.zeros(3, np.int32), np.zeros(4, np.int64), np.zeros(6, np.int64)[::2]])
def test_a_download_into_another_shape_or_type_is_refused(device, wrong):
    with pytest.raises(LaunchError, match="int64"):
        device.zeros(3, np.int64).download(wrong)


def test_a_strided_array_is_uploaded_as_it_reads(device):
    array = np.arange(12).reshape(3, 4).T
    assert np.array_equal(device.upload(array).download(), array)


@pytest.mark.parametrize("strided", [False, True])
def test_a_constant_is_read_and_never_written(device, strided):
    array = np.arange(24, dtype=np.int64).reshape(4, 6)[:, :: 2 if strided else 1]
    array.flags.writeable = False  # as arrays that ranks share are
    peak = device.memory_peak
    table = device.constant(array)
    part = table.view(1, 2)
    assert (table.shape, table.dtype, table.nbytes) == (array.shape, array.dtype, array.nbytes)
    assert np.array_equal(table.download(), array) and part.download().tolist() == array.ravel()[1:3].tolist()
    for buffer in (table, part):
        for write in (lambda b: b.fill(0), lambda b: b.upload(np.zeros(b.shape, b.dtype))):
            with pytest.raises(LaunchError, match="cannot be written to"):
                write(buffer)
    if device.info.kind == "cpu" and not strided:
        assert table.address == array.ctypes.data and device.memory_peak == peak
    table.free()
    assert array[-1, -1] in (22, 23)


def test_staging_takes_and_gives_and_outlives_the_device(test_device):
    with new_device(test_device) as device:
        staging = device.staging((2, 3), np.int32)
        assert staging.shape == (2, 3) and staging.dtype == np.int32 and staging.flags.c_contiguous
        buffer = device.upload(np.arange(6, dtype=np.int32).reshape(2, 3))
        assert buffer.download(staging) is staging
        staging += 10
        buffer.upload(staging)
        staging[...] = 0
        buffer.download(staging)
        for _ in range(3):
            device.staging(5000, np.uint8)
        assert device.staging(0, np.int32).size == 0
    assert staging.tolist() == [[10, 11, 12], [13, 14, 15]]


def minplus(device, block, seed=0, launches=1):
    """Fail unless the kernel's product equals numpy's."""
    sources, targets, length, chunk = 5, 16, 512, 128
    generator = np.random.default_rng(seed)
    rows = generator.integers(0, 10000, (sources, length)).astype(np.uint16)
    cost = generator.integers(0, 1000, (sources, targets))
    kernel = device.kernel("held_karp/minplus", "minplus_multiply")
    out = device.empty((targets, length), np.uint16)
    up, costs = device.upload(rows), device.constant((cost * 0x10001).astype(np.uint32))
    for _ in range(launches):
        kernel(length // chunk, block, sources=sources, targets=targets, length=length, chunk=chunk, rows=up,
               cost=costs, out=out)
    assert np.array_equal(out.download(), (rows[:, None] + cost[:, :, None]).min(axis=0))


@pytest.mark.parametrize("block", [1, 32, 64, 100])
def test_a_kernel_is_right_for_any_block(device, block):
    minplus(device, block)


def test_an_empty_grid_does_nothing(device):
    out = device.upload(np.full(512, 7, np.uint16))
    kernel = device.kernel("held_karp/minplus", "minplus_multiply")
    kernel(0, 32, sources=1, targets=8, length=64, chunk=64, rows=out, cost=device.zeros(8, np.uint32), out=out)
    assert (out.download() == 7).all()


@pytest.mark.parametrize(("steps", "last"), [(range(1, 6), 5), (range(5, 1, -1), 2), (range(3, 3), 0)])
def test_each_launches_once_a_step_in_order(device, steps, last):
    generator = np.random.default_rng(2)
    rows, cost = generator.integers(0, 10000, (5, 64)).astype(np.uint16), generator.integers(0, 1000, (5, 8))
    kernel, out = device.kernel("held_karp/minplus", "minplus_multiply"), device.zeros((8, 64), np.uint16)
    up, costs = device.upload(rows), device.upload((cost * 0x10001).astype(np.uint32))
    kernel.each("sources", steps, 1, 32, targets=8, length=64, chunk=64, rows=up, cost=costs, out=out)
    taken = (rows[:last, None] + cost[:last, :, None]).min(axis=0) if last else 0
    assert (out.download() == taken).all()


def test_steps_are_checked(device):
    kernel, out = device.kernel("held_karp/minplus", "minplus_multiply"), device.zeros(512, np.uint16)
    rest = {"length": 64, "chunk": 64, "rows": out, "cost": device.zeros(8, np.uint32), "out": out}
    for step, steps, message in [
        ("sources", range(2), "missing targets"),
        ("step", range(2), "missing sources, targets; unknown step"),
        ("rows", range(2), "missing sources, targets"),
    ]:
        with pytest.raises(LaunchError, match=message):
            kernel.each(step, steps, 1, 32, **rest)
    for step, steps in [("sources", range(2**31, 2**31 + 2)), ("sources", range(2**31 - 1, 2**31 + 1)),
                        ("rows", range(2))]:
        with pytest.raises(LaunchError, match=f"minplus_multiply: argument {step} must be"):
            kernel.each(step, steps, 1, 32, **{"sources": 1, "targets": 8, **rest})
    assert not out.download().any()


def test_arguments_are_checked(device, test_device):
    kernel = device.kernel("held_karp/minplus", "minplus_multiply")
    rows, cost, out = device.zeros(64, np.uint16), device.constant(np.zeros(8, np.uint32)), device.zeros(512, np.uint16)
    good = {"sources": 1, "targets": 8, "length": 64, "chunk": 64, "rows": rows, "cost": cost, "out": out}
    with new_device(test_device) as other:
        foreign = other.zeros(64, np.uint16)
        for name, wrong in [("sources", 1 << 31), ("sources", rows), ("sources", 1.0), ("rows", 1), ("rows", cost),
                            ("rows", foreign), ("cost", rows), ("out", None), ("rows", {"a": 1})]:
            with pytest.raises(LaunchError, match=f"minplus_multiply: argument {name} must be .* on this device, not"):
                kernel(1, 1, **{**good, name: wrong})
    with pytest.raises(LaunchError, match="minplus_multiply: argument out is written to by the kernel; it cannot"):
        kernel(1, 1, **{**good, "out": device.constant(np.zeros(512, np.uint16))})
    with pytest.raises(LaunchError, match="minplus_multiply: arguments missing cost; unknown costs"):
        kernel(1, 1, **{**{name: value for name, value in good.items() if name != "cost"}, "costs": cost})
    with pytest.raises(LaunchError, match="missing out"):
        kernel(1, 1, **{name: value for name, value in good.items() if name != "out"})
    assert not out.download().any()
    kernel(1, 1, **good)


def test_an_unknown_kernel_is_named(device):
    with pytest.raises(LaunchError, match=r"held_karp/minplus\.cu has no kernel minplus_divide"):
        device.kernel("held_karp/minplus", "minplus_divide")


def test_a_timer_adds_up(device):
    timer = device.timer()
    assert timer.seconds == 0
    sums, began = [], time.perf_counter()
    for _ in range(3):
        timer.start()
        minplus(device, 32)
        timer.stop()
        sums.append(timer.seconds)
    assert 0 < sums[0] < sums[1] < sums[2] < time.perf_counter() - began


def test_the_time_of_kernels_has_no_pauses_and_no_copies(device):
    assert device.seconds_kernel == 0
    began, outside, found = time.perf_counter(), 0.0, [0.0]
    for pause in (0.05, 0.1, 0.0):
        minplus(device, 32, launches=300 if pause else 1)
        found.append(device.seconds_kernel)
        device.zeros(1 << 20, np.uint8).upload(np.zeros(1 << 20, np.uint8))
        time.sleep(pause)
        outside += pause
    assert 0 < found[1] < found[2] < found[3] < time.perf_counter() - began - outside
    assert device.seconds_kernel == found[3]


def test_memory_is_counted(device):
    assert device.memory_free() > 0 and (device.info.memory > 0) == (device.info.kind == "cuda")
    first, second = device.empty(1000, np.uint8), device.empty((10, 50), np.uint16)
    assert device.memory_peak == 2000
    first.free()
    first.free()
    third = device.empty(500, np.uint8)
    assert device.memory_peak == 2000
    fourth = device.empty(1000, np.uint8)
    assert device.memory_peak == 2500
    for buffer in (second, third, fourth):
        buffer.free()
    device.empty(600, np.uint8)
    assert device.memory_peak == 2500


@pytest.mark.parametrize("nbytes", [1 << 50, 1 << 70])
def test_too_much_memory_is_refused_in_one_line(device, nbytes):
    with pytest.raises(ResourceError, match=str(nbytes)) as caught:
        device.empty(nbytes, np.uint8)
    assert "free" in str(caught.value) and "\n" not in str(caught.value)
    minplus(device, 32)


def test_two_devices_are_used_in_turns(test_device):
    with new_device(test_device) as one, new_device(test_device) as two:
        for seed in range(3):
            for device in (one, two):
                minplus(device, 32, seed)
        one.close()
        minplus(two, 32)


def test_closing_twice_is_fine(test_device):
    device = new_device(test_device)
    device.zeros(10, np.uint8)
    device.synchronize()
    device.close()
    device.close()


def test_many_launches(device):
    timer = device.timer()
    for _ in range(1100):
        timer.start()
        timer.stop()
    minplus(device, 1, launches=300)
    assert timer.seconds >= 0


def test_its_description(device, test_device):
    assert device.info.kind == test_device and device.info.name and device.info.compiler
    assert device.info.uuid.startswith("GPU-") == (test_device == "cuda")
