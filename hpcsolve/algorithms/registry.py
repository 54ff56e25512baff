"""Names all algorithms, and loads the record of one when it is asked for."""

from __future__ import annotations

import importlib

from hpcsolve.algorithms.base import Algorithm
from hpcsolve.errors import InputError
from hpcsolve.wording import did_you_mean

NAMES = ("held-karp", "ant-colony", "shortest-paths", "steiner-kmb")
"""As in job files. The package `hpcsolve.algorithms.held_karp` has the record `ALGORITHM` of "held-karp"."""


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
    hint = did_you_mean(name, NAMES, f"; the algorithms are {', '.join(NAMES)}")
    raise InputError(f"unknown algorithm {name!r}{hint}")
