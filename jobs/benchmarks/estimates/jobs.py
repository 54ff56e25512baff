"""The jobs of the benchmark: five of each algorithm, which take from less than a second to about half a minute."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A job and the number of ranks it runs on.

    Attributes
    ----------
    instance
        The value of the job's key `instance`.
    tables
        The tables of the job file, as TOML.
    """

    name: str
    algorithm: str
    instance: str
    tables: str = ""
    ranks: int = 1

    def text(self, output: str) -> str:
        """Return the job file."""
        head = f'algorithm = "{self.algorithm}"\ninstance = {self.instance}\noutput = "{output}"\n'
        return f"{head}{self.tables}\n"


def _generated(name: str, **keys: int) -> str:
    pairs = ", ".join(f"{key} = {value}" for key, value in keys.items())
    return f'{{ generate = "{name}", {pairs} }}'


JOBS = (
    Measured("12 cities", "held-karp", _generated("random-matrix", n=12)),
    Measured("26 cities, asymmetric", "held-karp", _generated("random-matrix", n=26)),
    Measured("28 cities, symmetric", "held-karp", _generated("uniform-tsp", n=28)),
    Measured("28 cities, asymmetric, 2 ranks", "held-karp", _generated("random-matrix", n=28), ranks=2),
    Measured("30 cities, symmetric", "held-karp", _generated("uniform-tsp", n=30)),
    Measured("60 cities, default", "ant-colony", _generated("uniform-tsp", n=60)),
    Measured("200 cities, ant-system", "ant-colony", _generated("uniform-tsp", n=200),
             '[ant-colony]\nvariant = "ant-system"\n[stop]\niterations = 1000'),
    Measured("400 cities, 8 colonies, 2 ranks", "ant-colony", _generated("uniform-tsp", n=400),
             "[ant-colony]\ncolonies = 8\n[stop]\niterations = 1000", ranks=2),
    Measured("1000 cities, 5 s", "ant-colony", _generated("uniform-tsp", n=1000), "[stop]\nseconds = 5"),
    Measured("2000 cities", "ant-colony", _generated("uniform-tsp", n=2000), "[stop]\niterations = 300"),
    Measured("roads, 10 sources", "shortest-paths", _generated("road-graph", n=100000),
             "[shortest-paths]\nsources = { random = 10 }"),
    Measured("roads, 2000 sources, predecessors", "shortest-paths", _generated("road-graph", n=20000),
             "[shortest-paths]\nsources = { random = 2000 }\npredecessors = true"),
    Measured("power law, 500 sources", "shortest-paths", _generated("rmat-graph", scale=16, edge_factor=8),
             "[shortest-paths]\nsources = { random = 500 }"),
    Measured("grid, 100 sources", "shortest-paths", _generated("grid-graph", rows=1000, columns=1000),
             "[shortest-paths]\nsources = { random = 100 }"),
    Measured("roads, 1000 sources to 4 targets, 2 ranks", "shortest-paths", _generated("road-graph", n=100000),
             "[shortest-paths]\nsources = { random = 1000 }\ntargets = [1, 2, 500, 700]", ranks=2),
    Measured("fast, 20,000 vertices", "steiner-kmb", _generated("road-steiner", n=20000, terminals=500)),
    Measured("fast, 300,000 vertices", "steiner-kmb", _generated("road-steiner", n=300000, terminals=3000)),
    Measured("kmb, 100,000 vertices", "steiner-kmb", _generated("road-steiner", n=100000, terminals=1000),
             '[steiner-kmb]\nmode = "kmb"'),
    Measured("kmb with its matrix, 2 ranks", "steiner-kmb", _generated("road-steiner", n=50000, terminals=3000),
             '[steiner-kmb]\nmode = "kmb"\nmatrix = true', ranks=2),
    Measured("best, at most 10 s", "steiner-kmb", _generated("road-steiner", n=20000, terminals=1000),
             '[steiner-kmb]\nmode = "best"\nshakes = 100\n[stop]\nseconds = 10'),
)
