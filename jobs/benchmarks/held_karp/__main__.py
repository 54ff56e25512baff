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

os.environ["OMP_WAIT_POLICY"] = "passive"  # waiting threads would count as CPU time
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from hpcsolve.device.base import Device
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.charts import require_matplotlib
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.timing import keep_freed_memory, load
from jobs.benchmarks.held_karp import report
from jobs.benchmarks.held_karp.measure import Effort, all_rows
from jobs.benchmarks.held_karp.peak import MeasuredDevice, peak_rate
from jobs.benchmarks.held_karp.report import Row
from jobs.benchmarks.held_karp.rivals import all_rivals
from jobs.benchmarks.held_karp.whole_process import whole_processes

SIZES = [12, 14, 16, 18, 20, 22, 24, 26, 28]


def main() -> int:
    """Measure all solvers, print the report, and return the exit code."""
    options = _options()
    if options.chart:
        require_matplotlib()
    keep_freed_memory()
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
    for row in all_rows(options.sizes, device, rivals, skipped, Effort(options.repeats, options.seconds)):
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
    parser.add_argument("--full", action="store_true", help="also run whole processes: n = 28, n = 32 (17 GiB)")
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
