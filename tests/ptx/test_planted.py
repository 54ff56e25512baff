"""The interpreter finds every mistake of planted.cu, whatever the seed, and two in the headers of the kernels."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from hpcsolve.device import build
from hpcsolve.device.compiler import cuda_compiler
from tests.ptx.interpreter import Interpreter, compiled
from tests.stub_driver.build import CannotBuild

PLANTED, FAULTLESS = Path(__file__).parent / "planted.cu", Path(__file__).parent / "faultless.cu"
SEEDS = range(1, 6)
MISTAKES = {
    "missing_barrier": "a race with a",
    "missing_syncwarp": "a race with a",
    "shuffle_for_sync": "a race with a|nobody has written",
    "racing_threads": "a race with a write",
    "racing_blocks": "a race with a write by thread",
    "atomic_of_a_block": "a race with a write by thread",
    "read_beside_atomic": "a race with a",
    "read_only": "memory that ld.global.nc reads is written in the same launch",
    "half_a_mask": "the thread's own lane is not in the mask",
    "divergent_shuffle": "the warp has diverged: lane",
    "lane_that_left": "reads lane 5, which does not take part|waits for",
    "divergent_barrier": "the block has diverged: thread",
    "deadlock": "the warp has diverged: lane|deadlock",
    "endless": "the kernel does not end",
    "overrun": "and the next 8 bytes are in no allocation",
    "shared_overrun": "8 bytes outside of shared memory, at offset 512",
    "local_overrun": "8 bytes outside of local memory, at offset 64",
    "misaligned": "is no multiple of 8",
    "wrong_space": "an instruction for global memory has an address of shared or local memory",
    "foreign_local": "another thread's local memory",
    "division": "division by 0",
    "unwritten": "reads 8 bytes of shared memory, at offset 0, that nobody has written",
    "trap": "the kernel stops itself",
}
"""Kernels, and alternatives (with |) of which one must be in the message."""

HEADER_MISTAKES = {
    "a minimum that is an or": ("return atomicMin_block((unsigned long long *)",
                                "return atomicOr_block((unsigned long long *)"),
    "a peek that reads half": ("ld.relaxed.cta.global.u64", "ld.relaxed.cta.global.u32"),
}


@pytest.fixture(scope="module")
def planted():
    """Return the kernels of planted.cu."""
    yield loaded(PLANTED, build.source_folder())


def loaded(source, headers):
    """Return the kernels of a file as nvcc compiles them, or skip the test where that cannot be."""
    if shutil.which(cuda_compiler()) is None:
        pytest.skip(f"{cuda_compiler()} is not on the PATH")
    try:
        return Interpreter().load(compiled(source, headers))
    except CannotBuild as reason:
        pytest.skip(str(reason))


def run(module, name, seed):
    """Return the message and the output of a kernel in 2 blocks of 64 threads, for the numbers from 0 to 63."""
    out = np.zeros(64, np.uint64)
    steps = 20_000 if name == "planted_endless" else 10**7
    message = module.launch(name, 2, 64, 64, np.arange(64, dtype=np.uint64), out, seed=seed, steps=steps)
    return message, out.tolist()


def right():
    """Return the right output of `faultless` for these numbers."""
    one = [(63 - t) + (63 - (t ^ 1)) + (1 << 8) + 2 for t in range(64)]
    return [(one[t ^ 2] + (1 << 40)) * (2 if t < 32 else 1) for t in range(64)]


def test_every_planted_kernel_is_tried():
    names = {line.split("(")[0].removeprefix("KERNEL planted_")
             for line in PLANTED.read_text().splitlines() if line.startswith("KERNEL")}
    assert names == set(MISTAKES)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_found_where_nothing_is_wrong(seed):
    assert run(loaded(FAULTLESS, build.source_folder()), "faultless", seed) == ("", right())


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_is_found_with_every_seed(planted, name):
    for seed in SEEDS:
        message, _ = run(planted, f"planted_{name}", seed)
        assert any(words in message for words in MISTAKES[name].split("|")), message
        assert message.startswith(f"planted_{name}, block ") and "(PTX line " in message
        assert ".cu:" in message or "_intrinsics.hpp:" in message or "functions.hpp:" in message


def test_a_race_is_told_with_both_places_in_the_source(planted):
    lines = PLANTED.read_text().splitlines()
    at = 1 + next(k for k, line in enumerate(lines) if "planted_racing_blocks" in line)
    message, _ = run(planted, "planted_racing_blocks", 1)
    assert message.count(f"planted.cu:{at})") == 2 and "st.global.u64" in message


def test_without_the_detector_a_race_passes(planted):
    out = np.zeros(64, np.uint64)
    values = np.arange(64, dtype=np.uint64)
    assert planted.launch("planted_racing_blocks", 2, 64, 64, values, out, races=False) == ""


@pytest.mark.parametrize("mistake", HEADER_MISTAKES)
def test_a_mistake_in_the_cuda_header_gives_wrong_numbers(tmp_path, mistake):
    old, new = HEADER_MISTAKES[mistake]
    headers = tmp_path / "cuda_src"
    shutil.copytree(build.source_folder(), headers)
    header = headers / "device" / "cuda.cuh"
    text = header.read_text()
    assert old in text
    header.write_text(text.replace(old, new))
    message, out = run(loaded(FAULTLESS, headers), "faultless", 1)
    assert message == "" and out != right()
