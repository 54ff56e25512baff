"""The group `/multipliers` of a result: the proof of a tour's lower bound, or that the tour is optimal.

What multipliers prove, and why, is in `problems.one_tree`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.contents import Column, Contents, Dataset, columns
from hpcsolve.problems.one_tree import Multipliers

_EACH = "Multiplier of each city, in units of 1 / scale of a scaled cost, added to the cost of"
_ARCS = "where costs are asymmetric, of arcs that"
MULTIPLIERS = {
    "scale": Dataset("int64", "The divisor of the multipliers, which are integers"),
    "special": Dataset("int64", "Position of the special city, which is joined to the spanning tree of the others; -1 "
                       "of an open path, which has none"),
    "entering": Dataset("int32|int64", f"{_EACH} all edges at it; {_ARCS} enter it", "city"),
    "leaving": Dataset("int32|int64", f"The same, {_ARCS} leave it; missing where they are symmetric", "city",
                       optional=True),
}
"""The group `/multipliers`."""
PROOF = "multipliers"
"""`/solution/proof` of a tour whose lower bound the multipliers prove."""


def multipliers_group(proof: Multipliers) -> dict[str, dict[str, Column]]:
    """Return `/multipliers` as the groups of an outcome have it."""
    leaving = None if proof.leaving is None else _narrow(proof.leaving)
    return {"multipliers": columns(MULTIPLIERS, {
        "scale": proof.scale, "special": proof.special, "entering": _narrow(proof.entering), "leaving": leaving})}


def multipliers_in(contents: Contents) -> Multipliers | None:
    """Return the multipliers of a result, or None if they are missing or incomplete."""
    scale, special, entering, leaving = (contents.value("multipliers", name) for name in MULTIPLIERS)
    if scale is None or special is None or entering is None:
        return None
    return Multipliers(int(scale), int(special), np.asarray(entering, np.int64),
                       None if leaving is None else np.asarray(leaving, np.int64))


def _narrow(values: NDArray[np.int64]) -> NDArray[np.int32] | NDArray[np.int64]:
    """Return multipliers in 32 bits if they fit."""
    return values.astype(np.int32) if np.abs(values).max(initial=0) < 2**31 else values
