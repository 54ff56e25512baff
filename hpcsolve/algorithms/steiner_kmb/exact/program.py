"""The program over all sizes of sets, and what it has proven if the search ends before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hpcsolve.algorithms.steiner_kmb.exact.families import Families, Layers, no_families
from hpcsolve.algorithms.steiner_kmb.exact.layer import Layer
from hpcsolve.algorithms.steiner_kmb.exact.meeting import Meeting
from hpcsolve.algorithms.steiner_kmb.exact.recover import recovered
from hpcsolve.algorithms.steiner_kmb.exact.space import Space
from hpcsolve.algorithms.steiner_kmb.reduce import Indices
from hpcsolve.parallel.comm import Comm


@dataclass
class Program:
    """The program. All methods are collective.

    Attributes
    ----------
    limit
        Only trees of the reduced graph that are lighter than this count.
    is_over
        Called after each piece of work with the bytes that it holds: whether the search must end. Collective.
    after_layer
        Called with the families of each size.
    complete
        Whether the search came to its end. Then `limit` is the optimum, or no tree is lighter.
    tree
        The edges of the lightest tree, if it is lighter than the first limit.
    floor
        No tree is lighter, by the families so far.
    """

    space: Space
    comm: Comm
    limit: int
    is_over: Callable[[int], bool]
    after_layer: Callable[[], None] = lambda: None
    layers: Layers = field(init=False)
    complete: bool = False
    tree: Indices | None = None
    floor: int = 0

    def __post_init__(self) -> None:
        """Begin without families."""
        self.layers = Layers(no_families(self.space.words), self.space.part)

    def run(self) -> None:
        """Find the families of all sizes that are missing, and where three of them meet."""
        for size in range(len(self.layers.sizes) + 1, self.space.half + 1):
            layer = Layer(self.space, self.layers, self.comm, size, self.limit)
            if self._broken_off(layer.pieces(), layer.held):
                return
            self.add(layer.all())
            self.after_layer()
        meeting = Meeting(self.space, self.layers, self.comm, self.limit)
        if self._broken_off(meeting.pieces(), meeting.held):
            return
        self.limit, who = meeting.agreed()
        self.complete = True
        self.tree = None if who is None else recovered(self.space, self.layers, who)

    def add(self, layer: Families) -> None:
        """Add the families of the next size, and note what they prove.

        A lightest tree has states from its centroid on to single terminals, always on to the larger one of two sets
        that meet, which is at least half as large. So one of them has a size above half of the present one, up to that.
        """
        self.layers.add(layer)
        size = len(self.layers.sizes)
        least = self.layers.all.least[self.layers.begins(size // 2 + 1) :]
        self.floor = max(self.floor, min(self.limit, int(least.min(initial=self.limit))))

    def proven(self) -> int:
        """Return a weight below which there is no tree, by the families so far."""
        return self.limit if self.complete else self.floor

    def _broken_off(self, pieces: Iterator[None], held: Callable[[], int]) -> bool:
        """Do all pieces of all ranks, and return whether the search ended before."""
        busy = True
        while True:
            busy = busy and next(pieces, self) is not self
            if self.is_over(self.space.nbytes + self.layers.nbytes + held()):
                return True
            if not any(self.comm.allgather(busy)):
                return False
