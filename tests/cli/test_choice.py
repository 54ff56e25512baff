"""The method that is chosen when nobody names one: at the edges of each limit, and that each reason is true."""

import os
import re
from dataclasses import replace

import networkx
import numpy as np
import pytest

import hpcsolve
from hpcsolve.algorithms.ant_colony.parameters import MOST_CITIES
from hpcsolve.algorithms.ant_colony.solve import device_bytes
from hpcsolve.algorithms.held_karp.problem import MOST_INNER_CITIES
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.device.base import DeviceInfo
from hpcsolve.device.select import Gpu
from hpcsolve.errors import InputError
from hpcsolve.job import job_from_table
from hpcsolve.problems.generate.graph import road_steiner
from hpcsolve.problems.generate.tsp import random_matrix, uniform_tsp
from hpcsolve.problems.tsp import from_costs
from hpcsolve.problems.windows import Windows
from hpcsolve.runner.method import (
    MOST_PROVEN,
    RATE,
    SECONDS,
    STAGNATION,
    Method,
    Resources,
    as_named,
    method_for,
    resources_here,
)
from hpcsolve.wording import counted
from tests.oracles import brute_force
from tests.solvers import plan_of

ALONE = Resources(memory=1 << 40)


def need(problem, name, ranks=1, **keys):
    """Return the bytes that a rank needs."""
    solver = algorithm(name)
    return max(plan_of(solver, problem, solver.parameters(**keys), ranks).needed)


def chosen(problem, resources=ALONE, keys=(), stop=()):
    """Return what is chosen, after a look at the reason."""
    method = method_for(problem, resources, keys, stop)
    require_true(method, problem, resources, keys, stop)
    table = {"algorithm": method.algorithm, "instance": "a", "output": "b", "stop": dict(method.stop),
             method.algorithm: dict(method.keys)}
    assert job_from_table(table).settings.algorithm == method.algorithm  # a job that is allowed
    return method.algorithm, dict(method.keys), dict(method.stop)


def require_true(method, problem, resources, keys, stop):
    """Fail unless the reason is one of those known here, and is true."""
    memory, reason = resources.memory, method.reason
    if found := re.fullmatch(r"since (\d+) (city is|cities are) few enough for a proof of the optimum", reason):
        assert int(found[1]) == problem.n and (found[2] == "city is") == (problem.n == 1)
        assert memory is None or need(problem, "held-karp", resources.ranks, method="lattice") <= memory
    elif found := re.fullmatch(r"since bounds may prove the optimum of (\d+) cities", reason):
        assert int(found[1]) == problem.n and problem.n - 1 <= MOST_INNER_CITIES
        assert memory is None or need(problem, "held-karp", method="bounded") <= memory
    elif found := re.fullmatch(r"since bounds rarely prove the optimum of more than (\d+) cities", reason):
        assert problem.n > int(found[1]) == MOST_PROVEN  # jobs/benchmarks/choice
    elif found := re.fullmatch(r"since held-karp has no (\w+) to stop at", reason):
        assert found[1] in stop
        with pytest.raises(InputError, match=f"held-karp has no {found[1]} to stop at"):
            job_from_table({"algorithm": "held-karp", "instance": "a", "output": "b", "stop": {found[1]: 5}})
    elif reason == "since the costs are too far apart for held-karp":
        solver = algorithm("held-karp")
        assert not solver.statement(problem, solver.parameters(method="bounded")).fits()
    elif found := re.fullmatch(r"since bounds for (\d+) cities would take .*, more than the .* at hand", reason):
        assert int(found[1]) == problem.n and memory is not None
        assert need(problem, "held-karp", method="bounded") > memory
    elif found := re.fullmatch(r"since the file says which of (\d+) cities come before others", reason):
        assert int(found[1]) == problem.n and problem.precedences
    elif found := re.fullmatch(r"since (\d+) cities have time windows; the cost is the sum of the legs, and "
                               'objective = "finish" asks for the earliest end', reason):
        assert int(found[1]) == problem.n and problem.windows is not None and "objective" not in method.keys
    elif found := re.fullmatch(r"since the graph has (\d+) terminals?; mode (\w+)(.*)", reason):
        assert int(found[1]) == len(problem.terminals) and method.keys.get("mode", "fast") == found[2]
        assert memory is None or need(problem, "steiner-kmb", mode=found[2]) <= memory or found[2] == "fast"
        if found[2] == "fast":
            assert ", since mode best would take" in found[3] and need(problem, "steiner-kmb", mode="best") > memory
    elif found := re.fullmatch(r"since ([\w-]+) is a key of ([\w-]+)", reason):
        assert found[1] in keys and hasattr(algorithm(found[2]).parameters(), found[1].replace("-", "_"))
        assert found[2] == method.algorithm
    else:
        raise AssertionError(reason)


LIMIT = {"seconds": SECONDS}


@pytest.mark.parametrize(("n", "expected"), [
    (1, ("held-karp", {}, {})), (2, ("held-karp", {}, {})), (9, ("held-karp", {}, {})), (28, ("held-karp", {}, {})),
    (29, ("held-karp", {}, LIMIT)), (79, ("held-karp", {}, LIMIT)), (80, ("edge-assembly", {}, LIMIT)),
    (200, ("edge-assembly", {}, LIMIT)),
])
def test_the_number_of_cities(n, expected):
    assert chosen(uniform_tsp(n, 1)) == expected


def test_cores_count_for_one_rank_alone(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = len(os.sched_getaffinity(0))
    assert resources_here("cpu", 9.0, 1).cores == resources_here("cpu", 9.0, 1, 4 * cores).cores == cores
    assert resources_here("cpu", 9.0, 1, 1).cores == resources_here("cpu", 9.0, 3).cores == 1
    assert resources_here("cpu", 9.0, 1, "all").cores == cores  # the job says that it must be a number
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert resources_here("cpu", 9.0, 1).cores == 1


def test_precedences_have_the_table_for_as_many_cities_as_ever():
    for n, stop in ((20, {}), (21, LIMIT)):
        tsp = replace(random_matrix(n), precedences=((0, 1),))
        assert chosen(tsp) == ("held-karp", {"path": "open"}, stop)


def test_time_windows_are_for_held_karp():
    windows = Windows(np.zeros(100, int), np.full(100, 10**6), np.zeros(100, int))
    assert chosen(replace(random_matrix(100), windows=windows)) == ("held-karp", {}, LIMIT)


def test_the_memory_for_the_table_of_all_states_and_for_bounds():
    few, many = random_matrix(26), random_matrix(60)
    lattice, bounds = need(few, "held-karp", method="lattice"), need(many, "held-karp", method="bounded")
    assert chosen(few, Resources(memory=lattice)) == ("held-karp", {}, {})
    assert chosen(few, Resources(memory=lattice - 1)) == ("held-karp", {}, {"seconds": SECONDS})
    assert chosen(many, Resources(memory=bounds)) == ("held-karp", {}, {"seconds": SECONDS})
    assert chosen(many, Resources(memory=bounds - 1)) == ("edge-assembly", {}, LIMIT)
    # Several ranks may have different amounts of memory, so none counts.
    assert chosen(many, Resources(ranks=3)) == ("held-karp", {}, {"seconds": SECONDS})


def test_a_gpu_has_the_table_of_all_states_as_far_as_its_memory_goes():
    gpu, info = Gpu(0, "", "", "", 80 * 2**30, (9, 0), 132), DeviceInfo("cuda", "", "", "", 132)
    tsp, solver = random_matrix(32), algorithm("held-karp")
    parameters = solver.parameters(method="lattice")
    for ranks in (1, 2):
        most = max(plan_of(solver, tsp, parameters, ranks, info).needed)
        for memory, stop in ((most, {}), (most - 1, {"seconds": SECONDS})):
            assert chosen(tsp, Resources(ranks, gpu=replace(gpu, memory=memory))) == ("held-karp", {}, stop)
    assert chosen(tsp, Resources(seconds=0.4, gpu=gpu)) == ("held-karp", {}, {"seconds": 0.4})  # of half a second
    assert chosen(tsp, Resources(seconds=0.6, gpu=gpu)) == ("held-karp", {}, {})
    assert chosen(tsp, ALONE) == ("held-karp", {}, {"seconds": SECONDS})


def test_ants_have_as_many_colonies_as_fill_the_gpus_and_fit_in_them():
    """132 multiprocessors improve 132 * 32 tours at a time, and a colony has 25 ants."""
    gpu = Gpu(0, "", "", "", 80 * 2**30, (9, 0), 132)

    def holding(colonies):
        """Return the least memory of which four fifths hold so many colonies of the most cities."""
        return -(-device_bytes(algorithm("ant-colony").parameters(), MOST_CITIES, True, colonies) * 5 // 4)

    for ranks, memory, colonies in (
        (1, 80 * 2**30, 169), (3, 80 * 2**30, 507), (1, holding(9), 9), (1, holding(9) - 1, 8)
    ):
        named = as_named("ant-colony", Resources(ranks, gpu=replace(gpu, memory=memory)))
        assert named.keys == {"colonies": colonies} and named.stop == {"seconds": SECONDS, "stagnation": STAGNATION}
        assert named.reason == f"as asked; {colonies} colonies to fill the GPUs of {counted(ranks, 'rank')}"
    assert as_named("ant-colony", Resources(gpu=replace(gpu, memory=1))).keys == {}
    # Keys that the user gives may be about the ants.
    assert as_named("ant-colony", Resources(ranks=3, gpu=gpu), given={"variant": "mmas"}).keys == {"colonies": 3}


def test_keys_that_ask_for_a_tour_in_time_leave_the_limit():
    """Others name a method, which runs as long as it takes."""
    asks = {"objective": "finish", "windows": "hours.csv", "time-unit": "minute"}
    kept = as_named("held-karp", Resources(), given=asks, only_by_keys=True)
    assert (kept.reason, kept.stop) == ("since objective is a key of held-karp", LIMIT)
    assert as_named("held-karp", Resources(seconds=3.0), given=asks, only_by_keys=True).stop == {"seconds": 3.0}
    assert as_named("held-karp", Resources(), ("gap",), asks, only_by_keys=True).stop == {}
    endless = [as_named("held-karp", Resources(), given=asks)]
    endless += [as_named("held-karp", Resources(), given=given, only_by_keys=True)
                for given in ({**asks, "method": "bounded"}, {"objective": "bottleneck"})]
    assert {(method.reason, tuple(method.stop)) for method in endless} == {("as asked, without a time limit", ())}


def test_the_time_for_the_table_of_all_states():
    tsp = random_matrix(27)
    solver = algorithm("held-karp")
    seconds = plan_of(solver, tsp, solver.parameters(method="lattice")).operations / RATE
    assert 1 < seconds < SECONDS
    assert chosen(tsp, Resources(memory=1 << 40, seconds=1.001 * seconds)) == ("held-karp", {}, {})
    assert chosen(tsp, Resources(memory=1 << 40, seconds=0.501 * seconds, cores=2)) == ("held-karp", {}, {})
    less = 0.499 * seconds
    assert chosen(tsp, Resources(memory=1 << 40, seconds=less, cores=2)) == ("held-karp", {}, {"seconds": less})
    less = 0.999 * seconds
    assert chosen(tsp, Resources(memory=1 << 40, seconds=less)) == ("held-karp", {}, {"seconds": less})
    assert chosen(uniform_tsp(9, 1), Resources(memory=1 << 40, seconds=1e-9)) == ("held-karp", {}, {})
    assert chosen(uniform_tsp(300, 1), Resources(seconds=5.0)) == ("edge-assembly", {}, {"seconds": 5.0})


def test_criteria_that_are_given_are_the_only_ones():
    tsp = uniform_tsp(40, 1)
    assert chosen(tsp, stop=("iterations",)) == ("edge-assembly", {}, {})
    assert chosen(tsp, stop=("target",)) == ("held-karp", {}, {})
    assert chosen(tsp, Resources(seconds=5.0), stop=("target",)) == ("held-karp", {}, {"seconds": 5.0})
    assert chosen(uniform_tsp(200, 1), stop=("target",)) == ("edge-assembly", {}, {})


def test_costs_too_far_apart_for_bounds():
    cost = np.random.default_rng(1).integers(1, 1000, (40, 40))
    assert chosen(from_costs(cost * 10**4, "some"))[0] == "held-karp"
    assert chosen(from_costs(cost * 2 * 10**7, "some"))[0] == "edge-assembly"


def test_a_key_belongs_to_an_algorithm():
    tsp, graph = uniform_tsp(40, 1), road_steiner(200, 5)
    assert chosen(tsp, keys=("objective",)) == ("held-karp", {}, {})
    assert chosen(tsp, keys=("local-search",)) == ("ant-colony", {}, {})
    assert chosen(tsp, keys=("population",)) == ("edge-assembly", {}, {})
    assert chosen(graph, keys=("sources",)) == ("shortest-paths", {}, {})
    assert chosen(graph, keys=("exchange",)) == ("steiner-kmb", {}, {})
    assert chosen(graph, keys=("shakes", "engine")) == ("steiner-kmb", {"mode": "exact"}, {"seconds": SECONDS})
    method = method_for(replace(graph, terminals=None), Resources(seconds=2.0), keys=("engine",))
    assert method == Method("shortest-paths", "since the graph has no terminals", {}, {"seconds": 2.0})


def test_steiner_trees_by_memory():
    graph = road_steiner(3000, 12)
    exact, best = (need(graph, "steiner-kmb", mode=mode) for mode in ("exact", "best"))
    assert exact > best
    limit = {"seconds": SECONDS}
    assert chosen(graph, Resources(memory=exact)) == ("steiner-kmb", {"mode": "exact"}, limit)
    assert chosen(graph, Resources(memory=exact - 1)) == ("steiner-kmb", {"mode": "best"}, limit)
    assert chosen(graph, Resources(memory=best - 1)) == ("steiner-kmb", {"exchange": True}, {})
    assert chosen(graph, Resources(memory=exact, seconds=2.0))[2] == {"seconds": 2.0}


def test_python_chooses_by_what_is_given():
    cost = np.random.default_rng(3).integers(1, 100, (7, 7))
    assert hpcsolve.solve(cost, device="cpu").cost == brute_force(cost)
    batch = np.stack([cost, cost.T])
    assert repr(hpcsolve.solve(batch, device="cpu")) == "<held-karp: 2 tours>"
    streets = networkx.Graph()
    streets.add_weighted_edges_from([("a", "b", 3.5), ("b", "c", 1.25), ("c", "d", 1), ("a", "d", 9)], weight="length")
    tree = hpcsolve.solve(streets, terminals=["a", "c"], weight="length", device="cpu")
    assert (tree.algorithm, tree.cost, tree.optimal) == ("steiner-kmb", 4.75, True)
    far = hpcsolve.solve(streets, sources=["a"], weight="length", device="cpu")
    assert far.algorithm == "shortest-paths" and far.distance.tolist() == [[0, 3.5, 4.75, 5.75]]
    matrix = networkx.to_scipy_sparse_array(streets, weight="length")
    assert hpcsolve.solve(matrix, sources=[0], device="cpu").distance.tolist() == far.distance.tolist()
    assert hpcsolve.solve(cost, ants=3, stop={"iterations": 4}, device="cpu").algorithm == "ant-colony"
    with pytest.raises(InputError, match=r"4 vertices without terminals; say what to find: .* sources=\['a'\].* "
                       r"or a tour, stops=\['a', 'd'\]"):
        hpcsolve.solve(streets, weight="length", device="cpu")
    with pytest.raises(InputError, match="ndarray is not a graph; give a Graph, a sparse matrix"):
        hpcsolve.solve(cost, sources=[0], device="cpu")
    for bad in ("soon", -1, True):
        with pytest.raises(InputError, match=r"stop\.seconds: expected"):
            hpcsolve.solve(cost, stop={"seconds": bad}, device="cpu")


def test_many_cities_are_no_error_about_keys():
    found = hpcsolve.solve(uniform_tsp(200, 1), stop={"iterations": 2}, device="cpu")
    assert found.algorithm == "edge-assembly" and sorted(found.tour) == list(range(200))


def test_decimals_are_rounded_as_the_chosen_algorithm_takes_them():
    """The instance is read once, before the number of cities is known. A second run by name has the same costs."""
    rng = np.random.default_rng(1)
    for n, name in ((30, "held-karp"), (130, "edge-assembly")):
        cost = rng.uniform(1, 1000, (n, n))
        stop = {"iterations": 1} if n > MOST_PROVEN else {"target": 1e9}
        free, named = (hpcsolve.solve(cost, which, stop=stop, device="cpu") for which in (None, name))
        assert free.algorithm == name and free.cost == named.cost
        assert free.contents.value("instance", "scale") == named.contents.value("instance", "scale")


def test_costs_of_many_decimals_leave_room_for_bounds():
    """Six decimals as they are sum up to three quarters of 2^31: nothing was proven, and of eight it was an error."""
    rng = np.random.default_rng(1)
    for decimals in (6, 8):
        found = hpcsolve.solve(np.round(rng.uniform(1, 1000, (30, 30)), decimals), device="cpu")
        assert found.optimal and found.rounding_error < 0.01
