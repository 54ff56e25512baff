"""Labels, which are the numbers that the input gives its vertices or cities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError


def positions_of(labels: NDArray[np.int64], searched: ArrayLike, owner: str, one: str, many: str) -> NDArray[np.int64]:
    """Return the positions (from 0) at which `labels` has these entries. This is the inverse of `labels[...]`.

    Parameters
    ----------
    labels
        Shape (n,): the label of each position.
    searched
        Labels of any shape, which is that of the result.
    owner, one, many
        Words for the message, such as "gr17", "city" and "cities".

    Raises
    ------
    InputError
        For the first label that no position has.
    """
    asked = np.asarray(searched, dtype=np.int64)
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
