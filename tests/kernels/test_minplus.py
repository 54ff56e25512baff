"""The smallest kernels equal numpy for any block size, on every device, and one of them works in registers alone."""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from hpcsolve.device import build
from hpcsolve.device.compiler import cuda_compiler

SHAPES = [(1, 8, 64, 64), (12, 16, 4096, 1024), (5, 24, 8192, 96)]


@pytest.mark.parametrize(("sources", "targets", "length", "chunk"), SHAPES)
@pytest.mark.parametrize("block", [1, 32, 96])
def test_equals_numpy(sources, targets, length, chunk, block, device):
    rng = np.random.default_rng(length)
    values = rng.integers(0, 10000, (sources, length)).astype(np.uint16)
    cost = rng.integers(0, 1000, (sources, targets)).astype(np.uint32)
    out = device.empty((targets, length), np.uint16)
    kernel = device.kernel("held_karp/minplus", "minplus_multiply")
    kernel(-(-length // chunk), block, sources=sources, targets=targets, length=length, chunk=chunk,
           rows=device.upload(values), cost=device.upload(cost * 0x10001), out=out)
    expected = (values[:, None] + cost[:, :, None]).min(axis=0)
    assert np.array_equal(out.download(), expected)


PEAKS = [(64, 64, 0, 3), (4096, 1024, 5, 700), (8192, 96, 9, 0)]
LOOP = re.compile(r"^(\$L__\w+):$(?:(?!^\$L__)[\s\S])*?bra[\w.]*\s+\1;", re.MULTILINE)


@pytest.mark.parametrize(("length", "chunk", "rounds", "cost"), PEAKS)
@pytest.mark.parametrize("block", [1, 32, 96])
def test_the_peak_equals_numpy(length, chunk, rounds, cost, block, device):
    values = np.random.default_rng(length).integers(0, 10000, (8, length)).astype(np.uint16)
    out = device.empty((8, length), np.uint16)
    kernel = device.kernel("held_karp/min_add", "min_add_repeat")
    kernel(-(-length // chunk), block, length=length, chunk=chunk, rounds=rounds, cost=cost * 0x10001,
           values=device.upload(values), out=out)
    for _ in range(rounds):
        for j in range(8):
            values[j] = np.minimum(values[j], values[(j + 1) % 8] + np.uint16(cost))
    assert np.array_equal(out.download(), values)


def test_the_peak_reads_no_memory_between_its_min_adds(tmp_path):
    real = os.environ.get("STUB_REAL_NVCC")  # on the stub driver nvcc is g++
    nvcc, folder = shutil.which(real or cuda_compiler()), build.source_folder()
    if nvcc is None:
        pytest.skip("no nvcc")
    source, ptx = folder / "held_karp" / "min_add.cu", tmp_path / "min_add.ptx"
    flags = [*build.CUDA_FLAGS.replace("-cubin", "-ptx").split(), "-arch=sm_90", "-I", str(folder)]
    subprocess.run([nvcc, *flags, str(source), "-o", str(ptx)], check=True, timeout=200)
    kernel = ptx.read_text().partition(".entry min_add_repeat(")[2].partition(".entry")[0]
    inner = [loop[0] for loop in LOOP.finditer(kernel) if loop[0].count("min.u16x2") >= 8]
    assert inner and not any(re.search(r"\b(ld|st)\.", loop) for loop in inner), kernel
