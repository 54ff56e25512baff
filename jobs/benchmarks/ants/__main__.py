"""Ant colonies: time beside the literature, quality beside double precision, good tours beside LKH and fast-tsp.

    export HPCSOLVE_DATA=...                                    # a folder with tsplib/ and tsplib/optima.csv
    python -m jobs.benchmarks.ants speed                        # milliseconds an iteration, on one core
    python -m jobs.benchmarks.ants quality --instances pcb442 --seeds 20 --runs runs.csv
    python -m jobs.benchmarks.ants lengths                      # head-tail and st-group on the same pheromone
    python -m jobs.benchmarks.ants tours --charts charts        # MAX-MIN with local search, fast-tsp, LKH
    python -m jobs.benchmarks.ants ranks                        # eight colonies on one rank and on two
    python -m jobs.benchmarks.ants versions /another/checkout   # MAX-MIN with local search, before and now

Prints Markdown. Times are CPU seconds of one core, because others may share the machine; those of `ranks` are
wall-clock seconds.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

from hpcsolve.device.host import HostDevice
from jobs.benchmarks.ants import lengths, published, quality, ranks, speed, tours, versions
from jobs.benchmarks.ants.instances import read_instances
from jobs.benchmarks.common.charts import require_matplotlib
from jobs.benchmarks.common.command import add_charts, add_repeats, end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.timing import load

Measure = Callable[[argparse.Namespace], list[str]]
"""Takes the options and returns the report in Markdown."""


def main() -> int:
    """Measure what the command asks for, print the report, and return the exit code."""
    options = _options()
    if options.charts:
        require_matplotlib()
    before = load()
    lines = options.measure(options)
    print("\n".join(["# Ant colonies", "", *describe_machine(HostDevice(1), 1, ("elkai", "fast-tsp"))]))
    print(describe_load(before), end="\n\n")
    print("\n".join(lines))
    return 0


def _speed(options: argparse.Namespace) -> list[str]:
    instances = read_instances(options.instances)
    rows = speed.measure(instances, options.strategies, options.plain_up_to, options.device)
    if options.charts:
        from jobs.benchmarks.ants.charts import draw_speed

        draw_speed(rows, {instance.name: instance.tsp.n for instance in instances}, Path(options.charts))
    return speed.tables(rows)


def _quality(options: argparse.Namespace) -> list[str]:
    instances = read_instances(options.instances)
    return quality.quality(quality.Series(instances, options.solvers, options.seeds, options.iterations), options.runs)


def _lengths(options: argparse.Namespace) -> list[str]:
    return lengths.table(read_instances(options.instances), options.iterations)


def _tours(options: argparse.Namespace) -> list[str]:
    found = tours.measure(read_instances(options.instances), sorted(options.seconds), options.seeds)
    if options.charts:
        from jobs.benchmarks.ants.charts import draw_tours

        draw_tours(found, Path(options.charts))
    return tours.tables(found)


def _ranks(options: argparse.Namespace) -> list[str]:
    return [line for instance in read_instances(options.instances)
            for line in [*ranks.ranks(instance, options.iterations, options.repeats), ""]]


def _versions(options: argparse.Namespace) -> list[str]:
    return versions.compared(options.instances, options.other, options.seconds, options.seeds)


def _options() -> argparse.Namespace:
    parser = new_parser(__package__, __doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, measure: Measure, instances: list[str], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(measure=measure, charts=None)
        command.add_argument("--instances", nargs="+", default=instances, metavar="NAME",
                             help=f"in $HPCSOLVE_DATA/tsplib (default {' '.join(instances)})")
        return command

    _add_speed(add("speed", _speed, list(published.INSTANCES), "Ant System: time of an iteration"))
    _add_quality(add("quality", _quality, list(published.QUALITY), "Ant System: tours after many iterations"))
    command = add("lengths", _lengths, list(published.QUALITY), "head-tail and st-group on the same pheromone")
    command.add_argument("--iterations", type=int, nargs="+", default=[0, 3, 30], metavar="N",
                         help="iterations of head-tail before each comparison (default 0 3 30)")
    command = add("tours", _tours, ["lin318", "pcb442", "rat783", "pr1002", "pr2392"], "good tours against time")
    command.add_argument("--seconds", type=float, nargs="+", default=[1, 3, 10, 30], metavar="S",
                         help="CPU seconds after which tours are compared (default 1 3 10 30)")
    command.add_argument("--seeds", type=int, default=5, metavar="N", help="runs of hpcsolve (default 5)")
    add_charts(command)
    command = add("ranks", _ranks, ["pcb442"], f"{ranks.COLONIES} colonies on one rank and on two")
    command.add_argument("--iterations", type=int, default=100, metavar="N", help="(default 100)")
    add_repeats(command, 5)
    command = add("versions", _versions, ["lin318", "pcb442", "rat783", "pr1002", "nrw1379", "pr2392", "p43", "ry48p"],
                  "MAX-MIN with local search beside another version")
    command.add_argument("other", type=Path, metavar="FOLDER", help="a checkout of the other version")
    command.add_argument("--seconds", type=float, default=3.0, metavar="S", help="CPU seconds of a run (default 3)")
    command.add_argument("--seeds", type=int, default=3, metavar="N", help="runs of each version (default 3)")
    return parser.parse_args()


def _add_speed(command: argparse.ArgumentParser) -> None:
    text = "head-tail, st-group or st-dynamic, with options: st-group:step (one launch a step), st-group:256 (threads \
of a block, which matter on a GPU only), :no-list, :untiled; the first one is compared with the literature"
    command.add_argument("--strategies", nargs="+", default=["head-tail"], metavar="NAME", help=text)
    command.add_argument("--device", default="cpu", help="hpcsolve's; cuda: wall-clock times of a GPU (default cpu)")
    command.add_argument("--plain-up-to", type=int, default=1100, metavar="N",
                         help="largest n of the plain programs (default 1100; 2392 cities take a minute an iteration)")
    add_charts(command)


def _add_quality(command: argparse.ArgumentParser) -> None:
    command.add_argument("--solvers", nargs="+", default=["head-tail", quality.REFERENCE], metavar="NAME",
                         help=f"strategies, or '{quality.REFERENCE}'")
    command.add_argument("--seeds", type=int, default=10, metavar="N", help="runs of each, seeds 1 to N (default 10)")
    command.add_argument("--iterations", type=int, default=published.ITERATIONS, metavar="N",
                         help=f"of each run (default {published.ITERATIONS})")
    command.add_argument("--runs", metavar="FILE", help="CSV file that keeps the runs; those in it are not repeated")


if __name__ == "__main__":
    end_with(main, __package__)
