"""A run that is stopped at any boundary goes on from there, on other ranks too, to the same answer, bit for bit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from hpcsolve.algorithms.base import NO_STOP, StopCriteria, silent
from hpcsolve.algorithms.held_karp.bounded import deadlines
from hpcsolve.algorithms.held_karp.bounded.deadlines import DeadlineProver
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.algorithms.shortest_paths.engines.phast import Shape
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints, Pace, Writer
from hpcsolve.checkpoint.saved import newest
from hpcsolve.checkpoint.store import take_lease
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import Stopped
from hpcsolve.problems.generate.graph import road_steiner
from hpcsolve.problems.generate.plane import road_graph
from hpcsolve.problems.generate.tsp import random_matrix, uniform_tsp
from hpcsolve.problems.tsp import batch_of
from tests.order_oracle import a_day
from tests.steiner_oracle import hypercube
from tests.thread_comm import on_ranks


@dataclass(frozen=True)
class Job:
    """A problem, the algorithm with its parameters, and how many boundaries the pieces between two stops have."""

    name: str
    problem: Any
    parameters: Mapping[str, Any]
    criteria: StopCriteria = NO_STOP
    patience: tuple[int, ...] = (1, 2, 5)

    @property
    def solver(self):
        """The algorithm."""
        return algorithm(self.name)

    def run(self, comm, checkpoints=NONE):
        """Return the outcome, or None if the run stopped without an answer."""
        try:
            return self.solver.solve(self.problem, HostDevice(1), comm, self.solver.parameters(**self.parameters),
                                   silent, self.criteria, 1, checkpoints)
        except Stopped:
            return None


ANTS = {"colonies": 4, "ants": 6, "migration": 3, "bound": False}
MANY = {"sources": list(range(1, 60))}
REDUCED = {"reduce": ["count", "nearest", "sum", "farthest", "access"], "cutoffs": [9000.0], "k": 2,
           "decays": [5000.0], "opportunities": [v / 8 for v in range(400)]}
DAY, QUESTION = a_day(12, 0, 150)
SOME = np.random.default_rng(3).integers(0, 400, (60, 2)).tolist()
JOBS = {
    "mmas": Job("ant-colony", uniform_tsp(40, seed=1), ANTS, StopCriteria(iterations=12), (1, 5)),
    "ant-system": Job("ant-colony", random_matrix(30), {**ANTS, "variant": "ant-system"}, StopCriteria(iterations=8),
                      (2,)),
    "stagnation": Job("ant-colony", uniform_tsp(40, seed=2), {"colonies": 2, "ants": 4, "local_search": "none"},
                      StopCriteria(stagnation=9), (2,)),  # better tours come after 1, 5, 9 and 12 iterations
    "tours": Job("edge-assembly", uniform_tsp(80, seed=1), {"population": 7}, StopCriteria(iterations=9), (1, 4)),
    "paired tours": Job("edge-assembly", random_matrix(30), {"population": 5}, patience=(2,)),
    "areas": Job("edge-assembly", uniform_tsp(700, seed=2), {"population": 4}, StopCriteria(iterations=3), (1, 2)),
    "symmetric": Job("held-karp", uniform_tsp(22, seed=3), {}, patience=(1, 9)),
    "asymmetric": Job("held-karp", random_matrix(21), {}, patience=(3, 30)),
    "latency": Job("held-karp", random_matrix(13), {"objective": "latency"}, patience=(2, 5)),
    "lexicographic": Job("held-karp", uniform_tsp(12, seed=4), {"objective": "lexicographic"}, patience=(1, 3)),
    "arcs": Job("held-karp", random_matrix(12), {"arcs": True}, patience=(3, 16)),
    "bounded": Job("held-karp", random_matrix(13), {"objective": "latency", "method": "bounded"}, patience=(2, 12)),
    "in time": Job("held-karp", replace(DAY, windows=QUESTION.windows), {"objective": "sum"}, patience=(4, 12)),
    "by deadlines": Job("held-karp", replace(DAY, windows=QUESTION.windows),
                        {"objective": "finish", "method": "bounded"}, patience=(4, 12)),
    "batch": Job("held-karp", batch_of([random_matrix(n, seed=n) for n in (5, 11, 8, 4, 9)], "some"),
                 {"objective": "latency"}, patience=(1, 4)),
    "rows": Job("shortest-paths", road_graph(400, seed=1), {**MANY, "predecessors": True, "engine": "near-far"}),
    "targets": Job("shortest-paths", road_graph(400, seed=1), {**MANY, "targets": [5, 9, 7], "engine": "near-far"}),
    "sweeps": Job("shortest-paths", road_graph(400, seed=1), {**MANY, "predecessors": True, "engine": "phast"}),
    "swept targets": Job("shortest-paths", road_graph(400, seed=1), {**MANY, "targets": [5, 9, 7], "engine": "auto"}),
    "reduced sweeps": Job("shortest-paths", road_graph(400, seed=1), {**MANY, **REDUCED, "engine": "phast"}),
    "reduced rows": Job("shortest-paths", road_graph(400, seed=1), {**MANY, **REDUCED, "engine": "near-far"},
                        patience=(2,)),
    "voronoi": Job("shortest-paths", road_graph(400, seed=1), {"sources": [5, 9, 7], "voronoi": True}),
    "queries": Job("shortest-paths", road_graph(400, seed=1), {"queries": [[1 + a, 1 + b] for a, b in SOME]}),
    "kmb": Job("steiner-kmb", road_steiner(300, 40, seed=2), {"mode": "kmb"}, patience=(1, 4)),
    "matrix": Job("steiner-kmb", road_steiner(300, 40, seed=2), {"mode": "kmb", "matrix": True}),
    "best": Job("steiner-kmb", hypercube(8, 60), {"mode": "best", "shakes": 2}, patience=(90, 131)),
    "starts": Job("steiner-kmb", hypercube(6, 30, high=110), {"mode": "best", "shakes": 1, "starts": 4},
                  patience=(150, 168, 180)),  # iterated 1-Steiner, ruin and recreate, recombination of trees
    "exact": Job("steiner-kmb", hypercube(6, 14, high=102), {"mode": "exact", "shakes": 0}, patience=(300,)),
}


def attempt(job, folder, patience, comm):
    """Go on with a job until the last rank has looked so many times whether to stop."""
    saved = newest(folder, comm, pytest.fail)  # type: ignore[arg-type]
    lease = take_lease(folder) if comm.rank == 0 else None
    looks = iter(range(10**9))

    def interrupted():
        return next(looks) + 1 >= patience and comm.rank == comm.size - 1

    writer = Writer(folder, comm, lease, "", saved)
    return job.run(comm, Checkpoints(interrupted, saved, writer, Pace(math.inf)))


def answer(outcomes):
    """Return the bytes of the answer of all ranks, and texts."""
    values = {name: np.asarray(column.values) for name, column in outcomes[0].solution.items()}
    columns = {name: found.tolist() if found.dtype.kind == "O" else found.tobytes() for name, found in values.items()}
    tables = {name: b"".join(outcome.rows[name].values.tobytes() for outcome in outcomes) for name in outcomes[0].rows}
    return {**columns, **tables}


@pytest.mark.parametrize("name", JOBS)
def test_stopped_again_and_again(name, tmp_path, monkeypatch):
    monkeypatch.setattr("hpcsolve.checkpoint.checkpoints.SECONDS_BETWEEN", 0.0)  # the ranks agree at each boundary
    small_batches(monkeypatch)
    job = JOBS[name]
    expected = answer(on_ranks(1, job.run))
    stops = 0
    for patience in job.patience:
        folder = tmp_path / str(patience)
        for ranks in cycle((3, 1, 2)):
            found = on_ranks(ranks, partial(attempt, job, folder, patience))
            if found[0] is not None and found[0].complete:
                break
            stops += 1
            assert stops < 400, "it never ends"
            patience += name in LAYERED  # a layer must end, or it is begun again
        assert answer(found) == expected
    assert stops > 0, "a test that never stops shows nothing"


def test_stopped_inside_the_sum_that_bounds_an_end(tmp_path, monkeypatch):
    """It begins anew, with the bounds and the order from before."""
    monkeypatch.setattr("hpcsolve.checkpoint.checkpoints.SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(deadlines, "SUM_WIDTH", 1)
    monkeypatch.setattr("hpcsolve.algorithms.held_karp.bounded.run.DeadlineProver", partial(DeadlineProver, width=1))
    ended, bound_by_sum = [], DeadlineProver._raise_by_sum

    def noted(self):
        bound_by_sum(self)
        ended.append(self._watch.ended)

    monkeypatch.setattr(DeadlineProver, "_raise_by_sum", noted)
    day, question = a_day(10, 19, 60)
    closing = replace(question.windows, earliest=question.windows.earliest * (np.arange(10) == 3))
    job = Job("held-karp", replace(day, windows=closing), {"objective": "finish", "method": "bounded"})
    expected = answer(on_ranks(1, job.run))
    assert ended == [""]
    for patience, ranks in zip(range(15, 10**9, 60), cycle((1, 2))):
        found = on_ranks(ranks, partial(attempt, job, tmp_path, patience))
        if found[0].complete:
            break
    assert answer(found) == expected
    assert "" in ended[1:] and any(why.startswith("interrupted") for why in ended)


def test_a_population_that_time_has_made_smaller_goes_on(tmp_path, monkeypatch):
    """No time is left for first tours, so each rank makes one at a time until there are the fewest."""
    monkeypatch.setattr("hpcsolve.checkpoint.checkpoints.SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr("hpcsolve.algorithms.edge_assembly.parameters.SECONDS_OF_FIRST_TOUR", 0.0)
    small_batches(monkeypatch)
    job = Job("edge-assembly", uniform_tsp(80, seed=1), {}, StopCriteria(seconds=1000.0, iterations=4))
    for ranks, tours in ((1, 5), (3, 6)):
        assert on_ranks(ranks, job.run)[0].ended.startswith(f"4 generations of {tours} tours done")
    found = on_ranks(3, partial(attempt, job, tmp_path, 5))
    assert not found[0].complete and "of 6 tours" in found[0].ended
    for ranks in (2, 1, 4):
        found = on_ranks(ranks, partial(attempt, job, tmp_path, 2))
        assert "of 6 tours" in found[0].ended
    assert found[0].complete
    assert answer(found) == answer(on_ranks(3, job.run))
    given = Job("edge-assembly", uniform_tsp(80, seed=1), {"population": 7}, StopCriteria(seconds=1000.0, iterations=4))
    assert "of 7 tours" in on_ranks(3, given.run)[0].ended, "a number that is given is kept"


LAYERED = ("batch", "symmetric", "asymmetric", "bounded", "in time", "exact")


def small_batches(monkeypatch):
    """Make many pieces of work out of small problems."""
    monkeypatch.setattr("hpcsolve.algorithms.held_karp.each.SECONDS_A_ROUND", 0.0)
    monkeypatch.setattr("hpcsolve.algorithms.shortest_paths.engines.single.rows_at_once", lambda *_: 4)
    monkeypatch.setattr("hpcsolve.algorithms.shortest_paths.reductions.SWEEPS_A_BATCH", 1)
    monkeypatch.setattr("hpcsolve.algorithms.shortest_paths.engines.phast.shape_for", lambda *_: Shape(16, 1))
    monkeypatch.setattr("hpcsolve.algorithms.shortest_paths.pairs.SOURCES_A_BATCH", 4)
    monkeypatch.setattr("hpcsolve.algorithms.shortest_paths.engines.tile.batch_of", lambda *_: 8)
    monkeypatch.setattr("hpcsolve.algorithms.edge_assembly.memory.CITIES_AT_ONCE", 1)
    monkeypatch.setattr("hpcsolve.algorithms.edge_assembly.parameters.MOST_WHOLE", 100)
    monkeypatch.setattr("hpcsolve.algorithms.edge_assembly.areas.AREA", 80)
    monkeypatch.setattr("hpcsolve.algorithms.edge_assembly.areas.FIRST_AT_ONCE", 1)
    monkeypatch.setattr("hpcsolve.algorithms.edge_assembly.parameters.FIRST_AREA", 150)
