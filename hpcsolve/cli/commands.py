"""The commands: what each is called, what it does, its arguments, and the module that runs it.

A command runs the function `do_NAME` of its module, which is imported only then, with all that it imports. Texts and
types of arguments stand here, so that `--help` answers at once, without numpy, h5py, msgspec and MPI.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

Argument = tuple[tuple[str, ...], dict[str, Any]]
"""Names and options of an argument, as `add_argument` takes them."""
SHELLS = ("bash", "zsh", "fish")


class Command(NamedTuple):
    """A command.

    Attributes
    ----------
    name
        As it is typed.
    module
        The module of `hpcsolve.cli` that has `do_NAME`, which takes the options. If `alone`, this function runs on rank
        0, even under mpiexec, and returns the exit code. Otherwise it is a generator, which runs on every rank. It
        yields once what all ranks must have in common, gets the communicator after MPI has started, and returns the
        exit code.
    text
        What the command does, for `--help`.
    arguments
        Its arguments, in the order of `--help`.
    alone
        Whether it needs no other rank.
    first_line
        What rank 0 prints before the imports, which take seconds where the disk is slow. Options stand in braces.
    """

    name: str
    module: str
    text: str
    arguments: tuple[Argument, ...]
    alone: bool = True
    first_line: str = ""

    def function(self) -> Callable[[argparse.Namespace], Any]:
        """Import the module of the command, and return its function."""
        module = import_module(f"hpcsolve.cli.{self.module}")
        function: Callable[[argparse.Namespace], Any] = getattr(module, f"do_{self.name}")
        return function


def seconds(text: str) -> float:
    """Return a time limit in seconds, which must be above 0."""
    with suppress(ValueError):
        if 0 < (limit := float(text)) < float("inf"):
            return limit
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")


def interval(text: str) -> float:
    """Return the seconds between checkpoints, at least 0, or infinity for `never`."""
    if text == "never":
        return math.inf
    with suppress(ValueError):
        if 0 <= (found := float(text)) < math.inf:
            return found
    raise argparse.ArgumentTypeError(f"{text!r} is neither a number of seconds, at least 0, nor `never`")


def not_negative(text: str) -> int:
    """Return the number in a text, which must be at least 0."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def at_least_one(text: str) -> int:
    """Return the number in a text, which must be at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def memory(text: str) -> int:
    """Return the bytes of a size such as 80G."""
    from hpcsolve.runner.forecast import parsed_size

    with suppress(ValueError):
        return parsed_size(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 80G")


def time_limit(text: str) -> int:
    """Return the seconds of a time as Slurm reads it."""
    from hpcsolve.slurm import parsed_time

    with suppress(ValueError):
        return parsed_time(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 12:00:00 or 2-00:00:00")


def argument(*names: str, **options: Any) -> Argument:
    """Return an argument, given as `add_argument` takes it."""
    return names, options


def flag(name: str, text: str) -> Argument:
    """Return an option that is given or not."""
    return argument(name, action="store_true", help=text)


def several(name: str, metavar: str, text: str) -> Argument:
    """Return an option that may be repeated."""
    return argument(name, action="append", default=[], metavar=metavar, help=text)


def output(text: str, default: str | None = None) -> tuple[Argument, ...]:
    """Return the options of a command that writes a file. Without a default, the file must be named.

    An existing file is refused without `--overwrite` before the command runs.
    """
    return (argument("-o", "--output", default=default, required=default is None, metavar="FILE", help=text),
            flag("--overwrite", "replace the file if it exists"))


DEVICE = argument("--device", help="auto, cpu, cuda, cuda:1 or a GPU's UUID")
JOB = (
    argument("job", metavar="JOB.toml", help="a job file, or a result file whose job is run again"),
    several("--set", "KEY=VALUE", "set a key of the job to another value; may be repeated"),
)
RANKS = argument("-n", "--ranks", type=at_least_one, default=1, help="number of ranks (default 1)")
RESULT = argument("result", metavar="RESULT.h5")
JSON = flag("--json", "print JSON, for programs")
SOLVING = (
    JSON,
    DEVICE,
    argument("--output", metavar="FILE", help="the result file"),
    flag("--overwrite", "replace the output if it exists"),
    flag("--quiet", "print only the answer"),
    argument("--log-dir", metavar="FOLDER", help="write one log file for each rank into this folder"),
    argument("--checkpoint-dir", metavar="FOLDER",
             help="make the folder of the checkpoints in this one (default: beside the output)"),
    argument("--checkpoint-interval", type=interval, metavar="S",
             help="seconds between checkpoints, or never (default: so many that they take 2 %% of the time)"),
    argument("--deadline", type=seconds, metavar="S",
             help="stop with a checkpoint within so many seconds (default: before the end of the Slurm job)"),
    argument("--hang-timeout", type=seconds, metavar="S",
             help="end the run, with the stack of each rank, after so many seconds without progress"),
)
"""The options of commands that solve something."""

COMMANDS = (
    Command("solve", "run", "solve an instance without a job file; the algorithm is chosen for it, and the choice "
            "explained", (
        argument("instance", metavar="FILE", help="cities or a graph, in any format that docs/jobs.md lists"),
        argument("--algorithm", metavar="NAME",
                 help="held-karp, edge-assembly, ant-colony, steiner-kmb or shortest-paths"),
        argument("--seconds", type=seconds, metavar="S",
                 help="time limit of a search, from the start of the command on, without compiling (default 60)"),
        several("--set", "KEY=VALUE", "a key of the job; may be repeated"),
        argument("--write-job", metavar="JOB.toml", help="keep the job, for hpcsolve run"),
        *SOLVING,
    ), alone=False, first_line="read:   {instance}"),
    Command("new", "instances", "write an example job with its data; without NAME, list the examples", (
        argument("example", nargs="?", metavar="NAME", help="an example; by default all are listed"),
        argument("folder", nargs="?", default=".", metavar="FOLDER", help="folder to write into (default: here)"),
    )),
    Command("run", "run", "solve a job, alone or on the ranks that mpiexec or srun starts", (*JOB, *SOLVING),
            alone=False, first_line="job:    {job}"),
    Command("sweep", "sweep", "solve a job whose keys may be lists or ranges, for every combination of their values", (
        argument("sweep", metavar="SWEEP.toml", help='a job file with values to try, such as seed = "1..20"'),
        argument("-j", "--jobs", type=at_least_one, metavar="N",
                 help="runs at a time (default: as many as the cores allow if the job sets `threads`, else 1)"),
        several("--set", "KEY=VALUE", "set a key of the job to another value, list or range; may be repeated"),
        DEVICE,
        argument("--output", metavar="FOLDER", help="the folder of the results (default: results/SWEEP)"),
        flag("--overwrite", "run every job, and replace existing results"),
        flag("--dry-run", "print the commands of the missing runs, run nothing"),
        flag("--missing", "print the numbers of the missing runs, such as 0-3,7, for `sbatch --array`; run nothing"),
        argument("--run", type=not_negative, metavar="NUMBER",
                 help="solve this run alone, as `hpcsolve run` does, also on several ranks"),
        flag("--quiet", "print only failures"),
    ), alone=False),
    Command("collect", "results", "write a table in CSV, or JSON, with a row per result: the answer, times, memory, "
            "and all keys of the job", (
        argument("results", metavar="RESULT.h5", nargs="+",
                 help="result files, patterns such as 'results/*.h5', or folders of result files"),
        *output("by default standard output", "-"), JSON,
    )),
    Command("estimate", "run", "print the memory, the work and the time that a job would take", (
        *JOB, DEVICE, RANKS,
        argument("--memory", type=memory, metavar="SIZE",
                 help="memory for each rank, such as 80G (default: what this machine has)"),
        JSON,
    ), alone=False),
    Command("slurm", "sites", "print a Slurm script for a job, which asks for what the job needs by its estimate", (
        *JOB, DEVICE,
        argument("--output", metavar="FILE", help="the result file"),
        RANKS,
        argument("--ranks-per-node", type=at_least_one, metavar="N", help="ranks per node (default: all on one)"),
        argument("--cpus", type=at_least_one, metavar="N",
                 help="CPU cores per rank (default: `threads` of the job, else 1)"),
        argument("--gpus-per-node", type=not_negative, metavar="N",
                 help="GPUs per node (default: one per rank if the job asks for a GPU, else none)"),
        argument("--time", type=time_limit, metavar="TIME",
                 help="time limit as Slurm reads it, such as 12:00:00 (default: twice the estimate)"),
        argument("--mpi", default="", metavar="PLUGIN",
                 help="the plugin for srun: pmi2 (MPICH), pmix (Open MPI) or another (default: the one that the site "
                      "has chosen)"),
        argument("--partition", default="", metavar="NAME"),
        argument("--account", default="", metavar="NAME"),
        several("--module", "NAME", "an environment module to load; may be repeated"),
    ), alone=False),
    Command("verify", "results", "check the answers in result files, in plain numpy", (
        argument("results", metavar="RESULT.h5", nargs="+", help="with several, one line is printed for each"),
        flag("--again", "search again by other means, where that is the only proof; may take as long as the run"),
        argument("--instance", metavar="FILE", help="the instance, if it has moved; with one result only"),
        JSON,
    )),
    Command("report", "results", "write one HTML page about results: answers, pictures, time, provenance; needs "
            "matplotlib (extra plot)", (
        argument("results", metavar="RESULT.h5", nargs="+"),
        *output("the page, such as report.html"),
    )),
    Command("export", "results", "write an answer as .csv, .xlsx, .parquet, .npy, .geojson, .gpx, .dot, .tour (TSPLIB) "
            "or .pace (PACE 2018)", (
        RESULT,
        *output("its suffix names the format"),
        argument("--number", type=int, metavar="N",
                 help="which search or query to write, from 0, for formats that hold only one (.dot); of several "
                      "tours which one, of a batch which instance"),
    )),
    Command("tree", "results", "write the Steiner tree of a result in the format of the PACE challenge: its weight, "
            "then its edges", (RESULT, *output("by default standard output", "-"))),
    Command("info", "sites", "print versions, MPI, compilers, devices and problems with them; under mpiexec a line for "
            "each rank", (
        flag("--clear-cache", "remove the hierarchies of graphs that were kept for later runs; compiled kernels stay"),
        JSON,
    ), alone=False),
    Command("check", "sites", "try an installation: solve small instances with every algorithm, on one rank and two, "
            "and compare with recorded answers; under mpiexec or srun on their ranks", (
        DEVICE,
        flag("--brief", "leave out versions, compilers and devices, which hpcsolve info prints"),
    ), alone=False),
    Command("build", "sites", "compile all kernels for CPUs or GPUs of other machines that share this cache, which "
            "then need no compiler", (
        several("--cpu", "NAME", "a CPU as g++ names it, such as znver4 or x86-64-v4; may be repeated"),
        several("--gpu", "NAME", "the architecture of a GPU, such as sm_90; may be repeated"),
    )),
    Command("generate", "instances", "write a random instance", (
        argument("kind", metavar="KIND", help="uniform-tsp, road-graph, ...; docs/jobs.md lists all"),
        argument("--n", type=int, help="number of cities or vertices"),
        argument("--seed", type=int, default=1, help="seed of the random numbers (default 1)"),
        several("--set", "KEY=VALUE", "another key of the generator, such as clusters=5"),
        *output("cities: TSPLIB, or .npy for a numpy matrix; graphs: DIMACS, .stp for SteinLib, .co for coordinates"),
    )),
    Command("convert", "instances", "write an instance in another format", (
        argument("source", metavar="A", help="an instance in any format that jobs take"),
        argument("output", metavar="B", help="the file to write; its suffix says the format"),
        argument("--weight", metavar="NAME", help="the attribute or column of A with the weights of edges"),
        argument("--directed", choices=("true", "false"),
                 help="whether edges of A are arcs, as instance.directed of a job; false takes the lighter one of two "
                      "directions"),
        flag("--overwrite", "replace B if it exists"),
    )),
    Command("completion", "sites", "print a completion file; docs/running.md says where to put it", (
        argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS)),
    )),
)
"""All commands, in the order of `--help`."""
