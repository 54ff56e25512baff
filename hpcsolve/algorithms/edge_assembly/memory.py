"""The memory of a run."""

from __future__ import annotations

from dataclasses import dataclass

from hpcsolve.algorithms.edge_assembly.parameters import Assembly
from hpcsolve.device.base import DeviceInfo


@dataclass(frozen=True)
class Kind:
    """What an instance is like, whatever the number of its cities."""

    large: bool


def kind_of(stated: Assembly) -> Kind:
    return Kind(stated.is_large)


def needed(kind: Kind, n: int, size: int, share: int, info: DeviceInfo) -> tuple[int, int]:
    """Return the bytes of device and host memory of a rank with so many tours."""
    return 20 * n * info.threads, 200 * n + 12 * n * share


def shared_bytes(kind: Kind, n: int) -> int:
    """Return the bytes that ranks of a host share."""
    return 100 * n
