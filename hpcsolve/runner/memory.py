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
    """Bytes free for each rank, device and host memory together as `Estimate.largest` wants them.

    Ranks of one host (or GPU) share its memory in the proportion of what they need.
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
    need = [_need(rank, estimate) for rank in range(len(places))]
    if all(a <= b for a, b in zip(need, free)):
        return
    worst = max(range(len(places)), key=lambda rank: need[rank] - free[rank])
    largest = estimate.largest(free)
    ranks = f"{len(places)} rank{'s' * (len(places) > 1)}"
    raise ResourceError(
        f"{what} need {size(need[worst])} on rank {worst}, {size(free[worst])} are free there; the largest that fits "
        f"on {ranks} like these is {largest} {unit}; use more ranks on more nodes"
    )


def memory_line(estimate: Estimate, places: Sequence[Place]) -> str:
    """The estimate and what is free, of the rank where it is tightest."""
    free = free_bytes(estimate, places)
    rank = max(range(len(places)), key=lambda rank: _need(rank, estimate) - free[rank])
    total = sum(_need(rank, estimate) for rank in range(len(places)))
    return f"memory: {size(_need(rank, estimate))} a rank of {size(free[rank])} free, {size(total)} in all"


def _need(rank: int, estimate: Estimate) -> int:
    return estimate.device_bytes[rank] + estimate.host_bytes[rank]


def _free(rank: int, estimate: Estimate, places: Sequence[Place]) -> int:
    mine = places[rank]
    if mine.kind == "cpu":
        group = [r for r, place in enumerate(places) if place.host == mine.host and place.kind == "cpu"]
        shared = min(places[r].shared for r in group)
        return min(mine.own, _share(rank, [_need(r, estimate) for r in group], group, shared))
    group = [r for r, place in enumerate(places) if (place.host, place.device) == (mine.host, mine.device)]
    on_device = _share(rank, [estimate.device_bytes[r] for r in group], group, mine.device_free)
    neighbours = [r for r, place in enumerate(places) if place.host == mine.host]
    on_host = _share(rank, [estimate.host_bytes[r] for r in neighbours], neighbours, mine.shared)
    # Both must hold; the tighter of the two decides, as one number.
    spare = min(on_device - estimate.device_bytes[rank], min(on_host, mine.own) - estimate.host_bytes[rank])
    return max(0, _need(rank, estimate) + spare)


def _share(rank: int, needs: list[int], group: list[int], free: int) -> int:
    total = sum(needs)
    return free if total == 0 else free * needs[group.index(rank)] // total
