"""Shortest paths from many sources at once, exact and the same on every device.

A search is a Near-Far search (Davidson, Baxter, Garland, Owens, IPDPS 2014) by one block of threads, so that a GPU
works on hundreds of sources at a time and a CPU core on one; the sources are dealt to the ranks in blocks. Distances
are exact integers (or floats, added in the order of the path), widened where they would not fit. Predecessors follow
from the distances afterwards, the smallest one that fits, so no schedule changes them.

Tables from many sources go through a contraction hierarchy if that pays (engines/phast/): the graph is contracted once,
and then a sweep over it finds the distances from up to 64 sources at a time, in a twentieth of the time of searches.

question.py      the job's table, and what it asks of a graph
keys.py          distances as the kernels hold them: unsigned integers in the same order
search_graph.py  a graph as the kernels read it
searches.py      searches as the kernels read them
batch.py         a batch of searches on a device, with room for the answers
engines/         the search engines: a record each, and how they are tuned and launched
rows.py          rows of distances from many sources, by any engine
searcher.py      a graph on a device, ready to be searched
prepare.py       the choice between searches and a hierarchy, and the graph on the device in that way
memory.py        the memory of a run, estimated
tables.py        the answer to sources: tables of distances
reduce/          reductions of tables on the device: counts, nearest and farthest targets, sums
pairs.py         the answer to queries: paths between pairs of vertices
resume.py        what searches keep in a checkpoint
solve.py         what the runner calls
trial.py         the time of a job, from some of its searches
"""

from hpcsolve.algorithms.base import Algorithm
from hpcsolve.algorithms.shortest_paths.question import Parameters, asked, sha256_of_queries
from hpcsolve.algorithms.shortest_paths.solve import KERNEL_FILES, SEARCHES, check, estimate, run
from hpcsolve.algorithms.shortest_paths.trial import trial
from hpcsolve.answers.distances import DISTANCES
from hpcsolve.answers.paths import PATHS
from hpcsolve.answers.reductions import REDUCTIONS

ALGORITHM = Algorithm(
    "shortest-paths", "graph", (DISTANCES, PATHS, REDUCTIONS), Parameters, estimate, run, trial, KERNEL_FILES,
    groups={"searches": SEARCHES}, file_keys={"queries": sha256_of_queries}, asked=asked, check=check,
    can_resume=lambda parameters: True,
)

__all__ = ["ALGORITHM", "Parameters", "check", "estimate", "run"]
