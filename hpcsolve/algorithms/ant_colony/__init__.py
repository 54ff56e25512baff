"""Ant colonies: the exact Ant System of the literature, and MAX-MIN Ant System with local search.

For one good tour there are better programs (README.md says which). These are for the study of ant colonies, and for
many independent colonies at once. What a colony finds depends on the seed and its own number alone, bit for bit, on any
number of ranks and threads and on any device. So all arithmetic is in integers (instance.py,
cuda_src/ants/pheromone.cuh), and random numbers are functions of (seed, colony, iteration, ant, step)
(cuda_src/device/philox.cuh).

parameters.py  what the user asks for, and the statement of a job, with what an instance does not allow
instance.py    an instance as the kernels have it, pheromone as integers, named buffers
ant_system.py  Ant System on a device (kernels: cuda_src/ants/head_tail.cu, ant_system.cu)
roulette.py    Ant System with tours constructed as published, for study (kernel: cuda_src/ants/roulette.cu)
max_min.py     MAX-MIN Ant System with local search on a device (kernels: cuda_src/ants/max_min.cu, tours/k_opt.cu)
colonies.py    colonies over ranks: iterations, incumbents, stop criteria, checkpoints
solve.py       the plan of a job, its run, and a trial of its time
"""

from hpcsolve.algorithms.ant_colony.parameters import Parameters
from hpcsolve.algorithms.ant_colony.solve import AntColony

ALGORITHM = AntColony()

__all__ = ["ALGORITHM", "Parameters"]
