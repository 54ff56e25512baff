"""Held-Karp: a shortest tour, or a shortest open path through all cities, with a proof.

Dynamic programming over subsets (Bellman 1962; Held and Karp 1962): m (m - 1) 2^(m - 2) additions and comparisons for m
cities beside the depot, whatever the costs. So it is the method of choice up to some 30 cities on a GPU or a
workstation, for any cost matrix: symmetric or not, with forbidden arcs, for tours and open paths; where there is no
tour it proves that there is none. Memory is its limit. The subset lattice is split over R ranks, so that each stores
1/R of it.

The methods differ in the states that they keep: lattice/ and orders/ have all of them, bounded/ those that a lower
bound does not prove useless. Of a batch one rank solves each instance. The rest is for all methods:

statement.py the keys of a job, the question that they state, and which method can solve it
problem.py   the one form of every objective and constraint, a depot and m cities; the tie rule
solve.py     the plan of a job, its run, its kernel files, and a trial of its time
outcome.py   what a run leaves in the result file
lattice/     plain sums: all states in two tables that meet in the middle
orders/      all other objectives and constraints: all states in one table
bounded/     states that a lower bound proves useless are dropped (kernels: bounds.cu, layers.cu, descent.cu)
each.py      the plan and the run of a batch: each instance by its own method, or by the kernel of batch.py
batch.py     plain sums of many small instances at once (kernel: batch.cu)
"""

from hpcsolve.algorithms.held_karp.solve import HeldKarp
from hpcsolve.algorithms.held_karp.statement import Parameters

ALGORITHM = HeldKarp()

__all__ = ["ALGORITHM", "Parameters"]
