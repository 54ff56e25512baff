"""Where two or three sets of at most half of the terminals meet: the last step of the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.steiner_kmb.exact.families import Layers
from hpcsolve.algorithms.steiner_kmb.exact.layer import FILE, Pieces
from hpcsolve.algorithms.steiner_kmb.exact.space import Space
from hpcsolve.algorithms.steiner_kmb.network import New, launched
from hpcsolve.parallel.comm import Comm

NOTHING = 2**64 - 1
"""Stands for the number of the third family if only two meet."""


@dataclass
class Meeting:
    """The lightest meeting that this rank has found.

    Attributes
    ----------
    weight
        Its weight, or the limit at first.
    who
        The numbers of the families, `NOTHING` for no third one, and the vertex. None at first.
    """

    space: Space
    layers: Layers
    comm: Comm
    weight: int
    who: tuple[int, ...] | None = None

    def pieces(self) -> Iterator[None]:
        """Let this rank's share of the families meet all others, and yield after each launch."""
        device, space, begin, pieces = self.space.net.device, self.space, 0, Pieces(64)
        end = self.layers.begins(space.half + 1)
        while begin < end:
            until = min(end, begin + pieces.begin() * self.comm.size)
            weights = np.full(device.info.threads, self.weight, np.uint64)
            who = np.zeros((len(weights), 4), np.uint64)
            if self.who is not None:
                who[:] = self.who
            best = {"weight": device.upload(weights), "who": device.upload(who.reshape(-1))}
            launched(device, FILE, f"subset_program_meet{space.words}", len(weights), 1,
                     n=space.net.n, all=self.layers.group(space.half), terminals=space.terminals,
                     weights=New(len(weights) * space.net.n, np.uint64, scratch=True),
                     own={"modulus": self.comm.size, "residue": self.comm.rank}, taken={"begin": begin, "end": until},
                     next=New(1, np.uint64, zero=True, scratch=True), best=best)
            weights, who = best["weight"].download(), best["who"].download().reshape(-1, 4)
            for buffer in best.values():
                buffer.free()
            self._take([(int(weight), *row) for weight, row in zip(weights, who.tolist())])
            pieces.end()
            begin = until
            yield

    def agreed(self) -> tuple[int, tuple[int, ...] | None]:
        """Return the lightest meeting of all ranks: weight, and families and vertex or None. Collective."""
        found = [one for one in self.comm.allgather((self.weight, self.who)) if one[1] is not None]
        return min(found, default=(self.weight, None))

    def _take(self, found: list[tuple[int, ...]]) -> None:
        weight, *who = min(found)
        if weight < self.weight or (self.who is not None and tuple(who) < self.who):
            self.weight, self.who = weight, tuple(who)
