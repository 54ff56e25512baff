"""A communicator of ranks that are threads of one process, for tests of what ranks must agree on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class Thread:
    """One rank: the part of a communicator that `device.select` needs, and the name of its host."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    host: str
    meeting: threading.Barrier
    table: list[Any]

    def allgather(self, value: T) -> list[T]:
        """Return every rank's value. A rank that never arrives breaks the barrier, and the test."""
        self.table[self.rank] = value
        self.meeting.wait(timeout=10)
        values = list(self.table)
        self.meeting.wait(timeout=10)
        return values


def run_ranks(hosts: list[str], body: Callable[[Thread], Any]) -> list[Any]:
    """Return what `body` returned or raised, by rank. `hosts` names each rank's host."""
    meeting, table = threading.Barrier(len(hosts)), [None] * len(hosts)
    results: list[Any] = [None] * len(hosts)

    def one(rank: int) -> None:
        local = [other for other, name in enumerate(hosts) if name == hosts[rank]]
        comm = Thread(rank, len(hosts), local.index(rank), len(local), hosts[rank], meeting, table)
        try:
            results[rank] = body(comm)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            results[rank] = error

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(len(hosts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
