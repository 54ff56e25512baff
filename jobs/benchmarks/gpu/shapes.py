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

from hpcsolve.algorithms.held_karp.lattice import planes, split
from hpcsolve.algorithms.shortest_paths import choice, engines
from hpcsolve.algorithms.shortest_paths.engines import phast, single
from hpcsolve.algorithms.shortest_paths.searches import Prepared
from hpcsolve.device.base import Device
from hpcsolve.device.select import open_device
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.command import add_repeats, end_with, new_parser
from jobs.benchmarks.common.figures import Figure, milliseconds
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.gpu.cases import Case, cases
from jobs.benchmarks.gpu.measure import timed
from jobs.benchmarks.gpu.record import Launch, recording


@dataclass(frozen=True)
class Sweep:
    """Values of one number of a launch's shape.

    Attributes
    ----------
    case, small
        Names of the cases that are timed, large and small.
    kernel
        The kernel whose launches show the value; its name without the width, if the width is the value.
    unit
        What the values count.
    shape
        Returns a context manager in which launches have a value.
    reached
        Returns the value that a launch has, given the number of multiprocessors.
    small_values
        Those of the small case; by default the first two.
    """

    case: str
    small: str
    kernel: str
    unit: str
    values: tuple[int, ...]
    shape: Callable[[int], AbstractContextManager[Any]]
    reached: Callable[[Launch, int], int]
    small_values: tuple[int, ...] = ()


def _threads(launch: Launch, units: int) -> int:
    return launch.threads


def _blocks(launch: Launch, units: int) -> int:
    return launch.blocks


def _blocks_a_unit(launch: Launch, units: int) -> int:
    return launch.blocks // units


def _width(launch: Launch, units: int) -> int:
    return int(launch.kernel.rpartition("_")[2])


def _threads_of(module: Any, prepare: str) -> Callable[[int], AbstractContextManager[Any]]:
    """Return a shape in which the searches that a function of a module prepares have so many threads a block."""
    own = getattr(module, prepare)

    def shape(value: int) -> AbstractContextManager[Any]:
        def prepared(*arguments: Any) -> Any:
            found = own(*arguments)
            search = found[0] if isinstance(found, tuple) else found
            assert isinstance(search, Prepared)
            search.threads = value
            return found

        return mock.patch.object(module, prepare, prepared)

    return shape


def _constant(module: Any, name: str) -> Callable[[int], AbstractContextManager[Any]]:
    return lambda value: mock.patch.object(module, name, value)


def _sources_of_groups(value: int) -> AbstractContextManager[Any]:
    def shaped(n: int, searches: int, *rest: Any) -> phast.Shape:
        return own(n, searches, *rest)._replace(width=value, groups=-(-searches // value))

    own = phast.shape_for
    return mock.patch.object(phast, "shape_for", shaped)


def _pace(blocks: int) -> AbstractContextManager[Any]:
    return mock.patch.dict(split.PACE, {kind: own._replace(blocks=blocks) for kind, own in split.PACE.items()})


THREADS = (32, 64, 128, 256, 512)
SWEEPS = {
    "held-karp": Sweep("held-karp-28-u2", "held-karp-12-u2", "held_karp_step_u2", "threads a block", THREADS,
                       _constant(planes, "BLOCK_THREADS"), _threads),
    "held-karp-blocks": Sweep("held-karp-28-u2", "held-karp-12-u2", "held_karp_step_u2", "blocks a launch",
                              (1024, 2048, 4096, 8192, 16384), _pace, _blocks, (8, 16)),
    "near-far": Sweep("near-far-1584", "near-far-24", "near_far_solve_u4", "threads a block", THREADS,
                      _threads_of(choice, "prepared_on"), _threads),
    "near-far-blocks": Sweep("near-far-1584", "near-far-24", "near_far_solve_u4", "blocks a multiprocessor",
                             (1, 2, 3, 4, 5), _constant(single, "BLOCKS_A_MULTIPROCESSOR"), _blocks_a_unit),
    "near-far-grid": Sweep("rmat-20", "rmat-9", "near_far_grid_step_u4", "threads a block", THREADS,
                           _threads_of(choice, "prepared_on"), _threads),
    "phast-climb": Sweep("phast-264", "phast-24", "phast_climb_u4_32", "threads a block", THREADS,
                         _threads_of(choice, "prepared_on"), _threads),
    "phast-sources": Sweep("phast-264", "phast-24", "phast_sweep_u4", "sources a group", (16, 32, 64),
                           _sources_of_groups, _width),
    "tile": Sweep("kmb-G103", "kmb-small", "tile_search_u4", "threads a block", (64, 128, 256, 512, 1024),
                  _threads_of(engines, "row_search"), _threads),
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
                sweep = replace(sweep, case=sweep.small, values=sweep.small_values or sweep.values[:2])
            figures = list(swept(sweep, cases(options.small)[sweep.case], device, options.repeats))
            rows = [[str(value), milliseconds(figure.seconds)] for value, figure in figures]
            lines = [*(figure.line for _, figure in figures), "", *markdown([f"{name}: {sweep.unit}", "ms"], rows), ""]
            print("\n".join(lines), flush=True)
    return 0


def swept(sweep: Sweep, case: Case, device: Device, repeats: int) -> Iterator[tuple[int, Figure]]:
    """Yield each value, and the least time of the kernels with it. A value that the device refuses is left out.

    Raises
    ------
    InputError
        On a GPU, no launch has the value that was set, so that the times would say nothing of it.
    """
    problem, comm = case.problem(), SerialComm()
    for value in sweep.values:
        try:
            with sweep.shape(value):
                with recording(device) as launches:
                    timed(case, problem, device, comm)
                seconds = min(timed(case, problem, device, comm)["kernels"] for _ in range(repeats))
        except ResourceError as refusal:
            print(f"{value} {sweep.unit}: {refusal}", flush=True)
            continue
        own = [launch for launch in launches if launch.kernel.startswith(sweep.kernel)]
        reached = {sweep.reached(launch, device.info.units) for launch in own}
        # A CPU has one thread a block, and as many blocks as cores.
        if value not in reached and device.info.kind == "cuda":
            raise InputError(f"{value} {sweep.unit} do not reach {sweep.kernel}, whose launches have "
                             f"{', '.join(map(str, sorted(reached))) or 'no such number, as there are none'}")
        yield value, Figure(f"{sweep.case}, {value} {sweep.unit}", device.info.name, seconds)


if __name__ == "__main__":
    end_with(main, "jobs.benchmarks.gpu.shapes")
