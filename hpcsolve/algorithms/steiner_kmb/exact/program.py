"""The dynamic program over all sizes of sets, and the lower bound that it proves if the search ends early."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hpcsolve.algorithms.steiner_kmb.exact.families import Families, Layers, no_families
from hpcsolve.algorithms.steiner_kmb.exact.layer import Layer
from hpcsolve.algorithms.steiner_kmb.exact.meeting import Meeting
from hpcsolve.algorithms.steiner_kmb.exact.recover import recovered
from hpcsolve.algorithms.steiner_kmb.exact.space import Space
from hpcsolve.algorithms.steiner_kmb.reductions.simple import Indices
from hpcsolve.parallel.comm import Comm

DONE = object()
"""What `next` returns after the last launch."""


@dataclass
class Program:
    """The dynamic program over sets of terminals. All methods are collective.

    Attributes
    ----------
    limit
        Only trees of the reduced graph that are lighter than this are looked for.
    is_over
        Returns whether the search must end, given the bytes that the program holds. Called after each launch.
        Collective.
    complete
        Whether the search came to its end. Then `limit` is the weight of `tree`; or, without a tree, none is lighter.
    tree
        The edges of the lightest tree, if it is lighter than the first limit.
    floor
        The lower bound on the weight of any tree that the families so far prove, at most `limit`.
    seconds
        Seconds of this rank's launches, without waiting for other ranks.
    """

    space: Space
    comm: Comm
    limit: int
    is_over: Callable[[int], bool]
    layers: Layers = field(init=False)
    complete: bool = False
    tree: Indices | None = None
    floor: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Begin without families."""
        self.layers = Layers(no_families(self.space.words), self.space.cell)

    def run(self) -> None:
        """Find the families of all sizes that are missing, then the lightest meeting of two or three."""
        for size in range(len(self.layers.sizes) + 1, self.space.half + 1):
            layer = Layer(self.space, self.layers, self.comm, size, self.limit)
            if self._ends_early(layer.launches(), layer.held):
                return
            self.add(layer.gathered())
        meeting = Meeting(self.space, self.layers, self.comm, self.limit)
        if self._ends_early(meeting.launches()):
            return
        self.limit, ids = meeting.agreed()
        self.complete = True
        self.tree = None if ids is None else recovered(self.space, self.layers, ids)

    def add(self, layer: Families) -> None:
        """Add the families of the next size, and note what they prove.

        Follow the states of a lightest tree from its centroid down to a single terminal. Where two sets were merged, go
        on with the larger one, which has at least half of the terminals of their union. One of these states has a set
        of at most the present size and of more than half of it. So the least bound of such families holds for all
        trees.
        """
        self.layers.add(layer)
        size = len(self.layers.sizes)
        least = self.layers.families.least[self.layers.first_of(size // 2 + 1) :]
        self.floor = max(self.floor, min(self.limit, int(least.min(initial=self.limit))))

    def proven(self) -> int:
        """Return the lower bound on the weight of any tree that has been proven so far, at most the limit."""
        return self.limit if self.complete else self.floor

    def _ends_early(self, launches: Iterator[None], held: Callable[[], int] = lambda: 0) -> bool:
        """Make all launches of all ranks, and return whether the search must end before they are done.

        `held` returns the bytes of the families that a rank has found and not yet added.
        """
        busy = True
        while True:
            started = time.perf_counter()
            busy = busy and next(launches, DONE) is None
            self.seconds += time.perf_counter() - started
            found = self.comm.allgather((busy, held()))
            # When a layer is added, the old and the new arrays of all families exist at the same time, and beside them
            # the layer itself and the cells of its states.
            families, layer = self.layers.nbytes, sum(nbytes for _, nbytes in found)
            if self.is_over(self.space.nbytes + 2 * families + 3 * layer):
                return True
            if not any(busy for busy, _ in found):
                return False
