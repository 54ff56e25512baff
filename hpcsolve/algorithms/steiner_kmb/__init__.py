"""Light trees that join the terminals of a graph, with a certificate of how far they are from the lightest one.

Kou, Markowsky and Berman (Acta Informatica 15, 1981) take a minimum spanning tree of the terminal distance graph
(metric closure) and replace its edges by shortest paths: at most 2 (1 - 1/k) times the optimum, after k searches. One
search finds a tree of the same weight (Mehlhorn 1988). Growing a tree from terminal to terminal (Takahashi and
Matsuyama 1980) takes no longer and gives a lighter one, so `mode = "fast"` does that. Dual ascent (Wong 1984) gives a
lower bound, which usually proves a tree to be within a few per cent of the optimum, where the published bound says
twice.

The tree follows from the graph alone (in mode best, from the seed too). Ties are broken by a total order of weights and
positions, so the tree is the same for any order of the edges in the file, number of ranks, and device.

Modes kmb, best and exact have a folder each; mode fast is trees.py, then key_path.py:

parameters.py   the job's table
solve.py        what the runner calls
network.py      a problem as the functions of cuda_src/host read it
trees.py        trees by single searches (cuda_src/host/steiner_tree.cpp)
key_path.py     local search by key-path exchange (cuda_src/host/tree_moves.cpp)
dual_ascent.py  the lower bound (cuda_src/host/dual_ascent.cpp)
reductions/     the graph made smaller: for every mode (simple.py), and by searches and bounds for modes best and exact
kmb/            mode kmb: the tree of Kou, Markowsky and Berman, by one search per terminal
best/           mode best: reductions, iterated 1-Steiner, ruin and recreate
exact/          mode exact: then a program over sets of terminals (cuda_src/host/subset_program.cpp)
order.py        the order of the terminals in searches from all of them
row_choice.py   the engine of these searches
outcome.py      what a run returns
memory.py       the memory of a run
trial.py        the time of a job, from mode fast and some searches
"""

from hpcsolve.algorithms.base import Algorithm
from hpcsolve.algorithms.steiner_kmb.exact.again import search_again
from hpcsolve.algorithms.steiner_kmb.outcome import HISTORY, LAYERS, REDUCTIONS
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters, asked
from hpcsolve.algorithms.steiner_kmb.solve import (
    KERNEL_FILES,
    STOPS,
    can_resume,
    can_stop,
    estimate,
    files_of,
    run,
)
from hpcsolve.algorithms.steiner_kmb.trial import trial
from hpcsolve.answers.contents import datasets
from hpcsolve.answers.tree import TREE, Prices
from hpcsolve.problems.steiner import fits, largest_weight

ALGORITHM = Algorithm(
    "steiner-kmb", "steiner", (TREE,), Parameters, estimate, run, trial, KERNEL_FILES, STOPS,
    groups={"prices": datasets(Prices), "reductions": REDUCTIONS, "history": HISTORY, "layers": LAYERS},
    can_stop=can_stop, asked=asked, again=search_again, can_resume=can_resume, largest_cost=largest_weight,
    fits=lambda graph, parameters: fits(graph), files_needed=files_of,
)

__all__ = ["ALGORITHM", "Parameters", "estimate", "run"]
