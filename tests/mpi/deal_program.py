"""Program that test_deal.py starts on any number of ranks. It deals all rows of the bounds, and prints the proof."""

import hashlib
import sys
from functools import partial

import numpy as np

from hpcsolve.algorithms.held_karp.bounded import prove
from hpcsolve.algorithms.held_karp.bounded.places import place_costs
from hpcsolve.algorithms.held_karp.bounded.relaxation import Deal
from hpcsolve.algorithms.held_karp.bounded.search import Budget
from hpcsolve.device.host import HostDevice
from hpcsolve.parallel.launch import guard

CITIES, LEVELS = 11, (5, 7)


class Noted(prove.Relaxation):
    """A relaxation that notes all bounds and the arcs that are left, each time that arcs have been removed."""

    all_tables = hashlib.sha256()

    def fix(self, limit):
        """Remove arcs."""
        bounds = self.buffers["bounds"].view(self.layer, self.problem.cities * self.layer).download()
        left = super().fix(limit)
        for array in (bounds, self.scaled):
            self.all_tables.update(array.tobytes())
        return left


def main(comm):
    before = np.zeros((CITIES, CITIES), bool)
    before[[3, 9], [7, 1]] = True
    problem = place_costs(np.random.default_rng(5).integers(0, 30, (CITIES + 1,) * 3), before)
    prove.Deal, prove.Relaxation = partial(Deal, work=0), Noted
    with HostDevice(threads=1) as device:
        prover = prove.Prover(problem, device, comm, Budget(10**6, 10**6), levels=LEVELS, rounds=3)
        proof = prover.run()
    found = (proof.value, proof.order, proof.states, Noted.all_tables.hexdigest())
    assert proof.optimal and comm.allgather(found) == [found] * comm.size
    assert (prover.deal.bytes_sent > 0) == (comm.size > 1)
    if comm.rank == 0:
        sys.stdout.write(f"{found}\n")
    return 0


sys.exit(guard(main))
