"""Small results that together hold every dataset that a result file may have."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import hpcsolve
from hpcsolve.problems.generate import makers
from hpcsolve.problems.geographic import from_places
from tests.frame.source import REPOSITORY
from tests.steiner_oracle import hypercube

SPACE = """\
NAME: cube
GRID_SIZE: 9
TYPE: TSP
DIMENSION: 5
EDGE_WEIGHT_TYPE: EUC_3D
NODE_COORD_SECTION
1 0 0 0
2 9 0 0
3 0 9 0
4 0 0 9
5 9 9 9
EOF
"""


def make_samples(folder: Path) -> list[Path]:
    """Solve small problems of all kinds and return their result files."""
    (folder / "cube.tsp").write_text(SPACE)
    paths = []
    for number, (problem, algorithm, parameters) in enumerate(_problems(folder)):
        paths.append(folder / f"{number}.h5")
        hpcsolve.solve(problem, algorithm, device="cpu", threads=1, output=paths[-1], **parameters)
    named = "".join(f"stop {number},{number**3 % 61},{number**2 * 29 % 101}\n" for number in range(16))
    return [*paths, _batch(folder, "cubes", ".tsp", SPACE, 'objective = "lexicographic"'),
            _batch(folder, "stops", ".csv", f"name,lat,lon\n{named}", 'objective = "latency"\n[stop]\ntarget = 1e9')]


def _batch(folder: Path, name: str, suffix: str, content: str, keys: str) -> Path:
    """Solve a batch of two files, as a job, and return its result file."""
    (folder / name).mkdir()
    for number in range(2):
        (folder / name / f"{number}{suffix}").write_text(content)
    job = f'algorithm = "held-karp"\ninstance = {{ batch = "{name}" }}\noutput = "{name}.h5"\n[held-karp]\n{keys}\n'
    (folder / f"{name}.toml").write_text(job)
    command = [sys.executable, "-m", "hpcsolve", "run", f"{name}.toml", "--device", "cpu", "--quiet"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / f"{name}.h5"


def _problems(folder: Path) -> Iterator[tuple[Any, str, dict[str, Any]]]:
    costs = np.round(99 * np.random.default_rng(1).random((12, 12)), 2)
    yield REPOSITORY / "jobs" / "eu-capitals.tsp", "held-karp", {}
    yield from_places([48.0, 49.0, 50.0], [1.0, 2.0, 4.0]), "held-karp", {}
    yield folder / "cube.tsp", "held-karp", {}
    yield [[0, 1, np.inf], [1, 0, np.inf], [np.inf, 1, 0]], "held-karp", {}  # no tour
    yield costs, "held-karp", {"best": 3, "count": True, "arcs": True}
    (folder / "windows.csv").write_text("city,earliest,latest\n3,20,900\n")
    yield costs, "held-karp", {"objective": "finish", "windows": folder / "windows.csv", "best": 2}
    yield np.full((3, 3), 5), "held-karp", {"objective": "finish", "windows": {1: (0, 5), 2: (0, 5)}}  # no tour
    yield np.full((3, 3), 5), "held-karp", {"objective": "finish", "windows": {0: (0, 14), 2: (0, 9, 1)}}  # nor here
    yield costs, "held-karp", {"load": [1] * len(costs), "capacity": 99}
    yield costs, "held-karp", {"objective": "prize", "prizes": [1] * len(costs)}
    yield costs, "held-karp", {"objective": "lexicographic"}
    yield costs, "held-karp", {"method": "bounded", "stop": {"memory": 500}}
    yield REPOSITORY / "jobs" / "eu-capitals.tsp", "held-karp", {"method": "bounded", "stop": {"seconds": 1e-3}}
    yield costs, "ant-colony", {"colonies": 2, "optimum": 100, "bound": False, "stop": {"iterations": 5}}
    yield costs, "edge-assembly", {"population": 4}
    yield _town(None), "shortest-paths", {"sources": [1, 2], "predecessors": True}
    yield _town(None), "shortest-paths", {"sources": [1, 2], "voronoi": True}
    (folder / "homes.csv").write_text("x,y\n0,0\n5,5\n")
    kept = {"reduce": ["farthest", "access"], "decays": [9], "targets": folder / "homes.csv"}
    yield _town(None), "shortest-paths", {"sources": folder / "homes.csv", **kept}
    yield _town(None), "steiner-kmb", {"terminals": folder / "homes.csv"}
    yield _town(None), "held-karp", {"stops": folder / "homes.csv"}
    for weight in (0.5, 2**40, 1 / 3):  # 32-bit, 64-bit, no common scale
        yield _friends(weight), "shortest-paths", {"sources": [0, 1], "targets": [2, 3]}
        yield _friends(weight), "shortest-paths", {"queries": [[0, 2], [2, 3]]}
        kept = ["count", "nearest", "farthest", "access", *(["sum"] if weight != 1 / 3 else [])]
        yield _friends(weight), "shortest-paths", {"sources": "all", "reduce": kept, "cutoffs": [2], "k": 2,
                                                 "decays": [2]}
    # Costs that are rounded, down to the last Steiner tree of this kind.
    yield np.sqrt(costs), "held-karp", {"objective": "lexicographic", "best": 2, "round": 1e-3}
    yield np.sqrt(100.0 + np.arange(32)).reshape(2, 4, 4), "held-karp", {}
    (folder / "late.csv").write_text("city,earliest,latest\n1,0,10\n")
    yield [[0, 10.4], [10.4, 0]], "held-karp", {"objective": "finish", "windows": folder / "late.csv", "path": "open",
                                               "start": 0, "round": 1}
    yield _friends(1 / 3), "shortest-paths", {"sources": [0], "round": 1e-6}
    yield _friends(1 / 3), "shortest-paths", {"queries": [[0, 2]], "round": 1e-6}
    yield _friends(1e15 + 0.125), "shortest-paths", {"sources": [0], "round": 1}
    streets = nx.MultiGraph(_friends(0.5))
    yield streets, "shortest-paths", {"queries": [[0, 2]]}
    yield streets, "steiner-kmb", {"terminals": ["Ann", "Cleo"]}
    yield _friends(1 / 3), "steiner-kmb", {"terminals": ["Ann", "Cleo"]}
    yield _town(5), "steiner-kmb", {"mode": "kmb", "matrix": True}
    yield _town(9), "steiner-kmb", {"mode": "best"}
    yield hypercube(5, 12, high=100), "steiner-kmb", {"mode": "exact"}
    yield _friends(0.25), "steiner-kmb", {"terminals": ["Ann", "Cleo"], "mode": "kmb", "matrix": True}


def _town(terminals: int | None) -> Any:
    """A made-up town, hills included."""
    kind, keys = ("graph", {}) if terminals is None else ("steiner", {"terminals": terminals})
    town = makers(kind)["road-graph" if terminals is None else "road-steiner"](n=200, seed=1, **keys)
    return replace(town, coordinates=np.column_stack([town.coordinates, np.zeros(town.n)]))


def _friends(weight: float) -> Any:
    graph = nx.Graph()
    graph.add_weighted_edges_from([("Ann", "Bob", weight), ("Bob", "Cleo", 2 * weight), ("Cleo", "Dan", weight)])
    return graph


if __name__ == "__main__":
    print(*make_samples(Path(sys.argv[1])), sep="\n")
