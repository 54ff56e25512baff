"""What a proof keeps in a checkpoint: multipliers, memories, the arcs left, the best order, and the layers so far.

The states of a layer are spread by the hash of their visited set, so any number of ranks can take them over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.algorithms.held_karp.bounded.layers import Expander
from hpcsolve.algorithms.held_karp.bounded.relaxation import NO_ARC
from hpcsolve.algorithms.held_karp.bounded.search import Searched
from hpcsolve.algorithms.held_karp.bounded.slots import with_memory
from hpcsolve.algorithms.held_karp.bounded.tighten import Tightener
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.state import Part, State, part

if TYPE_CHECKING:
    from hpcsolve.algorithms.held_karp.bounded.prove import Prover

LEVEL = "level"
"""A number that only checkpoints of a proof by bounds have."""
FEW = ("order", "multiplier", "wishes", "colours", "memory", "arcs", "counts")
"""Tables of rank 0, as int64 vectors."""


def state_of(prover: Prover, bounds: Tightener, searched: Searched | None) -> State:
    """Return this rank's share of what a proof must know to go on."""
    best, slots = bounds.best, bounds.relaxation.slots
    assert slots is not None and bounds.colours is not None
    found = searched or Searched()
    numbers = {
        LEVEL: prover.level, "width": prover.width, "upper": best.upper, "lower": best.lower,
        "ordered": int(best.order is not None), "states": prover.states, "slots": slots.count,
        "first": prover.first_upper,
        "layers": len(found.layers), "dropped": found.dropped,
    }
    tables = (best.order or [], bounds.multiplier, bounds.wishes, bounds.colours, slots.memory,
              np.packbits(bounds.relaxation.scaled != NO_ARC), [*found.kept, *found.pruned])
    # Copies, since the state may be written later, after rounds that change the wishes in place.
    few = [part(name, 0, np.array(values, np.int64).reshape(-1)) for name, values in zip(FEW, tables, strict=True)]
    parts = [*(few if prover.comm.rank == 0 else []), *_layers(found)]
    at = f"at {len(found.layers)} of {bounds.problem.cities} cities, " if found.layers else ""
    return State(numbers, parts, f"{at}with bounds {best.lower} to {best.upper}")


def restore(saved: Saved, prover: Prover, bounds: Tightener) -> None:
    """Bring a proof to where the checkpoint was written. The layers are read by `saved_layers`."""
    m, best = bounds.problem.cities, bounds.best
    few = {name: saved.gathered(name, (), np.int64) for name in FEW}
    prover.level, prover.width, prover.states = (saved.integer(name) for name in (LEVEL, "width", "states"))
    best.upper, best.lower = saved.integer("upper"), saved.integer("lower")
    best.order = few["order"].tolist() if saved.integer("ordered") else None
    bounds.multiplier, bounds.wishes, bounds.colours = few["multiplier"], few["wishes"].reshape(m, m), few["colours"]
    memory = few["memory"].reshape(m, saved.integer("slots")).astype(np.uint8)
    left = np.unpackbits(few["arcs"].astype(np.uint8), count=bounds.relaxation.scaled.size).astype(bool)
    bounds.relaxation.scaled[~left.reshape(bounds.relaxation.scaled.shape)] = NO_ARC
    bounds.relaxation.buffers["scaled"].upload(bounds.relaxation.scaled)
    bounds.relaxation.remember(with_memory(bounds.problem, memory))


def saved_layers(saved: Saved, expander: Expander) -> Searched:
    """Return the layers of a checkpoint that this rank owns."""
    found, layers = Searched(dropped=saved.integer("dropped")), saved.integer("layers")
    counts = saved.gathered("counts", (), np.int64).tolist()
    found.kept, found.pruned = counts[:layers], counts[layers:]
    for place in range(1, layers + 1):
        keys = saved.gathered(f"keys of {place}", (expander.words,), np.uint64)
        found.layers.append(expander.owned(keys, saved.gathered(f"values of {place}", (), np.uint32)))
        found.seconds.append(0.0)
        found.bytes_sent.append(0)
    return found


def _layers(found: Searched) -> Iterator[Part]:
    for place, layer in enumerate(found.layers, 1):
        yield part(f"keys of {place}", 0, layer.keys)
        yield part(f"values of {place}", 0, layer.values)
