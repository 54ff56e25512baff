"""Steiner trees: terminals of a graph joined by a light tree, with a certificate of how far it is from the lightest.

Kou, Markowsky and Berman (Acta Informatica 15, 1981) span the complete graph of the terminals' distances by a tree and
put shortest paths in the place of its edges: at most 2 (1 - 1/k) times the optimum, after k searches. One search finds
a tree of the same weight (Mehlhorn 1988), and growing a tree from terminal to terminal (Takahashi and Matsuyama 1980)
costs no more and is far better; so that is what `mode = "fast"` does. Dual ascent (Wong 1984) shows for each tree that
it is within a few per cent, where the published bound says 2.

Everything follows from the graph alone (in mode best, from the seed too): of equals the one that comes first, by a
total order of weights and positions, so the tree is the same for any order of the edges in the file, on any number of
ranks, on any device.

parameters.py  what the user asks
reduce.py      exact reductions, and the way back
network.py     a problem as the kernels read it (cuda_src/steiner_tree.cu)
trees.py       trees from single searches
kmb.py         the tree of Kou, Markowsky and Berman, one search a terminal
tile.py        32 searches at once (cuda_src/tile.cu); pull.py  p at once (cuda_src/p_sssp.cu); rows.py  one of them
order.py       who is searched from together
matrix.py      the distances between all terminals
exchange.py    local search (cuda_src/key_path.cu)
best.py        iterated 1-Steiner on a table of distances (cuda_src/one_steiner.cu)
rounds.py      its rounds, which all ranks share
table.py       the table, of which each rank has a slice
spanning.py    the nodes' spanning tree, on rank 0
bound.py       the lower bound (cuda_src/dual_ascent.cu)
outcome.py     what a run gives back
solve.py       the runner's calls
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
