"""Ant colonies: the exact Ant System of the literature, and MAX-MIN Ant System with local search, as many as wanted.

parameters.py   what the user asks, and what an instance does not allow
layout.py       an instance as the kernels have it: renumbered, 32-bit costs, nearest cities, the heuristic
fixed_point.py  trails as integers
ant_system.py   Ant System on a device (kernels: cuda_src/ant_head_tail.cu, ant_system.cu)
colonies.py     colonies over ranks: iterations, what they keep, when they stop
outcome.py      the best tour, a table of colonies with statistics, the history
solve.py        estimate and run
"""

from hpcsolve.algorithms.ant_colony.parameters import Parameters
from hpcsolve.algorithms.ant_colony.search import KERNEL_FILES
from hpcsolve.algorithms.ant_colony.solve import STOPS, estimate, run

KIND = "tsp"

__all__ = ["KERNEL_FILES", "KIND", "STOPS", "Parameters", "estimate", "run"]
