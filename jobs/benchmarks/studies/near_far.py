"""Near-Far beside the post "Two buckets is all you need"."""

from __future__ import annotations

import argparse
from pathlib import Path

from hpcsolve.errors import InputError
from jobs.benchmarks.shortest_paths import charts, queries, search_space, widths
from jobs.benchmarks.shortest_paths.graphs import NEW_YORK, Network, read_network
from jobs.benchmarks.studies.sizes import chosen

HEAD = """\
The post "Two buckets is all you need" measures Near-Far on a GPU (Vulkan) for point-to-point queries on road networks.
hpcsolve's searches run here on one core, where work and rounds are the same as on a GPU: efficiency and search space
do not depend on the device, times do. The post's own figures are not known here as numbers."""
ELSEWHERE = """\
**Not the post's road networks**, which were extracted from OpenStreetMap (Berlin, Germany): {used}. To
use another one, put `NAME.gr` and `NAME.co` (9th DIMACS Challenge: arcs `a TAIL HEAD WEIGHT` with integer weights,
coordinates `v VERTEX X Y`; perhaps .gz) into `$HPCSOLVE_DATA/roads`, and run `make GRAPH=NAME study-near-far`."""
STAND_IN = "road:264346"
"""A generated road-like graph with as many vertices as New York."""
CLUSTERED = "rmat:{scale}"


def study(options: argparse.Namespace, folder: Path) -> list[str]:
    """Measure, draw, and return the report in Markdown."""
    network, used = _network(options)
    repeats = chosen(options, 1, 2, 5)
    return [
        '# Near-Far, beside "Two buckets is all you need"', "", HEAD, "", ELSEWHERE.format(used=used), "",
        "## Search space", "", *_space(network, folder, chosen(options, 200, 2**16, 2**16)), "",
        "## Efficiency by Dijkstra rank", "", *_queries(network, folder, repeats), "",
        "## Delta and batch", "", *_sweep(network, folder, repeats), "",
        *_sweep(read_network(CLUSTERED.format(scale=chosen(options, 6, 14, 18)), 1), folder, repeats),
    ]


def _network(options: argparse.Namespace) -> tuple[Network, str]:
    """Return the network, and a few words on what it is."""
    sources, name = chosen(options, 3, 20, 100), options.graph
    if options.tiny and name == NEW_YORK:
        return read_network("road:400", sources), "a tiny generated graph"
    try:
        text = "New York (9th DIMACS Challenge) is used" if name == NEW_YORK else f"{name} is used"
        return read_network(name, sources), text
    except InputError:
        if name != NEW_YORK:
            raise
        text = f"`$HPCSOLVE_DATA/roads` has no New York either, so that a generated graph, {STAND_IN}, is used"
        return read_network(STAND_IN, sources), text


def _space(network: Network, folder: Path, rank: int) -> list[str]:
    query = search_space.choose_query(network, rank)
    spaces = search_space.measure(network, query)
    search_space.draw(network, query, spaces, folder)
    return search_space.table(network, query, spaces)


def _queries(network: Network, folder: Path, repeats: int) -> list[str]:
    points = queries.measure(network, [0.125, 1.0, 8.0], 2, repeats)
    charts.draw_queries(network.name, points, folder)
    return queries.table(network, points, repeats)


def _sweep(network: Network, folder: Path, repeats: int) -> list[str]:
    found = widths.sweep(network, widths.FACTORS[1:-1], widths.BATCHES, repeats)
    charts.draw_sweep(network.name, found, folder)
    return widths.sweep_table(network, found, repeats)
