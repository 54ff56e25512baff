"""`make check-races` and `make check-cuda` find planted mistakes; the Makefile runs both on all kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.races.check import ADDRESSES, KERNELS, REPOSITORY, THREADS, Build, check_planted, exported_kernels, missing
from tests.races.check_cuda import Use, complaint, kernels


@pytest.mark.parametrize("build", [THREADS, ADDRESSES], ids=["threads", "addresses"])
def test_planted_mistakes_are_reported_and_nothing_else(build: Build, tmp_path: Path) -> None:
    if reason := missing(build):
        pytest.skip(reason)
    tmp_path.chmod(0o700)
    assert check_planted(build, str(tmp_path)) == ""


def test_a_build_without_a_sanitizer_is_called_blind(tmp_path: Path) -> None:
    if reason := missing(THREADS):
        pytest.skip(reason)
    tmp_path.chmod(0o700)
    unwatched = Build("no sanitizer", "-O1 -DHOST_THREADS -pthread", THREADS.runtime, THREADS.clean, THREADS.planted)
    assert "planted_race was not reported: the check is blind" in check_planted(unwatched, str(tmp_path))


def test_every_kernel_is_launched_and_right() -> None:
    command = [sys.executable, "-m", "tests.races.program", "kernels"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert exported_kernels() and set(done.stdout.split()) == exported_kernels()


@pytest.mark.parametrize("file", sorted(KERNELS.rglob("*.cu")), ids=lambda file: file.stem)
def test_every_file_compiles_with_real_threads(file: Path) -> None:
    """Names of device/threads.cuh and of a kernel may clash; the sanitizers would tell, but run too rarely."""
    command = f"g++ -x c++ -std=c++17 -fsyntax-only {THREADS.flags} -Wno-psabi -include device/device.cuh -I".split()
    done = subprocess.run([*command, str(KERNELS), str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'one' for 'sm_90'
ptxas info    : Function properties for one
    0 bytes stack frame, {spills} bytes spill stores, 0 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers, 20456 bytes smem, 512 bytes cmem[0]
ptxas info    : Compiling entry function 'two' for 'sm_90'
ptxas info    : Function properties for two
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 380 bytes cmem[0]
"""


@pytest.mark.parametrize("spills", [0, 8])
def test_the_output_of_nvcc_is_read(spills: int) -> None:
    output = PTXAS.format(spills=spills)
    uses = kernels(output)
    assert uses == [Use("one", "sm_90", 72, 20456, spills), Use("two", "sm_90", 24, 0, 0)]
    assert complaint(output, 0, uses) == ("one spills registers to memory" if spills else "")


@pytest.mark.parametrize(("output", "code"), [("x.cu(3): error: no", 2), ("x.cu(3): warning #177: unused", 0), ("", 0)])
def test_a_warning_of_nvcc_is_a_failure(output: str, code: int) -> None:
    assert complaint(output, code, kernels(output)) != ""
