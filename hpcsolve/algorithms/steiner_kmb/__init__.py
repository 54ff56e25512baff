"""Light trees that join the terminals of a graph, with a certificate of how far they are from the lightest one.

Kou, Markowsky and Berman (Acta Informatica 15, 1981) take a minimum spanning tree of the terminal distance graph
(metric closure) and replace its edges by shortest paths: at most 2 (1 - 1/k) times the optimum, after k searches. One
search finds a tree of the same weight (Mehlhorn 1988). Growing a tree from terminal to terminal (Takahashi and
Matsuyama 1980) takes no longer and gives a lighter one, so `mode = "fast"` does that. Dual ascent (Wong 1984) gives a
lower bound, which usually proves a tree to be within a few per cent of the optimum, where the published bound says
twice.

The tree follows from the graph alone (in mode best, from the seed too). Ties are broken by a total order of weights and
positions, so the tree is the same for any order of the edges in the file, number of ranks, and device.

setting.py         the job's table, and what a run works with on each rank
reduced_graph.py   the graph made smaller, for every mode
network.py         a problem as the functions of cuda_src/host read it, trees by single searches, local search
bounds.py          lower bounds, and what dual ascents say about edges
terminal_rows.py   rows of distances from the terminals: their order, and the engine
kmb.py             mode kmb: the tree of Kou, Markowsky and Berman, by one search per terminal
reductions.py      the state of a search, and the graph made smaller by searches and bounds, for modes best and exact
nodes.py           the nodes of iterated 1-Steiner, their tree and their table of distances
one_steiner.py     iterated 1-Steiner
best.py            mode best: reductions, iterated 1-Steiner, ruin and recreate
subset_states.py   states of a program over sets of terminals, and its dual ascents
subset_program.py  the program
exact.py           mode exact: mode best, then the program
solve.py           what the runner calls; mode fast is network.py
estimate.py        the memory and the time of a run
"""

from typing import Any, ClassVar

from hpcsolve.algorithms.base import NO_STOP, Algorithm, Outcome, Plan, Report, StopCriteria, silent
from hpcsolve.algorithms.shortest_paths.engines import AUTO, BLOCK, GRID, PHAST, TILE, engine_named
from hpcsolve.algorithms.shortest_paths.engines import kernel_files as files_of_engines
from hpcsolve.algorithms.steiner_kmb import estimate, exact, solve
from hpcsolve.algorithms.steiner_kmb.setting import Parameters, TreeStatement
from hpcsolve.algorithms.trial import Trial
from hpcsolve.answers.base import Verdict
from hpcsolve.answers.contents import Contents, datasets
from hpcsolve.answers.tree import TREE, Prices, TreeQuestion
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.steiner import largest_weight


class SteinerKmb(Algorithm):
    """Steiner trees by growing, by Kou, Markowsky and Berman, by iterated 1-Steiner, or exactly."""

    name, kind, answers, parameters = "steiner-kmb", "steiner", (TREE,), Parameters
    kernel_files = solve.KERNEL_FILES
    groups: ClassVar = {"prices": datasets(Prices), "reductions": solve.REDUCTIONS, "history": solve.HISTORY,
                        "layers": solve.LAYERS}

    def kernels_of(
        self, parameters: Parameters, instance: str | dict[str, Any], criteria: StopCriteria
    ) -> tuple[str, ...]:
        """Return the kernel files of a job: mode fast searches on the CPU alone, the others by rows and one by one."""
        if parameters.mode == "fast":
            return solve.HOST_FILES
        named = engine_named(parameters.engine)
        rows = (TILE, PHAST) if parameters.engine == AUTO else () if named is None else (named,)
        return (*solve.HOST_FILES, *files_of_engines((*rows, BLOCK, GRID)))

    def largest_cost(self, n: int, edges: int) -> int:
        """Return the largest weight with which the sum of all edges stays below 2^62."""
        return largest_weight(n, edges)

    def statement(self, problem: Graph, parameters: Parameters, to_check: bool = False) -> TreeStatement:
        """Return the statement. Raises `InputError` if `matrix` is set in a mode that makes none."""
        if parameters.matrix and parameters.mode != "kmb":
            raise InputError(f'steiner-kmb.matrix: mode "{parameters.mode}" makes no matrix; set mode = "kmb"')
        return TreeStatement(problem, parameters, TreeQuestion(parameters.matrix))

    def plan(
        self, stated: TreeStatement, ranks: int, info: DeviceInfo = ONE_CORE, criteria: StopCriteria = NO_STOP
    ) -> Plan:
        """Return what the mode needs. Raises `InputError` if the graph's terminals cannot be joined."""
        return estimate.plan(stated, ranks, info)

    def run(
        self, stated: TreeStatement, device: Device, comm: Comm, report: Report = silent,
        criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE, method: str = "",
    ) -> Outcome:
        """Return a Steiner tree with its certificate."""
        return solve.run(stated, device, comm, report, criteria, seed, checkpoints)

    def trial(self, stated: TreeStatement, criteria: StopCriteria, ranks: int, device: Device, seed: int) -> Trial:
        """Run mode fast and, for mode kmb, make some searches."""
        return estimate.trial(stated, criteria, ranks, device, seed)

    def again(self, stated: TreeStatement, contents: Contents) -> Verdict:
        """Return the verdict of a second search with other roots and fewer reductions."""
        return exact.search_again(stated, contents)


ALGORITHM = SteinerKmb()

__all__ = ["ALGORITHM", "Parameters"]
