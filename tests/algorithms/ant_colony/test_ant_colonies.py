"""Colonies find the same on any number of ranks and threads. Stop criteria, memory and statistics are right."""

import numpy as np
import pytest

from hpcsolve.algorithms import ant_colony
from hpcsolve.algorithms.ant_colony import Parameters
from hpcsolve.algorithms.ant_colony.colonies import random_keys
from hpcsolve.algorithms.base import TO_FILL_GPUS, StopCriteria, silent
from hpcsolve.algorithms.tours.stop import MOST_ROWS, History
from hpcsolve.answers.contents import Contents
from hpcsolve.answers.multipliers import multipliers_in
from hpcsolve.device.base import DeviceInfo
from hpcsolve.device.host import HostBuffer, HostDevice, HostKernel
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.tsp import clustered_tsp, random_matrix, uniform_tsp
from hpcsolve.problems.one_tree import proven_bound
from hpcsolve.problems.questions import TourQuestion, check_tour
from hpcsolve.problems.tsp import NO_ARC, from_matrix
from tests.oracles import textbook_optimum
from tests.solvers import plan_of
from tests.thread_comm import on_ranks

JOBS = {
    "mmas": {"ants": 4},
    "mmas alone": {"ants": 4, "local_search": "none", "rho": 0.1},
    "migration": {"ants": 4, "migration": 2},
    "ant-system": {"variant": "ant-system", "ants": 9},
    "as migration": {"variant": "ant-system", "ants": 9, "migration": 3},
}


def run(tsp, device, comm=None, stop=None, **parameters):
    """Return the outcome of a search that no lower bound ends."""
    own, parameters = stop or StopCriteria(iterations=8), {"bound": False, **parameters}
    return ant_colony.ALGORITHM.solve(tsp, device, comm or SerialComm(), Parameters(**parameters), silent, own)


def bits(outcome):
    """Return all of an outcome that must not depend on the ranks: /solution, and most groups beside it on rank 0."""
    groups = {"solution": outcome.solution, **{k: v for k, v in outcome.groups.items() if k != "history"}}
    return {(g, k): np.asarray(c.values).tobytes() for g, columns in groups.items() for k, c in columns.items()}


@pytest.mark.parametrize("kind", ["symmetric", "one-way"])
@pytest.mark.parametrize("name", JOBS)
def test_ranks_and_threads_do_not_show(name, kind):
    tsp = clustered_tsp(60, seed=1) if kind == "symmetric" else random_matrix(50, seed=2)
    parameters = Parameters(colonies=5, **JOBS[name])

    def work(comm):
        with HostDevice(threads=1 + comm.size % 2) as device:
            outcome = run(tsp, device, comm, colonies=5, **JOBS[name])
            plan = plan_of(ant_colony.ALGORITHM, tsp, parameters, comm.size)
            assert device.memory_peak == plan.device_bytes[comm.rank]
            assert device.allocated == 0
            return outcome

    alone = work(SerialComm())
    assert check_tour(tsp, alone.solution["tour"].values) == alone.cost
    assert alone.cost == alone.groups["colonies"]["cost"].values.min()
    for ranks in (2, 3, 4, 7):
        outcomes = on_ranks(ranks, work)
        assert bits(outcomes[0]) == bits(alone)
        for other in outcomes[1:]:
            assert {k: v for k, v in bits(alone).items() if k[0] == "solution"} == bits(other)
        history = [outcome.groups["history"] for outcome in (alone, outcomes[0])]
        for column in ("step", "best", "mean"):
            assert history[0][column].values.tolist() == history[1][column].values.tolist()


def test_a_colony_does_not_see_the_others(device):
    """Without migration a colony finds what it finds alone, which depends on its number, not on its row in a batch."""
    tsp = uniform_tsp(50, seed=3)
    for job in (JOBS["mmas"], JOBS["ant-system"]):
        costs = [run(tsp, device, colonies=number, **job).groups["colonies"]["cost"].values for number in (4, 2, 1)]
        assert costs[0][:2].tolist() == costs[1].tolist() and costs[0][:1].tolist() == costs[2].tolist()
    assert len({tuple(key) for key in random_keys(1, range(1000)).tolist()}) == 1000
    assert (random_keys(2, range(3)) != random_keys(3, range(3))).all()


@pytest.mark.parametrize("variant", ["mmas", "ant-system"])
def test_colonies_add_no_launches_and_no_copies_to_an_iteration(variant, monkeypatch):
    """An iteration brings one array to the host: the lengths, and the best tour of each colony."""
    launches, downloads, uploads = [], [], []
    called, copied, filled = HostKernel.__call__, HostBuffer.download, HostBuffer.upload
    monkeypatch.setattr(HostKernel, "__call__", lambda own, *grid, **rest: launches.append(own) or called(
        own, *grid, **rest))
    monkeypatch.setattr(HostBuffer, "download", lambda own, *rest: downloads.append(own) or copied(own, *rest))
    monkeypatch.setattr(HostBuffer, "upload", lambda own, *rest: uploads.append(own) or filled(own, *rest))

    def counts(colonies, iterations):
        for calls in (launches, downloads, uploads):
            calls.clear()
        parameters = Parameters(variant=variant, colonies=colonies, ants=5, bound=False)
        stop = StopCriteria(iterations=iterations)
        ant_colony.ALGORITHM.solve(uniform_tsp(30), HostDevice(), SerialComm(), parameters, silent, stop)
        return np.array([len(launches), len(downloads), len(uploads)])

    each = [(counts(colonies, 12) - counts(colonies, 2)).tolist() for colonies in (1, 160)]
    expected = {"mmas": [50, 10, 40], "ant-system": [40, 10, 10]}[variant]
    assert each == [expected, expected]


@pytest.mark.parametrize("name", JOBS)
def test_improvements_are_what_each_colony_has_after_every_iteration(name, device):
    """As many runs as iterations, each stopped one later, say when a colony's best became better, and what it was."""
    tsp, iterations = uniform_tsp(120, seed=4), 12
    after = [run(tsp, device, stop=StopCriteria(iterations=done), colonies=3, **JOBS[name]).groups
             for done in range(1, iterations + 1)]
    best = np.array([groups["colonies"]["cost"].values for groups in after])
    better = np.vstack([np.ones((1, 3), bool), np.diff(best, axis=0) < 0]).T
    found = {key: column.values.tolist() for key, column in after[-1]["improvements"].items()}
    assert found["colony"] == np.nonzero(better)[0].tolist() and found["iteration"] == np.nonzero(better)[1].tolist()
    assert found["cost"] == best.T[better].tolist() and len(found["cost"]) > 6, "more than the first"


def test_stops(device):
    tsp = uniform_tsp(40, seed=4)
    long = run(tsp, device, stop=StopCriteria(iterations=60), ants=3)
    best = long.groups["history"]["best"].values
    assert long.groups["history"]["step"].values.tolist() == list(range(60))
    assert (np.diff(best) <= 0).all() and best[-1] == long.cost
    first = int(np.argmax(best == best[-1]))
    assert long.groups["colonies"]["iteration"].values.tolist() == [first]
    met = run(tsp, device, stop=StopCriteria(target=float(long.cost)), ants=3)
    assert met.cost == long.cost and met.groups["colonies"]["iterations"].values == first + 1
    still = run(tsp, device, stop=StopCriteria(stagnation=70), ants=3).groups["colonies"]
    assert still["iterations"].values == still["iteration"].values[0] + 71
    timed = run(tsp, device, stop=StopCriteria(seconds=0.3), ants=3)
    assert 0.3 <= timed.groups["history"]["seconds"].values[-1] < 3
    assert run(tsp, device, stop=StopCriteria(), ants=1).groups["colonies"]["iterations"].values == 1000


def test_targets_are_in_the_own_unit(device):
    """Target, optimum, history and statistics are in the instance's unit, though costs are scaled and shifted."""
    matrix = np.round(random_matrix(20, seed=5, symmetric=True).cost / 100 - 5, 2)
    np.fill_diagonal(matrix, 0)
    tsp = from_matrix(matrix)
    assert tsp.scale == 100
    first = run(tsp, device, colonies=3, optimum=-60.0)
    own = first.cost / 100
    assert first.groups["history"]["best"].values[-1] == pytest.approx(own)
    columns = {key: column.values for key, column in first.groups["colonies"].items()}
    costs = columns["cost"] / 100
    assert columns["gap"] == pytest.approx((costs + 60) / 60)
    assert columns["mean"] == pytest.approx(costs.mean()) and columns["median"] == np.median(costs)
    assert (columns["minimum"], columns["maximum"]) == (costs.min(), costs.max())
    assert columns["deviation"] == pytest.approx(costs.std(ddof=1))
    assert run(tsp, device, stop=StopCriteria(target=own, iterations=10**6)).cost == first.cost
    for cost in range(100, 130):  # all tours have one cost, in hundredths, which floats may miss
        equal = from_matrix(np.full((5, 5), cost / 500))
        met = run(equal, device, stop=StopCriteria(target=cost / 100, iterations=2)).groups["colonies"]
        assert met["iterations"].values == 1


@pytest.mark.parametrize("symmetric", [True, False])
def test_small_instances_are_solved(symmetric, device):
    """Ten cities are solved to optimality, with zero costs between cities too."""
    for seed in range(4):
        tsp = from_matrix(random_matrix(10, seed=seed, high=30, symmetric=symmetric).cost % 25)
        assert run(tsp, device, stop=StopCriteria(iterations=60)).cost == textbook_optimum(tsp.cost)
    assert run(from_matrix(np.zeros((6, 6))), device).cost == 0
    assert run(from_matrix(np.zeros((6, 6))), device, variant="ant-system").cost == 0


def test_a_long_history_is_thinned():
    history = History()
    for iteration in range(10_001):
        history.note(iteration, 0.0, 5, 7, iteration == 10_000)
    steps = [row[0] for row in history.rows]
    assert len(steps) <= MOST_ROWS + 1 and steps[0] == 0 and steps[-1] == 10_000
    assert set(np.diff(steps[:-1])) == {16}


REFUSED = {
    "alpha: only 1 is possible": {"alpha": 2.0},
    "beta: expected a finite number, got nan": {"beta": float("nan")},
    "rho: expected a finite number, got nan": {"rho": float("nan")},
    "local-search: ant-system has none": {"variant": "ant-system", "local_search": "2-opt"},
    "local-search: '3-opt' reverses segments of a tour": {"local_search": "3-opt"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_parameters_that_do_not_fit(message):
    with pytest.raises(InputError, match=message):
        plan_of(ant_colony.ALGORITHM, random_matrix(9), Parameters(**REFUSED[message]))


def test_instances_that_do_not_fit():
    gap = random_matrix(9).cost.copy()
    gap[2, 5] = NO_ARC
    wide = random_matrix(9).cost.copy()
    wide[3, 1] = 2**31
    with pytest.raises(InputError, match=r"no arc from city 2 to city 5; .* give it a large cost"):
        plan_of(ant_colony.ALGORITHM, from_matrix(gap), Parameters())
    with pytest.raises(InputError, match=r"costs range from \d+ to 2147483648 .*: round or scale them"):
        plan_of(ant_colony.ALGORITHM, from_matrix(wide), Parameters())
    with pytest.raises(InputError, match="3 cities; ant-colony takes 4 to 65535; held-karp solves fewer"):
        plan_of(ant_colony.ALGORITHM, uniform_tsp(3), Parameters())


def test_the_largest_size_that_fits_is_the_largest():
    for parameters in (Parameters(colonies=3), Parameters(colonies=3, variant="ant-system")):
        largest = plan_of(ant_colony.ALGORITHM, uniform_tsp(9), parameters, 2).largest
        for free in (2**24, 2**28, 2**31):
            size = largest([free] * 2)
            sizes = (size, size + 1) if size < 900 else ()
            need = [plan_of(ant_colony.ALGORITHM, uniform_tsp(n), parameters, 2) for n in sizes]
            fits = [all(a + b <= free for a, b in zip(e.device_bytes, e.host_bytes)) for e in need]
            assert fits in ([], [True, False])
    assert largest([2**31] * 2) > 4461, "fnl4461 in under 2 GiB a rank"


@pytest.mark.parametrize(("changes", "ranks", "words"), [
    ({}, 1, "ant-colony.colonies = 169"),
    ({"colonies": 84}, 1, "ant-colony.colonies = 169"),
    ({"colonies": 85}, 1, None),
    ({}, 2, "ant-colony.colonies = 338"),
    ({"local_search": "none"}, 1, None),
    ({"variant": "ant-system"}, 1, None),
])
def test_the_estimate_says_how_many_colonies_would_fill_the_gpus(changes, ranks, words):
    """132 multiprocessors improve 132 * 32 tours at a time, and a colony has 25."""
    tsp, parameters = uniform_tsp(60), Parameters(**{"ants": 25, **changes})
    gpu, cpu = DeviceInfo("cuda", "", "", "", 132), DeviceInfo("cpu", "", "", "", 132)
    assert plan_of(ant_colony.ALGORITHM, tsp, parameters, ranks, gpu).details.get(TO_FILL_GPUS) == words
    assert TO_FILL_GPUS not in plan_of(ant_colony.ALGORITHM, tsp, parameters, ranks, cpu).details


def test_a_lower_bound_ends_a_search_and_proves_its_tour(device):
    tsp = uniform_tsp(30)
    found = run(tsp, device, stop=StopCriteria(iterations=200), bound=True)
    proof = multipliers_in(Contents({}, found.groups))
    assert found.answer.optimal and found.answer.lower_bound is None and "the tour is optimal" in found.ended
    assert proven_bound(tsp, TourQuestion(), proof) == found.cost
    assert int(found.groups["colonies"]["iterations"].values) < 200
    near = run(uniform_tsp(200), device, stop=StopCriteria(iterations=200, gap=0.05), bound=True)
    assert near.ended.startswith("gap 0.05 reached")
    assert near.answer.lower_bound < near.cost <= 1.05 * near.answer.lower_bound
    assert run(tsp, device).answer.lower_bound is None and "multipliers" not in run(tsp, device).groups
