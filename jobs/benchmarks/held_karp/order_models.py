"""One solver on one instance, in a process of its own.

    python -m jobs.benchmarks.held_karp.order_models SOLVER KIND CITIES SECONDS GIBIBYTES

Prints the proven optimum and the CPU seconds as JSON. The models of the other programs are those that their own
documentation suggests for such problems, each with one thread.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.int64]
KINDS = {
    "tour": "tours in the plane", "directed": "tours, costs random, by direction",
    "precedence": "the same with n precedences", "latency": "latency in the plane",
    "position": "costs random, by place",
}


@dataclass(frozen=True)
class Asked:
    """A cycle from city 0, whose legs cost cost[k, i, j] each, weighted by how many arrivals are still to come.

    Attributes
    ----------
    cost
        Shape (n, n), or (n, n, n) with the costs of each leg.
    before
        Pairs of cities, the first of which comes first.
    latency
        Whether the sum of the times of arrival is asked for, the return's among them, and not the sum of the costs.
    """

    cost: Costs
    before: tuple[tuple[int, int], ...] = ()
    latency: bool = False


def instance(kind: str, n: int) -> Asked:
    """Return the instance of a kind with so many cities: one for each size, the same in every run."""
    rng = np.random.default_rng([n, list(KINDS).index(kind)])
    if kind in ("tour", "latency"):
        places = rng.integers(0, 1000, (n, 2))
        cost = np.rint(np.linalg.norm(places[:, None] - places, axis=2)).astype(np.int64)
        return Asked(cost, latency=kind == "latency")
    if kind == "position":
        return Asked(rng.integers(1, 1001, (n, n, n)))
    cost, order = rng.integers(1, 1001, (n, n)), 1 + rng.permutation(n - 1)
    if kind == "directed":
        return Asked(cost)
    pairs = {tuple(sorted(rng.choice(n - 1, 2, replace=False).tolist())) for _ in range(n)}
    return Asked(cost, tuple((int(order[a]), int(order[b])) for a, b in sorted(pairs)))


def hpcsolve(asked: Asked, kind: str) -> int:
    """Return the optimum, proven with method = "auto"."""
    import hpcsolve as package

    objective = {"latency": "latency", "position": "position"}.get(kind, "sum")
    keys: dict[str, object] = {"objective": objective, "before": [list(pair) for pair in asked.before]}
    with tempfile.TemporaryDirectory() as folder:
        cost = asked.cost
        if kind == "position":
            keys["costs"] = str(Path(folder) / "costs.npy")
            np.save(str(keys["costs"]), cost)
            cost = cost[0]
        if asked.before:
            keys["start"] = 0
        result = package.solve(cost, "held-karp", device="cpu", threads=1, **keys)
    if not result.contents.value("solution", "optimal"):
        raise SystemExit("not proven")
    return int(result.cost)


def cp_sat(asked: Asked, kind: str) -> int:
    """Return the optimum, proven by OR-tools' CP-SAT: a circuit of arcs, with times or ranks of the cities."""
    from ortools.sat.python import cp_model

    model, n = cp_model.CpModel(), len(asked.cost)
    if kind == "position":
        return _solved(model, _by_place(model, asked.cost))
    arcs = {(i, j): model.new_bool_var("") for i in range(n) for j in range(n) if i != j}
    model.add_circuit([(i, j, arc) for (i, j), arc in arcs.items()])
    if not asked.latency:
        if asked.before:
            rank = [model.new_int_var(0, n - 1, "") for _ in range(n)]
            for (i, j), arc in arcs.items():
                if j:
                    model.add(rank[j] == rank[i] + 1).only_enforce_if(arc)
            model.add(rank[0] == 0)
            for a, b in asked.before:
                model.add(rank[a] < rank[b])
        return _solved(model, sum(int(asked.cost[i, j]) * arc for (i, j), arc in arcs.items()))
    horizon = int(asked.cost.max(axis=1).sum())
    time_of, back = [model.new_int_var(0, horizon, "") for _ in range(n)], model.new_int_var(0, horizon, "")
    model.add(time_of[0] == 0)
    for (i, j), arc in arcs.items():
        model.add((time_of[j] if j else back) == time_of[i] + int(asked.cost[i, j])).only_enforce_if(arc)
    return _solved(model, sum(time_of) + back)


def _by_place(model: object, cost: Costs) -> object:
    """Return the objective of a path through places, one city at each and each city at one."""
    n = len(cost)
    cities = range(1, n)
    at = {(k, i): model.new_bool_var("") for k in range(1, n) for i in cities}
    for k in range(1, n):
        model.add_exactly_one(at[k, i] for i in cities)
        model.add_exactly_one(at[i, k] for i in cities)
    leg = {}
    for k in range(1, n - 1):
        for i in cities:
            for j in cities:
                if i != j:
                    leg[k, i, j] = model.new_bool_var("")
    for k in range(1, n - 1):
        for i in cities:
            model.add(sum(leg[k, i, j] for j in cities if j != i) == at[k, i])
            model.add(sum(leg[k, j, i] for j in cities if j != i) == at[k + 1, i])
    ends = sum(int(cost[0, 0, i]) * at[1, i] + int(cost[n - 1, i, 0]) * at[n - 1, i] for i in cities)
    return ends + sum(int(cost[k, i, j]) * var for (k, i, j), var in leg.items())


def _solved(model: object, objective: object) -> int:
    from ortools.sat.python import cp_model

    model.minimize(objective)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if solver.solve(model) != cp_model.OPTIMAL:
        raise SystemExit("not proven")
    return round(solver.objective_value)


def didppy(asked: Asked, kind: str) -> int:
    """Return the optimum, proven by DIDP's complete anytime beam search, with lower bounds from the cheapest arcs."""
    import didppy as dp

    n, by_place = len(asked.cost), asked.cost.ndim == 3
    model = dp.Model(maximize=False, float_cost=False)
    city = model.add_object_type(number=n)
    left = model.add_set_var(object_type=city, target=list(range(1, n)))
    here = model.add_element_var(object_type=city, target=0)
    least = asked.cost.min(axis=0) if by_place else asked.cost
    away = np.where(np.eye(n, dtype=bool), least.max(), least)
    table = model.add_int_table(asked.cost.tolist())
    to, leave = model.add_int_table(away.min(axis=0).tolist()), model.add_int_table(away.min(axis=1).tolist())
    place = model.add_element_var(object_type=model.add_object_type(number=n + 1), target=0) if by_place else None
    ahead = [model.create_set_const(object_type=city, value=[a for a, b in asked.before if b == j]) for j in range(n)]
    for j in [*range(1, n), 0]:
        cost = table[place, here, j] if by_place else table[here, j]
        if asked.latency:
            cost = cost * (left.len() + 1)
        effects = [(here, j)] + ([(left, left.remove(j))] if j else [])
        if by_place:
            effects.append((place, place + 1))
        ready = [left.contains(j)] if j else [left.is_empty(), here != 0]
        if j and any(b == j for _, b in asked.before):
            ready.append((ahead[j] & left).is_empty())
        model.add_transition(dp.Transition(name=str(j), cost=cost + dp.IntExpr.state_cost(), preconditions=ready,
                                           effects=effects))
    model.add_base_case([left.is_empty(), here == 0, *([place == n] if by_place else [])])
    away_from_0 = here != 0
    model.add_dual_bound(to[left] + away_from_0.if_then_else(to[0], 0))
    model.add_dual_bound(leave[left] + away_from_0.if_then_else(leave[here], 0))
    solution = dp.CABS(model, threads=1, quiet=True).search()
    if not solution.is_optimal:
        raise SystemExit("not proven")
    return int(solution.cost)


def python_tsp(asked: Asked, kind: str) -> int:
    """Return the optimum by python-tsp's dynamic programming, which knows plain tours alone."""
    from python_tsp.exact import solve_tsp_dynamic_programming

    if asked.cost.ndim == 3 or asked.before or asked.latency:
        raise SystemExit("no plain tour")
    return round(solve_tsp_dynamic_programming(np.where(np.eye(len(asked.cost), dtype=bool), 0, asked.cost))[1])


SOLVERS: dict[str, Callable[[Asked, str], int]] = {
    "hpcsolve": hpcsolve, "CP-SAT": cp_sat, "didppy": didppy, "python-tsp": python_tsp,
}


def main() -> int:
    """Solve one instance."""
    name, kind, cities, seconds, gibibytes = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    resource.setrlimit(resource.RLIMIT_AS, (gibibytes << 30, gibibytes << 30))
    asked = instance(kind, cities)
    __import__({"CP-SAT": "ortools.sat.python.cp_model", "python-tsp": "python_tsp.exact"}.get(name, name))
    if name == "hpcsolve":
        hpcsolve(instance(kind, 12), kind)  # compiles and loads the kernels of the lattice
        hpcsolve(instance(kind, 30), kind)  # and those of "bounded"
    begun = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(begun) + seconds, int(begun) + seconds + 1))
    optimum = SOLVERS[name](asked, kind)
    print(json.dumps({"optimum": optimum, "seconds": time.process_time() - begun}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
