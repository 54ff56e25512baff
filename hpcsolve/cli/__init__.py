"""The command line: a module for each group of commands. `add_NAME` declares a command, `_NAME` runs it.

run.py        solve, run, estimate
sweep.py      sweep, and each run of one
results.py    verify, collect, export, report, tree
instances.py  new, generate, convert
sites.py      slurm, build, info, completion
options.py    options that commands share, and messages about mistakes

`--help` must answer at once, so numpy, h5py, msgspec and MPI are imported inside the functions that run a command.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

import hpcsolve
from hpcsolve.cli.instances import add_convert, add_generate, add_new
from hpcsolve.cli.options import OneLineParser
from hpcsolve.cli.results import add_collect, add_export, add_report, add_tree, add_verify
from hpcsolve.cli.run import add_estimate, add_run, add_solve
from hpcsolve.cli.sites import add_build, add_completion, add_info, add_slurm
from hpcsolve.cli.sweep import add_sweep
from hpcsolve.errors import InputError, ResourceError
from hpcsolve.memory import lack_of_memory, require_free_for_libraries
from hpcsolve.parallel import launch
from hpcsolve.parallel.interrupts import signals_raise

COMMANDS = (
    add_solve, add_new, add_run, add_sweep, add_collect, add_estimate, add_slurm, add_verify, add_report, add_export,
    add_tree, add_info, add_build, add_generate, add_convert, add_completion,
)
"""The functions that declare the commands, in the order of `--help`."""

EPILOG = """\
examples:
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
    began = time.perf_counter()
    parser, commands = command_parser()
    try:
        parser.refuse_unknown_command(commands, words)
        options, rest = parser.parse_known_args(words)
        commands[words[0]].refuse_unknown_options(rest)
    except InputError as error:
        return launch.fail(error)
    try:
        require_free_for_libraries()
    except ResourceError as error:
        return launch.end_without_mpi(error)
    command: Callable[[argparse.Namespace], int] = options.command
    options.began = began
    return command(options)


def command_parser() -> tuple[OneLineParser, dict[str, OneLineParser]]:
    """Return the parser, and the parsers of the commands by their names."""
    parser = OneLineParser(
        prog="hpcsolve", description=hpcsolve.__doc__, epilog=EPILOG, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hpcsolve {hpcsolve.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(commands)
    return parser, commands.choices


if __name__ == "__main__":
    sys.exit(main())
