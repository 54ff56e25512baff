"""Shortest paths from many sources at once, exact and the same on every device.

A search is a Near-Far search (Davidson, Baxter, Garland, Owens, IPDPS 2014) by one block of threads, so that a GPU
works on hundreds of sources at a time and a CPU core on one; the sources are dealt to the ranks in blocks. Distances
are exact integers (or floats, added in the order of the path), widened where they would not fit. Predecessors follow
from the distances afterwards, the smallest one that fits, so no schedule changes them.

Tables from many sources go through a contraction hierarchy if that pays (engines/phast.py): the graph is contracted
once, and then a sweep over it finds the distances from up to 64 sources at a time, in a twentieth of the time of
searches.

question.py      the job's table, and what it asks of a graph
search_graph.py  a graph as the kernels read it, with distances as keys
searches.py      searches on a device: a batch, the graph, and room for the answers
engines/         the search engines: a record each, and how they are tuned and launched
choice.py        the choice between searches and a hierarchy, and the graph on the device in that way
tables.py        the answer to sources: tables of distances, and their checkpoints
reductions.py    reductions of tables on the device: counts, nearest and farthest targets, sums
pairs.py         the answer to queries: paths between pairs of vertices, and their checkpoints
solve.py         what the runner calls: the plan of a run, the run, and a trial of its time
"""

from hpcsolve.algorithms.shortest_paths.question import Parameters
from hpcsolve.algorithms.shortest_paths.solve import ShortestPaths

ALGORITHM = ShortestPaths()

__all__ = ["ALGORITHM", "Parameters"]
