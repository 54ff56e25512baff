"""Shortest paths: from many sources at once, exact, the same on every machine.

A search is a Near-Far search (Davidson, Baxter, Garland, Owens, IPDPS 2014) by one block of threads, so that a GPU
works on hundreds of sources at a time and a CPU core on one; the sources are dealt to the ranks in blocks. Distances
are exact integers (or floats, added in the order of the path), widened where they would not fit. Predecessors follow
from the distances afterwards, the smallest one that fits, so no schedule changes them.

question.py      the job's table, and what is asked
keys.py          distances as unsigned integers that order like them
search_graph.py  a graph as the kernels read it
jobs.py          searches as the kernels read them; batch.py  a batch of them on a device, with room for the answers
engines.py       the engines, a record each; tuning.py  how they work on a graph
block.py         searches by a block each; grid.py  by the whole grid
row_engine.py    what engines that make rows from many sources tell of themselves; tile.py, p_pull.py  two of them
searcher.py      a graph on a device, ready to be searched
rows.py          rows of distances from many sources, by any engine
tables.py        tables of distances; pairs.py  paths between pairs
solve.py         the runner's calls
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
