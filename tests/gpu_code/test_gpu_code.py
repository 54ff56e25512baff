"""`make check-cuda` reads nvcc's output and machine code rightly, and notices what is beyond the budget."""

import shutil
from dataclasses import replace

import pytest

from hpcsolve.algorithms.shortest_paths.engines import tile
from hpcsolve.algorithms.shortest_paths.engines.single import BLOCKS_A_MULTIPROCESSOR
from hpcsolve.algorithms.tours.k_opt import TOURS_A_MULTIPROCESSOR
from hpcsolve.device.compiler import cuda_compiler
from tests.gpu_code.check import budget_problems, excesses, own_problems, read_budget, write_budget
from tests.gpu_code.compiled import (
    MULTIPROCESSORS,
    Compiled,
    Use,
    accesses,
    compiled,
    find_disassembler,
    resident_warps,
    uses_of,
)
from tests.gpu_code.machine_code import kernels
from tests.ptx.check import gpu_kernels

PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'tile_one' for 'sm_90'
ptxas info    : Function properties for tile_one
    24 bytes stack frame, {spills} bytes spill stores, 0 bytes spill loads
ptxas info    : Used 72 registers, used 1 barriers, 20456 bytes smem, 512 bytes cmem[0]
ptxas info    : Compiling entry function 'tile_two' for 'sm_90'
ptxas info    : Function properties for tile_two
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 380 bytes cmem[0]
"""
# Two loops, one in the other; a copy of a shuffle behind the end, which belongs to neither; an atomic that spins.
DISASSEMBLY = """\t.section\t.text.tile_one,"ax",@progbits
tile_one:
        /*0000*/                   MOV R1, RZ ;
.L_x_1:
        /*0010*/                   LDG.E.64 R2, desc[UR4][R4.64] ;
.L_x_2:
        /*0020*/                   LDS.U16 R6, [R2] ;
        /*0030*/                   BRA.DIV UR4, `(.L_x_6) ;
.L_x_3:
        /*0040*/                   SHFL.IDX PT, R6, R6, R0, R0 ;
        /*0050*/                   VIADDMNMX.U32 R7, R6, R8, R7, PT ;
        /*0060*/               @P0 BRA `(.L_x_2) ;
.L_x_4:
        /*0070*/                   ATOMS.CAST.SPIN.64 R18, [R25], R16, R18 ;
        /*0080*/              @!P1 BRA `(.L_x_4) ;
        /*0090*/                   BRA P2, `(.L_x_1) ;
        /*00a0*/                   EXIT ;
.L_x_6:
        /*00b0*/                   SHFL.IDX PT, R6, R6, R0, R0 ;
        /*00c0*/                   BRA `(.L_x_3) ;
.L_x_7:
        /*00d0*/                   BRA `(.L_x_7);
"""


@pytest.mark.parametrize("spills", [0, 8])
def test_the_output_of_nvcc_is_read(spills):
    uses = uses_of(PTXAS.format(spills=spills), {})
    assert uses == [Use("tile_one", "sm_90", 512, 72, 20456, 24, spills, 16),
                    Use("tile_two", "sm_90", 512, 24, 0, 0, 0, 64)]
    problems = own_problems(Compiled("tile.cu", "sm_90", tuple(uses), ""))
    assert problems == (["tile.cu, sm_90: tile_one spills registers to memory"] if spills else [])


def test_the_innermost_loop_is_found():
    (kernel,) = kernels(DISASSEMBLY)
    assert sorted(sorted(body) for body in kernel.loops) == [[1, 2, 3, 4, 5, 6, 7, 8, 9], [2, 3, 4, 5, 6], [7, 8]]
    assert [each.kind for each in kernel.innermost_loop()] == ["LDS", "BRA", "SHFL", "VIADDMNMX", "BRA"]
    (use, _) = uses_of(PTXAS.format(spills=0), {"tile_one": kernel})
    assert (use.spins, use.loop, use.shared_, use.global_, use.exchanges, use.minima) == (1, 5, 1, 0, 1, 1)
    assert accesses(kernel.instructions) == "LDG 1x64, LDS 1x16"


@pytest.mark.parametrize(("threads", "warps"), [(128, 48), (320, 40)])
def test_resident_warps_are_those_of_the_best_practices_guide(threads, warps):
    """CUDA C++ Best Practices Guide, Calculating Occupancy: 37 registers give 75 % and 63 % of 64 warps."""
    assert resident_warps("sm_80", 37, 0, threads) == warps


def test_blocks_and_shared_memory_limit_resident_warps():
    assert resident_warps("sm_90", 16, 0, 32) == 32
    assert resident_warps("sm_80", 16, 33 * 1024, 256) == 8 * 4
    assert resident_warps("sm_90", 16, 33 * 1024, 256) == 8 * 6


def test_what_is_beyond_the_budget_is_named(tmp_path):
    now = Use("tile_one", "sm_90", 512, 72, 20456, 24, 0, 16, spins=1, accesses="LDG 1x64, LDS 1x16")
    write_budget([now], "13.0", tmp_path / "budget.csv")
    budget, release = read_budget(tmp_path / "budget.csv")
    assert (budget, release) == ({("tile_one", "sm_90"): now}, "13.0")
    assert excesses(now, replace(now, registers=80, warps=8, minima=3)) == []
    more = excesses(replace(now, registers=73, stack=32, warps=8, spins=2), now)
    assert more == ["registers 73 instead of 72", "stack 32 instead of 24", "warps 8 instead of 16",
                    "spins 2 instead of 1"]


def test_every_kernel_has_a_budget():
    budget, _ = read_budget()
    assert {name for name, _ in budget} == gpu_kernels()
    assert len(budget) == len(gpu_kernels()) * len(MULTIPROCESSORS)


def test_as_many_blocks_are_resident_as_the_algorithms_count_on():
    def resident(kernel):
        use = read_budget()[0][kernel, "sm_90"]
        return use.warps * 32 // use.threads

    assert resident("near_far_solve_u4") == BLOCKS_A_MULTIPROCESSOR
    assert min(resident("tile_search_u4"), resident("tile_search_u8")) == tile.BLOCKS_A_MULTIPROCESSOR
    assert {resident(f"k_opt_{costs}_u2") for costs in ("matrix", "paired")} == {TOURS_A_MULTIPROCESSOR}


def test_a_real_kernel_is_checked(tmp_path):
    """It has a 64-bit sum in shared memory, which spins, and a warning of nvcc is a complaint."""
    disassembler = find_disassembler()
    if shutil.which(cuda_compiler()) is None or disassembler is None:
        pytest.skip("there is no nvcc, or no nvdisasm")
    source = tmp_path / "tile.cu"
    source.write_text('''#include "device/device.cuh"
KERNEL tile_sum(int n, const uint64_t *x, uint64_t *out) {
  __shared__ uint64_t sum;
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd_block(&sum, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) *out = sum;
}
''')
    done = compiled(source, "sm_90", disassembler)
    assert done.complaint == ""
    (use,) = done.uses
    assert (use.shared, use.spins, use.accesses) == (8, 1, "LDG 1x64, LDS 1x64")
    assert "tile_sum for sm_90 is not in budget.csv" in budget_problems([use], loops=False)
    source.write_text('#include "device/device.cuh"\nKERNEL tile_sum(int *x) { int unused; }\n')
    assert "warning" in compiled(source, "sm_90", None).complaint
