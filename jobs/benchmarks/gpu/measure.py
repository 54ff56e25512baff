"""Times cases on a device in this process: kernels, copies, and the whole run, each the best of several.

    python -m jobs.benchmarks.gpu.measure --device cuda held-karp-32-u2 phast-264
    mpiexec -n 2 python -m jobs.benchmarks.gpu.measure --device cuda held-karp-32-u2
    python -m jobs.benchmarks.gpu.measure --list

A name may have stars: held-karp-*. A case that does not fit in the device's memory is left out, with a message. A run
before those that are timed counts the launches of each kernel. Times of several ranks are those of the slowest one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch

from hpcsolve.algorithms.base import silent
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.device.base import Device
from hpcsolve.device.select import on_all_ranks, open_device
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.job import IN_MEMORY
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import guard
from hpcsolve.runner.ahead import build_files
from jobs.benchmarks.common.command import add_repeats, new_parser
from jobs.benchmarks.common.figures import Figure, milliseconds
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.gpu.cases import Case, cases
from jobs.benchmarks.gpu.record import Launch, counting, counts, recording

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
    if options.list:
        print("\n".join(cases(options.small)))
        return 0
    return guard(lambda comm: _measure(options, comm), lambda: _build(options))


def _build(options: argparse.Namespace) -> dict[str, str]:
    """Build the kernels of the cases, which must not be done once MPI has started."""
    known = cases(options.small)
    found = [known[name] for name in chosen(options.names, known)]
    for name in dict.fromkeys(case.algorithm for case in found):
        files = dict.fromkeys(file for case in found if case.algorithm == name for file in kernel_files(case))
        build_files(list(files), options.device, algorithm(name).cores)
    return {"cases": " ".join(options.names)}


def kernel_files(case: Case) -> tuple[str, ...]:
    """Return the kernel files that a case may load."""
    solver = algorithm(case.algorithm)
    return solver.kernels_of(solver.parameters(**case.parameters), IN_MEMORY, case.stop)


def _measure(options: argparse.Namespace, comm: Comm) -> int:
    known = cases(options.small)
    with open_device(options.device, comm, share_gpu=True)[0] as device:
        figures = [figure for name in chosen(options.names, known)
                   for figure in measured(name, known[name], device, comm, options.repeats)]
    if comm.rank == 0:
        print("\n".join([*(figure.line for figure in figures), "", *table(figures)]))
    return 0


def chosen(patterns: list[str], known: Iterable[str]) -> list[str]:
    """Return the names that match the patterns, each once. Raises `InputError` if a pattern matches none."""
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in known):
            raise InputError(f"there is no case {pattern}; --list prints their names")
    return [name for name in known if any(fnmatch(name, pattern) for pattern in patterns)]


def measured(name: str, case: Case, device: Device, comm: Comm, repeats: int) -> Iterator[Figure]:
    """Yield the least times of a case: its kernels, its copies and its whole run. Collective."""
    problem = case.problem()
    try:
        with counting(device) as calls:
            launches = counted_launches(name, case, problem, device, comm)
        runs = [timed(case, problem, device, comm) for _ in range(repeats)]
    except ResourceError as refusal:
        if comm.rank == 0:
            print(f"{name} is left out: {refusal}", flush=True)
        return
    where = name if comm.size == 1 else f"{name} on {comm.size} ranks"
    devices = len(set(comm.allgather(device.info.uuid)))
    for what in runs[0] if runs else ():
        floor = case.floor / devices if case.floor and what == "kernels" else None
        yield Figure(f"{where}, {what}", device.info.name, min(run[what] for run in runs), floor)
    if comm.rank == 0:
        each = ", ".join(f"{kernel} {count}" for kernel, count in counts(launches).items())
        others = ", ".join(f"{what} {count}" for what, count in calls.items())
        print(f"{where}: {len(runs)} runs, each with {len(launches)} launches: {each}{others and '; '}{others}",
              flush=True)


def counted_launches(name: str, case: Case, problem: object, device: Device, comm: Comm) -> list[Launch]:
    """Solve a problem and return the launches of this rank, among which are those of all kernels that the case names.

    On a CPU there may be other variants of them.

    Raises
    ------
    InputError
        A GPU did not launch one of these kernels, so that times of the case would be those of something else.
    """
    with recording(device) as launches:
        timed(case, problem, device, comm)
    launched = {kernel for names in comm.allgather(list(counts(launches))) for kernel in names}
    missing = set(case.kernels) - launched if device.info.kind == "cuda" else set()
    if missing:
        raise InputError(f"the case {name} did not launch {', '.join(sorted(missing))}; cases.py names its kernels")
    return launches


def timed(case: Case, problem: object, device: Device, comm: Comm) -> Times:
    """Solve a problem once, and return the times of the slowest rank. Collective.

    Raises
    ------
    ResourceError
        It does not fit in a device's memory.
    """
    solver = algorithm(case.algorithm)
    stated = solver.statement(problem, solver.parameters(**case.parameters))
    plan = solver.plan(stated, comm.size, device.info, case.stop)
    on_all_ranks(comm, lambda: _require_room(plan.device_bytes[comm.rank] + plan.shared_bytes, device))
    started, copied, computed = time.perf_counter(), device.seconds_copy, device.seconds_kernel
    with case.setting():
        solver.run(stated, device, comm, silent, case.stop)
    own = {"kernels": device.seconds_kernel - computed, "copies": device.seconds_copy - copied,
           "run": time.perf_counter() - started}
    every = comm.allgather(own)
    return {what: max(times[what] for times in every) for what in own}


def _require_room(needed: int, device: Device) -> None:
    if needed > device.memory_free():
        raise ResourceError(f"{needed} bytes do not fit on the device, {device.memory_free()} are free")


def table(figures: list[Figure]) -> list[str]:
    """Return the lines of a table with the figures, in milliseconds."""
    rows = [[f.name, milliseconds(f.seconds), milliseconds(f.floor), f"{f.seconds / f.floor:.2f}" if f.floor else "-"]
            for f in figures]
    return markdown(["milliseconds", "measured", "floor", "ratio"], rows)


if __name__ == "__main__":
    sys.exit(main())
