"""Times cases on a device in this process: kernels, copies, and the whole run, each the best of several.

    python -m jobs.benchmarks.gpu.measure --device cuda held-karp-32-u2 new-york-264
    python -m jobs.benchmarks.gpu.measure --list

A name may have stars: held-karp-*. A case that does not fit in the device's memory is left out, with a message.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.device.base import Device
from hpcsolve.device.select import open_device
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.command import add_repeats, end_with, new_parser
from jobs.benchmarks.common.figures import Figure, milliseconds
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.gpu.cases import Case, cases

Times = dict[str, float]
"""Seconds of a run: `kernels`, `copies`, `run`."""


def main() -> int:
    """Time what the command asks for, print table and figures, and return the exit code."""
    parser = new_parser("jobs.benchmarks.gpu.measure", __doc__)
    parser.add_argument("names", nargs="*", metavar="CASE")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:1 (default cpu)")
    parser.add_argument("--small", action="store_true", help="small cases, to try this program")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    add_repeats(parser, 3)
    options = parser.parse_args()
    known = cases(options.small)
    if options.list:
        print("\n".join(known))
        return 0
    with open_device(options.device, SerialComm(), share_gpu=True)[0] as device:
        figures = [figure for name in chosen(options.names, known)
                   for figure in measured(name, known[name], device, options.repeats)]
    print("\n".join([*(figure.line for figure in figures), "", *table(figures)]))
    return 0


def chosen(patterns: list[str], known: Iterable[str]) -> list[str]:
    """Return the names that match the patterns, each once. Raises `InputError` if a pattern matches none."""
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in known):
            raise InputError(f"there is no case {pattern}; --list prints their names")
    return [name for name in known if any(fnmatch(name, pattern) for pattern in patterns)]


def measured(name: str, case: Case, device: Device, repeats: int) -> Iterator[Figure]:
    """Yield the least times of a case: its kernels, its copies and its whole run, after a run that warms up."""
    problem = case.problem()
    try:
        runs = [timed(case, problem, device) for _ in range(1 + repeats)][1:]
    except ResourceError as refusal:
        print(f"{name} is left out: {refusal}", flush=True)
        return
    for what in runs[0]:
        floor = case.floor if what == "kernels" else None
        yield Figure(f"{name}, {what}", device.info.name, min(run[what] for run in runs), floor)
    print(f"{name}: {len(runs)} runs", flush=True)


def timed(case: Case, problem: object, device: Device) -> Times:
    """Solve a problem once. Raises `ResourceError` if it does not fit in the device's memory."""
    solver = algorithm(case.algorithm)
    parameters = solver.parameters(**case.parameters)
    stated = solver.statement(problem, parameters)
    plan = solver.plan(stated, 1, device.info)
    needed, free = plan.device_bytes[0] + plan.shared_bytes, device.memory_free()
    if needed > free:
        raise ResourceError(f"{needed} bytes do not fit on the device, {free} are free")
    started = time.perf_counter()
    outcome = solver.run(stated, device, SerialComm(), silent, case.stop)
    run = time.perf_counter() - started
    rank = outcome.rank
    return {"kernels": rank["seconds_kernel"], "copies": rank.get("seconds_copy", 0.0), "run": run}


def table(figures: list[Figure]) -> list[str]:
    """Return the lines of a table with the figures, in milliseconds."""
    rows = [[f.name, milliseconds(f.seconds), milliseconds(f.floor), f"{f.seconds / f.floor:.2f}" if f.floor else "-"]
            for f in figures]
    return markdown(["milliseconds", "measured", "floor", "ratio"], rows)


if __name__ == "__main__":
    end_with(main, "jobs.benchmarks.gpu.measure")
