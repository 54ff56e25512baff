"""Where two or three sets of at most half of the terminals meet: the last step of the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.steiner_kmb.exact.families import Layers
from hpcsolve.algorithms.steiner_kmb.exact.layer import FILE, LaunchSize
from hpcsolve.algorithms.steiner_kmb.exact.space import Space
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
            weight, ids = np.array([self.weight], np.uint64), np.array(self.ids or (0, 0, 0, 0), np.uint64)
            device.call(FILE, f"subset_program_meet{space.words}", n=space.net.n, threads=device.info.threads,
                        all=self.layers.group(space.half), terminals=space.terminals,
                        own={"modulus": self.comm.size, "residue": self.comm.rank},
                        taken={"begin": begin, "end": until}, weight=weight, ids=ids)
            self._take(int(weight[0]), tuple(ids.tolist()))
            size.end()
            begin = until
            yield

    def agreed(self) -> tuple[int, tuple[int, ...] | None]:
        """Return the weight and the `ids` of the lightest meeting of all ranks. Collective."""
        found = [one for one in self.comm.allgather((self.weight, self.ids)) if one[1] is not None]
        return min(found, default=(self.weight, None))

    def _take(self, weight: int, ids: tuple[int, ...]) -> None:
        """Take a meeting if it is lighter, or as light with smaller numbers."""
        if weight < self.weight or (self.ids is not None and ids < self.ids):
            self.weight, self.ids = weight, ids
