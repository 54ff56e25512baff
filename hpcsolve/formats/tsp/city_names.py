"""Names of cities in the comment of a TSPLIB file, which has no other place for them: lines `CITY LABEL NAME`."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.problems.tsp import Tsp

_LINE = re.compile(r"(?m)^CITY (\d{1,18}) (.+)$")


def with_names(tsp: Tsp) -> Tsp:
    """Return the instance with city names if its comment has a line `CITY LABEL NAME` for each city."""
    found = {int(label): name for label, name in _LINE.findall(tsp.comment)}
    if tsp.city_names or set(found) != set(tsp.labels.tolist()):
        return tsp
    rest = re.sub(r"(?m)^CITY \d+ .+\n?", "", tsp.comment).strip()
    return replace(tsp, city_names=tuple(found[label].strip() for label in tsp.labels.tolist()), comment=rest)


def with_comment(tsp: Tsp, labels: NDArray[np.int64]) -> str:
    """Return the comment of an instance with the lines that name its cities, given their labels in the file."""
    lines = [f"CITY {label} {' '.join(name.split())}" for label, name in zip(labels.tolist(), tsp.city_names)]
    return "\n".join([*lines, tsp.comment])
