"""Launches every kernel on tiny inputs and checks the answers. `check.py` runs it under sanitizers.

    program.py compile [planted]    compiles all of cuda_src, or planted.cu, and runs nothing
    program.py kernels              runs all of cuda_src, and prints the kernels that ran, a line each
    program.py NAME                 runs one kernel of planted.cu

Memory is allocated without spare bytes, so that AddressSanitizer sees an access to the first byte beyond.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms import held_karp, steiner_kmb
from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.held_karp import Parameters
from hpcsolve.algorithms.held_karp.lattice import planes
from hpcsolve.algorithms.held_karp.lattice.reduce import NO_PATH, ReducedCosts
from hpcsolve.algorithms.held_karp.lattice.split import Share, Split
from hpcsolve.algorithms.held_karp.outcome import Statistics
from hpcsolve.algorithms.shortest_paths.engines import ENGINES, row_search, searcher
from hpcsolve.algorithms.shortest_paths.engines.hierarchy import Hierarchy, build_hierarchy
from hpcsolve.algorithms.shortest_paths.search_graph import LONG, REAL, WORD, Keys, lay_out
from hpcsolve.algorithms.shortest_paths.searches import Want, filled_rows, query_searches, row_searches
from hpcsolve.algorithms.steiner_kmb.network import network
from hpcsolve.algorithms.steiner_kmb.reduced_graph import reduced
from hpcsolve.algorithms.steiner_kmb.subset_program import Program
from hpcsolve.algorithms.steiner_kmb.subset_states import Space, several_ascents
from hpcsolve.device import build
from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice, HostKernel
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.graph import power_law_steiner
from hpcsolve.problems.graph import Graph, from_edges
from hpcsolve.problems.steiner import check_tree, closure_spanning_tree
from hpcsolve.problems.tsp import NO_ARC, Tsp
from tests.races.ants import ant_colonies, ant_samplers
from tests.races.assembly import edge_assembly
from tests.races.bounded import bounded_orders, ends_in_rush_hours, extended_states, labels_in_time
from tests.races.hierarchies import hierarchies
from tests.races.near_nodes import near_nodes
from tests.races.orders import order_tables, tours_with_prizes
from tests.races.tour_bounds import tour_bounds
from tests.races.tours import tours_of_nodes
from tests.steiner_oracle import hypercube, least_weight


@dataclass(eq=False)
class WatchedDevice(HostDevice):
    """The CPU, with the names of the kernels and functions that ran, and no spare bytes around a buffer."""

    names: set[str] = field(default_factory=set)

    def kernel(self, file: str, name: str) -> HostKernel:
        """Return the CPU's kernel, and note its name."""
        self.names.add(name)
        return super().kernel(file, name)

    def call(self, file: str, name: str, /, **arguments: Any) -> dict[str, NDArray[Any]]:
        """Call a function of the host, and note its name."""
        self.names.add(name)
        return super().call(file, name, **arguments)

    def _allocate(self, shape: int | tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        return np.empty(shape, dtype)


def run_kernels() -> None:
    """Run all kernels, and print their names."""
    device = WatchedDevice(threads=2)
    for case in CASES.values():
        case(device)
    print("\n".join(sorted(device.names)))


def all_of_held_karp(device: Device) -> None:
    """Every kind of state and layout. The optima are those of the textbook's table."""
    for n, high, symmetric, layout in [
        (12, 100, False, "planes"),
        (11, 100, True, "planes"),
        (11, 10**8, False, "planes"),
        (8, 100, False, "compact"),
    ]:
        tsp = random_tsp(n, high, symmetric)
        outcome = held_karp.ALGORITHM.solve(tsp, device, SerialComm(), Parameters(layout=layout))
        assert outcome.cost == optimum(tsp.cost), (n, high, symmetric, layout, outcome.cost)
    inner_cities(device)


def inner_cities(device: Device) -> None:
    """Solve a problem with more low cities than a register has lane cities, as larger problems have them."""
    cost = random_tsp(11, 100, False).cost
    for itemsize in (2, 4):
        costs = np.where(cost == NO_ARC, NO_PATH[itemsize], cost)
        reduced = ReducedCosts(np.roll(costs, (-1, -1), (0, 1)), itemsize, 1, 0, True, None)  # the depot is the last
        part = Share(Split(8, 1, 1), 1, 0, symmetric=False, itemsize=itemsize)
        found = planes.meet(reduced, part, device, SerialComm(), silent, Statistics())
        assert found.value == optimum(cost), (itemsize, found.value)


def minplus(device: Device) -> None:
    """Check a min-plus product of 3 x 8 by 3 x 256."""
    rows = np.arange(3 * 256, dtype=np.uint16).reshape(3, 256)
    cost = np.arange(24, dtype=np.uint32).reshape(3, 8) * 7 % 23
    kernel = device.kernel("held_karp/minplus", "minplus_multiply")
    out = device.empty((8, 256), np.uint16)
    costs = device.upload((cost * 0x10001).astype(np.uint32))
    kernel(2, 64, sources=3, targets=8, length=256, chunk=128, rows=device.upload(rows), cost=costs, out=out)
    assert (out.download() == (rows[:, None] + cost[:, :, None]).min(axis=0)).all()
    peak, down = device.kernel("held_karp/min_add", "min_add_repeat"), device.empty((8, 256), np.uint16)
    peak(2, 64, length=256, chunk=128, rounds=3, cost=0x10001, values=out, out=down)
    assert (down.download() <= (rows[:, None] + cost[:, :, None]).min(axis=0)).all()


def shortest_paths(device: Device) -> None:
    """Every engine and kind of key on a small graph with plateaus. All agree, and the device's check finds nothing."""
    rng = np.random.default_rng(5)
    ends, weights = rng.integers(0, 60, (2, 240)), rng.integers(0, 9, 240)
    for kind, values in ((WORD, weights), (LONG, weights), (REAL, weights / 3)):
        graph = from_edges(*ends, values, n=60, directed=True)
        answers = []
        for engine in (each.name for each in ENGINES if each.delivers & Want.PATHS):
            keys, before = np.empty((2, 60), kind.dtype), np.empty((2, 60), np.uint32)
            with searcher(graph, device, kind, engine, searches=2) as prepared:
                searches = row_searches([np.array([0]), np.array([7, 59])], None, prepared.graph.places())
                found = prepared.solve(searches, Want.DISTANCES | Want.PREDECESSORS, keys, before)
            assert not found.wrong.any()
            answers.append((keys.tobytes(), before.tobytes()))
        assert len(set(answers)) == 1
        paths(device, graph, kind)


def paths(device: Device, graph: Graph, kind: Keys) -> None:
    """Rows without plateaus, which all blocks share, and paths, by both Near-Far engines."""
    steep = replace(graph, weights=graph.weights + 1)
    answers = []
    for engine in ("near-far-block", "near-far-grid"):
        keys = np.empty((1, 60), kind.dtype)
        with searcher(steep, device, kind, engine, searches=2, batch=1) as prepared:
            prepared.hub, prepared.tuning = 3, replace(prepared.tuning, shared=2)
            places = prepared.graph.places()
            found = prepared.solve(row_searches([np.array([0])], None, places), Want.DISTANCES, keys)
            pairs = np.array([[0, 5], [0, 59], [7, 30]])
            paths = prepared.solve(query_searches(pairs, places), Want.TARGETS | Want.PATHS, path_room=100)
        assert not found.wrong.any() and not paths.wrong.any()
        lengths = [paths.path[a : a + b].tobytes() for a, b in zip(paths.path_begin.tolist(), paths.path_length)]
        answers.append((keys.tobytes(), paths.target_keys.tobytes(), *lengths))
    assert len(set(answers)) == 1


def steiner_trees(device: Device) -> None:
    """The best trees in hypercubes, which no bounds prove, with keys of both widths. A run checks them."""
    for factor in (1, 2**27):
        graph = hypercube(4, 8, high=100)
        graph = replace(graph, weights=graph.weights * np.uint64(factor))
        asked = steiner_kmb.Parameters(mode="best")
        solution = steiner_kmb.ALGORITHM.solve(graph, device, SerialComm(), asked).solution
        weight = check_tree(graph, *(solution[name].values for name in ("u", "v", "weight")))
        assert solution["lower_bound"].values <= weight <= solution["closure_mst"].values
        assert solution["closure_mst"].values == closure_spanning_tree(graph).weight


def lightest_trees(device: Device) -> None:
    """The lightest tree of a hypercube: all of mode exact, and its program with sets of two words."""
    graph = hypercube(4, 8, high=100)
    outcome = steiner_kmb.ALGORITHM.solve(graph, device, SerialComm(), steiner_kmb.Parameters(mode="exact"))
    host = device if isinstance(device, HostDevice) else HostDevice(1)  # the program runs on the CPU alone
    net = network(reduced(graph).graph, host)
    for words in (1, 2):
        found = several_ascents(net, SerialComm(), 2000, words)
        assert found is not None
        program = Program(Space.of(net, found[0]), SerialComm(), 2000, lambda nbytes: False)
        program.run()
        assert outcome.cost == program.limit == least_weight(graph)


def rows_of_many(device: Device) -> None:
    """Search rows from more than a group of sources, by every engine."""
    graph = power_law_steiner(34, 90, 8, low=0, high=60)
    sources = np.arange(34)
    for kind in (WORD, LONG):
        answers, in_parts = [], build_hierarchy(lay_out(graph, kind), kind, True, 1)  # for blocks of several threads
        assert isinstance(in_parts, Hierarchy)
        for engine in (each.name for each in ENGINES):
            with (
                searcher(graph, device, kind, engine, cutoff=10**6, searches=34) as prepared,
                row_search(prepared, graph, engine, 7, None, 34, in_parts) as search,
            ):
                search.threads = 96
                answers += [rows for rows, _ in filled_rows(search, [sources], None)]
        assert len({rows.tobytes() for rows in answers}) == 1


def random_tsp(n: int, high: int, symmetric: bool) -> Tsp:
    """Return an instance with random costs from 1 to `high`."""
    cost = np.random.default_rng(n).integers(1, high, (n, n), endpoint=True)
    cost = np.minimum(cost, cost.T) if symmetric else cost
    np.fill_diagonal(cost, NO_ARC)
    return Tsp(name="random", matrix=cost, labels=np.arange(1, n + 1))


def optimum(cost: NDArray[np.int64]) -> int:
    """Return the cost of the cheapest tour, by the textbook's table over sets and last cities."""
    n = len(cost)
    best = {(1 << j, j): int(cost[0, j]) for j in range(1, n)}
    for size in range(2, n):
        for members in itertools.combinations(range(1, n), size):
            whole = sum(1 << j for j in members)
            for j in members:
                rest = whole ^ (1 << j)
                best[whole, j] = min(best[rest, i] + int(cost[i, j]) for i in members if i != j)
    everyone = (1 << n) - 2
    return min(best[everyone, j] + int(cost[j, 0]) for j in range(1, n))


def ants(device: Device) -> None:
    """Colonies of all kinds, and each sampler."""
    tsp = random_tsp(36, 100, True)
    ant_colonies(device, tsp, random_tsp(36, 100, False))
    ant_samplers(device, tsp)


CASES: dict[str, Callable[[Device], None]] = {
    "minplus": minplus,
    "held-karp": all_of_held_karp,
    "bounded-orders": bounded_orders,
    "extended-states": extended_states,
    "labels in time": labels_in_time,
    "ends in rush hours": ends_in_rush_hours,
    "shortest-paths": shortest_paths,
    "steiner": steiner_trees,
    "lightest trees": lightest_trees,
    "rows": rows_of_many,
    "hierarchies": hierarchies,
    "ants": ants,
    "near nodes": near_nodes,
    "edge assembly": edge_assembly,
    "tours": tours_of_nodes,
    "orders": order_tables,
    "prizes": tours_with_prizes,
    "tour-bounds": tour_bounds,
}
"""What is run, by name. Together they launch every kernel."""
WITHOUT_KERNELS = ("lightest trees", "near nodes", "edge assembly", "tour-bounds")
"""Cases that call functions of the host alone, whatever the device."""


def run_planted(name: str) -> None:
    """Run one kernel of planted.cu, 64 threads on 64 values."""
    device = WatchedDevice(threads=2)
    with planted_sources():
        kernel = device.kernel("planted", f"planted_{name}")
    kernel(1, 64, n=64, values=device.upload(np.arange(64, dtype=np.int32)), out=device.zeros(64, np.int32))


def compile_only(planted: bool) -> None:
    """Fill the compile cache."""
    with planted_sources() if planted else nullcontext():
        folder = build.source_folder()
        patterns = ["planted.cu"] if planted else ["*.cu", "*.cpp"]
        for source in sorted(path for pattern in patterns for path in folder.rglob(pattern)):
            build.host_library(source.relative_to(folder).with_suffix("").as_posix())


@contextmanager
def planted_sources() -> Iterator[None]:
    """Put planted.cu beside the headers of cuda_src."""
    original = build.source_folder
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(original(), folder, dirs_exist_ok=True)
        shutil.copy(Path(__file__).parent / "planted.cu", folder)
        build.source_folder = lambda: Path(folder)
        yield
        build.source_folder = original


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["compile", *what]:
            compile_only(planted=what == ["planted"])
        case ["kernels"]:
            run_kernels()
        case [name]:
            run_planted(name)
