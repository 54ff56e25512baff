"""Deals the rows of the relaxation's tables to ranks, and brings the rows of all together.

A table has a row for each city. The ranks of a group compute some cities' rows each and send them to one another, so
that each has the whole table, from which the next place's rows are computed. Groups are small, since every rank sends
to every other one of its group. All groups compute the same tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device.base import Buffer
from hpcsolve.parallel.comm import Comm, Request
from hpcsolve.parallel.partition import even_shares

GROUP = 8
"""The most ranks that share the rows of a table."""
WORK = 1 << 23
"""The fewest min-adds (an addition and a minimum) for which a table is dealt, per unit of a device.

A unit is a CPU's thread or a GPU's multiprocessor. A thread takes about 1 ms for so many. The rows of a smaller table
take longer to send than to compute.
"""


@dataclass
class Deal:
    """Which rows each rank of this rank's group computes.

    Attributes
    ----------
    cities
        Number of rows.
    units
        The most units of any rank's device.
    work
        As `WORK`.
    first
        The first rank of the group.
    shares
        The cities whose rows each rank of the group computes.
    bytes_sent
        Bytes that this rank has sent so far.
    """

    comm: Comm
    cities: int
    units: int = 1
    work: int = WORK
    first: int = field(init=False)
    shares: list[range] = field(init=False)
    bytes_sent: int = 0

    def __post_init__(self) -> None:
        """Form groups of nearly equal size."""
        size = self.comm.size
        group = next(ranks for ranks in even_shares(size, -(-size // GROUP)) if self.comm.rank in ranks)
        self.first, self.shares = group.start, even_shares(self.cities, len(group))

    def deals(self, work: int) -> bool:
        """Return whether a table of so many min-adds is dealt. The same on every rank."""
        return self.comm.size > 1 and work >= self.work * self.units

    @property
    def own(self) -> range:
        """The cities whose rows of a dealt table this rank computes."""
        return self.shares[self.comm.rank - self.first]

    def complete(self, table: Buffer, staging: NDArray[np.uint32]) -> None:
        """Fill in the rows of a dealt table that the group's other ranks have computed. Collective.

        Parameters
        ----------
        staging
            Host memory in the shape of the table, which messages pass through.
        """
        comm, length, requests = self.comm, table.shape[0] // self.cities, list[Request]()
        others: list[tuple[Buffer, NDArray[Any]]] = []
        for rank, cities in enumerate(self.shares, self.first):
            rows = staging[cities.start * length : cities.stop * length]
            part = table.view(cities.start * length, len(rows))
            if rank != comm.rank:
                requests += [comm.receive(rows, rank)] if len(rows) else []
                others.append((part, rows))
                continue
            part.download(rows)
            for other in range(self.first, self.first + len(self.shares)):
                if other != rank and len(rows):
                    requests.append(comm.send(rows, other))
                    self.bytes_sent += rows.nbytes
        for request in requests:
            request.wait()
        for part, rows in others:
            part.upload(rows)

    def all_of(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which flags are set on every rank. Collective."""
        bits = np.bitwise_and.reduce(self.comm.allgather(np.packbits(flags)))
        whole: NDArray[np.bool_] = np.unpackbits(bits, count=flags.size).astype(bool).reshape(flags.shape)
        return whole
