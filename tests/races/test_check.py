"""`make check-races` finds planted mistakes. The Makefile runs it on all kernels."""

import subprocess
import sys

import pytest

from tests.races.check import ADDRESSES, KERNELS, REPOSITORY, THREADS, Build, check_planted, exported_kernels, missing


@pytest.mark.parametrize("build", [THREADS, ADDRESSES], ids=["threads", "addresses"])
def test_planted_mistakes_are_reported_and_nothing_else(build, tmp_path):
    if reason := missing(build):
        pytest.skip(reason)
    tmp_path.chmod(0o700)
    assert check_planted(build, str(tmp_path)) == ""


def test_a_build_without_a_sanitizer_is_called_blind(tmp_path):
    if reason := missing(THREADS):
        pytest.skip(reason)
    tmp_path.chmod(0o700)
    unwatched = Build("no sanitizer", "-O1 -DHOST_THREADS -pthread", THREADS.runtime, THREADS.clean, THREADS.planted)
    assert "planted_race was not reported: the check is blind" in check_planted(unwatched, str(tmp_path))


def test_every_kernel_is_launched_and_right():
    command = [sys.executable, "-m", "tests.races.program", "kernels"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=290)
    assert done.returncode == 0, done.stderr
    assert exported_kernels() and set(done.stdout.split()) == exported_kernels()


@pytest.mark.parametrize("file", sorted(KERNELS.rglob("*.cu")), ids=lambda file: file.stem)
def test_every_file_compiles_with_real_threads(file):
    """Names of device/threads.cuh and of a kernel may clash, and the sanitizers, which would tell, run rarely."""
    command = f"g++ -x c++ -std=c++17 -fsyntax-only {THREADS.flags} -Wno-psabi -include device/device.cuh -I".split()
    done = subprocess.run([*command, str(KERNELS), str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
