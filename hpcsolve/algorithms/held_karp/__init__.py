"""Held-Karp: the shortest tour, or the shortest open path through all cities, proven.

Dynamic programming over subsets (Bellman 1962; Held and Karp 1962): m (m - 1) 2^(m - 2) additions and comparisons for
m cities beside the depot, whatever the costs; so it is the method of choice up to some 30 cities a GPU or
workstation, for any cost matrix: symmetric or not, with forbidden arcs, open or closed, with a proof of infeasibility
where there is no tour. Memory is what limits it, and the subset lattice is split over the ranks so that each stores
1/R of it.

core.py      what the user asks -> one depot and m cities
reduce.py    costs -> 16- or 32-bit states, exactly
split.py     Low | Mid | Top cities; slices over ranks; chunks
plan.py      one rank's part: buffers, messages, to the byte
planes.py    the run: two waves that meet in the middle (kernels: cuda_src/held_karp.cu)
recover.py   the tour behind the meeting
compact.py   the study kernel: one table of all states
small.py     a table in numpy, for the smallest
bound.py     a quick tour, as an upper bound
"""

from hpcsolve.algorithms.base import Algorithm
from hpcsolve.algorithms.held_karp.core import Parameters, asked
from hpcsolve.algorithms.held_karp.outcome import LAYERS
from hpcsolve.algorithms.held_karp.solve import KERNEL_FILES, estimate, run, trial
from hpcsolve.answers.tour import TOUR

ALGORITHM = Algorithm(
    "held-karp", "tsp", (TOUR,), Parameters, estimate, run, KERNEL_FILES, tables={"layers": LAYERS}, asked=asked,
    trial=trial,
)

__all__ = ["ALGORITHM", "Parameters", "estimate", "run"]
