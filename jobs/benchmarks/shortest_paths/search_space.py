"""The search spaces of one query: which vertices Dijkstra's algorithm and Near-Far settle and reach.

A vertex is settled if its distance is final when the search ends, and reached if an arc from a settled vertex leads to
it. Dijkstra's algorithm settles what is no farther than the target; Near-Far, which exits at the end of the target's
bucket, what is below the bucket's end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.shortest_paths.engines.single import RELAXED, ROUNDS, Batch, Searcher, default_delta
from hpcsolve.algorithms.shortest_paths.searches import Searches, Want, query_searches
from hpcsolve.errors import InputError
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.charts import file_part, save
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.shortest_paths.graphs import Network, solve

FACTORS = [1.0, 8.0]
"""Widths of Near-Far with early exit, as multiples of the default."""
HOW = """\
One query, from vertex {source} to vertex {target}, which Dijkstra's algorithm settles as number {rank}. Settled: final
distance when the search ends. Reached: not settled, but an arc from a settled vertex leads there. Arcs: scanned by the
search, those that Near-Far scans again included. Rounds: dependent steps; Dijkstra's algorithm takes one for each
settled vertex. Near-Far is the engine near-far-grid with buckets of constant width."""


@dataclass(frozen=True, eq=False)
class Space:
    """The search space of one search.

    Attributes
    ----------
    settled, reached
        Which vertices, by position in the graph, shape (n,); no vertex is both.
    arcs, rounds
        Arcs scanned, and dependent steps.
    """

    title: str
    settled: NDArray[np.bool_]
    reached: NDArray[np.bool_]
    arcs: int
    rounds: int


@dataclass(frozen=True, eq=False)
class Query:
    """A source, the target that Dijkstra's algorithm settles as number `rank`, and all distances from the source."""

    source: int
    target: int
    rank: int
    distance: NDArray[np.float64]


def choose_query(network: Network, rank: int) -> Query:
    """Return the query of this Dijkstra rank from the network's first source, or of the largest rank that there is."""
    source, distance = int(network.sources[0]), network.expected()[0]
    order = np.argsort(distance, kind="stable")[: np.count_nonzero(np.isfinite(distance))]
    actual = min(rank, len(order) - 1)
    return Query(source, int(order[actual]), actual, distance)


def measure(network: Network, query: Query) -> list[Space]:
    """Return the search spaces of Dijkstra's algorithm, of Near-Far with early exit, and of Near-Far without.

    Raises
    ------
    WrongAnswerError
        If a settled vertex has another distance than scipy's, or Dijkstra's engine does not settle what it should.
    """
    searches = query_searches(np.array([[query.source, query.target]]), network.places)
    return [_dijkstra(network, query, searches), *_near_far(network, query, searches)]


def _dijkstra(network: Network, query: Query, searches: Searches) -> Space:
    settled = query.distance <= query.distance[query.target]
    with network.prepared("dijkstra") as prepared:
        relaxed = int(prepared.solve(searches, Want.TARGETS).relaxed[0])
    require_equal(network.name, relaxed == np.diff(network.graph.offsets)[settled].sum())
    return _space("Dijkstra's algorithm, exit at the target", network, settled, relaxed, int(settled.sum()))


def _near_far(network: Network, query: Query, searches: Searches) -> Iterator[Space]:
    default = default_delta(network.graph)
    for factor in FACTORS:
        with network.prepared("near-far-grid", factor * default) as prepared:
            title = f"Near-Far, delta {prepared.tuning.most}, exit at the target"
            yield _searched(title, network, query, prepared, searches, Want.TARGETS)
    with network.prepared("near-far-grid", default) as prepared:
        title = f"Near-Far, delta {prepared.tuning.most}, no early exit"
        keys, solved = solve(prepared, searches, Want.DISTANCES)
        settled = _checked(network, query, prepared, keys[0])
        yield _space(title, network, settled, int(solved.relaxed[0]), int(solved.rounds[0]))


def _searched(title: str, network: Network, query: Query, prepared: Searcher, searches: Searches, wanted: int) -> Space:
    """Search with early exit. The row of keys then holds the settled vertices alone, in the order of the layout."""
    batch = Batch.on(prepared.device, searches, wanted, prepared.device.empty(1, prepared.keys.dtype))
    state = prepared.search_by_grid(batch.only(0, prepared.graph.n))
    batch.solved(prepared, [])
    keys = prepared.work["keys"].download().ravel()[network.places]
    settled = _checked(network, query, prepared, keys)
    return _space(title, network, settled, int(state[RELAXED]), int(state[ROUNDS]))


def _checked(network: Network, query: Query, prepared: Searcher, keys: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which vertices are settled, after comparing their distances with scipy's."""
    settled: NDArray[np.bool_] = keys != prepared.keys.no_path
    found = prepared.keys.decode(keys).astype(np.float64)
    require_equal(network.name, bool(settled[query.target]) and np.array_equal(found[settled], query.distance[settled]))
    return settled


def _space(title: str, network: Network, settled: NDArray[np.bool_], arcs: int, rounds: int) -> Space:
    graph = network.graph
    reached = np.zeros(graph.n, bool)
    reached[graph.heads[settled[graph.tails()]]] = True
    return Space(title, settled, reached & ~settled, arcs, rounds)


def table(network: Network, query: Query, spaces: list[Space]) -> list[str]:
    """Return a table in Markdown, a row for each search."""
    labels, first = network.graph.labels, spaces[0]
    cells = [[space.title, str(int(space.settled.sum())), str(int(space.reached.sum())), str(space.arcs),
              f"{first.arcs / space.arcs:.2f}", str(space.rounds)] for space in spaces]
    names = [f"{network.name}: search", "settled", "reached", "arcs", "efficiency", "rounds"]
    text = HOW.format(source=labels[query.source], target=labels[query.target], rank=query.rank)
    return [f"{text} Efficiency: the arcs of Dijkstra's algorithm divided by those of the search.", "",
            *markdown(names, cells)]


def draw(network: Network, query: Query, spaces: list[Space], folder: Path) -> None:
    """Draw a map for each search: settled vertices, reached ones, the others, source and target.

    Raises
    ------
    InputError
        If the graph has no coordinates.
    """
    from matplotlib.figure import Figure

    places = network.graph.coordinates
    if places is None:
        raise InputError(f"{network.name} has no coordinates, so its search space cannot be drawn")
    figure = Figure(figsize=(10, 9), layout="constrained")
    figure.suptitle(f"{network.name}: search space of a query of Dijkstra rank {query.rank}")
    size = min(4.0, 60000 / len(places))
    for number, space in enumerate(spaces):
        axes = figure.add_subplot(2, -(-len(spaces) // 2), number + 1)
        others = ~(space.settled | space.reached)
        for chosen, color, label in ((others, "0.8", "not reached"), (space.settled, "tab:blue", "settled"),
                                     (space.reached, "tab:orange", "reached")):
            axes.scatter(*places[chosen].T, s=size, color=color, linewidths=0, rasterized=True)
            axes.scatter([], [], s=30, color=color, label=label)
        for vertex, marker, label in ((query.source, "o", "source"), (query.target, "^", "target")):
            axes.scatter(*places[vertex], s=60, color="white", edgecolors="black", marker=marker, label=label, zorder=3)
        counts = f"settled {np.count_nonzero(space.settled)}, reached {np.count_nonzero(space.reached)}"
        axes.set(title=space.title, xlabel=f"{counts}, arcs {space.arcs}", xticks=[], yticks=[], aspect="equal")
        axes.title.set_fontsize(10)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    save(figure, folder / f"shortest-paths-space-{file_part(network.name)}.svg")
