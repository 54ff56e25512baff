"""Held-Karp: a shortest tour, or a shortest open path through all cities, with a proof.

Dynamic programming over subsets (Bellman 1962; Held and Karp 1962): m (m - 1) 2^(m - 2) additions and comparisons for m
cities beside the depot, whatever the costs. So it is the method of choice up to some 30 cities on a GPU or a
workstation, for any cost matrix: symmetric or not, with forbidden arcs, for tours and open paths; where there is no
tour it proves that there is none. Memory is its limit. The subset lattice is split over R ranks, so that each stores
1/R of it.

The methods differ in the states that they keep: lattice/ and orders/ have all of them, bounded/ those that a lower
bound does not prove useless, batch.py solves many small instances at once. The rest is for all methods:

question.py  the keys of a job, and the question that they state
problem.py   the one statement of every objective and constraint: a depot and m cities
solve.py     which method solves a job, `estimate` and `run` of a job, its kernel files, and `trial`
outcome.py   what a run leaves in the result file
lattice/     plain sums: all states in two tables that meet in the middle
orders/      all other objectives and constraints: all states in one table
bounded/     states that a lower bound proves useless are dropped (kernels: bounds.cu, layers.cu, descent.cu)
batch.py     many small instances at once (kernel: batch.cu)
"""

from hpcsolve.algorithms.base import Algorithm
from hpcsolve.algorithms.held_karp.lattice.run import largest_cost
from hpcsolve.algorithms.held_karp.outcome import LAYERS
from hpcsolve.algorithms.held_karp.question import FILE_KEYS, Parameters, asked
from hpcsolve.algorithms.held_karp.solve import KERNEL_FILES, estimate, files_of, fits, is_bounded, run, trial
from hpcsolve.answers.tour import TOUR
from hpcsolve.answers.tours import TOURS

ALGORITHM = Algorithm(
    "held-karp", "tsp", (TOUR, TOURS), Parameters, estimate, run, trial, KERNEL_FILES, groups={"layers": LAYERS},
    asked=asked, largest_cost=largest_cost, fits=fits, file_keys=FILE_KEYS, batches=True,
    stops=("memory", "seconds", "target"), can_stop=lambda parameters, key: parameters.method != "lattice",
    may_end_early=is_bounded,
    can_resume=lambda parameters: parameters.layout == "planes", files_needed=files_of,
)

__all__ = ["ALGORITHM", "Parameters", "estimate", "run"]
