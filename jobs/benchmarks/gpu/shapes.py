"""Sweeps of launch shapes: the time of a case's kernels with other threads a block, or blocks a multiprocessor.

    python -m jobs.benchmarks.gpu.shapes --device cuda                 # all of them
    python -m jobs.benchmarks.gpu.shapes --device cuda held-karp

The answers do not depend on the shape (tests compare them), so only times are compared here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from hpcsolve.algorithms.held_karp.lattice import planes
from hpcsolve.algorithms.shortest_paths import choice
from hpcsolve.algorithms.shortest_paths.engines import single
from hpcsolve.algorithms.shortest_paths.searches import Prepared
from hpcsolve.algorithms.steiner_kmb import terminal_rows
from hpcsolve.device.base import Device
from hpcsolve.device.select import open_device
from hpcsolve.errors import ResourceError
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.command import add_repeats, end_with, new_parser
from jobs.benchmarks.common.figures import Figure, milliseconds
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.gpu.cases import Case, cases
from jobs.benchmarks.gpu.measure import timed


@dataclass(frozen=True)
class Sweep:
    """Values of one number of a launch's shape.

    Attributes
    ----------
    case, small
        Names of the cases that are timed, large and small.
    unit
        What the values count.
    shape
        Returns a context manager in which launches have a value.
    """

    case: str
    small: str
    unit: str
    values: tuple[int, ...]
    shape: Callable[[int], AbstractContextManager[Any]]


def _threads_of_searches(value: int) -> AbstractContextManager[Any]:
    def made(*arguments: Any) -> tuple[Prepared, Any]:
        prepared, way = prepared_on(*arguments)
        prepared.threads = value
        return prepared, way

    prepared_on = choice.prepared_on
    return mock.patch.object(choice, "prepared_on", made)


def _threads_of_tiles(value: int) -> AbstractContextManager[Any]:
    def started(*arguments: Any) -> AbstractContextManager[Any]:
        search = row_search(*arguments)
        assert isinstance(search, Prepared)
        search.threads = value
        return search

    row_search = terminal_rows.row_search
    return mock.patch.object(terminal_rows, "row_search", started)


def _constant(module: Any, name: str) -> Callable[[int], AbstractContextManager[Any]]:
    return lambda value: mock.patch.object(module, name, value)


THREADS = (32, 64, 128, 256, 512)
SWEEPS = {
    "held-karp": Sweep("held-karp-28-u2", "held-karp-12-u2", "threads a block", THREADS,
                       _constant(planes, "BLOCK_THREADS")),
    "near-far": Sweep("new-york-1584", "new-york-24", "threads a block", THREADS, _threads_of_searches),
    "near-far-blocks": Sweep("new-york-1584", "new-york-24", "blocks a multiprocessor", (1, 2, 4, 6, 8),
                             _constant(single, "BLOCKS_A_MULTIPROCESSOR")),
    "near-far-grid": Sweep("rmat-20", "rmat-9", "threads a block", THREADS, _threads_of_searches),
    "tile": Sweep("kmb-G103", "kmb-small", "threads a block", (64, 128, 256, 512, 1024), _threads_of_tiles),
}


def main() -> int:
    """Time the sweeps that the command asks for, print their tables and figures, and return the exit code."""
    parser = new_parser("jobs.benchmarks.gpu.shapes", __doc__)
    parser.add_argument("names", nargs="*", choices=[*SWEEPS, []], default=[], metavar="SWEEP",
                        help=f"{', '.join(SWEEPS)} (default all)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:1 (default cpu)")
    parser.add_argument("--small", action="store_true", help="two values each, of small cases, to try this program")
    add_repeats(parser, 3)
    options = parser.parse_args()
    with open_device(options.device, SerialComm(), share_gpu=True)[0] as device:
        for name in options.names or SWEEPS:
            sweep = SWEEPS[name]
            if options.small:
                sweep = replace(sweep, case=sweep.small, values=sweep.values[:2])
            figures = list(swept(sweep, cases(options.small)[sweep.case], device, options.repeats))
            rows = [[str(value), milliseconds(figure.seconds)] for value, figure in figures]
            lines = [*(figure.line for _, figure in figures), "", *markdown([f"{name}: {sweep.unit}", "ms"], rows), ""]
            print("\n".join(lines), flush=True)
    return 0


def swept(sweep: Sweep, case: Case, device: Device, repeats: int) -> Iterator[tuple[int, Figure]]:
    """Yield each value, and the least time of the kernels with it. A value that the device refuses is left out."""
    problem = case.problem()
    for value in sweep.values:
        try:
            with sweep.shape(value):
                seconds = min(timed(case, problem, device)["kernels"] for _ in range(1 + repeats))
        except ResourceError as refusal:
            print(f"{value} {sweep.unit}: {refusal}", flush=True)
            continue
        yield value, Figure(f"{sweep.case}, {value} {sweep.unit}", device.info.name, seconds)


if __name__ == "__main__":
    end_with(main, "jobs.benchmarks.gpu.shapes")
