"""Near-Far against scipy's Dijkstra, in one process: time, work and steps of single searches, by graph and by delta.

    python jobs/benchmarks/shortest_paths.py                    # roads need HPCSOLVE_DATA; generated graphs do not
    python jobs/benchmarks/shortest_paths.py --graphs grid rmat --deltas 0.25 1 4

Prints Markdown. One core, CPU seconds, the best of five. A search alone is timed: the graph is read and laid out, no
predecessors; so is scipy's. Exit code 1 if the two disagree about a distance: then no time counts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
from scipy.sparse.csgraph import dijkstra

from hpcsolve.algorithms.shortest_paths.engine import Searcher, default_delta, searcher
from hpcsolve.device.host import HostDevice
from hpcsolve.formats import read_graph
from hpcsolve.problems.generate_graph import grid_graph, rmat_graph
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.graph_convert import to_scipy
from hpcsolve.problems.graph_order import permuted, spatial_order
from hpcsolve.problems.plane_graphs import geometric_graph, road_graph
from jobs.benchmarks.measure import best_of, describe_machine, load

GRAPHS: dict[str, Callable[[], Graph | None]] = {
    "New York": lambda: new_york(),
    "road": lambda: road_graph(1_000_000),
    "grid": lambda: grid_graph(1024, 1024),
    "geometric": lambda: geometric_graph(500_000),
    "rmat": lambda: rmat_graph(18),
}
SOURCES = 4


def main() -> int:
    """Measure, compare, print."""
    options = _options()
    device, agree = HostDevice(1), True
    print("\n".join(["# Shortest paths: hpcsolve and scipy", "", *describe_machine(device, 1)]))
    clock = f"best of {options.repeats}, {SOURCES} sources; the load is {load():.1f}"
    print(f"- one core; CPU milliseconds a source, {clock}")
    print("\n| graph | vertices | arcs | delta | work | steps | hpcsolve | scipy | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.graphs:
        graph = GRAPHS[name]()
        if graph is None:
            print(f"| {name} | skipped: HPCSOLVE_DATA is not set |")
            continue
        agree = _rows(name, graph, device, options) and agree
    return 0 if agree else 1


def _rows(name: str, graph: Graph, device: HostDevice, options: argparse.Namespace) -> bool:
    """A row for each delta; whether all distances agree. Both solvers get the graph in spatial order."""
    graph = permuted(graph, spatial_order(graph))
    degrees = np.diff(graph.offsets)
    sources = np.random.default_rng(0).choice(np.flatnonzero(degrees), SOURCES, replace=False)
    matrix = to_scipy(graph).astype(float)
    rival = best_of(lambda: dijkstra(matrix, indices=sources), options.repeats, options.seconds)
    expected, agree = np.asarray(rival.value), True
    for factor in options.deltas:
        prepared = searcher(graph, device, delta=factor * default_delta(graph))
        ours = best_of(lambda p=prepared: alone(p, sources), options.repeats, options.seconds)
        keys, relaxed, rounds = ours.value  # type: ignore[misc]
        distances = np.where(keys == prepared.keys.unreached, np.inf, keys.astype(float))
        agree = agree and np.array_equal(distances, expected)
        work = relaxed.sum() / sum(degrees[np.isfinite(row)].sum() for row in expected)
        times = [seconds / SOURCES * 1e3 for seconds in (ours.cpu, rival.cpu)]
        print(f"| {name} | {graph.n} | {graph.arcs} | {prepared.delta} | {work:.2f} | {rounds.mean():.0f} | "
              f"{times[0]:.1f} | {times[1]:.1f} | {times[0] / times[1]:.3f} |", flush=True)  # fmt: skip
        prepared.close()
    if not agree:
        print(f"{name}: the distances differ from scipy's", file=sys.stderr)
    return agree


def alone(prepared: Searcher, sources: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, work and steps of searches one after the other, without predecessors."""
    found = [prepared.distances([np.array([s])]) for s in sources]
    return tuple(np.concatenate(parts) for parts in zip(*found))  # type: ignore[return-value]


def new_york() -> Graph | None:
    """The road network of New York, if the data are there."""
    folder = Path(os.environ.get("HPCSOLVE_DATA") or "none") / "roads"
    files = [folder / f"USA-road-d.NY.{kind}.gz" for kind in ("gr", "co")]
    return read_graph(str(files[0]), str(files[1])).problem if files[0].exists() else None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", choices=list(GRAPHS), default=list(GRAPHS), metavar="GRAPH")
    text = "times the default width (default 1)"
    parser.add_argument("--deltas", type=float, nargs="+", default=[1.0], metavar="FACTOR", help=text)
    parser.add_argument("--repeats", type=int, default=5, help="runs, of which the best counts (default 5)")
    parser.add_argument("--seconds", type=float, default=20, help="no other run after so long (default 20)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
