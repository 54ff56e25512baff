"""`make gpu-clock` knows the benchmark's kernels, takes machine code for what it is, and notices a count that grew."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pytest

from hpcsolve.device.compiler import cuda_compiler
from tests.gpu_clock.__main__ import excesses, read_record, write_record
from tests.gpu_clock.cases import BENCHMARK, LATTICE, REGISTERS, Counted, counted, split_cities, work
from tests.gpu_clock.counts import Counts, Line, Ran, counts_of, machine_code
from tests.gpu_clock.gpus import GPUS, Gpu
from tests.gpu_clock.model import times_of
from tests.gpu_code.compiled import find_disassembler
from tests.ptx.interpreter import compiled

NONE = Counts("case", "tile_search_u4", "sm_90", *[0] * 29)


def test_all_kernels_of_the_benchmark_are_recorded():
    recorded = {(kernel, architecture) for _, kernel, architecture in read_record()}
    named = {kernel for case in BENCHMARK.values() for kernel in case.kernels}
    assert recorded >= {(kernel, architecture) for kernel in named for architecture in GPUS}
    assert {case for case, _, _ in read_record()} == set(counted())


def test_every_case_that_is_counted_launches_its_kernels():
    launched = {(case, kernel) for case, kernel, _ in read_record()}
    assert launched >= {(name, kernel) for name in counted() for kernel in BENCHMARK[name].kernels}


@pytest.mark.parametrize("width", [2, 4])
def test_the_lattice_executes_the_min_adds_that_follow_from_its_loops(width):
    """But for the few with which the tour is recovered."""
    expected = work(split_cities(LATTICE - 1), REGISTERS[width == 4]).min_adds
    found = read_record()[f"held-karp-32-u{width}", f"held_karp_step_u{width}", "sm_90"].minima
    assert expected < found < 1.04 * expected


def test_a_count_that_grows_is_named(tmp_path):
    now = replace(NONE, instructions=1040, l2=1020, lanes=5000)
    before = replace(NONE, instructions=1000, l2=1000, lanes=1)
    write_record([before], tmp_path / "counts.csv")
    recorded = read_record(tmp_path / "counts.csv")
    assert recorded == {("case", "tile_search_u4", "sm_90"): before}
    assert excesses([before], recorded) == []
    more = "tile_search_u4 of case for sm_90 costs more: instructions 1040 instead of 1000"
    assert excesses([now], recorded) == [more]
    assert excesses([replace(now, kernel="other")], recorded) == ["other of case for sm_90 is not in counts.csv"]


@pytest.mark.slow
def test_a_min_add_is_one_machine_instruction_and_four_loads_one(tmp_path):
    """8 warps each load 4 words of shared memory, and take the least of four sums."""
    if shutil.which(cuda_compiler()) is None or find_disassembler() is None:
        pytest.skip("there is no nvcc, or no nvdisasm")
    source = tmp_path / "one.cu"
    source.write_text('''#include "device/device.cuh"
KERNEL one(unsigned x, unsigned y, unsigned *out) {
  __shared__ alignas(16) unsigned word[4];
  word[threadIdx.x % 4] = threadIdx.x;
  __syncthreads();
  unsigned best = y;
  for (int k = 0; k < 4; k++) { unsigned sum = word[k] + x; best = sum < best ? sum : best; }
  out[threadIdx.x] = best;
}
''')
    ptx = tmp_path / "one.ptx"
    wide = r"ld\.shared\.v4\.u32 \t\{(%r\d+), (%r\d+), (%r\d+), (%r\d+)\}, \[(\w+)\];"
    narrow = "\n".join(rf"ld.shared.u32 \{k + 1}, [\5+{4 * k}];" for k in range(4))
    text, found = re.subn(wide, narrow, compiled(source))  # so that ptxas must merge them
    assert found == 1
    ptx.write_text(text)
    lines = {number: Line(8, 256, 32, 8, 32, 0, 8) for number in range(1, 1 + len(ptx.read_text().splitlines()))}
    ran = Ran(ptx, 1, 2, 256, 2, 0, 0, 0, 0, lines)
    for architecture in GPUS:
        counts = counts_of("case", "one", architecture, ran, machine_code(ptx, architecture)["one"])
        assert (counts.minima, counts.global_, counts.asked, counts.threads) == (4 * 8, 8, 32, 128)
        assert (counts.shared, counts.wavefronts) == (2 * 8, 8 + 4 * 8)


def test_times_are_counts_by_rates():
    """A GPU of 2 multiprocessors, 1 GHz: 4 blocks keep both busy, and one block one of them."""
    case = Counted(BENCHMARK["kmb-alue7080"], times=1000, launches=10, space=1, why="")
    each = replace(NONE, launches=1, blocks=4, threads=512, instructions=800, alu=800, l2=100, dram=50, written=10,
                   path=4000, longest=1000)
    gpu = Gpu("small", 1e9, 2, 0, 1e9, 2e9)
    seconds = times_of(each, case, gpu).seconds
    assert seconds["issue"] == pytest.approx(1000 * 800 / 4 / 2 * 1e-9)
    assert seconds["alu"] == pytest.approx(1000 * 800 / 2 / 2 * 1e-9)
    assert seconds["l2"] == pytest.approx(1000 * 3200 / 2e9) and seconds["dram"] == pytest.approx(1000 * 1920 / 1e9)
    assert seconds["path"] == pytest.approx(1000 * 4000 / 6 * 1e-9)  # three blocks are resident on each
    alone = times_of(replace(each, blocks=1, path=1000, l2=0, dram=0, written=0), replace(case, times=10), gpu)
    assert alone.seconds["issue"] == pytest.approx(10 * 800 / 4 * 1e-9)
    assert (alone.limit, alone.launches, alone.seconds["path"]) == ("path", 10, pytest.approx(10 * 1000 * 1e-9))
