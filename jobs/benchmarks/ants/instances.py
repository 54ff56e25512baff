"""The published instances of the travelling salesman problem, with their optima."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats import read
from hpcsolve.problems.generate.tsp import uniform_tsp
from hpcsolve.problems.tsp import NO_ARC, Tsp


@dataclass(frozen=True)
class Instance:
    """A published instance and the length of its optimal tour, or a generated one that stands in for it.

    Attributes
    ----------
    optimum
        None if it is not known.
    stands_for
        Name of the published instance for which a generated one of the same size stands in, else "".
    """

    tsp: Tsp
    optimum: int | None
    stands_for: str = ""

    @property
    def name(self) -> str:
        """The instance's name in TSPLIB, such as `pcb442`."""
        return self.tsp.name

    @property
    def published_name(self) -> str:
        """The name under which published figures are found: its own, or that for which it stands in."""
        return self.stands_for or self.name

    def gap(self, cost: float) -> float:
        """Return by how many percent a cost is above the optimum, NaN if that is not known."""
        return 100 * (cost / self.optimum - 1) if self.optimum else float("nan")


def stand_in(name: str) -> Instance:
    """Return uniform random cities, as many as a published instance has: the number in its name."""
    n = int("".join(filter(str.isdigit, name)))
    return Instance(replace(uniform_tsp(n, seed=1), name=f"uniform-{n}"), None, name)


def read_or_generate(name: str) -> Instance:
    """Return a published instance, or if it or its optimum is missing, its stand-in."""
    try:
        return read_instances([name])[0]
    except InputError:
        return stand_in(name)


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
    """Return the costs, shape (n, n), with 0 on the diagonal, where hpcsolve has `NO_ARC`."""
    return np.where(tsp.cost == NO_ARC, 0, tsp.cost)
