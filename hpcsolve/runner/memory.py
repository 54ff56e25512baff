"""The estimate against the memory that is free, on all ranks, before anything is allocated."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass

from hpcsolve.algorithms.base import Estimate
from hpcsolve.device.base import Device
from hpcsolve.device.memory import own_memory, shared_memory
from hpcsolve.errors import ResourceError
from hpcsolve.output.progress import size


@dataclass(frozen=True)
class Place:
    """Where a rank runs, and what is free there.

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


def place_of(device: Device) -> Place:
    """The place of this rank."""
    return Place(
        socket.gethostname(), device.info.kind, device.info.uuid, shared_memory(), own_memory(), device.memory_free()
    )


def free_bytes(estimate: Estimate, places: Sequence[Place]) -> list[int]:
    """Bytes free for each rank, counted as `Estimate.needed` counts.

    Ranks of one host (or GPU) divide its memory in the proportion of what they need; what they share is needed once.
    """
    return [_free(rank, estimate, places) for rank in range(len(places))]


def check_memory(estimate: Estimate, places: Sequence[Place], what: str, unit: str = "cities") -> None:
    """See that a run fits.

    Parameters
    ----------
    estimate, places
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
    free = free_bytes(estimate, places)
    need = estimate.needed
    if all(a <= b for a, b in zip(need, free)):
        return
    worst = max(range(len(places)), key=lambda rank: need[rank] - free[rank])
    largest = estimate.largest(free)
    ranks = f"{len(places)} rank{'s' * (len(places) > 1)}"
    raise ResourceError(
        f"{what} need {size(need[worst])}{_once(estimate)} on rank {worst}, {size(free[worst])} are free there; the "
        f"largest that fits on {ranks} like these is {largest} {unit}; use more ranks on more nodes"
    )


def memory_line(estimate: Estimate, places: Sequence[Place]) -> str:
    """The estimate and what is free, of the rank where it is tightest."""
    free, need = free_bytes(estimate, places), estimate.needed
    rank = max(range(len(places)), key=lambda rank: need[rank] - free[rank])
    total = sum(need) - estimate.shared_bytes * (len(places) - len({place.host for place in places}))
    return f"memory: {size(need[rank])} a rank{_once(estimate)} of {size(free[rank])} free, {size(total)} in all"


def _once(estimate: Estimate) -> str:
    return f" ({size(estimate.shared_bytes)} of it once a host)" if estimate.shared_bytes else ""


def _free(rank: int, estimate: Estimate, places: Sequence[Place]) -> int:
    mine, once = places[rank], estimate.shared_bytes
    own = [need - once for need in estimate.needed]
    if mine.kind == "cpu":
        group = [r for r, place in enumerate(places) if place.host == mine.host and place.kind == "cpu"]
        shared = min(places[r].shared for r in group)
        return max(0, min(mine.own, once + _share(rank, own, group, shared - once)))
    group = [r for r, place in enumerate(places) if (place.host, place.device) == (mine.host, mine.device)]
    on_device = [need + once for need in estimate.device_bytes]
    neighbours = [r for r, place in enumerate(places) if place.host == mine.host]
    on_host = min(mine.own - once, _share(rank, estimate.host_bytes, neighbours, mine.shared - once))
    # Both must hold; the tighter of the two decides, as one number.
    spare = min(_share(rank, on_device, group, mine.device_free) - on_device[rank], on_host - estimate.host_bytes[rank])
    return max(0, estimate.needed[rank] + spare)


def _share(rank: int, needs: Sequence[int], group: Sequence[int], free: int) -> int:
    """This rank's part of what is free for a group of ranks."""
    total = sum(needs[r] for r in group)
    return free if total == 0 else free * needs[rank] // total
