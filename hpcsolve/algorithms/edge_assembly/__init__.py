"""Edge assembly: a population of k-opt tours, each improved by the edges of another.

parameters.py  what the user asks for, and the statement of a job
solve.py       the plan of a job, its run, and a trial of its time
"""

from hpcsolve.algorithms.edge_assembly.parameters import Parameters
from hpcsolve.algorithms.edge_assembly.solve import EdgeAssembly

ALGORITHM = EdgeAssembly()

__all__ = ["ALGORITHM", "Parameters"]
