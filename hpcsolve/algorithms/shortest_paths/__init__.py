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

from hpcsolve.algorithms.base import NO_STOP, Algorithm, Outcome, Plan, Report, StopCriteria, silent
from hpcsolve.algorithms.shortest_paths import solve
from hpcsolve.algorithms.shortest_paths.question import Parameters, PathStatement, statement
from hpcsolve.algorithms.trial import Trial
from hpcsolve.answers.distances import DISTANCES
from hpcsolve.answers.paths import PATHS
from hpcsolve.answers.reductions import REDUCTIONS
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph


class ShortestPaths(Algorithm):
    """Searches by Near-Far, or sweeps over a contraction hierarchy."""

    name, kind, answers, parameters = "shortest-paths", "graph", (DISTANCES, PATHS, REDUCTIONS), Parameters
    kernel_files, files, groups = solve.KERNEL_FILES, ("queries",), {"searches": solve.SEARCHES}

    def statement(self, problem: Graph, parameters: Parameters, to_check: bool = False) -> PathStatement:
        """Return which distances or paths are asked for."""
        return statement(problem, parameters, to_check)

    def plan(
        self, stated: PathStatement, ranks: int, info: DeviceInfo = ONE_CORE, criteria: StopCriteria = NO_STOP
    ) -> Plan:
        """Return the plan by searches, or by sweeps over a hierarchy."""
        return solve.plan(stated, ranks, info)

    def run(
        self, stated: PathStatement, device: Device, comm: Comm, report: Report = silent,
        criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE, method: str = "",
    ) -> Outcome:
        """Return distances or paths."""
        return solve.run(stated, device, comm, report, checkpoints)

    def trial(self, stated: PathStatement, criteria: StopCriteria, ranks: int, device: Device, seed: int) -> Trial:
        """Make some of the job's searches."""
        return solve.trial(stated, ranks, device)


ALGORITHM = ShortestPaths()

__all__ = ["ALGORITHM", "Parameters"]
