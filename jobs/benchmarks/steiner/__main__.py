"""Steiner trees beside networkx, rustworkx, scipy and OGDF, their quality, a study's variants, and two ranks.

    export HPCSOLVE_DATA=...                          # a folder with steiner/; or name other --instances
    python -m jobs.benchmarks.steiner rivals          # time and weight of all solvers, one core
    python -m jobs.benchmarks.steiner quality         # every file, every mode: weight, bound, closure, memory
    python -m jobs.benchmarks.steiner starts          # mode best: one start, a longer one, several
    python -m jobs.benchmarks.steiner exact           # what mode exact proves, beside SteinerPy
    python -m jobs.benchmarks.steiner variants        # engines, k-pull, p-SSSP, more and more terminals
    python -m jobs.benchmarks.steiner searches        # the searches of mode kmb, by tile and by a hierarchy
    python -m jobs.benchmarks.steiner ranks           # one rank and two

Prints Markdown. Times are CPU seconds of one core, because others may share the machine; those of `quality`, `starts`
and `ranks` are wall-clock seconds, too. The exit code is 1 if an answer is wrong: not a tree, a tree lighter than an
optimum, or another closure than the reference's.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", RAYON_NUM_THREADS="1")

from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.charts import require_matplotlib
from jobs.benchmarks.common.command import add_charts, add_repeats, end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.timing import load
from jobs.benchmarks.steiner import exact, quality, ranks, searches, speed, starts, variants
from jobs.benchmarks.steiner.instances import HOW_TO_NAME, every_name, read_instance
from jobs.benchmarks.steiner.rivals import all_rivals

Report = tuple[list[str], bool]
"""Lines of Markdown, and whether all answers were right."""
Measure = Callable[[argparse.Namespace, ModuleType | None], Report]
"""Takes the options and, if charts are drawn, the module that draws them."""
PACKAGES = ("scipy", "networkx", "rustworkx", "ogdf-wheel", "steinerpy", "highspy")


def main() -> int:
    """Measure what the command asks for, print the report, and return the exit code."""
    options = _options()
    before = load()
    lines, right = options.measure(options, _charts(options))
    print("\n".join(["# Steiner trees", "", *describe_machine(HostDevice(1), 1, PACKAGES)]))
    print(describe_load(before), end="\n\n")
    print("\n".join(lines))
    return 0 if right else 1


def _charts(options: argparse.Namespace) -> ModuleType | None:
    """Return the module that draws charts, or None if none are asked for."""
    if options.charts is None:
        return None
    require_matplotlib()
    return import_module("jobs.benchmarks.steiner.charts")


def _rivals(options: argparse.Namespace, charts: ModuleType | None) -> Report:
    asked = speed.Options(options.repeats, options.seconds, options.memory, options.best)
    rivals, skipped = all_rivals()
    found, lines = {}, [speed.HOW.format(options=asked), *(f"- {line}" for line in skipped), ""]
    for name in options.instances:
        instance = read_instance(name)
        found[name] = speed.measure(instance, rivals, asked)
        lines += [*speed.table(instance, found[name]), ""]
        if charts:
            charts.draw_solvers(instance, found[name], Path(options.charts))
    every = speed.slowest_fast(options.repeats) if options.every else []
    return [*lines, *speed.ratios(found), *every], True


def _quality(options: argparse.Namespace, _: ModuleType | None) -> Report:
    """Measure every instance and mode, even after a wrong answer."""
    rows = [quality.measure(instance, mode, options.ranks, options.seconds, options.device)
            for instance in map(read_instance, options.instances or every_name()) for mode in options.modes]
    return quality.tables(rows, options.ranks), not any(row.wrong for row in rows)


def _starts(options: argparse.Namespace, _: ModuleType | None) -> Report:
    found = [starts.measure(read_instance(name), options.starts, options.ranks) for name in options.instances]
    return starts.table(found, options.starts, options.ranks), all(one.is_right for one in found)


def _exact(options: argparse.Namespace, _: ModuleType | None) -> Report:
    names = options.instances or [*every_name(), *exact.ROADS]
    rows = [exact.measure(read_instance(name), options.seconds, options.memory, not options.alone) for name in names]
    return exact.tables(rows, options.seconds), not any(row.wrong for row in rows)


def _ranks(options: argparse.Namespace, _: ModuleType | None) -> Report:
    seconds = options.seconds
    tables = (
        ranks.ranks(read_instance(name), mode, options.repeats, seconds if mode == "best" else None, halt)
        for name in options.instances for mode in options.modes
        for halt in (ranks.HALTS if mode == "kmb" else ["bottleneck"])
    )
    return [line for table in tables for line in [*table, ""]], True


def _variants(options: argparse.Namespace, charts: ModuleType | None) -> Report:
    device, reason = open_device(options.device, SerialComm(), share_gpu=False, threads=1)
    print(reason, file=sys.stderr)
    with device:
        lines = [variants.HOW.format(terminals=options.terminals, repeats=options.repeats), ""]
        for name in options.instances:
            instance, folder = read_instance(name), charts and Path(options.charts)
            lines += variants.report(instance, device, options.terminals, options.repeats, folder)
    return lines, True


def _searches(options: argparse.Namespace, _: ModuleType | None) -> Report:
    instances = (read_instance(name) for name in options.instances)
    rows = [searches.measure(instance, halt, options.repeats) for instance in instances for halt in searches.HALTS]
    return searches.table(rows), True


def _options() -> argparse.Namespace:
    parser = new_parser(__package__, __doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, measure: Measure, instances: list[str], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(measure=measure, charts=None)
        command.add_argument("--instances", nargs="+", default=instances, metavar="NAME", help=HOW_TO_NAME)
        return command

    _add_rivals(add("rivals", _rivals, speed.INSTANCES, "time and weight of all solvers, one core"))
    command = add("quality", _quality, [], "weight, bound, closure, time and memory of each mode (default: all files)")
    _add_modes(command, list(quality.MODES))
    command.add_argument("--ranks", type=int, default=1, metavar="N", help="of mpiexec (default 1)")
    command.add_argument("--device", default="cpu", help="cuda: searches on a GPU (default cpu, one core)")
    command = add("starts", _starts, starts.INSTANCES, "mode best: one start, a longer one, several and their trees")
    command.add_argument("--starts", type=int, default=8, metavar="N", help="number of starts (default 8)")
    command.add_argument("--ranks", type=int, default=4, metavar="N", help="of mpiexec, beside one (default 4)")
    command = add("exact", _exact, [], "what mode exact proves, and how (default: all files, and road-like graphs)")
    command.add_argument("--seconds", type=float, default=60, metavar="S", help="CPU seconds of a solver (default 60)")
    command.add_argument("--memory", type=int, default=10, metavar="GIB", help="memory limit of a solver (default 10)")
    command.add_argument("--alone", action="store_true", help="without SteinerPy")
    command = add("variants", _variants, variants.INSTANCES, "the study's comparison of engines")
    command.add_argument("--terminals", type=int, default=64, metavar="K",
                         help="most terminals for the slow engines (default 64)")
    command.add_argument("--device", default="cpu", help="cuda: wall-clock seconds (default cpu, one core)")
    add_repeats(command, 3)
    add_charts(command)
    command = add("searches", _searches, searches.INSTANCES, "the searches of mode kmb, by tile and by a hierarchy")
    add_repeats(command, 3)
    command = add("ranks", _ranks, ["alue7080"], "one rank and two")
    _add_modes(command, ["kmb"])
    add_repeats(command, 5)
    return parser.parse_args()


def _add_rivals(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seconds", type=int, default=120, metavar="S",
                         help="wall-clock time limit of a rival (default 120)")
    command.add_argument("--memory", type=int, default=10, metavar="GIB", help="memory limit of a rival (default 10)")
    command.add_argument("--best", type=float, default=60, metavar="S",
                         help="time limit of mode best; 0 leaves it out (default 60)")
    command.add_argument("--every", action="store_true", help="also time mode fast on every file")
    add_repeats(command, 5)
    add_charts(command)


def _add_modes(command: argparse.ArgumentParser, modes: list[str]) -> None:
    text = f"(default {' '.join(modes)})"
    command.add_argument("--modes", nargs="+", choices=quality.MODES, default=modes, metavar="MODE", help=text)
    command.add_argument("--seconds", type=float, metavar="S",
                         help="time limit of mode best (default: until no vertex helps)")


if __name__ == "__main__":
    end_with(main, __package__)
