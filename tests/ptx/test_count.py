"""The counting mode against kernels whose costs are counted by hand: a warp has 32 lanes, a sector 32 bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gpu_clock.counts import read
from tests.gpu_clock.gpus import CLOCKS, Wait
from tests.ptx.interpreter import Interpreter
from tests.ptx.snippets import HEAD

REGISTERS = """.reg .pred %p<5>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .shared .align 16 .b8 words[16384];"""
THREAD = """ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;"""


def counted(tmp_path, *body, grid=2, block=128, launches=1, l2=1 << 20):
    """Return what a kernel did, and what was spent on each line of its body.

    %r1 is the thread's number in its block, %r4 that among all, and 64 KiB begin at %rd1. By default there are 8 warps.
    """
    interpreter, head = Interpreter(), f"{HEAD}.visible .entry one(.param .u64 x) {{ {REGISTERS} {THREAD}\n"
    memory = np.zeros((1 << 14) + 32, np.uint32)
    aligned = memory[-memory.ctypes.data % 128 // 4 :][: 1 << 14]
    module = interpreter.load(head + "\n".join(body) + "\nret;\n}")
    counter = interpreter.counter(CLOCKS.values(), l2)
    for _ in range(launches):
        assert module.launch("one", grid, block, aligned, races=False, counter=counter) == ""
    interpreter.write(counter, tmp_path / "counts")
    ran = read(tmp_path / "counts")["one"]
    first = head.count("\n") + 1
    return ran, [ran.lines.get(first + k) for k in range(len(body))]


def at(factor, number="%r4", start="%rd1"):
    """Return the PTX that makes %rd2 the address of word `factor` times a number, on one line."""
    return f"mul.lo.u32 %r5, {number}, {4 * factor}; cvt.u64.u32 %rd2, %r5; add.s64 %rd2, %rd2, {start};"


def test_a_copy_asks_for_four_sectors_a_warp(tmp_path):
    _, (_, load, store) = counted(tmp_path, at(1), "ld.global.u32 %r6, [%rd2];", "st.global.u32 [%rd2+32768], %r6;")
    assert (load.warps, load.lanes, load.asked, load.lines, load.l2, load.dram) == (8, 256, 32, 8, 32, 32)
    assert (store.warps, store.lanes, store.asked, store.lines, store.l2, store.dram) == (8, 256, 32, 8, 32, 0)


@pytest.mark.parametrize(("factor", "load", "sectors", "lines"), [
    (0, "u32 %r6", 1, 1), (1, "u8 %r6", 4, 1), (2, "v2.u32 {%r6, %r7}", 8, 2),
    (4, "v4.u32 {%r6, %r7, %r8, %r9}", 16, 4), (8, "u32 %r6", 32, 8), (32, "u32 %r6", 32, 32)])
def test_sectors_and_lines_of_strided_loads(tmp_path, factor, load, sectors, lines):
    _, (_, each) = counted(tmp_path, at(factor), f"ld.global.{load}, [%rd2];")
    assert (each.warps, each.asked, each.lines) == (8, 8 * sectors, 8 * lines)


def test_a_branch_that_lanes_take_by_themselves(tmp_path):
    """8 lanes jump, 24 do not, and all meet behind it."""
    _, lines = counted(tmp_path, "and.b32 %r5, %r1, 31; setp.lt.u32 %p1, %r5, 8;", "@%p1 bra A;",
                       "add.u32 %r6, %r5, 1;", "bra B;", "A:", "add.u32 %r6, %r5, 2;", "B:", "add.u32 %r7, %r6, 3;")
    jump, other, _, _, taken, _, after = lines[1:]
    assert [(line.warps, line.lanes) for line in (jump, other, taken, after)] == [(8, 64), (8, 192), (8, 64), (8, 256)]


def test_a_loop_lasts_as_long_as_its_last_lane(tmp_path):
    """Lane k makes k + 1 rounds."""
    _, lines = counted(tmp_path, "and.b32 %r5, %r1, 31;", "L:", "sub.s32 %r5, %r5, 1;", "setp.ge.s32 %p1, %r5, 0;",
                       "@%p1 bra L;", "add.u32 %r7, %r6, 3;")
    assert (lines[2].warps, lines[2].lanes) == (8 * 32, 8 * 32 * 33 // 2)
    assert (lines[5].warps, lines[5].lanes) == (8, 256)


@pytest.mark.parametrize(("factor", "access", "wavefronts"), [
    (0, "st.shared.u32 [%rd2], %r1;", 1), (1, "st.shared.u32 [%rd2], %r1;", 1), (2, "st.shared.u32 [%rd2], %r1;", 2),
    (3, "st.shared.u32 [%rd2], %r1;", 1), (32, "st.shared.u32 [%rd2], %r1;", 32),
    (2, "st.shared.v2.u32 [%rd2], {%r1, %r1};", 2), (4, "st.shared.v4.u32 [%rd2], {%r1, %r1, %r1, %r1};", 4),
    (0, "red.shared.add.u32 [%rd2], %r1;", 32), (1, "red.shared.add.u32 [%rd2], %r1;", 1)])
def test_banks_of_shared_memory(tmp_path, factor, access, wavefronts):
    clear = "st.shared.u32 [%rd2], 0;"
    body = ("and.b32 %r7, %r1, 31; mov.u64 %rd3, words;", at(factor, "%r7", "%rd3"), clear, access)
    _, lines = counted(tmp_path, *body, block=32)
    assert (lines[3].warps, lines[3].wavefronts) == (2, 2 * wavefronts)


def test_loads_hit_the_cache_of_their_block_unless_they_are_strong(tmp_path):
    load = "ld.global.u32 %r6, [%rd2];"
    ran, (_, *lines) = counted(tmp_path, at(1), load, load, "ld.relaxed.gpu.global.u32 %r6, [%rd2];", launches=2)
    assert [(line.asked, line.l2, line.dram) for line in lines] == [(64, 64, 32), (64, 0, 0), (64, 64, 0)]
    assert (ran.launches, ran.blocks, ran.touched, ran.written_back) == (2, 4, 32, 0)


def test_an_l2_that_is_too_small_reads_again_and_writes_back(tmp_path):
    """8 lines of 128 bytes go through a cache of 4."""
    body = at(1), "ld.relaxed.gpu.global.u32 %r6, [%rd2];", "st.global.u32 [%rd2], %r6;"
    ran, (_, load, store) = counted(tmp_path, *body, launches=2, l2=512)
    assert (load.dram, store.l2, ran.written_back) == (64, 64, 48)


def test_atomics_change_sectors_of_the_l2(tmp_path):
    _, (_, each) = counted(tmp_path, at(1), "atom.global.add.u32 %r6, [%rd2], 1;")
    assert (each.warps, each.lanes, each.l2, each.dram) == (8, 256, 32, 32)


def path(tmp_path, *body, block=32):
    """Return the clocks of one block."""
    tmp_path.mkdir()
    return counted(tmp_path, *body, grid=1, block=block)[0].path


def test_the_path_is_that_of_dependent_instructions(tmp_path):
    dependent, free = "add.u32 %r5, %r5, 1;", "add.u32 %r6, %r1, 1;"
    none = path(tmp_path / "a", *[dependent] * 10)
    assert path(tmp_path / "b", *[dependent] * 30) - none == 20 * CLOCKS[Wait.ALU]
    assert path(tmp_path / "c", *[dependent] * 10, *[free] * 10) == none
    load, use = "ld.global.u32 %r5, [%rd1];", "add.u32 %r5, %r5, 1;"
    assert path(tmp_path / "d", load, *[use] * 9) - none == CLOCKS[Wait.DRAM] - CLOCKS[Wait.ALU]


def test_a_barrier_waits_for_the_last_warp(tmp_path):
    """One of two warps adds 20 times before it. The last of these begins 19 times 4 clocks after the first."""
    body = ("setp.lt.u32 %p1, %r1, 32;", "@%p1 bra A;", *["add.u32 %r5, %r5, 1;"] * 20, "A:", "bar.sync 0;",
            *["add.u32 %r5, %r5, 1;"] * 9)
    alone, together = path(tmp_path / "a", *body[:2], *body[22:]), path(tmp_path / "b", *body, block=64)
    assert together - alone == 19 * CLOCKS[Wait.ALU]


def test_lanes_that_are_active_and_shuffles_in_lockstep(tmp_path):
    """The even lanes of a warp are active together, and a shuffle waits for all."""
    _, lines = counted(tmp_path, "and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 1;", "@%p1 bra A;", "activemask.b32 %r6;",
                       "st.global.u32 [%rd1], %r6;", "A:", "shfl.sync.idx.b32 %r7, %r5, 0, 31, -1;")
    assert (lines[5].warps, lines[5].lanes) == (8, 256)
