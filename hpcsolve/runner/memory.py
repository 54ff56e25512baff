"""Compares the estimate with the free memory of all ranks before anything is allocated."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass

from hpcsolve.algorithms.base import Estimate
from hpcsolve.device.base import Device
from hpcsolve.device.memory import available_to_host, available_to_process
from hpcsolve.errors import ResourceError
from hpcsolve.output.progress import size


@dataclass(frozen=True)
class RankMemory:
    """The host and the device of a rank, with the memory that is free there.

    Attributes
    ----------
    kind, device
        Of the device: `cpu` or `cuda`; its UUID.
    shared, own
        Bytes that all ranks of the host together, and this process alone, may still allocate.
    device_free
        Bytes on the device.
    """

    host: str
    kind: str
    device: str
    shared: int
    own: int
    device_free: int


def memory_of(device: Device) -> RankMemory:
    """Return the memory that is free for this rank."""
    return RankMemory(
        socket.gethostname(), device.info.kind, device.info.uuid, available_to_host(), available_to_process(),
        device.memory_free(),
    )


def free_bytes(estimate: Estimate, memories: Sequence[RankMemory]) -> list[int]:
    """Return the bytes that are free for each rank, counted as `Estimate.needed` counts.

    Ranks of one host (or GPU) divide its memory in the proportion of what they need; what they share is needed once.
    """
    return [_free(rank, estimate, memories) for rank in range(len(memories))]


def check_memory(estimate: Estimate, memories: Sequence[RankMemory], what: str, unit: str = "cities") -> None:
    """Refuse a run that does not fit.

    Parameters
    ----------
    estimate, memories
        By rank.
    what
        The problem in words: `40 cities`.
    unit
        What its size counts.

    Raises
    ------
    ResourceError
        With what is needed and free on the rank where it is worst, and the largest size that fits.
    """
    free = free_bytes(estimate, memories)
    need = estimate.needed
    if all(a <= b for a, b in zip(need, free)):
        return
    worst = max(range(len(memories)), key=lambda rank: need[rank] - free[rank])
    largest = estimate.largest(free)
    ranks = f"{len(memories)} rank{'s' * (len(memories) > 1)}"
    raise ResourceError(
        f"{what} need {size(need[worst])}{_once(estimate)} on rank {worst}, {size(free[worst])} are free there; the "
        f"largest that fits on {ranks} like these is {largest} {unit}; use more ranks on more nodes"
    )


def memory_line(estimate: Estimate, memories: Sequence[RankMemory]) -> str:
    """Return a line with the estimate and the free memory of the rank where memory is tightest."""
    free, need = free_bytes(estimate, memories), estimate.needed
    rank = max(range(len(memories)), key=lambda rank: need[rank] - free[rank])
    total = sum(need) - estimate.shared_bytes * (len(memories) - len({memory.host for memory in memories}))
    return f"memory: {size(need[rank])} a rank{_once(estimate)} of {size(free[rank])} free, {size(total)} in all"


def _once(estimate: Estimate) -> str:
    return f" ({size(estimate.shared_bytes)} of it once per host)" if estimate.shared_bytes else ""


def _free(rank: int, estimate: Estimate, memories: Sequence[RankMemory]) -> int:
    mine, once = memories[rank], estimate.shared_bytes
    own = [need - once for need in estimate.needed]
    if mine.kind == "cpu":
        group = [r for r, memory in enumerate(memories) if memory.host == mine.host and memory.kind == "cpu"]
        shared = min(memories[r].shared for r in group)
        return max(0, min(mine.own, once + _share(rank, own, group, shared - once)))
    group = [r for r, memory in enumerate(memories) if (memory.host, memory.device) == (mine.host, mine.device)]
    on_device = [need + once for need in estimate.device_bytes]
    neighbours = [r for r, memory in enumerate(memories) if memory.host == mine.host]
    on_host = min(mine.own - once, _share(rank, estimate.host_bytes, neighbours, mine.shared - once))
    # Both must hold; the tighter of the two decides, as one number.
    spare = min(_share(rank, on_device, group, mine.device_free) - on_device[rank], on_host - estimate.host_bytes[rank])
    return max(0, estimate.needed[rank] + spare)


def _share(rank: int, needs: Sequence[int], group: Sequence[int], free: int) -> int:
    """Return this rank's share of the memory that is free for a group of ranks."""
    total = sum(needs[r] for r in group)
    return free if total == 0 else free * needs[rank] // total
