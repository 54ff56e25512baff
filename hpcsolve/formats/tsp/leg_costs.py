"""Costs that depend on the leg of a tour: a `.npy` array of shape (legs, n, n), in the unit of the instance's costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.files import open_file
from hpcsolve.formats.npy import is_npy, npy_array
from hpcsolve.problems.tsp import FORBIDDEN, Tsp, largest_cost


def read_leg_costs(path: str, tsp: Tsp, legs: int) -> NDArray[np.int64]:
    """Return the costs of each leg, shape (legs, n, n), in the instance's scaled integers.

    `inf` (among integers the largest int64) is a forbidden arc; the diagonals are ignored.

    Raises
    ------
    InputError
        The file is no array of this shape, or an entry is too large or has more decimals than the instance's costs.
    """
    file = open_file(path)
    if not is_npy(file.content):
        raise file.error("is not a .npy file; numpy.save writes one")
    table = npy_array(file)
    if table.shape != (legs, tsp.n, tsp.n):
        what = f"has shape {table.shape}; a tour of this instance has {legs} legs among {tsp.n} cities"
        raise file.error(f"{what}, so it must have shape {(legs, tsp.n, tsp.n)}")
    missing = np.broadcast_to(np.eye(tsp.n, dtype=bool), table.shape).copy()
    missing |= np.isposinf(table) if table.dtype.kind == "f" else table == FORBIDDEN
    limit = largest_cost(tsp.n)
    known = table[~missing]
    if not np.isfinite(known).all() or (len(known) and max(abs(int(known.max())), abs(int(known.min()))) * tsp.scale
                                        > limit):
        raise file.error(f"a cost is not a number or too large: times the instance's scale it may be {limit} at most")
    scaled = np.rint(known * float(tsp.scale)).astype(np.int64) if table.dtype.kind == "f" else known * tsp.scale
    if table.dtype.kind == "f" and not np.array_equal(scaled / tsp.scale, known):
        raise file.error(f"a cost has more decimals than the instance's costs (scale {tsp.scale}); round the costs")
    costs = np.full(table.shape, FORBIDDEN)
    costs[~missing] = scaled
    return costs
