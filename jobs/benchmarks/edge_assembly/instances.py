"""The instances: TSPLIB files of HPCSOLVE_DATA from some number of cities on, and generated ones, each in a file."""

from __future__ import annotations

import csv
import math
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import EnvironmentFault, InputError
from hpcsolve.formats import read
from hpcsolve.problems.tsp import Tsp
from jobs.benchmarks.common.charts import file_part

FEWEST = 318
"""Symmetric files have at least so many cities: smaller ones are solved within the start of the processes."""
EXTENT = 1_000_000
"""Generated cities have coordinates below it, generated costs are at most it."""
UNIFORM = 0.7124
"""An optimal tour of n uniform cities in a square of area A tends to this times sqrt(nA), from above."""
HOW_TO_NAME = "a file of HPCSOLVE_DATA/tsplib, such as pr2392 or ry48p, or uniform:N, clustered:N or asymmetric:N"


@dataclass(frozen=True)
class Instance:
    """An instance in a TSPLIB file.

    Attributes
    ----------
    optimum
        Cost of an optimal tour, or None if it is not known.
    kind
        "file", "uniform", "clustered" or "asymmetric": published, or how it was generated.
    metric
        Its EDGE_WEIGHT_TYPE.
    """

    name: str
    path: Path
    n: int
    symmetric: bool
    metric: str
    optimum: int | None
    kind: str

    @cached_property
    def tsp(self) -> Tsp:
        """The instance, read by hpcsolve, to check tours with."""
        tsp = read(self.path).problem
        assert isinstance(tsp, Tsp)
        return tsp

    @property
    def expected(self) -> float | None:
        """The cost that an optimal tour of many uniform cities has, .7124 sqrt(nA), None of other instances."""
        return UNIFORM * EXTENT * math.sqrt(self.n) if self.kind == "uniform" else None

    def in_order(self, seed: int, folder: Path) -> tuple[Path, NDArray[np.int64]]:
        """Return a file with the cities in another order for each seed, and the position here of each of its cities.

        Programs without a seed of their own get different runs in this way. Seed 1 keeps the order.
        """
        order = np.random.default_rng(seed).permutation(self.n) if seed > 1 else np.arange(self.n)
        path = folder / f"{file_part(self.name)}-order-{seed}.tsp"
        if not path.exists():
            coordinates = self.tsp.coordinates
            assert coordinates is not None
            head = f"NAME : cities\nTYPE : TSP\nDIMENSION : {self.n}\nEDGE_WEIGHT_TYPE : {self.metric}\n"
            rows = "".join(f"{i} {x:.17g} {y:.17g}\n" for i, (x, y) in enumerate(coordinates[order].tolist(), 1))
            path.write_text(f"{head}NODE_COORD_SECTION\n{rows}EOF\n", encoding="ascii")
        return path, order


def published_names(symmetric: bool) -> list[str]:
    """Return the names of the symmetric files from `FEWEST` cities on, or of all asymmetric ones, by their cities."""
    found = [instance for name in _optima() if (instance := _published(name)) is not None]
    chosen = [one for one in found if one.symmetric == symmetric and (not symmetric or one.n >= FEWEST)]
    return [one.name for one in sorted(chosen, key=lambda one: (one.n, one.name))]


def instance_named(name: str, folder: Path) -> Instance:
    """Return an instance. A generated one is written into a folder.

    Raises
    ------
    InputError
        There is no such instance.
    """
    kind, colon, number = name.partition(":")
    if colon and kind in _GENERATORS and number.isdigit() and int(number) > 0:
        return _generated(name, kind, int(number), folder)
    instance = None if colon else _published(name)
    if instance is None:
        raise InputError(f"there is no instance {name}; name {HOW_TO_NAME}")
    return instance


def _clusters(n: int) -> list[str]:
    """Return the keys of clusters like those of DIMACS's challenge: n / 100 centres, deviations of 1 / sqrt(n)."""
    return [f"clusters={max(1, n // 100)}", f"spread={round(math.sqrt(12 / n) * EXTENT)}", f"extent={EXTENT}"]


_GENERATORS = {
    "uniform": ("uniform-tsp", lambda n: [f"extent={EXTENT}"]),
    "clustered": ("clustered-tsp", _clusters),
    "asymmetric": ("random-matrix", lambda n: [f"high={EXTENT}"]),
}


def generating(kind: str, n: int, path: Path) -> list[str]:
    """Return the command that generates an instance, after the interpreter's name."""
    generator, keys = _GENERATORS[kind]
    sets = [word for key in keys(n) for word in ("--set", key)]
    return ["-m", "hpcsolve", "generate", generator, "--n", str(n), *sets, "-o", str(path), "--overwrite"]


def _generated(name: str, kind: str, n: int, folder: Path) -> Instance:
    """Generate in a process of its own, so that the memory of this one stays small."""
    path = folder / f"{file_part(name)}{'.atsp' if kind == 'asymmetric' else '.tsp'}"
    if not path.exists():
        command = [sys.executable, *generating(kind, n, path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EnvironmentFault(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr.strip()}")
    return Instance(name, path, n, kind != "asymmetric", "EXPLICIT" if kind == "asymmetric" else "EUC_2D", None, kind)


def _data() -> Path:
    """Return the folder of the files. Raises `InputError` if there is none."""
    folder = Path(os.environ.get("HPCSOLVE_DATA") or "") / "tsplib"
    if not os.environ.get("HPCSOLVE_DATA") or not (folder / "optima.csv").exists():
        raise InputError("HPCSOLVE_DATA must name a folder that has tsplib/ and tsplib/optima.csv in it")
    return folder


def _optima() -> dict[str, int]:
    with open(_data() / "optima.csv", newline="", encoding="utf-8") as file:
        return {row["name"]: int(row["optimum"]) for row in csv.DictReader(file)}


def _published(name: str) -> Instance | None:
    """Return a file's instance from its head, or None if there is none, or no optimum of it."""
    optima = _optima()
    path = next((path for suffix in ("tsp", "atsp") if (path := _data() / f"{name}.{suffix}").exists()), None)
    if path is None or name not in optima:
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        head = file.read(4096)
    n, metric = (re.search(rf"^{key}\s*:\s*(\S+)", head, re.MULTILINE) for key in ("DIMENSION", "EDGE_WEIGHT_TYPE"))
    if n is None or metric is None:
        raise InputError("there is no DIMENSION or no EDGE_WEIGHT_TYPE in it", str(path))
    return Instance(name, path, int(n[1]), path.suffix == ".tsp", metric[1], optima[name], "file")
