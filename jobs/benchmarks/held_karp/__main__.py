"""Held-Karp against its rivals in one process: tables of times and ratios, and a chart of time against n.

    python -m jobs.benchmarks.held_karp                      # about three minutes
    python -m jobs.benchmarks.held_karp --threads 2 --sizes 20 22 24
    python -m jobs.benchmarks.held_karp --full --threads 2 --chart times.svg

Prints Markdown. The exit code is 1 if two solvers find different optima; no time counts then.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

os.environ["OMP_WAIT_POLICY"] = "passive"  # waiting threads would count as CPU time
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.base import Outcome, silent
from hpcsolve.device.base import Device
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.tsp import random_matrix
from hpcsolve.problems.tsp import FORBIDDEN, Tsp, check_tour
from jobs.benchmarks.common.charts import require_matplotlib
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.timing import best_of, load
from jobs.benchmarks.held_karp import report
from jobs.benchmarks.held_karp.peak import MeasuredDevice, peak_rate
from jobs.benchmarks.held_karp.report import Row
from jobs.benchmarks.held_karp.rivals import TEXTBOOK, Rival, all_rivals
from jobs.benchmarks.held_karp.whole_process import whole_processes

SIZES = [12, 14, 16, 18, 20, 22, 24, 26, 28]
KINDS = {
    "asymmetric, costs to 10^3": (1000, False), "asymmetric, costs to 10^6": (10**6, False),
    "symmetric, costs to 10^3": (1000, True), "symmetric, costs to 10^6": (10**6, True),
}
"""Largest cost of each kind, and whether it is symmetric.

Rivals are timed on the first kind. Costs to 10^6 need 32-bit states."""
CHECKED = 22
"""Up to this n one rival also solves the other kinds, not timed, to check hpcsolve's optimum."""


def main() -> int:
    """Measure all solvers, print the report, and return the exit code."""
    options = _options()
    if options.chart:
        require_matplotlib()
    cores = os.sched_getaffinity(0)
    with _device(options) as device:
        rows = _report(options, device, cores)
    os.sched_setaffinity(0, cores)  # OMP_PROC_BIND has bound this thread, and so its child processes, to one core
    if options.full:
        print("\n".join(whole_processes(options.threads, options.repeats, options.device)))
    if options.chart:
        report.draw(rows, options.chart)
    return _exit_code(rows)


def _report(options: argparse.Namespace, device: Device, cores: set[int]) -> list[Row]:
    """Measure everything but whole processes, print it, and return the rows."""
    rivals, skipped = all_rivals(options.threads)
    peak, load_before = peak_rate(device, options.repeats), load()
    rows = []
    for row in _rows(options, device, rivals, skipped):
        print(row.progress(), file=sys.stderr, flush=True)
        rows.append(row)
    peak = max(peak, peak_rate(device, options.repeats))
    print("# Held-Karp: hpcsolve and its rivals\n")
    print("\n".join(describe_machine(device, options.threads, ("python-tsp", "held-karp"), len(cores))))
    print(describe_load(load_before))
    print(f"- the best of {options.repeats} runs, fewer of slow ones; best wall-clock and best CPU time each")
    print("\n".join(report.tables(rows, peak, skipped)))
    return rows


def _options() -> argparse.Namespace:
    parser = new_parser(__package__, __doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="cities, 4 to 36")
    parser.add_argument("--repeats", type=int, default=5, help="runs, of which the best counts (default 5)")
    parser.add_argument("--seconds", type=float,
                        help="after so many seconds a measurement is not repeated (default 10, with --full 120)")
    parser.add_argument("--threads", type=int, default=1, help="of hpcsolve and of the OpenMP rivals (default 1)")
    parser.add_argument("--device", default="cpu", help="hpcsolve's: cpu, or cuda for a GPU (default cpu)")
    parser.add_argument("--full", action="store_true", help="also run whole processes: n = 28, n = 32 (12 GiB)")
    parser.add_argument("--chart", metavar="FILE", help="draw the times, .svg or .png (needs matplotlib)")
    options = parser.parse_args()
    if not all(4 <= n <= 36 for n in options.sizes) or min(options.threads, options.repeats) < 1:
        parser.error("--sizes must be 4 to 36, --threads and --repeats at least 1")
    options.seconds = options.seconds or (120.0 if options.full else 10.0)
    return options


def _device(options: argparse.Namespace) -> Device:
    if options.device == "cpu":
        return MeasuredDevice(options.threads)
    return open_device(options.device, SerialComm())[0]


def _rows(options: argparse.Namespace, device: Device, rivals: list[Rival], skipped: list[str]) -> Iterator[Row]:
    """Measure hpcsolve and the rivals on every instance, and add rivals without memory for their table to `skipped`."""
    for n in sorted(set(options.sizes)):
        for kind, (high, symmetric) in KINDS.items():
            tsp = random_matrix(n, seed=n, high=high, symmetric=symmetric)
            yield _measure(tsp, kind, device, options)
            timed = kind == next(iter(KINDS))
            for rival in rivals:
                if n > rival.largest or not (timed or (rival.name == TEXTBOOK and n <= CHECKED)):
                    continue
                if timed and rival.table_bytes(n) > MeasuredDevice().memory_free() // 2:
                    gigabytes = rival.table_bytes(n) / 1e9
                    skipped.append(f"{rival.name}: n = {n} skipped, its table of {gigabytes:.1f} GB is more than half "
                                   "of the free memory")
                    continue
                yield _measure_rival(rival, tsp, kind, options if timed else None)


def _measure(tsp: Tsp, kind: str, device: Device, options: argparse.Namespace) -> Row:
    """Measure hpcsolve from the costs to the tour, and check the tour."""
    kernels: list[tuple[float, float | None]] = []

    def solve() -> Outcome:
        outcome = held_karp.run(tsp, device, SerialComm(), held_karp.Parameters(), silent)
        by_events = float(outcome.rank["seconds_kernel"]), None
        kernels.append(device.kernel_seconds() if isinstance(device, MeasuredDevice) else by_events)
        return outcome

    measured = best_of(solve, options.repeats, options.seconds)
    outcome = measured.value
    assert isinstance(outcome, Outcome)
    value = check_tour(tsp, outcome.solution["tour"].values)
    if value != outcome.cost:
        raise AssertionError(f"n = {tsp.n}: the tour costs {value}, not {outcome.cost}")
    details = held_karp.estimate(tsp, held_karp.Parameters(), 1).details
    states = str(details.get("states", "small table")).split(",")[0]
    return Row(tsp.n, kind, report.HPCSOLVE, "h", value, measured.wall, measured.cpu, measured.runs, states,
               min(wall for wall, _ in kernels), min((cpu for _, cpu in kernels if cpu is not None), default=None),
               int(outcome.rank["operations"]))


def _measure_rival(rival: Rival, tsp: Tsp, kind: str, options: argparse.Namespace | None) -> Row:
    """Measure a rival, or without options run it once for its answer alone."""
    call = rival.prepare(tsp.cost * (tsp.cost != FORBIDDEN))
    measured = best_of(call, options.repeats if options else 1, options.seconds if options else 0.0)
    times = (measured.wall, measured.cpu) if options else (None, None)
    return Row(tsp.n, kind, rival.name, rival.letter, int(str(measured.value)), *times, measured.runs)


def _exit_code(rows: list[Row]) -> int:
    """Return 0 if all solvers found the same optima, and otherwise print the differences and return 1."""
    code = 0
    for n, kind in dict.fromkeys((row.n, row.kind) for row in rows):
        found = {row.solver: row.optimum for row in rows if (row.n, row.kind) == (n, kind)}
        if len(set(found.values())) > 1:
            values = ", ".join(f"{name} {value}" for name, value in found.items())
            print(f"optima differ, n = {n}, {kind}: {values}", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    end_with(main, __package__)
