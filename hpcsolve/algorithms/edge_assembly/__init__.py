"""Edge assembly: a population of tours, each improved by the edges of another.

The method is that of Nagata and Kobayashi (INFORMS Journal on Computing 25, 346-363, 2013): tours of a local search are
recombined by edge assembly crossover, and children are chosen by gain over loss of entropy. Where costs are asymmetric,
AB-cycles are directed (Nagata and Soler, Expert Systems with Applications 39, 8947-8953, 2012): a city is two nodes,
which a fixed edge joins. First tours are made by quick Boruvka (Applegate, Cook and Rohe, INFORMS Journal on Computing
15, 82-92, 2003), and improved by k-exchanges. Large instances are improved area by area, with the tour outside held.

With a given population and no time limit, what is found depends on the job alone, bit for bit, on any number of ranks
and threads and on any device: all decisions compare integers, and random numbers are keyed by seed, generation and
pair.

parameters.py  what the user asks for, and the statement of a job
few.py         all tours of a few cities
first_tours.py the tours that a population begins with
population.py  a population over ranks, and its generations (functions: cuda_src/host/edge_assembly.cpp)
areas.py       one large tour, and its rounds of areas (functions: cuda_src/host/areas.cpp)
setting.py     what both work with
outcome.py     the loop over generations or rounds: stop criteria, history, checkpoints, answer
memory.py      the bytes of a run, by phases
solve.py       the plan of a job, its run, and a trial of its time
"""

from hpcsolve.algorithms.edge_assembly.parameters import Parameters
from hpcsolve.algorithms.edge_assembly.solve import WHOLE_TOUR_FILES, EdgeAssembly

ALGORITHM = EdgeAssembly()

__all__ = ["ALGORITHM", "WHOLE_TOUR_FILES", "Parameters"]
