"""nvcc's own code for every kernel that a GPU may run is right with one seed. `make check-ptx` tries three."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.ptx import check
from tests.ptx.build import ptx_stub
from tests.races.check import exported_kernels
from tests.stub_driver.build import CannotBuild
from tests.stub_driver.test_stub_driver import KERNEL_BESIDE_ITS_MEMORY


@pytest.fixture(scope="module")
def ptx(tmp_path_factory):
    """Return a stub driver that runs PTX, or skip the test and say what is missing."""
    try:
        return ptx_stub(tmp_path_factory.mktemp("ptx-stub"))
    except CannotBuild as reason:
        pytest.skip(f"nvcc's code cannot be executed: {reason}")


@pytest.mark.timeout(900)  # minutes of a quiet machine: nvcc compiles every kernel
def test_every_kernel_runs_without_a_fault_and_is_right(ptx, capsys):
    with ThreadPoolExecutor(2) as pool:
        assert check.check_kernels(ptx, pool, [1], {"ptx_blocks": 3}) == ""
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines[:-1]} == check.gpu_kernels()


def test_a_kernel_that_no_case_launches_is_named():
    kernels = check.gpu_kernels()
    assert check.not_launched(kernels) == ""
    assert check.not_launched(kernels - {"near_far_solve_u8"}).endswith("does not launch near_far_solve_u8")


def test_kernels_of_the_cpu_are_left_out_and_no_others():
    hosts = exported_kernels() - check.gpu_kernels()
    families = {"assignment", "contraction", "dual", "edge", "first", "hierarchy", "near", "one", "reductions", "ruin",
                "steiner", "subset", "tree"}
    assert {name.split("_")[0] for name in hosts} == families and len(hosts) >= 15


def test_a_fault_is_an_error_of_cuda_and_a_line_that_names_the_source(ptx, run_process):
    done = run_process([sys.executable, "-c", KERNEL_BESIDE_ITS_MEMORY], timeout=60, env=ptx.environment(nvcc="ptx"))
    line = next(line for line in done.stderr.splitlines() if line.startswith("stub driver: "))
    assert re.search(r"minplus_multiply, block 0, thread \d+: 0x\w+ and the next [24] bytes are in no allocation", line)
    assert "st.global" in line and "(PTX line " in line and ".cu" in line
    assert "an illegal memory access was encountered (the last kernel launched was minplus_multiply)" in done.stderr


def test_without_nvcc_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotBuild, match="nvcc is not on the PATH"):
        ptx_stub(tmp_path / "stub")
