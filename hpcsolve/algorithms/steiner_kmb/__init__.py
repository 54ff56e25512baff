"""Steiner trees: terminals of a graph joined by a light tree, with a certificate of how far it is from the lightest.

Kou, Markowsky and Berman (Acta Informatica 15, 1981) take a minimum spanning tree of the terminal distance graph
(metric closure) and replace its edges by shortest paths: at most 2 (1 - 1/k) times the optimum, after k searches. One
search finds a tree of the same weight (Mehlhorn 1988), and growing a tree from terminal to terminal (Takahashi and
Matsuyama 1980) costs no more and is far better, so `mode = "fast"` does that. Dual ascent (Wong 1984) proves for each
tree that it is within a few per cent of the optimum, where the published bound says twice.

Everything follows from the graph alone (in mode best, from the seed too): ties are broken by a total order of weights
and positions, so the tree is the same for any order of the edges in the file, on any number of ranks, on any device.

parameters.py   the job's table
reduce.py       exact reductions, and the original edges of what is left
network.py      a problem as the kernels on the CPU read it, and their launches
trees.py        trees by single searches (cuda_src/steiner/steiner_tree.cu)
key_path.py     local search by key-path exchange (key_path.cu)
dual_ascent.py  the lower bound (dual_ascent.cu)
kmb.py          the tree of Kou, Markowsky and Berman: a search for each terminal
order.py        the order of the terminals in these searches
matrix.py       the distances between all terminals
one_steiner.py  iterated 1-Steiner (one_steiner.cu): its rounds, shared by all ranks, are in rounds.py; the table of
                distances, of which each rank has columns, in node_table.py; the spanning tree of nodes in spanning.py
outcome.py      what a run gives back
solve.py        the runner's calls
"""

from hpcsolve.algorithms.base import Algorithm
from hpcsolve.algorithms.steiner_kmb.outcome import REDUCTIONS
from hpcsolve.algorithms.steiner_kmb.parameters import Parameters, asked
from hpcsolve.algorithms.steiner_kmb.solve import HOST_KERNEL_FILES, KERNEL_FILES, STOPS, can_stop, estimate, run
from hpcsolve.answers.dataset import datasets
from hpcsolve.answers.tree import TREE, Prices

ALGORITHM = Algorithm(
    "steiner-kmb", "steiner", (TREE,), Parameters, estimate, run, KERNEL_FILES, HOST_KERNEL_FILES, STOPS,
    tables={"prices": datasets(Prices), "reductions": REDUCTIONS}, can_stop=can_stop, asked=asked,
)

__all__ = ["ALGORITHM", "Parameters", "estimate", "run"]
