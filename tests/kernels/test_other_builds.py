"""The kernels are right for narrower registers and without optimisation, and compile for AVX-512."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from hpcsolve.device.build import HOST_FLAGS, features_in, host_library, source_folder
from hpcsolve.device.compiler import host_compiler, target_features

HERE = Path(__file__).parent
X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="flags of x86-64 processors")
BUILDS = {"128-bit": ("-march=native", "-march=x86-64-v2"), "unoptimised": ("-O3", "-O1")}
AVX512 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
"""The features of AVX-512 that x86-64-v4 has."""


@X86
@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.slow
def test_states_are_right_in_every_build(name, run_process, test_device):
    if test_device != "cpu":
        pytest.skip("other builds are for the CPU")
    flags = HOST_FLAGS.replace(*BUILDS[name])
    tests = [HERE / "test_held_karp_states.py", HERE / "test_minplus.py", HERE / "test_paths.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, tests)]
    done = run_process(command, timeout=200, env={**os.environ, "HPCSOLVE_CXXFLAGS": flags})
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-2000:]


@X86
@pytest.mark.parametrize("file", sorted(source_folder().rglob("*.cu")), ids=lambda path: path.stem)
def test_kernels_compile_for_avx512(file, tmp_path):
    """Where this CPU has AVX-512, the libraries of all other tests are that build.

    Elsewhere they are compiled with -O1: what GCC says of AVX-512 it says at any level of optimisation. Functions
    of the host name no width of registers.
    """
    used = set(features_in(target_features(host_compiler())))
    if "HPCSOLVE_CXXFLAGS" not in os.environ and used >= AVX512:
        assert host_library(file.relative_to(source_folder()).with_suffix("").as_posix()).is_file()
        return
    flags = HOST_FLAGS.replace("-march=native", "-march=x86-64-v4").replace("-O3", "-O1").split()
    command = ["g++", *flags, "-I", str(source_folder()), str(file), "-o", str(tmp_path / "kernel.so")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
