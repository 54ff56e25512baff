"""Edge assembly crossover: AB-cycles against their definition, generations against recounts from the tours, areas.

The long form: pytest --hypothesis-profile=long tests/algorithms/edge_assembly/test_generation.py
"""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcsolve.algorithms.tours.cities import FORBIDDEN, NONE, kernel_cities
from hpcsolve.algorithms.tours.k_opt import Rules
from hpcsolve.algorithms.tours.near import near_lists, with_clusters
from hpcsolve.device.host import HostDevice
from hpcsolve.problems.tsp import from_matrix, from_points

ASSEMBLY, AREAS, FIRST = "host/edge_assembly", "host/areas", "host/first_tour"
WIDTH = 8
LAYOUTS = ("uniform", "grid", "line", "equal", "pairs", "clusters")


def points_of(layout, n, seed=1):
    rng = np.random.default_rng(seed)
    if layout == "grid":
        side = math.isqrt(n - 1) + 1
        return np.stack([np.arange(n) % side, np.arange(n) // side], axis=1) * 10.0
    if layout == "line":
        return np.stack([rng.integers(0, 1000, n), np.zeros(n)], axis=1)
    if layout == "equal":
        return np.full((n, 2), 7.0)
    if layout == "pairs":
        return np.repeat(rng.integers(0, 1000, (n // 2 + 1, 2)), 2, axis=0)[:n]
    if layout == "clusters":
        return rng.integers(0, 5, (8, 2))[rng.integers(0, 8, n)] * 1000 + rng.integers(0, 40, (n, 2))
    return rng.integers(0, 1000, (n, 2))


def of_points(points, fixed=()):
    return kernel_cities(from_points(np.asarray(points, float), "EUC_2D", "points", np.arange(len(points))), fixed)


def of_matrix(n, symmetric, seed=1, high=1000, fixed=()):
    costs = np.random.default_rng(seed).integers(0, high, (n, n))
    costs = costs + costs.T if symmetric else costs
    np.fill_diagonal(costs, 0)
    return kernel_cities(from_matrix(costs), fixed)


def edges_of(tour):
    """Return the edges of a tour as a counter of pairs, the smaller node first."""
    return Counter(tuple(sorted(edge)) for edge in zip(tour.tolist(), np.roll(tour, -1).tolist()))


def pairs_of(keys):
    return Counter(zip((keys >> np.uint64(32)).tolist(), (keys & np.uint64(2**32 - 1)).tolist()))


def node_costs(cities):
    """Return costs between nodes as the kernels have them."""
    tsp, order = cities.tsp, cities.order
    arcs = tsp.between(order[:, None], order) - cities.offset
    if not cities.paired:
        return arcs
    costs = np.full((cities.nodes, cities.nodes), FORBIDDEN, np.int64)
    costs[1::2, ::2] = arcs
    costs[::2, 1::2] = arcs.T
    pairs = np.arange(cities.nodes)
    costs[pairs, pairs ^ 1] = 0
    return costs


def is_tour(cities, tour):
    if sorted(tour.tolist()) != list(range(cities.nodes)):
        return False
    if cities.fixed is None:
        return True
    beside = np.roll(tour, -1)
    kept = set(zip(tour.tolist(), beside.tolist())) | set(zip(beside.tolist(), tour.tolist()))
    return all((node, end) in kept for node, end in enumerate(cities.fixed.tolist()) if end != NONE)


def entropy_table(population):
    return np.array([0, *(round(-(2**20) * k / population * math.log(k / population))
                          for k in range(1, population + 1))], np.int64)


class Tours:
    """A population in one process, with its counts as Python's own."""

    def __init__(self, host, cities, population, seed=1, tours=None):
        self.host, self.cities, self.population, self.seed = host, cities, population, seed
        self.lists, self.costs = near_lists(host, cities, WIDTH, 2), node_costs(cities)
        self.instance = {"where": cities.arguments(), "near": self.lists.arguments()}
        self.tours = np.empty((population, cities.nodes), np.uint32) if tours is None else tours
        if tours is None:
            host.call(FIRST, "first_tour_construct", **self.instance, count=population, threads=1, tours=self.tours,
                      streams=np.random.default_rng(seed).integers(0, 2**63, population, dtype=np.uint64))
        self.lengths = np.array([self.length(tour) for tour in self.tours])
        self.counts, self.random = Counter(), np.random.default_rng([seed, 1])
        for tour in self.tours:
            self.counts += edges_of(tour)

    def length(self, tour):
        return int(self.costs[tour, np.roll(tour, -1)].sum())

    def table(self):
        """Return the counts as the functions take them, made by the function that adds."""
        capacity = 1 << (4 * len(self.counts)).bit_length()
        edges = {"capacity": capacity, "keys": np.full(capacity, 2**64 - 1, np.uint64),
                 "counts": np.zeros(capacity, np.int32)}
        keys = self.host.call(ASSEMBLY, "edge_assembly_keys", n=self.cities.nodes, count=len(self.tours),
                              tours=self.tours)["found"]
        used, refused = np.zeros(1, np.uint64), np.zeros(1, np.uint32)
        self.host.call(ASSEMBLY, "edge_assembly_count", edges=edges, count=len(keys), changed=keys, by=1, used=used,
                       refused=refused)
        assert not refused[0] and used[0] == len(self.counts)
        found = edges["keys"] != 2**64 - 1
        full = edges["keys"][found]
        assert dict(zip(pairs_of(full), edges["counts"][found].tolist())) == dict(self.counts)
        return edges

    def generation(self, stage=0, threads=1, split=1, children=30, beside=0):
        """Make a generation in `split` calls, and check all that follows from the tours.

        The numbers before and behind the table of entropy in memory are `beside`.
        """
        ring, edges = self.random.permutation(self.population), self.table()
        streams = self.random.integers(0, 2**63, self.population, np.uint64)
        partner_of = np.empty(self.population, np.uint32)
        partner_of[ring] = np.roll(ring, -1)
        partners, before = self.tours.copy(), self.lengths.copy()
        taken = np.zeros(self.population, np.uint32)
        rules = {"population": self.population, "stage": stage, "children": children, "taken": 3, "least_percent": 30,
                 "threads": threads}
        changes, entropy = Counter(), np.full(self.population + 3, beside, np.int64)[1:-1]
        entropy[:] = entropy_table(self.population)
        for part in np.array_split(np.arange(self.population), split):
            tours, lengths, some = self.tours[part], self.lengths[part], taken[part]
            found = self.host.call(
                ASSEMBLY, "edge_assembly_generation", **self.instance, rules=rules, edges=edges,
                entropy=entropy, count=len(part), tours=tours, partners=partners,
                partner_of=partner_of[part], streams=streams[part], lengths=lengths, taken=some)
            self.tours[part], self.lengths[part], taken[part] = tours, lengths, some
            changes.update(pairs_of(found["added"]))
            changes.subtract(pairs_of(found["removed"]))
        now = Counter()
        for tour in self.tours:
            assert is_tour(self.cities, tour)
            now += edges_of(tour)
        assert self.lengths.tolist() == [self.length(tour) for tour in self.tours]
        assert ((self.lengths < before) == (taken > 0)).all() and (self.lengths <= before).all()
        changes.update(self.counts)
        assert +changes == now and min(changes.values()) >= 0
        self.counts = now
        return int(taken.sum())


# ---- AB-cycles ----


@settings(deadline=None)
@given(st.integers(5, 40), st.integers(0, 2**32), st.integers(0, 20))
def test_ab_cycles_are_a_partition_of_the_edges_in_which_tours_differ(n, seed, kept):
    rng = np.random.default_rng(seed)
    a = rng.permutation(n).astype(np.uint32)
    b = a.copy()
    b[min(kept, n) :] = rng.permutation(b[min(kept, n) :])
    with HostDevice() as host:
        found = host.call(ASSEMBLY, "edge_assembly_cycles", n=n, a=a, b=b, stream=seed)
    only_a, only_b = Counter(), Counter()
    for first, last in zip(found["starts"], found["starts"][1:]):
        nodes = found["cycles"][int(first) : int(last)].tolist()
        assert len(nodes) % 2 == 0 and len(nodes) >= 4
        ends = list(zip(nodes, nodes[1:] + nodes[:1]))
        only_a.update(tuple(sorted(edge)) for edge in ends[::2])
        only_b.update(tuple(sorted(edge)) for edge in ends[1::2])
    assert only_a == edges_of(a) - edges_of(b) and only_b == edges_of(b) - edges_of(a)


# ---- generations ----


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [5, 8, 60, 300])
def test_a_generation_keeps_tours_lengths_and_counts(host, layout, n):
    tours = Tours(host, of_points(points_of(layout, n)), 8)
    first, taken = tours.lengths.mean(), 0
    for number in range(8):
        taken += tours.generation(stage=number // 5)
    assert taken == 0 if layout == "equal" else tours.lengths.mean() < first or n < 60


@pytest.mark.parametrize("symmetric", [True, False])
def test_costs_of_a_matrix_and_asymmetric_ones(host, symmetric):
    tours = Tours(host, of_matrix(50, symmetric), 10)
    first = tours.lengths.mean()
    for number in range(6):
        tours.generation(stage=number // 4)
    assert tours.lengths.mean() < first and tours.lengths.max() < FORBIDDEN


@pytest.mark.parametrize("every", [2, 5])
def test_fixed_edges_stay(host, every):
    fixed = [(city, city + 1) for city in range(0, 200 - 1, every)]
    tours = Tours(host, of_points(points_of("uniform", 200), fixed), 10)
    assert sum(tours.generation(stage=number // 4) for number in range(6))


def test_two_tours_and_equal_tours(host):
    cities = of_points(points_of("uniform", 100))
    two = Tours(host, cities, 2)
    assert two.generation()
    same = Tours(host, cities, 4, tours=np.repeat(two.tours[:1], 4, axis=0))
    assert same.generation() == same.generation(stage=1) == 0
    backwards = Tours(host, cities, 2, tours=np.stack([two.tours[0], np.roll(two.tours[0][::-1], 7)]))
    assert backwards.generation() == 0


@pytest.mark.parametrize("n", [80, 400])
def test_the_same_tours_for_any_threads_and_calls(host, n):
    answers = set()
    for threads, split in ((1, 1), (2, 1), (3, 1), (1, 3), (2, 12)):
        tours = Tours(host, of_points(points_of("uniform", n)), 12)
        for stage in (0, 0, 0, 1):
            tours.generation(stage, threads, split)
        answers.add((tours.tours.tobytes(), tours.lengths.tobytes()))
    assert len(answers) == 1


@pytest.mark.parametrize("population", [2, 3, 6])
def test_no_entropy_is_read_beyond_its_table(host, population):
    """A second child may take out an edge that the first brought in, which no tour had, or bring back one of all."""
    answers = set()
    for beside in (0, -(1 << 40), 1 << 40):
        tours = Tours(host, of_points(points_of("clusters", 600)), population)
        for _ in range(6):
            tours.generation(beside=beside)
        answers.add(tours.tours.tobytes())
    assert len(answers) == 1


@settings(deadline=None, max_examples=30)
@given(st.integers(5, 60), st.integers(0, 2**32), st.sampled_from(["points", "matrix", "pairs"]), st.integers(2, 6),
       st.integers(1, 5))
def test_random_instances(n, seed, kind, population, high):
    with HostDevice() as host:
        if kind == "points":
            cities = of_points(np.random.default_rng(seed).integers(0, 10**high, (n, 2)))
        else:
            cities = of_matrix(n, kind == "matrix", seed, 10**high)
        tours = Tours(host, cities, population, seed)
        for stage in (0, 0, 1):
            tours.generation(stage)


def test_costs_up_to_the_largest(host):
    tours = Tours(host, of_matrix(40, True, high=1 << 29), 8)
    for number in range(6):
        tours.generation(stage=number // 4)


def test_a_full_table_is_refused_and_stays(host):
    edges = {"capacity": 8, "keys": np.full(8, 2**64 - 1, np.uint64), "counts": np.zeros(8, np.int32)}
    used, refused = np.zeros(1, np.uint64), np.zeros(1, np.uint32)
    for keys, refuses in (([1, 2, 2, 3], 0), ([1, 4, 5, 6], 1), ([5], 1)):
        changed = np.array(keys, np.uint64)
        host.call(ASSEMBLY, "edge_assembly_count", edges=edges, count=len(keys), changed=changed, by=1, used=used,
                  refused=refused)
        assert refused[0] == refuses
    counts = dict(zip(edges["keys"].tolist(), edges["counts"].tolist()))
    assert {key: count for key, count in counts.items() if count} == {1: 1, 2: 2, 3: 1} and used[0] <= 4


# ---- areas of a large tour ----


def areas_of(host, cities, tour, most, stream=3):
    members = np.empty(cities.nodes, np.uint32)
    starts = host.call(AREAS, "edge_assembly_areas", where=cities.arguments(), tour=tour, most=most, stream=stream,
                       members=members)["starts"].astype(np.int64)
    return members, starts


def improved(host, tours, members, starts, threads=1, population=5):
    """Return the edges that leave and come in all areas, and what they gain."""
    areas = len(starts) - 1
    rules = {"population": population, "children": 30, "taken": 3, "least_percent": 30, "idle": 10, "threads": threads,
             **Rules().arguments()}
    gains = np.zeros(areas, np.int64)
    found = host.call(AREAS, "edge_assembly_improve_areas", **tours.instance, rules=rules,
                      entropy=entropy_table(population), tour=tours.tours[0], areas=areas,
                      starts=starts.astype(np.uint64), members=members,
                      streams=np.arange(areas, dtype=np.uint64) + 5, gains=gains)
    return found["removed"], found["added"], gains


def joined(host, tours, removed, added):
    tour, change, parts = tours.tours[0].copy(), np.zeros(1, np.int64), np.zeros(1, np.uint32)
    host.call(AREAS, "edge_assembly_join", **tours.instance, tour=tour, count=len(removed), removed=removed,
              added=added, change=change, parts=parts)
    assert is_tour(tours.cities, tour) and tours.length(tour) - tours.length(tours.tours[0]) == change[0]
    return tour, int(change[0]), int(parts[0])


INSTANCES = {
    "uniform": lambda: of_points(points_of("uniform", 1500)),
    "clusters": lambda: of_points(points_of("clusters", 1500)),
    "grid": lambda: of_points(points_of("grid", 1500)),
    "equal": lambda: of_points(points_of("equal", 300)),
    "fixed": lambda: of_points(points_of("uniform", 1500), [(i, i + 1) for i in range(0, 1499, 3)]),
    "matrix": lambda: of_matrix(400, True),
    "asymmetric": lambda: of_matrix(300, False),
}


@pytest.mark.parametrize("population", [1, 5])
@pytest.mark.parametrize("name", INSTANCES)
def test_areas_together_leave_one_tour(host, name, population):
    """A population of one is the tour itself, improved by k-exchanges."""
    cities = INSTANCES[name]()
    tours = Tours(host, cities, 1)
    most = 100 if name == "matrix" else 200
    members, starts = areas_of(host, cities, tours.tours[0], most)
    sizes = np.diff(starts)
    assert sorted(members.tolist()) == list(range(cities.nodes))
    assert starts[0] == 0 and starts[-1] == cities.nodes and sizes.min() > 0 and sizes.max() <= most
    answers = {tuple(one.tobytes() for one in improved(host, tours, members, starts, threads, population))
               for threads in (1, 2, 3)}
    assert len(answers) == 1
    removed, added, gains = improved(host, tours, members, starts, population=population)
    area_of = np.empty(cities.nodes, np.int64)
    area_of[members] = np.repeat(np.arange(len(sizes)), sizes)
    before = edges_of(tours.tours[0])
    leave, come = pairs_of(removed), pairs_of(added)
    assert leave <= before and not come & before and max([*leave.values(), *come.values()], default=1) == 1
    assert all(area_of[a] == area_of[b] for a, b in [*leave, *come])
    degrees = [Counter(node for edge in some for node in edge) for some in (leave, come)]
    assert degrees[0] == degrees[1]
    won = sum(tours.costs[a, b] for a, b in leave) - sum(tours.costs[a, b] for a, b in come)
    assert won == gains.sum() and gains.min() >= 0
    joined(host, tours, removed, added)
    for area in range(len(sizes)):  # alone, each leaves one tour
        own = members[starts[area] : starts[area + 1]]
        leave, come, gain = improved(host, tours, own, np.array([0, len(own)]), population=population)
        assert joined(host, tours, leave, come)[1:] == (-gain.sum(), 1)
    assert name == "equal" or gains.sum() > 0


def test_areas_have_other_borders_with_another_stream(host):
    cities = of_points(points_of("uniform", 2000))
    tour = np.arange(2000, dtype=np.uint32)
    first, second = (areas_of(host, cities, tour, 500, stream) for stream in (1, 2))
    assert first[1].tolist() != second[1].tolist() or first[0].tolist() != second[0].tolist()


@pytest.mark.parametrize("name", ["uniform", "clusters", "grid", "fixed", "asymmetric"])
def test_many_cycles_are_joined(host, name):
    """Tours that exchanges of two edges have cut into many cycles become one again, by exchanges of no great loss."""
    cities = INSTANCES[name]()
    tours = Tours(host, cities, 1)
    tour, n = tours.tours[0], cities.nodes
    fixed = np.full(n, NONE, np.uint32) if cities.fixed is None else cities.fixed
    removed, added = [], []
    for place in range(6, n - 20, 12):  # cuts off the nodes from tour[place + 1] to tour[last]
        last = place + 7 - (fixed[tour[place]] == tour[place + 1])
        place += fixed[tour[place]] == tour[place + 1]
        last += fixed[tour[last]] == tour[last + 1]
        if fixed[tour[last]] == tour[last + 1] or tours.costs[tour[place], tour[last + 1]] >= FORBIDDEN:
            continue
        ends = [(tour[place], tour[place + 1]), (tour[last], tour[last + 1])], [
            (tour[place], tour[last + 1]), (tour[place + 1], tour[last])]
        for keys, pairs in zip((removed, added), ends):
            keys.extend(int(min(pair)) << 32 | int(max(pair)) for pair in pairs)
    _, _, parts = joined(host, tours, np.array(removed, np.uint64), np.array(added, np.uint64))
    assert parts == len(removed) // 2 + 1 > 10


# ---- candidates between clusters ----


def test_only_clusters_get_candidates_between_them(host):
    uniform = of_points(points_of("uniform", 800))
    lists = near_lists(host, uniform, WIDTH, 2)
    assert with_clusters(host, uniform, lists) is lists
    cities = of_points(points_of("clusters", 800))
    lists = near_lists(host, cities, WIDTH, 2)
    wide, costs = with_clusters(host, cities, lists), node_costs(cities)
    assert wide.width == lists.width + 4
    for node in range(cities.nodes):
        listed = wide.near[node] != node
        more, less = wide.near[node][listed], lists.near[node]
        assert len(set(more.tolist())) == len(more) and set(less.tolist()) - {node} <= set(more.tolist())
        assert (wide.cost[node][listed] == costs[node, more]).all()
        assert sorted(zip(wide.cost[node][listed].tolist(), more.tolist())) == list(
            zip(wide.cost[node][listed].tolist(), more.tolist()))
    cluster = np.unique(cities.points // 500, axis=0, return_inverse=True)[1].ravel()
    if len(np.unique(cluster)) > 1:
        leads_out = [(cluster[wide.near[node]] != cluster[node]).any() for node in range(cities.nodes)]
        assert all(leads_out)
