"""Shortest paths beside scipy's Dijkstra, in one process: single searches, widths, queries; and ranks.

    export HPCSOLVE_DATA=...                                   # holds roads/; or name other graphs with --graphs
    python jobs/benchmarks/shortest_paths.py single            # one source on one core: time, work, steps
    python jobs/benchmarks/shortest_paths.py widths            # work and steps by delta, both Near-Far engines
    python jobs/benchmarks/shortest_paths.py batches           # the grid engine: delta and launches between two looks
    python jobs/benchmarks/shortest_paths.py pairs             # point to point by Dijkstra rank
    python jobs/benchmarks/shortest_paths.py ranks             # many sources on one rank and on two

Prints Markdown. CPU seconds of one core, the best of several, since others may share the machine; `ranks` alone takes
wall-clock time. Exit code 1 if two solvers disagree about an answer: then no time counts.
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

sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

from hpcsolve.device.host import HostDevice
from jobs.benchmarks import shortest_paths_pairs as pairs
from jobs.benchmarks import shortest_paths_single as single
from jobs.benchmarks import shortest_paths_widths as widths
from jobs.benchmarks.command import add_charts, end_with
from jobs.benchmarks.measure import describe_machine, load, version
from jobs.benchmarks.report import require_matplotlib
from jobs.benchmarks.shortest_paths_graphs import HOW_TO_NAME, NEW_YORK, Network, network
from jobs.benchmarks.shortest_paths_ranks import ranks

Found = TypeVar("Found")
Measure = Callable[[argparse.Namespace, ModuleType | None], list[str]]


def main() -> int:
    """Measure, print."""
    options = _options()
    before = load()
    lines = options.measure(options, _charts(options))
    print("\n".join(["# Shortest paths", "", *describe_machine(HostDevice(1), 1)]))
    print(f"- rival: scipy {version('scipy')}")
    print(f"- processes that wanted a core: {before:.1f} before, {load():.1f} at the end (one-minute means)\n")
    print("\n".join(lines))
    return 0


def _charts(options: argparse.Namespace) -> ModuleType | None:
    """What draws, if there is something to draw."""
    if options.charts is None:
        return None
    require_matplotlib()
    return import_module("jobs.benchmarks.shortest_paths_charts")


def _networks(options: argparse.Namespace) -> Iterator[Network]:
    """One at a time: R-MAT 20 takes a gigabyte."""
    for name in options.graphs:
        yield network(name, options.sources)


def _single(options: argparse.Namespace, charts: ModuleType | None) -> list[str]:
    rows = []
    for chosen in _networks(options):
        rows.append(single.measure(chosen, options.repeats))
        print(f"{chosen.name}: {rows[-1].ratio:.3f} of scipy's time", file=sys.stderr)
    if charts:
        charts.draw_single(rows, Path(options.charts))
    return single.tables(rows, options.repeats, options.sources)


def _widths(options: argparse.Namespace, charts: ModuleType | None) -> list[str]:
    return _tables(options, lambda chosen: widths.measure(chosen, options.widths, options.repeats),
                   widths.tables, charts and charts.draw_widths)  # fmt: skip


def _batches(options: argparse.Namespace, charts: ModuleType | None) -> list[str]:
    return _tables(options, lambda chosen: widths.sweep(chosen, options.widths, options.batches, options.repeats),
                   widths.sweep_table, charts and charts.draw_sweep)  # fmt: skip


def _pairs(options: argparse.Namespace, charts: ModuleType | None) -> list[str]:
    return _tables(options, lambda chosen: pairs.measure(chosen, options.widths, options.least_rank, options.repeats),
                   pairs.table, charts and charts.draw_pairs)  # fmt: skip


def _tables(
    options: argparse.Namespace, measure: Callable[[Network], Found], table: Callable[[Network, Found, int], list[str]],
    draw: Callable[[str, Found, Path], None] | None,
) -> list[str]:  # fmt: skip
    """What is measured on each graph, as tables, and as charts where these are asked for."""
    lines = []
    for chosen in _networks(options):
        found = measure(chosen)
        lines += [*table(chosen, found, options.repeats), ""]
        if draw:
            draw(chosen.name, found, Path(options.charts))
    return lines


def _ranks(options: argparse.Namespace, _: ModuleType | None) -> list[str]:
    tables = (ranks(name, options.sources, options.predecessors, options.repeats)
              for name in options.graphs)  # fmt: skip
    return [line for table in tables for line in [*table, ""]]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="WHAT")

    def add(name: str, measure: Measure, graphs: list[str], sources: int, text: str
            ) -> argparse.ArgumentParser:  # fmt: skip
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(measure=measure, charts=None)
        command.add_argument("--graphs", nargs="+", default=graphs, metavar="NAME", help=HOW_TO_NAME)
        command.add_argument("--sources", type=int, default=sources, help=f"of each graph (default {sources})")
        command.add_argument("--repeats", type=int, default=5, help="of which the best counts (default 5)")
        return command

    command = add("single", _single, single.GRAPHS, 4, "one source on one core, beside scipy")
    add_charts(command)
    factors = widths.FACTORS
    command = add("widths", _widths, single.GRAPHS[:-1], 4, "work and steps by the width of buckets")
    _add_widths(command, factors)
    add_charts(command)
    command = add("batches", _batches, [NEW_YORK, "rmat:18"], 1, "the grid engine by width and launches between looks")
    _add_widths(command, factors[1:-1])
    command.add_argument("--batches", type=int, nargs="+", default=widths.BATCHES, metavar="N")
    add_charts(command)
    command = add("pairs", _pairs, [NEW_YORK], 50, "point to point by Dijkstra rank")
    _add_widths(command, [0.125, 1.0])
    command.add_argument("--least-rank", type=int, default=2, metavar="K", help="begin at rank 2^K (default 2)")
    add_charts(command)
    command = add("ranks", _ranks, [NEW_YORK], 64, "many sources on one rank and on two")
    command.add_argument("--predecessors", action="store_true", help="keep them too")
    return parser.parse_args()


def _add_widths(command: argparse.ArgumentParser, factors: list[float]) -> None:
    text = f"times the default delta (default {' '.join(f'{factor:g}' for factor in factors)})"
    command.add_argument("--widths", type=float, nargs="+", default=factors, metavar="FACTOR", help=text)


if __name__ == "__main__":
    end_with(main)
