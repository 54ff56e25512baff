"""The two GPUs that times are computed for: the one table of what is assumed of them, and where each number is from.

Nothing here was measured by us. Where no number is published, that of the H200 stands for the B200 too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Wait(IntEnum):
    """Kinds of instructions by what they wait for: `Wait` in tests/ptx/count.hpp."""

    NONE = 0
    ALU = 1
    SPECIAL = 2
    DIVISION = 3
    EXCHANGE = 4
    SHARED = 5
    L1 = 6
    L2 = 7
    DRAM = 8
    BARRIER = 9


CLOCKS = {Wait.NONE: 0, Wait.ALU: 4, Wait.SPECIAL: 14, Wait.DIVISION: 80, Wait.EXCHANGE: 24, Wait.SHARED: 29,
          Wait.L1: 41, Wait.L2: 262, Wait.DRAM: 456, Wait.BARRIER: 20}
"""Clocks until a result is there.

Integer and L1, shared memory and L2, memory: Luo and others, arXiv 2501.12084 (H100, H800); an L2 hit takes 258 to 270
clocks, and a miss 194 more. Shuffles and conversions: Jia and others, arXiv 1804.06826 (V100). A barrier, and an
integer division of 64 bits (a subroutine of some 70 instructions in part dependent): assumed. chipsandcheese.com,
"Nvidia's B200: Keeping the CUDA Juggernaut Rolling", has 39 clocks for the B200's L1 and 150 ns for its L2, so the same
clocks serve for it."""


@dataclass(frozen=True)
class Gpu:
    """What is assumed of a GPU.

    Attributes
    ----------
    clock
        Hz that it is assumed to run at: the H200's boost clock of 1.98 GHz under power limits (chipsandcheese.com,
        "Nvidia's H100: Funny L2, and Tons of Bandwidth", saw 1.755).
    units, l2
        Multiprocessors, and bytes of the L2 cache (NVIDIA's data sheets).
    memory
        Bytes a second from DRAM: 90 % of the data sheet's 4.8 and 8 TB/s.
    l2_rate
        Bytes a second from the L2: "Funny L2" measured 5.5 TB/s; for the B200 as much for each multiprocessor.
    issued, alu, fma, fp64, special, shared, sectors, lines
        For one multiprocessor and clock: instructions of a warp that are issued, and those that its integer, multiply,
        double and special units take (CUDA C++ Programming Guide, "Arithmetic Instructions": 64, 64, 64 and 16
        results); wavefronts of shared memory and shuffles; sectors and lines of 128 bytes of the L1 (NVIDIA, "Kernel
        Profiling Guide", L1/TEX: 128 bytes a wavefront).
    atomics
        Sectors a clock that all of the L2 changes by atomics: one for each of its slices (Kernel Profiling Guide,
        96 slices; assumed for the B200 too).
    launch
        Seconds from the end of a kernel to the start of the next in a stream, if the host is ahead.
    host
        Seconds of the host for a launch, which hide behind kernels that take longer (jobs/benchmarks/gpu.md).
    bus, transfer
        Bytes a second over PCIe 5, and seconds that each copy takes besides.
    """

    name: str
    clock: float
    units: int
    l2: int
    memory: float
    l2_rate: float
    issued: float = 4
    alu: float = 2
    fma: float = 2
    fp64: float = 2
    special: float = 0.5
    shared: float = 1
    sectors: float = 4
    lines: float = 1
    atomics: float = 96
    launch: float = 2.5e-6
    host: float = 6e-6
    bus: float = 55e9
    transfer: float = 8e-6


GPUS = {
    "sm_90": Gpu("H200", 1.755e9, 132, 50 << 20, 4.3e12, 5.5e12),
    "sm_100": Gpu("B200", 1.755e9, 148, 126 << 20, 7.2e12, 6.2e12),
}
