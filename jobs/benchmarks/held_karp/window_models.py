"""One solver on one file with time windows, in a process of its own.

    python -m jobs.benchmarks.held_karp.window_models SOLVER OBJECTIVE FILE SECONDS GIBIBYTES

Prints the best value, the lower bound, whether they are equal and the CPU seconds as JSON. All have the same integers,
one thread, and so many seconds of wall-clock time. The model for DIDP is that of R. Kuroiwa and J. C. Beck (Solving
domain-independent dynamic programming problems with anytime heuristic search, ICAPS 2023), written anew, with one more
bound of the time of the end: a city that opens late is still to come. CP-SAT has a circuit of arcs, each with a
literal, and times of the cities. PyVRP, a heuristic without bounds, has one vehicle, and takes sums alone.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hpcsolve.formats import read
from hpcsolve.problems.rounding import NO_ARC
from hpcsolve.problems.tsp import Tsp

LATE_OPENERS = 3
"""Cities whose opening bounds the time of the end in the model of DIDP."""


class Found(NamedTuple):
    """The best value and the lower bound in scaled integers, None where there is none."""

    value: int | None
    bound: int | None
    proven: bool


def by_hpcsolve(tsp: Tsp, objective: str, seconds: float) -> Found:
    """Solve by bounds, whatever the number of cities."""
    import hpcsolve

    result = hpcsolve.solve(tsp, "held-karp", objective=objective, method="bounded", device="cpu", threads=1,
                            stop={"seconds": seconds})
    value, bound = result.contents.value("solution", "cost"), result.contents.value("solution", "lower_bound")
    return Found(int(value), int(value if bound is None else bound), bool(result.optimal))


def by_cp_sat(tsp: Tsp, objective: str, seconds: float) -> Found:
    """Solve by OR-tools' CP-SAT."""
    from ortools.sat.python import cp_model

    (cost, earliest, latest), n, model = _numbers(tsp), tsp.n, cp_model.CpModel()
    begin = [model.new_int_var(earliest[i], latest[i] if i else earliest[i], "") for i in range(n)]
    end, arcs, terms = model.new_int_var(earliest[0], latest[0], ""), [], []
    for i in range(n):
        for j in range(n):
            if i != j and (j == 0 or earliest[i] + cost[i][j] <= latest[j]):
                arc = model.new_bool_var("")
                arcs.append((i, j, arc))
                terms.append(cost[i][j] * arc)
                model.add((begin[j] if j else end) >= begin[i] + cost[i][j]).only_enforce_if(arc)
    model.add_circuit(arcs)
    model.minimize(sum(terms) if objective == "sum" else end)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, seconds
    status = solver.solve(model)
    value = round(solver.objective_value) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
    return Found(value, round(solver.best_objective_bound), status == cp_model.OPTIMAL)


def by_didp(tsp: Tsp, objective: str, seconds: float) -> Found:
    """Solve by DIDP's complete anytime beam search."""
    import didppy as dp

    (cost, earliest, latest), n = _numbers(tsp), tsp.n
    shortest = np.array(cost)
    for middle in range(1, n):
        shortest = np.minimum(shortest, shortest[:, middle][:, None] + shortest[middle])
    model = dp.Model()
    city = model.add_object_type(number=n)
    left = model.add_set_var(object_type=city, target=list(range(1, n)))
    here = model.add_element_var(object_type=city, target=0)
    now = model.add_int_resource_var(target=earliest[0], less_is_better=True)
    costs, ways = model.add_int_table(cost), model.add_int_table(shortest.tolist())
    for j in range(1, n):
        model.add_state_constr(~left.contains(j) | (now + ways[here, j] <= latest[j]))
        served = dp.max(now + costs[here, j], earliest[j])
        spent = costs[here, j] if objective == "sum" else dp.max(served - now, 0)
        model.add_transition(dp.Transition(
            name=str(j), cost=spent + dp.IntExpr.state_cost(),
            effects=[(left, left.remove(j)), (here, j), (now, served)],
            preconditions=[left.contains(j), now + costs[here, j] <= latest[j]]))
    back = costs[here, 0]
    model.add_transition(dp.Transition(
        name="0", cost=back + dp.IntExpr.state_cost(), effects=[(here, 0), (now, now + back)],
        preconditions=[left.is_empty(), here != 0, now + back <= latest[0]]))
    model.add_base_case([left.is_empty(), here == 0])
    away = np.where(np.eye(n, dtype=bool), np.array(cost).max(), cost)
    to, leave = model.add_int_table(away.min(axis=0).tolist()), model.add_int_table(away.min(axis=1).tolist())
    model.add_dual_bound((here != 0).if_then_else(to[left] + to[0], 0))
    model.add_dual_bound((here != 0).if_then_else(leave[left] + leave[here], 0))
    if objective == "finish":
        last = [earliest[j] + int(shortest[j, 0]) for j in range(n)]
        for j in sorted(range(1, n), key=lambda j: -last[j])[:LATE_OPENERS]:
            model.add_dual_bound(left.contains(j).if_then_else(dp.max(last[j] - now, 0), 0))
    found = dp.CABS(model, time_limit=seconds, quiet=True, threads=1).search()
    before = earliest[0] if objective == "finish" else 0
    return Found(None if found.cost is None else found.cost + before,
                 None if found.best_bound is None else found.best_bound + before, bool(found.is_optimal))


def by_pyvrp(tsp: Tsp, objective: str, seconds: float) -> Found:
    """Solve by PyVRP's iterated local search."""
    from pyvrp import Model
    from pyvrp.stop import MaxRuntime

    if objective != "sum":
        return Found(None, None, False)
    (cost, earliest, latest), n, model = _numbers(tsp), tsp.n, Model()
    places = [model.add_location(0, 0) for _ in range(n)]
    model.add_depot(places[0], tw_early=earliest[0], tw_late=latest[0])
    model.add_vehicle_type(1, tw_early=earliest[0], tw_late=latest[0])
    for j in range(1, n):
        model.add_client(places[j], tw_early=earliest[j], tw_late=latest[j])
    for i in range(n):
        for j in range(n):
            if i != j:
                model.add_edge(places[i], places[j], distance=cost[i][j], duration=cost[i][j])
    found = model.solve(MaxRuntime(seconds), seed=1, display=False)
    return Found(int(found.cost()) if found.is_feasible() else None, None, False)


def _numbers(tsp: Tsp) -> tuple[list[list[int]], list[int], list[int]]:
    """Return travelling times, 0 on the diagonal, and the windows, of an instance whose services are in the times."""
    assert tsp.windows is not None and not tsp.windows.service.any()
    horizon = int(tsp.windows.earliest.max()) + int(tsp.cost[tsp.cost != NO_ARC].max()) * tsp.n
    cost = np.where(np.eye(tsp.n, dtype=bool), 0, np.minimum(tsp.cost, horizon))
    return cost.tolist(), tsp.windows.earliest.tolist(), np.minimum(tsp.windows.latest, horizon).tolist()


SOLVERS: dict[str, Callable[[Tsp, str, float], Found]] = {
    "hpcsolve": by_hpcsolve, "didppy": by_didp, "CP-SAT": by_cp_sat, "PyVRP": by_pyvrp}


def main() -> int:
    """Solve one file."""
    name, objective, file, seconds, gibibytes = *sys.argv[1:4], float(sys.argv[4]), int(sys.argv[5])
    resource.setrlimit(resource.RLIMIT_AS, (gibibytes << 30, gibibytes << 30))
    tsp = read(file).problem
    __import__({"CP-SAT": "ortools.sat.python.cp_model", "PyVRP": "pyvrp"}.get(name, name))
    if name == "hpcsolve":
        _load_kernels(objective)
    begun = time.process_time()
    found = SOLVERS[name](tsp, objective, seconds)
    print(json.dumps({**found._asdict(), "scale": tsp.scale, "seconds": time.process_time() - begun}))
    return 0


def _load_kernels(objective: str) -> None:
    """Compile and load the kernels, by solving a small instance with windows."""
    import hpcsolve

    n = 12
    windows = [(0, 10_000 if j % 2 else 2_000) for j in range(n)]
    hpcsolve.solve(np.arange(n * n).reshape(n, n) % 97 + 1, "held-karp", objective=objective, method="bounded",
                   windows=windows, device="cpu", threads=1)


if __name__ == "__main__":
    sys.exit(main())
