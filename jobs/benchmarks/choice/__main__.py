"""Solves instances with nothing but `hpcsolve solve FILE --seconds S`, and compares with methods by name.

    export HPCSOLVE_DATA=...                          # a folder with tsplib/ and steiner/; without it generated ones
    python -m jobs.benchmarks.choice                  # all 60 instances, some 15 minutes
    python -m jobs.benchmarks.choice tours            # those of the travelling salesman, or: trees
    python -m jobs.benchmarks.choice ry48p road:400:12 --seconds 3

Prints Markdown. Seconds are those of the whole command, start of the process and writing included. A command that
other processes disturb has fewer CPU seconds than its seconds times the cores, and proves less. Where an answer is not
proven, methods by name have their turn: the proof (half of the seconds), and the heuristic with all of them. The exit
code is 1 if an answer is better than a known optimum.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.device.host import HostDevice
from hpcsolve.errors import EnvironmentFault, InputError
from hpcsolve.output.reader import read_result
from jobs.benchmarks.choice.instances import HOW_TO_NAME, STEINLIB, TOURS, TREES, TSPLIB, Instance, made
from jobs.benchmarks.common.answers import WrongAnswerError
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import load

SETS = {"tours": (*TSPLIB, *TOURS), "trees": (*STEINLIB, *TREES)}
NAMED = {True: {"exact": ("steiner-kmb", "steiner-kmb.mode=exact"), "best": ("steiner-kmb", "steiner-kmb.mode=best")},
         False: {"bounds": ("held-karp", "held-karp.method=bounded"), "ants": ("ant-colony",)}}
"""Of trees and of tours: a name in the table, the algorithm, and keys. The first one proves, the other one does not."""
TITLES = ["instance", "size", "algorithm", "cost", "best known", "above", "lower bound", "by name", "CPU s",
          "command s", "limit s"]
Words = tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """An answer, and the wall-clock and CPU seconds of the whole command."""

    algorithm: str
    cost: float
    proven: bool
    bound: float
    seconds: float
    cpu: float


def main() -> int:
    """Measure, print the report, and return the exit code."""
    options = _options()
    before, rows, bad = load(), [], []
    names = [name for word in options.names for name in SETS.get(word, (word,))]
    with tempfile.TemporaryDirectory() as folder:
        _build(Path(folder))
        for name in names:
            instance = made(name, Path(folder))
            if instance is not None:
                row, remarks = row_of(instance, options.seconds, Path(folder))
                rows.append(row)
                bad += remarks
                print(f"{len(rows)} of {len(names)}: {name}", file=sys.stderr)
    device = HostDevice(os.cpu_count() or 1)
    print("\n".join(["# The method by default", "", *describe_machine(device, device.info.threads, ())]))
    print(f"{describe_load(before)}\n")
    print("\n".join(markdown(TITLES, rows)))
    proven = sum(row[6] == "proven" for row in rows)
    print("\n".join([f"\n{proven} of {len(rows)} are proven.", *(f"- {remark}" for remark in bad)]))
    return 0


def row_of(instance: Instance, seconds: float, folder: Path) -> tuple[list[str], list[str]]:
    """Return the row of an instance, and remarks on what it shows to be wrong."""
    found = solved(instance.path, seconds, (), folder)
    others: dict[str, Found] = {}
    if not found.proven and found.algorithm != "ant-colony":
        for (name, words), limit in zip(NAMED[instance.is_tree].items(), (seconds / 2, seconds), strict=True):
            others[name] = solved(instance.path, limit, words, folder)
    here = min([found.cost, *(other.cost for other in others.values())])
    best, limit = instance.best or here, 1.2 * seconds + 2
    if here < best:
        raise WrongAnswerError(f"{instance.name}: {here:.10g} is less than the best known cost, {best:.10g}")
    known = f"{best:.10g}{'' if instance.best or found.proven else ' (here)'}"
    bound = "proven" if found.proven else "-" if math.isnan(found.bound) else f"{found.bound:.10g}"
    texts = [f"{name} {other.cost:.10g}{' (proven)' * other.proven}" for name, other in others.items()]
    row = [instance.name, instance.size, found.algorithm, f"{found.cost:.10g}", known,
           f"{100 * (found.cost / best - 1):.2f} %", bound, ", ".join(texts) or "-", f"{found.cpu:.1f}",
           f"{found.seconds:.1f}", f"{limit:.3g}"]
    late = [f"{instance.name} took {found.seconds:.1f} s, more than its limit."] if found.seconds > limit else []
    worse = [f"{name} found {other.cost:.10g} of {instance.name}, which is better." for name, other in others.items()
             if other.cost < found.cost]
    return row, [*late, *worse, *(f"{name} has proven {instance.name}." for name in others if others[name].proven)]


def solved(path: Path, seconds: float, method: Words, folder: Path) -> Found:
    """Return what the command finds, with an algorithm and keys if they are named."""
    output = folder / "answer.h5"
    named = [] if not method else ["--algorithm", method[0], *(word for key in method[1:] for word in ("--set", key))]
    started, before = time.perf_counter(), _cpu_of_commands()
    _run(["solve", str(path), "--seconds", f"{seconds:g}", "--output", str(output), "--overwrite", *named], folder)
    taken, cpu = time.perf_counter() - started, _cpu_of_commands() - before
    contents = read_result(str(output), tables=False)
    bound, scale = contents.value("solution", "lower_bound"), contents.value("instance", "scale", 1)
    return Found(str(contents.attributes["algorithm"]), contents.cost,
                 bool(contents.value("solution", "optimal")), float("nan") if bound is None else float(bound) / scale,
                 taken, cpu)


def _cpu_of_commands() -> float:
    """Return the CPU seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _build(folder: Path) -> None:
    """Build all kernels that the commands load."""
    for name in ("uniform:30", "road:30:5", "uniform:10", "asymmetric:130"):
        instance = made(name, folder)
        assert instance is not None
        solved(instance.path, 0.1, (), folder)


def _run(words: list[str], folder: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "hpcsolve", *words], cwd=folder, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise EnvironmentFault(f"hpcsolve {' '.join(words)} ended with exit code {done.returncode}: {done.stderr}")


def _options() -> argparse.Namespace:
    command = new_parser("jobs.benchmarks.choice", __doc__)
    command.add_argument("names", nargs="*", default=["tours", "trees"], metavar="NAME",
                         help=f"tours, trees, or {HOW_TO_NAME}")
    command.add_argument("--seconds", type=float, default=10.0, metavar="S", help="time limit (default 10)")
    options = command.parse_args()
    if options.seconds <= 0:
        raise InputError(f"--seconds {options.seconds:g}: give a number above 0")
    return options


if __name__ == "__main__":
    end_with(main, "jobs.benchmarks.choice")
