"""The published instances of the travelling salesman problem, with their optima."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats import read
from hpcsolve.problems.tsp import FORBIDDEN, Tsp


@dataclass(frozen=True)
class Instance:
    """A published instance and the length of its optimal tour."""

    tsp: Tsp
    optimum: int

    @property
    def name(self) -> str:
        """The instance's name in TSPLIB, such as `pcb442`."""
        return self.tsp.name

    def gap(self, cost: float) -> float:
        """Return by how many percent a cost is above the optimum."""
        return 100 * (cost / self.optimum - 1)


def read_instances(names: list[str]) -> list[Instance]:
    """Read NAME.tsp or NAME.atsp for each name, and optima.csv (name, optimum, ...), from `$HPCSOLVE_DATA/tsplib`.

    Raises
    ------
    InputError
        If the folder, the list of optima or an instance is missing.
    """
    folder = Path(os.environ.get("HPCSOLVE_DATA") or "") / "tsplib"
    if "HPCSOLVE_DATA" not in os.environ or not (folder / "optima.csv").exists():
        raise InputError("HPCSOLVE_DATA must name a folder that has tsplib/ and tsplib/optima.csv in it")
    with open(folder / "optima.csv", newline="", encoding="utf-8") as file:
        optima = {row["name"]: int(row["optimum"]) for row in csv.DictReader(file)}
    unknown = [name for name in names if name not in optima]
    if unknown:
        raise InputError(f"no optimum of {', '.join(unknown)}: choose --instances that are listed in it",
                         str(folder / "optima.csv"))
    return [Instance(_read(folder, name), optima[name]) for name in names]


def _read(folder: Path, name: str) -> Tsp:
    for path in (folder / f"{name}.tsp", folder / f"{name}.atsp"):
        if path.exists():
            tsp = read(path).problem
            assert isinstance(tsp, Tsp)
            return tsp
    raise InputError(f"there is neither {name}.tsp nor {name}.atsp", str(folder))


def plain_costs(tsp: Tsp) -> NDArray[np.int64]:
    """Return the costs, shape (n, n), with 0 on the diagonal, where hpcsolve has `FORBIDDEN`."""
    return np.where(tsp.cost == FORBIDDEN, 0, tsp.cost)
