"""What a run by bounds has proven."""

from __future__ import annotations

from dataclasses import dataclass

from hpcsolve.algorithms.held_karp.bounded.search import Searched


@dataclass
class Proof:
    """What is known in the end about the best order.

    Attributes
    ----------
    value, order
        The best order and its value; both None if there is none, or none is known.
    lower
        Proven lower bound. Of a proven order it is the value.
    optimal
        Whether it is proven that the order is best, or that there is none.
    chosen
        Whether the order is the one of all optimal orders that the lattice returns.
    capped
        Whether the search ended without a proof because layers were too wide for the memory.
    last
        The last search, for `/layers`.
    states
        States of all searches.
    """

    value: int | None
    order: list[int] | None
    lower: int
    optimal: bool
    last: Searched
    states: int
    chosen: bool = True
    capped: bool = False
