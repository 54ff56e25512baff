"""The stub driver finds the mistakes that it is made to find."""

import importlib.util
import subprocess
import sys

import pytest

from hpcsolve.device import build
from tests.stub_driver import nvcc
from tests.stub_driver.build import CannotBuild, build_stub

PINNED_WITHOUT_WAITING = """
import numpy as np, pycuda.driver as cuda
cuda.init(); context = cuda.Device(0).retain_primary_context(); context.push()
stream, device, host = cuda.Stream(), cuda.mem_alloc(800), cuda.pagelocked_zeros(100, np.int64)
cuda.memcpy_htod(device, np.arange(100))
cuda.memcpy_dtoh_async(host, device, stream)
before = host.sum()
stream.synchronize()
print(before, host.sum())
host[:] = 1
cuda.memcpy_htod_async(device, host, stream)
host[:] = 2
stream.synchronize()
back = np.empty(100, np.int64)
cuda.memcpy_dtoh(back, device)
print(back.sum())
context.pop()
"""

TWO_STREAMS = """
import numpy as np, pycuda.driver as cuda
cuda.init(); context = cuda.Device(0).retain_primary_context(); context.push()
work, copies = cuda.Stream(), cuda.Stream()
device, host = cuda.mem_alloc(4), cuda.pagelocked_zeros(4, np.uint8)
for waits in (False, True):
    cuda.memset_d8_async(device, 7, 4, work)
    if waits:
        copies.wait_for_event(cuda.Event().record(work))
    cuda.memcpy_dtoh_async(host, device, copies)
    copies.synchronize()
    print(int(host.sum()))
context.pop()
"""

NEW_MEMORY = """
import numpy as np
from hpcsolve.device.select import list_gpus
from hpcsolve.device.cuda import CudaDevice
with CudaDevice(list_gpus()[0]) as device:
    print(device.empty(4, np.uint8).download().tolist())
"""

KERNEL_BESIDE_ITS_MEMORY = """
import numpy as np
from hpcsolve.device.select import list_gpus
from hpcsolve.device.cuda import CudaDevice
with CudaDevice(list_gpus()[0]) as device:
    kernel = device.kernel("held_karp/minplus", "minplus_multiply")
    out = device.empty(8 * 64 - 1, np.uint16)
    kernel(1, 32, sources=1, targets=8, length=64, chunk=64, rows=device.zeros(64, np.uint16),
           cost=device.zeros(8, np.uint32), out=out)
    out.download()
"""

FORGOTTEN_MEMORY = """
import pycuda.driver as cuda
cuda.init(); context = cuda.Device(0).retain_primary_context(); context.push()
memory = cuda.mem_alloc(10)
context.pop(); context.detach()
"""


@pytest.fixture
def python(stub, run_process):
    """`python(code)` runs the code on the stub."""
    return lambda code: run_process([sys.executable, "-c", code], timeout=60, env=stub.environment())


def test_pinned_memory_moves_at_a_synchronisation(python):
    done = python(PINNED_WITHOUT_WAITING)
    assert done.stdout.split() == ["0", "4950", "200"], done.stderr


def test_a_stream_that_does_not_wait_for_another_is_ahead_of_it(python):
    done = python(TWO_STREAMS)
    assert done.stdout.split() == [str(4 * 0xCD), "28"], done.stderr


def test_new_memory_holds_rubbish(python):
    assert python(NEW_MEMORY).stdout.strip() == str([0xCD] * 4)


def test_a_kernel_that_writes_beside_its_memory_ends_the_process(python):
    done = python(KERNEL_BESIDE_ITS_MEMORY)
    assert done.returncode < 0 and "wrote beside its allocation of 1022 bytes" in done.stderr


def test_forgotten_memory_is_reported(python):
    assert "GPU 0 released with 1 allocations alive" in python(FORGOTTEN_MEMORY).stderr


COMMAND = "-cubin -std=c++17 -O3 --fmad=false -arch=sm_90 -I include -o out"


def test_nvcc_takes_hpcsolves_command_and_no_other():
    options = nvcc.command_line().parse_args([*COMMAND.split(), "x.cu"])
    assert (options.source, options.output, options.include) == ("x.cu", "out", "include")
    for wrong in (f"{COMMAND} x.cu -G", f"{COMMAND} x.cu --fmad=true", COMMAND, COMMAND.replace("-O3", "") + " x.cu"):
        with pytest.raises(SystemExit):
            nvcc.command_line().parse_args(wrong.split())


def test_it_runs_a_command(run_process, stub):
    code = "from hpcsolve.device.select import list_gpus; import os; print(len(list_gpus()), os.environ['STUB_NVCC'])"
    command = [sys.executable, "-m", "tests.stub_driver", sys.executable, "-c", f"{code}; raise SystemExit(7)"]
    done = run_process(command, timeout=120, env={**stub.environment(), "LD_LIBRARY_PATH": "", "STUB_GPUS": "3"})
    assert (done.returncode, done.stdout.split()) == (7, ["3", "single"]), done.stderr


def test_the_users_compiler_does_not_come_before_it(stub, monkeypatch):
    monkeypatch.setenv("HPCSOLVE_NVCC", sys.executable)
    environment = stub.environment()
    assert "HPCSOLVE_NVCC" not in environment and environment["STUB_REAL_NVCC"] == sys.executable


def test_without_pycuda_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CannotBuild, match="PyCUDA is not installed"):
        build_stub(tmp_path)


def test_without_a_compiler_it_says_so(tmp_path, stub, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotBuild, match=r"g\+\+ is not on the PATH"):
        build_stub(tmp_path / "again")


def test_the_packages_own_build_uses_it(stub, tmp_path):
    code = "from hpcsolve.device import build; print(build.cubin('held_karp/minplus', 'sm_80')[:8])"
    environment = stub.environment(nvcc_log=tmp_path / "log", HPCSOLVE_CACHE=tmp_path / "cache")
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "b'STUBCUBN'" and (tmp_path / "log").read_text().strip().endswith("minplus.cu")


def test_a_library_for_the_cpu_may_be_loaded_twice():
    """`single` takes it as it is: no symbol (`u` of nm) would be the same for two GPUs."""
    folder = build.source_folder()
    files = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.cu")]
    libraries = list(map(build.host_library, files))
    kinds = subprocess.run(["nm", "--format=posix", *libraries], capture_output=True, text=True, check=True).stdout
    assert " T " in kinds and " u " not in kinds


AFTER_A_FAILURE = """
import ctypes, pycuda.driver as cuda
from hpcsolve.device.cuda import CudaDevice
from hpcsolve.device.select import list_gpus
from hpcsolve.errors import EnvironmentFault
from tests.device.test_protocol import minplus
driver, one, other = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_size_t()
driver.cuDevicePrimaryCtxRetain(ctypes.byref(one), 0)
try:
    minplus(CudaDevice(list_gpus()[0]), 32)
except EnvironmentFault:
    pass
print(driver.cuCtxPushCurrent_v2(one), driver.cuCtxPopCurrent_v2(ctypes.byref(one)),
      driver.cuMemGetInfo_v2(ctypes.byref(other), ctypes.byref(other)), driver.cuDevicePrimaryCtxRelease_v2(0),
      driver.cuDevicePrimaryCtxRetain(ctypes.byref(one), 0))
"""

HANDLES = """
import ctypes, mmap
driver, pointer = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p
context, popped, event, stream, host = pointer(), pointer(), pointer(), pointer(), pointer()
driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), driver.cuCtxPushCurrent_v2(context)
driver.cuEventCreate(ctypes.byref(event), 0), driver.cuStreamCreate(ctypes.byref(stream), 0)
print(driver.cuEventRecord(event, stream), driver.cuStreamDestroy_v2(stream), driver.cuStreamDestroy_v2(stream),
      driver.cuEventRecord(event, stream), driver.cuEventDestroy_v2(event), driver.cuEventSynchronize(event))
pages = mmap.mmap(-1, 3 * 4096)
start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
register = lambda begin: driver.cuMemHostRegister_v2(pointer(start + begin), ctypes.c_size_t(8192), 0)
driver.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(8), 0)
print(register(0), register(4096), driver.cuMemFreeHost(pointer(start)), driver.cuMemHostUnregister(pointer(start)),
      driver.cuMemHostUnregister(host), driver.cuMemFreeHost(host), driver.cuMemFreeHost(host))
pop = lambda: driver.cuCtxPopCurrent_v2(ctypes.byref(popped))
released, after = driver.cuDevicePrimaryCtxRelease_v2(0), driver.cuCtxSynchronize()
print(released, after, pop(), pop(), driver.cuCtxPushCurrent_v2(context))
"""


def test_after_a_kernels_failure_every_call_returns_it(stub, run_process):
    environment = stub.environment(nvcc="single", fail_kernel=1)
    done = run_process([sys.executable, "-c", AFTER_A_FAILURE], timeout=60, env=environment)
    assert done.stdout.split() == ["700"] * 5, done.stdout + done.stderr


def test_what_was_destroyed_or_freed_is_refused(python):
    done = python(HANDLES)
    lines = [list(map(int, line.split())) for line in done.stdout.splitlines()]
    assert lines == [[0, 0, 400, 400, 0, 400], [0, 712, 1, 0, 713, 0, 1], [0, 709, 709, 201, 201]], done.stderr
