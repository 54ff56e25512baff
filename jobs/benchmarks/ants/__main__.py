"""Ant colonies: times beside the literature's, quality beside a double-precision reference, good tours beside LKH.

    export HPCSOLVE_DATA=...                                   # holds tsplib/ and tsplib/optima.csv
    python jobs/benchmarks/ant_colony.py speed                 # milliseconds an iteration, on one core
    python jobs/benchmarks/ant_colony.py quality --instances pcb442 --seeds 20 --runs runs.csv
    python jobs/benchmarks/ant_colony.py lengths               # head-tail and st-group on the same trails
    python jobs/benchmarks/ant_colony.py tours --charts charts # MAX-MIN with local search, fast-tsp, LKH against time
    python jobs/benchmarks/ant_colony.py ranks                 # eight colonies on one rank and on two

Prints Markdown. CPU seconds of one core, since others may share the machine; `ranks` alone takes wall-clock time.
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

from hpcsolve.device.host import HostDevice
from jobs.benchmarks import ant_lengths, ant_published, ant_quality, ant_ranks, ant_speed, ant_tours, report
from jobs.benchmarks.ant_runs import instances
from jobs.benchmarks.command import add_charts, end_with
from jobs.benchmarks.measure import describe_machine, load, version


def main() -> int:
    """Measure, print."""
    options = _options()
    if options.charts:
        report.require_matplotlib()
    before = load()
    lines = options.measure(options)
    print("\n".join(["# Ant colonies", "", *describe_machine(HostDevice(1), 1)]))
    print(f"- rivals: elkai {version('elkai')}, fast-tsp {version('fast-tsp')}")
    print(f"- processes that wanted a core: {before:.1f} before, {load():.1f} at the end (one-minute means)\n")
    print("\n".join(lines))
    return 0


def _speed(options: argparse.Namespace) -> list[str]:
    read = instances(options.instances)
    rows = ant_speed.measure(read, options.strategies, options.plain_up_to, options.device)
    if options.charts:
        from jobs.benchmarks.ant_charts import draw_speed

        draw_speed(rows, {instance.name: instance.tsp.n for instance in read}, Path(options.charts))
    return ant_speed.tables(rows)


def _quality(options: argparse.Namespace) -> list[str]:
    read = instances(options.instances)
    asked = ant_quality.Series(read, options.solvers, options.seeds, options.iterations)
    return ant_quality.quality(asked, options.runs)


def _lengths(options: argparse.Namespace) -> list[str]:
    return ant_lengths.table(instances(options.instances), options.iterations)


def _tours(options: argparse.Namespace) -> list[str]:
    found = ant_tours.measure(instances(options.instances), sorted(options.seconds), options.seeds)
    if options.charts:
        from jobs.benchmarks.ant_charts import draw_tours

        draw_tours(found, Path(options.charts))
    return ant_tours.tables(found)


def _ranks(options: argparse.Namespace) -> list[str]:
    return [line for instance in instances(options.instances)
            for line in [*ant_ranks.ranks(instance, options.iterations, options.repeats), ""]]  # fmt: skip


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="WHAT")

    def add(name: str, measure: Callable[[argparse.Namespace], list[str]], default: list[str], text: str
            ) -> argparse.ArgumentParser:  # fmt: skip
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(measure=measure, charts=None)
        command.add_argument("--instances", nargs="+", default=default, metavar="NAME",
                             help=f"of HPCSOLVE_DATA/tsplib (default {' '.join(default)})")  # fmt: skip
        return command

    command = add("speed", _speed, list(ant_published.INSTANCES), "Ant System: time an iteration")
    command.add_argument("--strategies", nargs="+", default=["head-tail"], metavar="NAME",
                         help="as st-group, st-group:step (a launch a step), st-group:256 (threads of a block, which "
                         "matter on a GPU only), :no-list, :untiled; the first is compared")  # fmt: skip
    command.add_argument("--device", default="cpu", help="of hpcsolve; cuda: wall-clock times of a GPU (default cpu)")
    command.add_argument("--plain-up-to", type=int, default=1100, metavar="N",
                         help="cities, for plain programs (default 1100; 2392 take a minute an iteration)")  # fmt: skip
    add_charts(command)
    command = add("quality", _quality, list(ant_published.QUALITY), "Ant System: tours after many iterations")
    command.add_argument("--solvers", nargs="+", default=["head-tail", ant_quality.REFERENCE], metavar="NAME",
                         help=f"strategies, or '{ant_quality.REFERENCE}'")  # fmt: skip
    command.add_argument("--seeds", type=int, default=10, help="runs of each, seeds 1 to this (default 10)")
    command.add_argument("--iterations", type=int, default=ant_published.ITERATIONS)
    command.add_argument("--runs", metavar="FILE", help="CSV; keeps runs as they end, and those in it are not repeated")
    command = add("lengths", _lengths, list(ant_published.QUALITY), "head-tail and st-group on the same trails")
    command.add_argument("--iterations", type=int, nargs="+", default=[0, 3, 30], metavar="N",
                         help="of head-tail before they are compared (default 0 3 30)")  # fmt: skip
    command = add("tours", _tours, ["lin318", "pcb442", "rat783", "pr1002", "pr2392"], "good tours against time")
    command.add_argument("--seconds", type=float, nargs="+", default=[1, 3, 10, 30], help="(default 1 3 10 30)")
    command.add_argument("--seeds", type=int, default=5, help="of hpcsolve (default 5)")
    add_charts(command)
    command = add("ranks", _ranks, ["pcb442"], f"{ant_ranks.COLONIES} colonies on one rank and on two")
    command.add_argument("--iterations", type=int, default=100)
    command.add_argument("--repeats", type=int, default=5, help="of which the best counts (default 5)")
    return parser.parse_args()


if __name__ == "__main__":
    end_with(main)
