"""Names all algorithms, and loads the record of one when it is asked for."""

from __future__ import annotations

import difflib
import importlib

from hpcsolve.algorithms.base import Algorithm
from hpcsolve.errors import InputError

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
    there = "the algorithms are " + ", ".join(NAMES)
    close = difflib.get_close_matches(name, NAMES, n=1)
    hint = f", did you mean {close[0]!r}?" if close else ""
    raise InputError(f"unknown algorithm {name!r}{hint}; {there}")
