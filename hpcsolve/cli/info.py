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
    add_command(commands, "info", _info, text)


def _info(_: argparse.Namespace) -> int:
    from hpcsolve.parallel.launch import guard
    from hpcsolve.runner.info import compilers, general_lines, problem_lines, rank_line

    found: list[str] = []

    def info(comm: Comm) -> int:
        lines = comm.gather(rank_line(comm.rank, comm.size))
        if lines is not None:
            show("\n".join([*general_lines(comm.mpi_library), *found, *lines, *problem_lines(found)]))
        return 0

    return guard(info, lambda: found.extend(compilers()))
