"""What mode exact keeps in a checkpoint: the families of all sizes that are finished."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.exact.families import Families
from hpcsolve.algorithms.steiner_kmb.exact.program import Program
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.store import State, part
from hpcsolve.wording import counted


def state_of(program: Program, seconds: float) -> State:
    """Return the state of a program after this many seconds. Rank 0 writes the families, which all ranks have."""
    own, sizes = program.layers.families, program.layers.sizes
    parts = []
    if program.comm.rank == 0:
        arrays: dict[str, NDArray[Any]] = {
            "sets": own.sets, "begin": own.begin, "vertices": own.vertices, "weights": own.weights, "least": own.least,
            "sizes": np.array(sizes, np.int64),
        }
        parts = [part(name, 0, values) for name, values in arrays.items()]
    return State({"limit": program.limit, "seconds": seconds}, parts,
                 f"with {counted(len(own.vertices), 'state')} of sets of up to {counted(len(sizes), 'terminal')}")


def resume(saved: Saved, program: Program) -> None:
    """Give a program the families of a checkpoint, unless they were found for another weight limit."""
    if saved.integer("limit") != program.limit:
        return
    words = program.space.words
    sets = saved.gathered("sets", (words,), np.uint64, ANY_COUNT)
    count, begin = len(sets), saved.gathered("begin", (), np.uint64, range(len(sets) + 1, len(sets) + 2))
    states = range(int(begin[-1]), int(begin[-1]) + 1)
    whole = Families(sets, begin, saved.gathered("vertices", (), np.uint32, states, range(program.space.net.n)),
                     saved.gathered("weights", (), np.uint64, states),
                     saved.gathered("least", (), np.uint64, range(count, count + 1)))
    sizes = saved.gathered("sizes", (), np.int64, range(program.space.terminals + 1), range(count + 1)).tolist()
    members = np.unpackbits(np.ascontiguousarray(sets).view(np.uint8), axis=1, bitorder="little")
    fits = sum(sizes) == count and begin[0] == 0 and bool((begin[1:] > begin[:-1]).all())
    fits = fits and not members[:, program.space.terminals :].any()
    saved.require(fits and members.sum(axis=1).tolist() == np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist(),
                  "a set of terminals")
    first = 0
    for size in sizes:
        program.add(whole.part(first, first + size))
        first += size
