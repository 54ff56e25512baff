"""Ant colonies: the exact Ant System of the literature, and MAX-MIN Ant System with local search, as many as wanted.

For one good tour there are better programs (README.md says which). These are for the study of ant colonies, and for
many independent colonies at once: what a colony finds depends on the seed and its own number alone, bit for bit, on
any number of ranks and threads and any device. So all arithmetic is in integers (fixed_point.py,
cuda_src/ant_trails.cuh), and random numbers are functions of (seed, colony, iteration, ant, step)
(cuda_src/philox.cuh).

parameters.py    what the user asks, and what an instance does not allow
layout.py        an instance as the kernels have it: renumbered, 32-bit costs, nearest cities, the heuristic
fixed_point.py   trails as integers
buffers.py       named buffers, whose shapes say what a run takes
ant_system.py    Ant System on a device (kernels: cuda_src/ant_head_tail.cu, ant_group.cu, ant_system.cu)
mmas.py          MAX-MIN Ant System on a device (kernels: cuda_src/ant_candidates.cu)
local_search.py  every tour improved (kernels: cuda_src/local_search.cu)
search.py        the one of them that the parameters ask for
colonies.py      colonies over ranks: iterations, what they keep, when they stop
outcome.py       the best tour, a table of colonies with statistics, the history
solve.py         estimate and run
"""

from hpcsolve.algorithms.ant_colony.outcome import COLONIES, HISTORY
from hpcsolve.algorithms.ant_colony.parameters import Parameters
from hpcsolve.algorithms.ant_colony.search import KERNEL_FILES
from hpcsolve.algorithms.ant_colony.solve import STOPS, estimate, run, trial
from hpcsolve.algorithms.base import Algorithm
from hpcsolve.answers.tour import TOUR

ALGORITHM = Algorithm(
    "ant-colony", "tsp", (TOUR,), Parameters, estimate, run, KERNEL_FILES, stops=STOPS,
    tables={"colonies": COLONIES, "history": HISTORY}, trial=trial,
)

__all__ = ["ALGORITHM", "Parameters", "estimate", "run"]
