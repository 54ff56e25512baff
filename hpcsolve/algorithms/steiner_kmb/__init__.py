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
terminal_rows.py   searches from the terminals: their order, the engine, rows of distances and paths
kmb.py             mode kmb: the tree of Kou, Markowsky and Berman, by one search per terminal
study.py           mode kmb as published: searches to the last terminal, and the table of distances
reductions.py      the state of a search, and the graph made smaller by searches and bounds, for modes best and exact
nodes.py           the nodes of iterated 1-Steiner, their tree and their table of distances
one_steiner.py     iterated 1-Steiner
best.py            mode best: reductions, iterated 1-Steiner, ruin and recreate
subset_states.py   states of a program over sets of terminals, and its dual ascents
subset_program.py  the program
exact.py           mode exact: mode best, then the program
solve.py           what the runner calls: the plan of a run, the run, and a trial; mode fast is network.py
"""

from hpcsolve.algorithms.steiner_kmb.setting import Parameters
from hpcsolve.algorithms.steiner_kmb.solve import SteinerKmb

ALGORITHM = SteinerKmb()

__all__ = ["ALGORITHM", "Parameters"]
