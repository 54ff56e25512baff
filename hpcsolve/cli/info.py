"""`hpcsolve info`: prints versions and devices."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from hpcsolve.cli.options import add_command
from hpcsolve.parallel.printing import show

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm


def add(commands: Any) -> None:
    """Declare the command and its options."""
    text = "print versions, MPI, compilers, devices and problems with them; under mpiexec a line for each rank"
    command = add_command(commands, "info", _info, text)
    command.add_argument("--clear-cache", action="store_true",
                         help="remove the hierarchies of graphs that were kept for later runs; compiled kernels stay")


def _info(options: argparse.Namespace) -> int:
    from hpcsolve.device import array_cache
    from hpcsolve.parallel.launch import guard
    from hpcsolve.runner.info import compilers, general_lines, problem_lines, rank_line

    found: list[str] = []

    def info(comm: Comm) -> int:
        lines = comm.gather(rank_line(comm.rank, comm.size))
        if lines is not None:
            show("\n".join([*general_lines(comm.mpi_library), *found, *lines, *problem_lines(found)]))
        return 0

    def prepare() -> None:
        if options.clear_cache:
            array_cache.clear()
        found.extend(compilers())

    return guard(info, prepare)
