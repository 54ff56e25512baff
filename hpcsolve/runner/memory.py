"""Compares the plan with the free memory of all ranks before anything is allocated."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass

from hpcsolve.algorithms.base import Plan
from hpcsolve.device.base import Device
from hpcsolve.errors import ResourceError
from hpcsolve.memory import (
    available_to_host,
    available_to_process,
    peak_resident_memory,
    resident_memory,
)
from hpcsolve.wording import counted, size


@dataclass(frozen=True)
class RankMemory:
    """The host and the device of a rank, with the memory that is free on them.

    Attributes
    ----------
    device_kind
        `cpu` or `cuda`.
    device_uuid
        UUID of the GPU, empty for a CPU.
    host_free
        Bytes that all ranks of the host together may still allocate.
    process_free
        Bytes of host memory that this process may still allocate.
    device_free
        Bytes that are free on the device.
    """

    host: str
    device_kind: str
    device_uuid: str
    host_free: int
    process_free: int
    device_free: int


def memory_of(device: Device) -> RankMemory:
    """Return the memory that is free for this rank."""
    return RankMemory(
        socket.gethostname(), device.info.kind, device.info.uuid, available_to_host(), available_to_process(),
        device.memory_free(),
    )


def free_bytes(plan: Plan, memories: Sequence[RankMemory]) -> list[int]:
    """Return the bytes that are free for each rank, counted as `Plan.needed` counts.

    Ranks of one host (or GPU) divide its memory in proportion to what they need. Tables that they share count once.
    """
    return [_free(rank, plan, memories) for rank in range(len(memories))]


def that_fits(plan: Plan, memories: Sequence[RankMemory]) -> Plan:
    """Return the plan of the method that the run will take: the other one if there is one and this does not fit."""
    if plan.otherwise is None or all(a <= b for a, b in zip(plan.needed, free_bytes(plan, memories))):
        return plan
    return plan.otherwise


def check_memory(plan: Plan, memories: Sequence[RankMemory], what: str, noun: str = "city") -> None:
    """Refuse a run that does not fit the free memory.

    Parameters
    ----------
    plan, memories
        What the ranks need, and what each rank has.
    what
        The problem in words: `40 cities`.
    noun
        What the size of a problem counts.

    Raises
    ------
    ResourceError
        The message says what the rank that lacks most needs and has, and the largest size that fits.
    """
    free = free_bytes(plan, memories)
    need = plan.needed
    if all(a <= b for a, b in zip(need, free)):
        return
    worst = _scarcest(need, free)
    largest = plan.largest(free)
    ranks, smaller = counted(len(memories), "rank"), f", or {plan.smaller}" if plan.smaller else ""
    raise ResourceError(
        f"{what} need {size(need[worst])} of memory{_once(plan)} on rank {worst}, where {size(free[worst])} is "
        f"free; at most {counted(largest, noun)} fit on {ranks} with this memory; use more ranks on more nodes{smaller}"
    )


def memory_line(plan: Plan, memories: Sequence[RankMemory]) -> str:
    """Return a line with the estimated and the free memory of the rank that has least to spare."""
    free, need = free_bytes(plan, memories), plan.needed
    rank = _scarcest(need, free)
    total = sum(need) - plan.shared_bytes * (len(memories) - len({memory.host for memory in memories}))
    return f"memory: {size(need[rank])} per rank{_once(plan)} of {size(free[rank])} free, {size(total)} in all"


def process_bytes(needed: int) -> int:
    """Return the peak memory of this process if it takes so many bytes more. The peak may already lie behind it."""
    return max(peak_resident_memory(), resident_memory() + needed)


def _scarcest(need: Sequence[int], free: Sequence[int]) -> int:
    """Return the rank that has least to spare."""
    return max(range(len(need)), key=lambda rank: need[rank] - free[rank])


def _once(plan: Plan) -> str:
    """Return a remark on the memory that the ranks of a host share, empty if they share none."""
    return f" ({size(plan.shared_bytes)} of it once per host)" if plan.shared_bytes else ""


def _free(rank: int, plan: Plan, memories: Sequence[RankMemory]) -> int:
    """Return the bytes that are free for one rank."""
    mine, once = memories[rank], plan.shared_bytes
    own = [need - once for need in plan.needed]
    if mine.device_kind == "cpu":
        group = [r for r, memory in enumerate(memories) if memory.host == mine.host and memory.device_kind == "cpu"]
        host_free = min(memories[r].host_free for r in group)
        return max(0, min(mine.process_free, once + _share(rank, own, group, host_free - once)))
    gpu = mine.host, mine.device_uuid
    group = [r for r, memory in enumerate(memories) if (memory.host, memory.device_uuid) == gpu]
    on_device = [need + once for need in plan.device_bytes]
    neighbours = [r for r, memory in enumerate(memories) if memory.host == mine.host]
    on_host = min(mine.process_free - once, _share(rank, plan.host_bytes, neighbours, mine.host_free - once))
    # The need must fit both GPU and host, so the smaller of the two spare amounts decides.
    spare = min(_share(rank, on_device, group, mine.device_free) - on_device[rank], on_host - plan.host_bytes[rank])
    return max(0, plan.needed[rank] + spare)


def _share(rank: int, needs: Sequence[int], group: Sequence[int], free: int) -> int:
    """Return this rank's share of the memory that is free for a group of ranks, in proportion to its need."""
    total = sum(needs[r] for r in group)
    return free if total == 0 else free * needs[rank] // total
