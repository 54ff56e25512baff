"""What a proof keeps in a checkpoint: multipliers, memories, the arcs left, the best order, and the layers so far.

The states of a layer are spread by the hash of their visited set, so any number of ranks can take them over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hpcsolve.algorithms.held_karp.bounded.keys import are_states
from hpcsolve.algorithms.held_karp.bounded.layers import Expander
from hpcsolve.algorithms.held_karp.bounded.relaxation import FEWEST_SLOTS, INFINITY, NO_ARC
from hpcsolve.algorithms.held_karp.bounded.search import Searched
from hpcsolve.algorithms.held_karp.bounded.slots import with_memory
from hpcsolve.algorithms.held_karp.bounded.tighten import Tightener, no_incumbent
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.state import Part, State, part

if TYPE_CHECKING:
    from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts
    from hpcsolve.algorithms.held_karp.bounded.prove import Prover

LEVEL = "level"
"""A number that only checkpoints of a proof by bounds have."""
MULTIPLIERS = range(-(2**61), 2**61)
"""What multipliers may be: beyond that their sum with a cost would overflow."""
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
    m, best, relaxation = bounds.problem.cities, bounds.best, bounds.relaxation
    slots, ordered = saved.integer("slots", FEWEST_SLOTS, max(prover.levels)), saved.integer("ordered", most=1)
    of_problem = {  # lengths and values
        "order": (ordered * m, range(m)), "multiplier": (m, MULTIPLIERS), "wishes": (m * m, range(2**62)),
        "colours": (m, range(slots)), "memory": (m * slots, range(m + 1)),
        "arcs": (-(-relaxation.scaled.size // 8), range(256)),
    }
    few = {name: saved.gathered(name, (), np.int64, range(length, length + 1), within)
           for name, (length, within) in of_problem.items()}
    prover.level = saved.integer(LEVEL, most=len(prover.levels))
    prover.width, prover.states = saved.integer("width", 1), saved.integer("states")
    best.upper = saved.integer("upper", -(2**62), no_incumbent(prover.problem).upper)
    best.lower = saved.integer("lower", -(2**62), best.upper)
    best.order = few["order"].tolist() if ordered else None
    fits = len(set(few["order"].tolist())) == ordered * m
    fits = fits and (best.order is None or prover.problem.value(best.order) == best.upper)
    saved.require(fits, "its best order")
    bounds.multiplier, bounds.wishes, bounds.colours = few["multiplier"], few["wishes"].reshape(m, m), few["colours"]
    memory = few["memory"].reshape(m, slots).astype(np.uint8)
    left = np.unpackbits(few["arcs"].astype(np.uint8), count=relaxation.scaled.size).astype(bool)
    relaxation.scaled[~left.reshape(relaxation.scaled.shape)] = NO_ARC
    relaxation.buffers["scaled"].upload(relaxation.scaled)
    relaxation.remember(with_memory(bounds.problem, memory))


def first_upper(saved: Saved, problem: PlaceCosts) -> int:
    """Return the upper bound at the start of the run that wrote the checkpoint."""
    return saved.integer("first", -(2**62), no_incumbent(problem).upper)


def saved_layers(saved: Saved, expander: Expander) -> Searched:
    """Return the layers of a checkpoint that this rank owns."""
    m, any_number = expander.relaxation.problem.cities, range(2**62)
    found, layers = Searched(dropped=saved.integer("dropped", most=INFINITY)), saved.integer("layers", most=m)
    counts = saved.gathered("counts", (), np.int64, range(2 * layers, 2 * layers + 1), any_number).tolist()
    found.kept, found.pruned = counts[:layers], counts[layers:]
    for place, count in enumerate(found.kept, 1):
        rows = range(count, count + 1)
        keys = saved.gathered(f"keys of {place}", (expander.words,), np.uint64, rows)
        saved.require(are_states(keys, m, place), f"a state of {place} cities")
        found.layers.append(expander.owned(keys, saved.gathered(f"values of {place}", (), np.uint32, rows)))
        found.seconds.append(0.0)
        found.bytes_sent.append(0)
    return found


def _layers(found: Searched) -> Iterator[Part]:
    for place, layer in enumerate(found.layers, 1):
        yield part(f"keys of {place}", 0, layer.keys)
        yield part(f"values of {place}", 0, layer.values)
