"""Edge assembly beside fast-tsp, LKH and GA-EAX: each by the CPU seconds of its process, reading included.

    export HPCSOLVE_DATA=...                               # a folder with tsplib/ and tsplib/optima.csv
    pip install fast-tsp elkai                             # the rivals, all optional
    pip install --no-deps ml4co-kit
    python -m jobs.benchmarks.edge_assembly                # all parts: some three hours of one core
    python -m jobs.benchmarks.edge_assembly files --instances pr1002 pr2392 --seeds 3 --charts charts
    python -m jobs.benchmarks.edge_assembly --bound        # the 1-tree bound in place of tours
    python -m jobs.benchmarks.edge_assembly --memory --instances uniform:1000 uniform:100000

Prints Markdown. All solvers run on the same core, one process at a time. --runs keeps the runs, so that a series that
was ended goes on. The exit code is 1 if a solver's tour is none, or costs less than a known optimum.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hpcsolve.device.host import HostDevice
from jobs.benchmarks.common.charts import require_matplotlib
from jobs.benchmarks.common.command import add_charts, add_repeats, end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.timing import load
from jobs.benchmarks.edge_assembly import bounds, memory, tables
from jobs.benchmarks.edge_assembly.instances import HOW_TO_NAME, Instance, instance_named, published_names
from jobs.benchmarks.edge_assembly.measure import LARGE, LARGE_SEEDS, Measure, installed
from jobs.benchmarks.edge_assembly.ranks import ranks
from jobs.benchmarks.edge_assembly.runs import Series
from jobs.benchmarks.edge_assembly.solvers import SOLVERS

PARTS = ("files", "generated", "asymmetric", "ranks")
TOURS = PARTS[:-1]
GENERATED = tuple(f"{kind}:{n}" for n in (10_000, 100_000, 1_000_000) for kind in ("uniform", "clustered"))
ASYMMETRIC = tuple(f"asymmetric:{n}" for n in (100, 300, 1000))
RANKS = ("fnl4461",)
GAPS = """\
Mean gap in percent of all seeds after so many CPU seconds of the whole process; in brackets the CPU seconds of a solver
whose limit is of wall-clock time. "-": no tour yet. "Reached" is {target}, and
"median s" are the CPU seconds until then, where a seed that does not reach it takes infinitely long."""
TARGETS = {"files": "the optimum", "generated": "an optimum, which is not known here",
           "asymmetric": "the optimum of a file, and of generated costs the least cost of all runs"}


def main() -> int:
    """Measure, print the report, and return the exit code."""
    options = _options()
    if options.charts:
        require_matplotlib()
    before, cores = load(), os.sched_getaffinity(0)
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        os.sched_setaffinity(0, {min(cores)})  # inherited by all solvers
        lines += (_memory if options.memory else _bounds if options.bound else _tours)(options, Path(name))
        os.sched_setaffinity(0, cores)
        if "ranks" in options.parts and not options.bound and not options.memory:
            lines += _ranks(options, Path(name))
    packages = tuple(solver.package for solver in SOLVERS if solver.package)
    print("\n".join(["# Edge assembly", "", *describe_machine(HostDevice(1), 1, packages, len(cores))]))
    print(describe_load(before), end="\n\n")
    print("\n".join(lines))
    return 0


def _tours(options: argparse.Namespace, folder: Path) -> list[str]:
    """Run the solvers on the instances of each part, and return the tables."""
    solvers, missing = installed(options.solvers)
    seconds = tuple(sorted(options.seconds or ()))
    measure = Measure(solvers, seconds, options.seeds, options.patience, Series(options.runs), folder, missing)
    lines, all_found = [], []
    for part in (part for part in TOURS if part in options.parts):
        instances = _instances(options, part, folder)
        found = [measure.runs_on(instance) for instance in instances]
        found = [one for one in found if one.has_tours]
        if found:
            lines += [f"## {part.capitalize()}", "", GAPS.format(target=TARGETS[part]), "", *tables.gaps(found), "",
                      *tables.compared(found), ""]
        all_found += found
    if options.charts:
        from jobs.benchmarks.edge_assembly.charts import draw_times

        draw_times(all_found, Path(options.charts))
    return [*(f"- {line}" for line in measure.skipped), "", *lines]


def _ranks(options: argparse.Namespace, folder: Path) -> list[str]:
    lines = ["## Two ranks, and two threads", ""]
    for instance in _instances(options, "ranks", folder):
        lines += ranks(instance, options.population, options.iterations, options.repeats)
    return lines


def _bounds(options: argparse.Namespace, folder: Path) -> list[str]:
    instances = [one for part in TOURS if part in options.parts for one in _instances(options, part, folder)]
    return bounds.table(instances, options.repeats)


def _memory(options: argparse.Namespace, folder: Path) -> list[str]:
    names = options.instances or [f"uniform:{n}" for n in (1_000, 10_000, 100_000, 1_000_000)]
    return memory.table([instance_named(name, folder) for name in names], folder)


def _instances(options: argparse.Namespace, part: str, folder: Path) -> list[Instance]:
    """Return the instances of a part, or those of `--instances` that belong to it."""
    if options.instances is not None:
        chosen = [instance_named(name, folder) for name in options.instances]
        return [one for one in chosen if part in ("ranks", _part_of(one))]
    if part in ("files", "asymmetric"):
        names = [*published_names(symmetric=part == "files"), *(ASYMMETRIC if part == "asymmetric" else ())]
    else:
        names = list(GENERATED if part == "generated" else RANKS)
    return [instance_named(name, folder) for name in names]


def _part_of(instance: Instance) -> str:
    return "asymmetric" if not instance.symmetric else "files" if instance.kind == "file" else "generated"


def _options() -> argparse.Namespace:
    parser = new_parser(__package__, __doc__)
    names = [kind.name for kind in SOLVERS]
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    parser.add_argument("--instances", nargs="+", metavar="NAME", help=f"{HOW_TO_NAME} (default: those of the parts)")
    parser.add_argument("--solvers", nargs="+", default=names, metavar="NAME", choices=names,
                        help=f"{', '.join(names)} (default: all)")
    parser.add_argument("--seconds", type=float, nargs="+", metavar="S",
                        help="CPU seconds after which tours are compared (default 1 3 10 30, of more cities longer)")
    parser.add_argument("--seeds", type=int, default=5, metavar="N",
                        help=f"runs of each solver (default 5; at most {LARGE_SEEDS} from {LARGE} cities on)")
    parser.add_argument("--patience", type=float, default=300.0, metavar="S",
                        help="CPU seconds after which LKH and GA-EAX are ended without the optimum (default 300)")
    parser.add_argument("--runs", metavar="FILE", help="file that keeps the runs; those in it are not repeated")
    parser.add_argument("--bound", action="store_true", help="measure the 1-tree bound in place of tours")
    parser.add_argument("--memory", action="store_true", help="measure memory beside its estimate in place of tours")
    parser.add_argument("--population", type=int, default=100, metavar="N", help="tours, of `ranks` (default 100)")
    parser.add_argument("--iterations", type=int, default=40, metavar="N", help="generations, of `ranks` (default 40)")
    add_repeats(parser, 3)
    add_charts(parser)
    options = parser.parse_args()
    wrong: Sequence[str] = [part for part in options.parts if part not in PARTS]
    if wrong:
        parser.error(f"there is no part {', '.join(wrong)}; choose from {', '.join(PARTS)}")
    options.parts = options.parts or list(PARTS)
    return options


if __name__ == "__main__":
    end_with(main, __package__)
