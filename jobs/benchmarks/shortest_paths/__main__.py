"""Shortest paths beside scipy's Dijkstra in one process, the width of buckets, queries, and many sources on two ranks.

    export HPCSOLVE_DATA=...                              # a folder with roads/; or name other graphs with --graphs
    python -m jobs.benchmarks.shortest_paths single       # one source on one core: time, work, rounds
    python -m jobs.benchmarks.shortest_paths widths       # work and rounds by delta, for both Near-Far engines
    python -m jobs.benchmarks.shortest_paths batches      # the grid engine by delta and by batch of launches
    python -m jobs.benchmarks.shortest_paths queries      # point to point by Dijkstra rank
    python -m jobs.benchmarks.shortest_paths ranks        # many sources on one rank and on two
    python -m jobs.benchmarks.shortest_paths tables       # many sources on one core, by sweeps over a hierarchy
    python -m jobs.benchmarks.shortest_paths engines      # what auto takes beside near-far and phast
    python -m jobs.benchmarks.shortest_paths targets      # many sources to few targets, by restricted sweeps
    python -m jobs.benchmarks.shortest_paths all-pairs    # every pair, reduced to closeness and eccentricity

Prints Markdown. Times are CPU seconds of one core, the best of several runs, because others may share the machine;
those of `ranks` are wall-clock seconds. The exit code is 1 if two solvers find different answers; no time counts then.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TypeVar

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.charts import require_matplotlib
from jobs.benchmarks.common.command import add_charts, add_repeats, end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.timing import load
from jobs.benchmarks.shortest_paths import engines, many, queries, restricted, single, widths
from jobs.benchmarks.shortest_paths.all_pairs import all_pairs
from jobs.benchmarks.shortest_paths.graphs import HOW_TO_NAME, NEW_YORK, Network, read_network
from jobs.benchmarks.shortest_paths.ranks import ranks

Found = TypeVar("Found")
Measure = Callable[[argparse.Namespace, ModuleType | None], list[str]]
"""Takes the options and, if charts are drawn, the module that draws them; returns the report in Markdown."""


def main() -> int:
    """Measure what the command asks for, print the report, and return the exit code."""
    options = _options()
    before = load()
    lines = options.measure(options, _charts(options))
    print("\n".join(["# Shortest paths", "", *describe_machine(HostDevice(1), 1, ("scipy",))]))
    print(describe_load(before), end="\n\n")
    print("\n".join(lines))
    return 0


def _charts(options: argparse.Namespace) -> ModuleType | None:
    """Return the module that draws charts, or None if none are asked for."""
    if options.charts is None:
        return None
    require_matplotlib()
    return import_module("jobs.benchmarks.shortest_paths.charts")


def _networks(options: argparse.Namespace) -> Iterator[Network]:
    """Read one graph at a time, because R-MAT 20 takes a gigabyte."""
    for name in options.graphs:
        yield read_network(name, options.sources)


def _single(options: argparse.Namespace, charts: ModuleType | None) -> list[str]:
    rows = []
    device = HostDevice(1) if options.device == "cpu" else open_device(options.device, SerialComm())[0]
    with device:
        for network in _networks(options):
            rows.append(single.measure(network, options.repeats, device))
            print(f"{network.name}: {rows[-1].ratio:.3f} of scipy's time", file=sys.stderr)
    if charts:
        charts.draw_single(rows, Path(options.charts))
    return single.tables(rows, options.repeats, options.sources)


def _widths(options: argparse.Namespace, charts: ModuleType | None) -> list[str]:
    return _tables(options, lambda network: widths.measure(network, options.widths, options.repeats),
                   widths.tables, charts and charts.draw_widths)


def _batches(options: argparse.Namespace, charts: ModuleType | None) -> list[str]:
    return _tables(options, lambda network: widths.sweep(network, options.widths, options.batches, options.repeats),
                   widths.sweep_table, charts and charts.draw_sweep)


def _queries(options: argparse.Namespace, charts: ModuleType | None) -> list[str]:
    return _tables(
        options, lambda network: queries.measure(network, options.widths, options.least_rank, options.repeats),
        queries.table, charts and charts.draw_queries,
    )


def _many(options: argparse.Namespace, charts: ModuleType | None) -> list[str]:
    return _tables(options, lambda network: many.measure(network, options.counts, options.repeats), many.table,
                   charts and charts.draw_tables)


def _tables(
    options: argparse.Namespace, measure: Callable[[Network], Found], table: Callable[[Network, Found, int], list[str]],
    draw: Callable[[str, Found, Path], None] | None,
) -> list[str]:
    """Measure on each graph, draw the charts that are asked for, and return the tables."""
    lines = []
    for network in _networks(options):
        found = measure(network)
        lines += [*table(network, found, options.repeats), ""]
        if draw:
            draw(network.name, found, Path(options.charts))
    return lines


def _ranks(options: argparse.Namespace, _: ModuleType | None) -> list[str]:
    tables = (ranks(name, options.sources, options.predecessors, options.repeats) for name in options.graphs)
    return [line for table in tables for line in [*table, ""]]


def _engines(options: argparse.Namespace, _: ModuleType | None) -> list[str]:
    return engines.engines(options.graphs, options.counts, options.repeats)


def _restricted(options: argparse.Namespace, _: ModuleType | None) -> list[str]:
    tables = (restricted.restricted(network, options.counts, options.repeats) for network in _networks(options))
    return [line for table in tables for line in [*table, ""]]


def _all_pairs(options: argparse.Namespace, _: ModuleType | None) -> list[str]:
    tables = (all_pairs(name, options.sources, options.checked) for name in options.graphs)
    return [line for table in tables for line in [*table, ""]]


def _options() -> argparse.Namespace:
    parser = new_parser(__package__, __doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, measure: Measure, graphs: list[str], sources: int, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(measure=measure, charts=None)
        command.add_argument("--graphs", nargs="+", default=graphs, metavar="NAME", help=HOW_TO_NAME)
        command.add_argument("--sources", type=int, default=sources, metavar="N",
                             help=f"random sources of each graph (default {sources})")
        add_repeats(command, 5)
        return command

    command = add("single", _single, single.GRAPHS, 4, "one source on one core, beside scipy")
    command.add_argument("--device", default="cpu", help="hpcsolve's; cuda: wall-clock times of a GPU (default cpu)")
    add_charts(command)
    command = add("widths", _widths, single.GRAPHS[:-1], 4, "work and rounds by the width of buckets")
    _add_widths(command, widths.FACTORS)
    add_charts(command)
    command = add("batches", _batches, [NEW_YORK, "rmat:18"], 1, "the grid engine by width and by batch of launches")
    _add_widths(command, widths.FACTORS[1:-1])
    command.add_argument("--batches", type=int, nargs="+", default=widths.BATCHES, metavar="N",
                         help=f"launches until the host reads back (default {' '.join(map(str, widths.BATCHES))})")
    add_charts(command)
    command = add("queries", _queries, [NEW_YORK], 50, "point to point by Dijkstra rank")
    _add_widths(command, [0.125, 1.0])
    command.add_argument("--least-rank", type=int, default=2, metavar="K", help="begin at rank 2^K (default 2)")
    add_charts(command)
    command = add("ranks", _ranks, [NEW_YORK], 64, "many sources on one rank and on two")
    command.add_argument("--predecessors", action="store_true", help="find predecessors too")
    command = add("tables", _many, [NEW_YORK], max(many.COUNTS), "many sources on one core, by sweeps")
    command.add_argument("--counts", type=int, nargs="+", default=many.COUNTS, metavar="N",
                         help=f"numbers of sources (default {' '.join(map(str, many.COUNTS))})")
    add_charts(command)
    command = add("engines", _engines, engines.GRAPHS, max(engines.COUNTS), "what auto takes beside near-far and phast")
    command.add_argument("--counts", type=int, nargs="+", default=engines.COUNTS, metavar="N",
                         help=f"numbers of sources (default {' '.join(map(str, engines.COUNTS))})")
    command = add("targets", _restricted, [NEW_YORK], 256, "many sources to few targets on one core")
    command.add_argument("--counts", type=int, nargs="+", default=restricted.COUNTS, metavar="N",
                         help=f"numbers of targets (default {' '.join(map(str, restricted.COUNTS))})")
    command = add("all-pairs", _all_pairs, [NEW_YORK], 0, "closeness and eccentricity of every vertex (0) on two cores")
    command.add_argument("--checked", type=int, default=100, metavar="N",
                         help="random sources from which scipy searches too (default 100)")
    return parser.parse_args()


def _add_widths(command: argparse.ArgumentParser, factors: list[float]) -> None:
    text = f"multiples of the default delta (default {' '.join(f'{factor:g}' for factor in factors)})"
    command.add_argument("--widths", type=float, nargs="+", default=factors, metavar="FACTOR", help=text)


if __name__ == "__main__":
    end_with(main, __package__)
