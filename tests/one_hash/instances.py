"""The instances of the comparison: generated ones, and published ones from the folder that HPCSOLVE_DATA names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Instance:
    """A job with an instance.

    Attributes
    ----------
    name
        What the table calls it.
    algorithm, source
        The keys `algorithm` and `instance` of the job file. A source with a suffix is a file in HPCSOLVE_DATA.
    tables
        The rest of the job file.
    keeps
        Whether its runs keep checkpoints from the start on. Mode exact keeps none before its program over sets of
        terminals, so a resumed run repeats what comes before.
    """

    name: str
    algorithm: str
    source: str
    tables: str = ""
    keeps: bool = True

    def job(self, data: Path | None) -> str:
        """Return the text of the job file."""
        source = self.source if self.source.startswith("{") else f'"{data}/{self.source}"'
        return f'algorithm = "{self.algorithm}"\ninstance = {source}\n{self.tables}\n'

    @property
    def published(self) -> bool:
        """Whether it needs HPCSOLVE_DATA."""
        return not self.source.startswith("{")


def _listed(count: int, least: int = 1) -> str:
    return ", ".join(map(str, range(least, least + count)))


def _ants(iterations: int, rest: str = "") -> str:
    return f"[ant-colony]\nbound = false\ncolonies = 5\n{rest}\n[stop]\niterations = {iterations}"


def _tours(population: int, iterations: int | None = None) -> str:
    stop = "" if iterations is None else f"[stop]\niterations = {iterations}"
    return f"[edge-assembly]\npopulation = {population}\n{stop}"


def _bounded(objective: str) -> str:
    return f'[held-karp]\nmethod = "bounded"\nobjective = "{objective}"'


def _paths(rest: str) -> str:
    return f"[shortest-paths]\n{rest}"


def _steiner(mode: str, rest: str = "") -> str:
    return f'[steiner-kmb]\nmode = "{mode}"\n{rest}'


QUERIES = ", ".join(f"[{1 + 7 * a % 19000}, {1 + 4001 * a % 19000}]" for a in range(1, 1500))
REDUCED = 'reduce = ["count", "nearest", "sum", "farthest"]\ncutoffs = [20000, 50000]\nk = 9'

INSTANCES = [
    Instance("ants", "ant-colony", '{ generate = "uniform-tsp", n = 150, seed = 1 }', _ants(300)),
    Instance("ants, asymmetric", "ant-colony", '{ generate = "random-matrix", n = 80, seed = 2 }',
             _ants(300, 'variant = "ant-system"')),
    Instance("tours", "edge-assembly", '{ generate = "clustered-tsp", n = 1200, seed = 1 }', _tours(30, 25)),
    Instance("tours, asymmetric", "edge-assembly", '{ generate = "random-matrix", n = 200, seed = 2 }', _tours(30)),
    Instance("areas", "edge-assembly", '{ generate = "uniform-tsp", n = 90000, seed = 3 }', _tours(3, 2)),
    Instance("held-karp", "held-karp", '{ generate = "uniform-tsp", n = 25, seed = 3 }'),
    Instance("held-karp, asymmetric", "held-karp", '{ generate = "random-matrix", n = 24, seed = 1 }'),
    Instance("distances", "shortest-paths", '{ generate = "road-graph", n = 20000, seed = 1 }',
             _paths(f"sources = [{_listed(300)}]\npredecessors = true")),
    Instance("reductions", "shortest-paths", '{ generate = "road-graph", n = 20000, seed = 1 }',
             _paths(f"sources = [{_listed(300)}]\n{REDUCED}")),
    Instance("queries", "shortest-paths", '{ generate = "road-graph", n = 20000, seed = 2 }',
             _paths(f"queries = [{QUERIES}]")),
    Instance("kmb", "steiner-kmb", '{ generate = "road-steiner", n = 20000, terminals = 800, seed = 2 }',
             _steiner("kmb")),
    Instance("kmb, matrix", "steiner-kmb", '{ generate = "road-steiner", n = 8000, terminals = 500, seed = 3 }',
             _steiner("kmb", "matrix = true")),
    Instance("best", "steiner-kmb", '{ generate = "road-steiner", n = 3000, terminals = 200, seed = 2 }',
             _steiner("best", "shakes = 2\nstarts = 3")),
    Instance("exact", "steiner-kmb", '{ generate = "road-steiner", n = 6000, terminals = 40, seed = 5 }',
             _steiner("exact"), keeps=False),
    Instance("fast", "steiner-kmb", '{ generate = "road-steiner", n = 30000, terminals = 3000, seed = 4 }',
             _steiner("fast"), keeps=False),
    Instance("lin318", "ant-colony", "tsplib/lin318.tsp", _ants(100)),
    Instance("pr1002", "edge-assembly", "tsplib/pr1002.tsp", _tours(60)),
    Instance("ry48p", "ant-colony", "tsplib/ry48p.atsp", _ants(500)),
    Instance("fri26", "held-karp", "tsplib/fri26.tsp"),
    Instance("gr24", "held-karp", "tsplib/gr24.tsp"),
    Instance("eil51, latency", "held-karp", "tsplib/eil51.tsp", _bounded("latency")),
    Instance("ftv38, bounded", "held-karp", "tsplib/ftv38.atsp", _bounded("sum")),
    Instance("n60w80, its end", "held-karp", "tsptw/n60w80.001.txt", _bounded("finish")),
    Instance("n60w80, its cost", "held-karp", "tsptw/n60w80.001.txt", _bounded("sum")),
    Instance("rome99", "shortest-paths", "roads/rome99.gr.gz", _paths(f"sources = [{_listed(1500)}]")),
    Instance("New York", "shortest-paths", "roads/USA-road-d.NY.gr.gz",
             _paths(f"sources = [{_listed(48)}]\ntargets = [1, 99999, 264346]")),
    Instance("pace3_144", "steiner-kmb", "steiner/pace3_144.gr", _steiner("best", "shakes = 2")),
    Instance("e10", "steiner-kmb", "steiner/e10.stp", _steiner("kmb")),
    Instance("w13c29", "steiner-kmb", "steiner/w13c29.stp", _steiner("best", "shakes = 1\nstarts = 5")),
    Instance("cc6-2p", "steiner-kmb", "steiner/cc6-2p.stp", _steiner("fast"), keeps=False),
]
SMALL = ["queries", "best"]
"""The quick ones, for `make test`, beside the two of tests/checkpoint/test_command.py."""
