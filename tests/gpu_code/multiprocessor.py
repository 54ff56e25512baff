"""How many warps of a kernel a multiprocessor holds at a time: the rules of the CUDA C++ Programming Guide.

See its sections "Technical Specifications per Compute Capability" and, in the chapter on performance, "Multiprocessor
Level". Dynamic shared memory is not counted, since no launch asks for any.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Multiprocessor:
    """What a multiprocessor of an architecture has: warps, blocks, registers, bytes of shared memory."""

    warps: int
    blocks: int
    registers: int
    shared: int


MULTIPROCESSORS = {
    "sm_80": Multiprocessor(warps=64, blocks=32, registers=65536, shared=164 * 1024),
    "sm_90": Multiprocessor(warps=64, blocks=32, registers=65536, shared=228 * 1024),
    "sm_100": Multiprocessor(warps=64, blocks=32, registers=65536, shared=228 * 1024),
    "sm_120": Multiprocessor(warps=48, blocks=24, registers=65536, shared=100 * 1024),
}
REGISTER_UNIT = 256
"""Registers are given to a warp in multiples of this."""
WARP_UNIT = 4
"""Warps fill the registers in multiples of this: a multiprocessor has four parts."""
SHARED_UNIT, RESERVED_SHARED = 128, 1024
"""Shared memory is given to a block in multiples of the first. The system takes the second of each block."""


def resident_warps(architecture: str, registers: int, shared: int, threads: int) -> int:
    """Return the warps that a multiprocessor holds.

    Parameters
    ----------
    registers
        Registers of a thread.
    shared
        Bytes of shared memory of a block.
    threads
        Threads of a block.
    """
    whole, warps = MULTIPROCESSORS[architecture], up(threads, 32) // 32
    by_registers = whole.registers // up(32 * registers, REGISTER_UNIT) // WARP_UNIT * WARP_UNIT
    by_shared = whole.shared // (up(shared, SHARED_UNIT) + RESERVED_SHARED)
    return warps * min(whole.blocks, whole.warps // warps, by_registers // warps, by_shared)


def up(count: int, unit: int) -> int:
    """Return the least multiple of `unit` that is not below `count`."""
    return -(-count // unit) * unit
