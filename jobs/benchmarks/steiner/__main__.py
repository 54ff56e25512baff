"""Steiner trees beside networkx, rustworkx, scipy and OGDF; quality over a set; the study's variants; and ranks.

    export HPCSOLVE_DATA=...                          # holds steiner/; or name other instances with --instances
    python jobs/benchmarks/steiner.py rivals          # time and weight of all solvers, one core
    python jobs/benchmarks/steiner.py quality         # every file, every mode: weight, bound, closure, memory
    python jobs/benchmarks/steiner.py variants        # engines, sweeps a look, searches at once, more terminals
    python jobs/benchmarks/steiner.py ranks           # one rank and two

Prints Markdown. CPU seconds of one core, since others may share the machine; `quality` and `ranks` take wall-clock
time. Exit code 1 if an answer is wrong: a tree that is none or lighter than an optimum, a closure that is not the
reference's.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", RAYON_NUM_THREADS="1")

from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks import steiner_jobs, steiner_quality, steiner_speed
from jobs.benchmarks import steiner_variants as variants
from jobs.benchmarks.command import add_charts, end_with
from jobs.benchmarks.measure import describe_machine, load, version
from jobs.benchmarks.report import require_matplotlib
from jobs.benchmarks.steiner_instances import HOW_TO_NAME, Instance, every_name, instance
from jobs.benchmarks.steiner_rivals import all_rivals

Found = tuple[list[str], bool]
"""Lines, and whether all answers were right."""
Measure = Callable[[argparse.Namespace, ModuleType | None], Found]
PACKAGES = ("scipy", "networkx", "rustworkx", "ogdf-wheel")


def main() -> int:
    """Measure, print."""
    options = _options()
    before = load()
    lines, right = options.measure(options, _charts(options))
    print("\n".join(["# Steiner trees", "", *describe_machine(HostDevice(1), 1)]))
    print(f"- rivals: {', '.join(f'{name} {version(name)}' for name in PACKAGES)}")
    print(f"- processes that wanted a core: {before:.1f} before, {load():.1f} at the end (one-minute means)\n")
    print("\n".join(lines))
    return 0 if right else 1


def _charts(options: argparse.Namespace) -> ModuleType | None:
    """What draws, if there is something to draw."""
    if options.charts is None:
        return None
    require_matplotlib()
    return import_module("jobs.benchmarks.steiner_charts")


def _rivals(options: argparse.Namespace, charts: ModuleType | None) -> Found:
    asked = steiner_speed.Asked(options.repeats, options.seconds, options.memory, options.best)
    rivals, skipped = all_rivals()
    found, lines = {}, [steiner_speed.HOW.format(asked=asked), *(f"- {line}" for line in skipped), ""]
    for name in options.instances:
        where = instance(name)
        found[name] = steiner_speed.measure(where, rivals, asked)
        lines += [*steiner_speed.table(where, found[name]), ""]
        if charts:
            charts.draw_solvers(where, found[name], Path(options.charts))
    every = steiner_speed.slowest_fast(options.repeats) if options.every else []
    return [*lines, *steiner_speed.bars(found), *every], True


def _quality(options: argparse.Namespace, _: ModuleType | None) -> Found:
    """Every answer is measured, though one be wrong."""
    rows = [steiner_quality.measure(where, mode, options.ranks, options.seconds)
            for where in map(instance, options.instances or every_name()) for mode in options.modes]  # fmt: skip
    return steiner_quality.tables(rows, options.ranks), not any(row.wrong for row in rows)


def _ranks(options: argparse.Namespace, _: ModuleType | None) -> Found:
    seconds = options.seconds
    tables = (
        steiner_jobs.ranks(instance(name), mode, options.repeats, seconds if mode == "best" else None, halt)
        for name in options.instances for mode in options.modes
        for halt in (steiner_jobs.HALTS if mode == "kmb" else ["bottleneck"])
    )  # fmt: skip
    return [line for table in tables for line in [*table, ""]], True


def _variants(options: argparse.Namespace, charts: ModuleType | None) -> Found:
    device, reason = open_device(options.device, SerialComm(), share_gpu=False, threads=1)
    print(reason, file=sys.stderr)
    with device:
        how = variants.HOW.format(terminals=options.terminals, repeats=options.repeats)
        tables = [[how, ""], *(_variants_of(instance(name), device, options, charts) for name in options.instances)]
    return [line for table in tables for line in table], True


def _variants_of(where: Instance, device: Device, options: argparse.Namespace, charts: ModuleType | None
                 ) -> list[str]:  # fmt: skip
    """Of one instance: the slow engines on some of the terminals, the quick ones on more and more."""
    some, repeats = where.with_terminals(options.terminals), options.repeats
    at_once = variants.by_searches_at_once(some, device, repeats)
    terminals = variants.by_terminals(where, device, repeats)
    if charts:
        charts.draw_at_once(some, at_once, Path(options.charts))
        charts.draw_terminals(where, terminals, Path(options.charts))
    return [
        *variants.engine_table(some, variants.by_engine(some, device, repeats)), "",
        *variants.sweep_table(some, variants.by_sweeps(some, device, repeats)), "",
        *variants.at_once_table(some, at_once), "", *variants.terminal_table(where, terminals), "",
    ]  # fmt: skip


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="WHAT")

    def add(name: str, measure: Measure, instances: list[str], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(measure=measure, charts=None)
        command.add_argument("--instances", nargs="+", default=instances, metavar="NAME", help=HOW_TO_NAME)
        return command

    command = add("rivals", _rivals, steiner_speed.INSTANCES, "time and weight of all solvers, one core")
    command.add_argument("--seconds", type=int, default=120, help="a rival may take, by the clock (default 120)")
    command.add_argument("--memory", type=int, default=10, metavar="GIB", help="a rival may take (default 10)")
    command.add_argument("--best", type=float, default=60, help="seconds for mode best; 0: leave it out (default 60)")
    command.add_argument("--every", action="store_true", help="mode fast on every file too: the slowest")
    _add_repeats(command, 5)
    add_charts(command)
    command = add("quality", _quality, [], "weight, bound, closure, time and memory over the set")
    _add_modes(command, list(steiner_quality.MODES))
    command.add_argument("--ranks", type=int, default=1, help="of mpiexec (default 1)")
    command = add("variants", _variants, variants.INSTANCES, "the study's comparison")
    command.add_argument("--terminals", type=int, default=64, help="for slow engines (default 64)")
    command.add_argument("--device", default="cpu", help="cuda: seconds by the clock (default cpu, one core)")
    _add_repeats(command, 3)
    add_charts(command)
    command = add("ranks", _ranks, ["alue7080"], "one rank and two")
    _add_modes(command, ["kmb"])
    _add_repeats(command, 5)
    return parser.parse_args()


def _add_repeats(command: argparse.ArgumentParser, count: int) -> None:
    command.add_argument("--repeats", type=int, default=count, help=f"of which the best counts (default {count})")


def _add_modes(command: argparse.ArgumentParser, modes: list[str]) -> None:
    text = f"(default {' '.join(modes)})"
    command.add_argument("--modes", nargs="+", choices=steiner_quality.MODES, default=modes, metavar="MODE", help=text)
    command.add_argument("--seconds", type=float, help="for mode best (default: until nothing helps)")


if __name__ == "__main__":
    end_with(main)
