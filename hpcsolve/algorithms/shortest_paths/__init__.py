"""Shortest paths: from many sources at once, exact, the same on every machine.

Each search is a Near-Far search (Davidson, Baxter, Garland, Owens, IPDPS 2014) by one block of threads, so that a GPU
works on hundreds of sources at a time and a CPU core on one; the sources are dealt to the ranks in blocks. Distances
are exact integers (or floats added as they are), widened where they would not fit; predecessors follow from the
distances afterwards, the smallest of those that fit, so nothing depends on who was first.

question.py  the job's table -> what is asked
keys.py      distances as unsigned integers that order like them
layout.py    a graph as the kernels read it
engines.py   the engines, and how they are tuned
jobs.py      searches as the kernels read them
searcher.py  a graph on a device, and batches of searches through it; grid.py  the grid engine's launches
tables.py    rows of distances; pairs.py  paths between pairs
solve.py     the runner's calls
"""

from hpcsolve.algorithms.base import Algorithm
from hpcsolve.algorithms.shortest_paths.question import Parameters, asked, sha256_of_queries
from hpcsolve.algorithms.shortest_paths.solve import KERNEL_FILES, SEARCHES, check, estimate, run, trial
from hpcsolve.answers.distances import DISTANCES
from hpcsolve.answers.paths import PATHS

ALGORITHM = Algorithm(
    "shortest-paths", "graph", (DISTANCES, PATHS), Parameters, estimate, run, KERNEL_FILES,
    tables={"searches": SEARCHES}, file_keys={"queries": sha256_of_queries}, asked=asked, check=check, trial=trial,
)

__all__ = ["ALGORITHM", "Parameters", "check", "estimate", "run"]
