"""The command line: a table of commands, and a module for each group of them that runs them.

commands.py   the commands with their texts, arguments and modules
options.py    the parser, and messages about mistakes
run.py        solve, run, estimate
sweep.py      sweep, and each run of one
results.py    verify, collect, export, report, tree
instances.py  new, generate, convert
sites.py      slurm, build, info, check, completion

`--help` must answer at once, so each of the last five, which import numpy, h5py and msgspec, is imported only when one
of its commands runs.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import hpcsolve
from hpcsolve.cli.commands import COMMANDS, Command
from hpcsolve.cli.options import OneLineParser, show_on_rank_0
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.memory import lack_of_memory, require_free_for_libraries
from hpcsolve.parallel import launch
from hpcsolve.parallel.interrupts import signals_raise

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm

Steps = Generator[Mapping[str, Any] | None, "Comm", int]
"""A command on every rank: it yields what all ranks must have in common, is sent the communicator when MPI has started,
and returns the exit code."""
SECONDS_TO_END = 10.0
"""Time that the run of a sweep has to write its result so far and end. After that the process is killed."""

EPILOG = """\
examples:
  hpcsolve check                                          does this installation work, on one rank and on two?
  hpcsolve solve cities.tsp --seconds 20                  a tour, without a job file
  hpcsolve new eu-capitals                                an example job with its data
  hpcsolve run eu-capitals.toml                           one rank, on a GPU if there is one
  mpiexec -n 2 hpcsolve run job.toml --device cpu         two ranks on CPU cores
  hpcsolve run job.toml --set held-karp.path=open         another value for this run
  hpcsolve sweep sweep.toml -j 4                          a job with lists of values: every combination
  hpcsolve collect 'results/sweep/*.h5' -o table.csv      many results as one table
  hpcsolve estimate job.toml -n 8 --memory 80G            will it fit, how long will it take?
  hpcsolve slurm job.toml -n 8 --ranks-per-node 4         a script for sbatch, from the estimate
  hpcsolve verify results/eu-capitals.h5                  check the answer again
  hpcsolve export results/eu-capitals.h5 -o tour.csv      the answer for a spreadsheet; .geojson for a map
  hpcsolve report results/eu-capitals.h5 -o report.html   a page with pictures

exit codes: 0 solved and verified, 1 the check of the answer failed, 2 bad input or usage, 3 refused: memory or GPUs,
4 environment: MPI, compiler, disk, 5 a damaged file, 70 a bug in hpcsolve, 75 stopped early, with the
best answer or a checkpoint written, 130 interrupted at once (Ctrl-C)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name and return its exit code."""
    try:
        with signals_raise():
            return execute(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt as stop:  # before the ranks have joined; afterwards `guard` handles it
        return launch.fail(stop)
    except (MemoryError, OSError, ImportError, RuntimeError) as error:  # likewise
        lack = lack_of_memory(error)
        if lack is None:
            raise
        return launch.fail(lack)


def execute(words: Sequence[str]) -> int:
    """Run the command that the words name and return its exit code. What stops it is raised."""
    try:
        steps = steps_of(words)
    except InputError as error:
        return launch.fail(error)
    try:
        require_free_for_libraries()
    except ResourceError as error:
        return launch.end_without_mpi(error)

    def ended(comm: Comm) -> int:
        try:
            steps.send(comm)
        except StopIteration as end:
            return int(end.value)
        raise AssertionError("a command yields once")

    return launch.guard(ended, lambda: next(steps))


def steps_of(words: Sequence[str]) -> Steps:
    """Return the command that the words name, ready to run. Raises an `InputError` about a mistake in them."""
    began = time.perf_counter()
    parser, commands = command_parser()
    parser.refuse_unknown_command(commands, words)
    options, rest = parser.parse_known_args(words)
    commands[words[0]].refuse_unknown_options(rest)
    options.began = began
    if vars(options).get("json", False):
        options.quiet = True
    command = next(command for command in COMMANDS if command.name == words[0])
    return _alone(command, options) if command.alone else _on_all_ranks(command, options)


def _on_all_ranks(command: Command, options: argparse.Namespace) -> Steps:
    """Print the first line of a command, then import what it needs, and run it on every rank."""
    if command.first_line:
        show_on_rank_0(options.quiet)(command.first_line.format_map(vars(options)))
    steps: Steps = command.function()(options)
    return (yield from steps)


def _alone(command: Command, options: argparse.Namespace) -> Steps:
    """Run a command on rank 0 alone. An output that exists is refused without --overwrite."""

    def on_rank_0() -> int:
        from hpcsolve.replacing import require_new

        if "overwrite" in options:
            require_new(options.output, options.overwrite, "replace it with --overwrite")
        code: int = command.function()(options)
        return code

    comm = yield None
    return launch.on_rank_0(comm, on_rank_0)


def command_parser() -> tuple[OneLineParser, dict[str, OneLineParser]]:
    """Return the parser, and the parsers of the commands by their names."""
    parser = OneLineParser(
        prog="hpcsolve", description=hpcsolve.__doc__, epilog=EPILOG, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hpcsolve {hpcsolve.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        own = commands.add_parser(command.name, help=command.text, description=command.text, allow_abbrev=False)
        for names, options in command.arguments:
            own.add_argument(*names, **options)
    return parser, commands.choices


def main_of_run() -> int:
    """Run the command line as a run of a sweep, which ends as if by Ctrl-C when the sweep is gone.

    Its standard input is a pipe from the sweep, which sends nothing. So reading returns only when the sweep closes the
    pipe, or when the process of the sweep has ended, even by SIGKILL.
    """
    sys.argv[0] = "hpcsolve"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    return main(sys.argv[1:])


def _end_with_the_sweep() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(SECONDS_TO_END)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
