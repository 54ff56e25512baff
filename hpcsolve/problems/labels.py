"""Labels: what the input calls its vertices or cities, in the order of their positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError


def positions_of(labels: NDArray[np.int64], wanted: ArrayLike, owner: str, one: str, many: str) -> NDArray[np.int64]:
    """Positions (0-based) of what has the wanted labels, in their shape; the inverse of `labels[...]`.

    Parameters
    ----------
    owner, one, many
        For the message: "gr17", "city", "cities".

    Raises
    ------
    InputError
        At the first label that there is not.
    """
    asked = np.asarray(wanted, dtype=np.int64)
    if not len(labels) and asked.size:
        raise InputError(f"{owner} has no {many}")
    order = np.argsort(labels, kind="stable")
    found = np.minimum(np.searchsorted(labels[order], asked), len(labels) - 1)
    result: NDArray[np.int64] = order[found]
    missing = asked[labels[result] != asked]
    if missing.size:
        low, high = labels.min(), labels.max()
        raise InputError(f"{owner} has no {one} {missing.flat[0]}; its {many} are numbered {low} to {high}")
    return result
