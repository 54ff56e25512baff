"""Where two or three sets of at most half of the terminals meet: the last step of the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.steiner_kmb.exact.families import Layers
from hpcsolve.algorithms.steiner_kmb.exact.layer import FILE, LaunchSize
from hpcsolve.algorithms.steiner_kmb.exact.space import Space
from hpcsolve.algorithms.steiner_kmb.network import New, launched
from hpcsolve.parallel.comm import Comm

NOTHING = 2**64 - 1
"""In place of the number of the third family: only two meet."""


@dataclass
class Meeting:
    """The lightest meeting that this rank has found.

    Attributes
    ----------
    weight
        Its weight, or the limit at first.
    ids
        The numbers of the three families (`NOTHING` for no third one) and of the vertex where they meet. None at first.
    """

    space: Space
    layers: Layers
    comm: Comm
    weight: int
    ids: tuple[int, ...] | None = None

    def launches(self) -> Iterator[None]:
        """Let this rank's share of the families meet all others, and yield after each launch."""
        device, space, begin, size = self.space.net.device, self.space, 0, LaunchSize(64)
        end = self.layers.first_of(space.half + 1)
        while begin < end:
            until = min(end, begin + size.begin() * self.comm.size)
            weights = np.full(device.info.threads, self.weight, np.uint64)
            ids = np.tile(np.array(self.ids or (0, 0, 0, 0), np.uint64), len(weights))
            best = {"weight": device.upload(weights), "ids": device.upload(ids)}
            launched(device, FILE, f"subset_program_meet{space.words}", len(weights), 1,
                     n=space.net.n, all=self.layers.group(space.half), terminals=space.terminals,
                     weights=New(len(weights) * space.net.n, np.uint64, scratch=True),
                     own={"modulus": self.comm.size, "residue": self.comm.rank}, taken={"begin": begin, "end": until},
                     next=New(1, np.uint64, zero=True, scratch=True), best=best)
            weights, ids = best["weight"].download(), best["ids"].download().reshape(-1, 4)
            for buffer in best.values():
                buffer.free()
            self._take([(int(weight), *row) for weight, row in zip(weights, ids.tolist())])
            size.end()
            begin = until
            yield

    def agreed(self) -> tuple[int, tuple[int, ...] | None]:
        """Return the weight and the `ids` of the lightest meeting of all ranks. Collective."""
        found = [one for one in self.comm.allgather((self.weight, self.ids)) if one[1] is not None]
        return min(found, default=(self.weight, None))

    def _take(self, found: list[tuple[int, ...]]) -> None:
        """Take the lightest of the meetings that the blocks have found: tuples of weight and `ids`."""
        weight, *ids = min(found)
        if weight < self.weight or (self.ids is not None and tuple(ids) < self.ids):
            self.weight, self.ids = weight, tuple(ids)
