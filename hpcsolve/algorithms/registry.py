"""Names all algorithms, and loads the record of one when it is asked for."""

from __future__ import annotations

import importlib

from hpcsolve.algorithms.base import Algorithm
from hpcsolve.errors import InputError
from hpcsolve.wording import did_you_mean

NAMES = ("held-karp", "edge-assembly", "ant-colony", "shortest-paths", "steiner-kmb")
"""As in job files. The package `hpcsolve.algorithms.held_karp` has the record `ALGORITHM` of "held-karp"."""

OTHER_NAMES = {
    "held-karp": "tsp atsp sop exact optimal dp dynamic-programming branch-and-bound",
    "edge-assembly": "eax genetic crossover memetic merged-tours heuristic k-opt lin-kernighan lkh 2-opt large",
    "ant-colony": "aco ants mmas ant-system max-min",
    "shortest-paths": "dijkstra sssp apsp bellman-ford a-star astar floyd-warshall delta-stepping near-far phast",
    "steiner-kmb": "steiner-tree kmb stp mehlhorn dreyfus-wagner",
}
"""The algorithms -> other words for what they do."""


def algorithm(name: str) -> Algorithm:
    """Return the algorithm of that name.

    Raises
    ------
    InputError
        There is none.
    """
    if name in NAMES:
        package = importlib.import_module(f"hpcsolve.algorithms.{name.replace('-', '_')}")
        found: Algorithm = package.ALGORITHM
        return found
    plain = name.lower().replace("_", "-").replace(" ", "-")
    other = next((known for known, words in OTHER_NAMES.items() if plain in words.split()), None)
    hint = did_you_mean(other or name, NAMES, f"; the algorithms are {', '.join(NAMES)}")
    raise InputError(f"unknown algorithm {name!r}{hint}")
