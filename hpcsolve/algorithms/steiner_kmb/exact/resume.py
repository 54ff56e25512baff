"""What mode exact keeps in a checkpoint: the families of all sizes that are finished."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.steiner_kmb.exact.families import Families
from hpcsolve.algorithms.steiner_kmb.exact.program import Program
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.state import State, part
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
    whole = Families(saved.gathered("sets", (words,), np.uint64), saved.gathered("begin", (), np.uint64),
                     saved.gathered("vertices", (), np.uint32), saved.gathered("weights", (), np.uint64),
                     saved.gathered("least", (), np.uint64))
    first = 0
    for count in saved.gathered("sizes", (), np.int64).tolist():
        program.add(whole.part(first, first + count))
        first += count
