"""The commands that fit hpcsolve to a site: `hpcsolve slurm`, `build`, `info` and `completion`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from hpcsolve.cli.options import DEVICES, add_command, add_job, at_least_one, not_negative, on_rank_0, prepared_job
from hpcsolve.errors import InputError
from hpcsolve.wording import show, warn

if TYPE_CHECKING:
    from hpcsolve.job import Job
    from hpcsolve.parallel.comm import Comm
    from hpcsolve.runner.forecast import Forecast

SPARE = 1.25
"""Factor by which more memory is asked for than estimated, since the estimate may be wrong by a fifth."""
SPARE_BYTES = 256 << 20
"""Bytes per node that are asked for in addition."""
SLOWER = 2
"""Factor by which more time is asked for than estimated, since the estimate may be wrong by this factor."""
SHORTEST = 600
"""Shortest time limit in seconds: starting a job takes minutes on busy file systems."""
SHELLS = ("bash", "zsh", "fish")
FILES = ("FILE", "JOB.toml", "SWEEP.toml", "RESULT.h5", "A", "B")
"""The metavars in `--help` that stand for a file."""
FOLDERS = ("FOLDER",)


def add_slurm(commands: Any) -> None:
    """Declare `hpcsolve slurm`, which prints a Slurm script for a job, with what the job needs by its estimate."""
    text = "print a Slurm script for a job, which asks for what the job needs by its estimate"
    parser = add_command(commands, "slurm", _slurm, text)
    add_job(parser)
    parser.add_argument("--device", help=DEVICES)
    parser.add_argument("--output", metavar="FILE", help="the result file")
    parser.add_argument("-n", "--ranks", type=at_least_one, default=1, help="number of ranks (default 1)")
    text = "ranks per node (default: all on one)"
    parser.add_argument("--ranks-per-node", type=at_least_one, metavar="N", help=text)
    text = "CPU cores per rank (default: `threads` of the job, else 1)"
    parser.add_argument("--cpus", type=at_least_one, metavar="N", help=text)
    text = "GPUs per node (default: one per rank if the job asks for a GPU, else none)"
    parser.add_argument("--gpus-per-node", type=not_negative, metavar="N", help=text)
    text = "time limit as Slurm reads it, such as 12:00:00 (default: twice the estimate)"
    parser.add_argument("--time", type=_time, metavar="TIME", help=text)
    text = "the plugin for srun: pmi2 (MPICH), pmix (Open MPI) or another (default: the one that the site has chosen)"
    parser.add_argument("--mpi", default="", metavar="PLUGIN", help=text)
    parser.add_argument("--partition", default="", metavar="NAME")
    parser.add_argument("--account", default="", metavar="NAME")
    text = "an environment module to load; may be repeated"
    parser.add_argument("--module", action="append", default=[], metavar="NAME", help=text)


def _slurm(options: argparse.Namespace) -> int:
    prepared: list[tuple[Job, float]] = []

    def prepare() -> None:
        if options.ranks % _ranks_per_node(options):
            raise InputError(f"{options.ranks} ranks do not fill nodes of {_ranks_per_node(options)} ranks; change "
                             "--ranks-per-node")
        sweep = f"hpcsolve sweep {options.job}"
        way_out = f"for sbatch --array {sweep} --missing prints their numbers, and each task is {sweep} --run NUMBER"
        prepared.append(prepared_job(options, lambda line: None, way_out))

    def write() -> int:
        from hpcsolve.runner.forecast import forecast

        job, seconds_build = prepared[0]
        cpus = options.cpus or job.settings.threads or 1
        cores = len(os.sched_getaffinity(0))  # a rank may have more threads than this machine has cores
        found = forecast(job.with_settings(threads=min(cpus, cores)), options.ranks, None, seconds_build)
        for line in found.lines():
            if not line.startswith("fits"):  # that is about the memory of this machine
                warn(line)
        show(_script(options, found, cpus).rstrip("\n"))
        return 0

    return on_rank_0(write, prepare)


def _script(options: argparse.Namespace, found: Forecast, cpus: int) -> str:
    from hpcsolve.slurm import job_name_of, script_of

    per_node = _ranks_per_node(options)
    once = found.plan.shared_bytes  # memory that ranks share counts once, and every rank like rank 0
    needed = once + per_node * (found.process - once)
    on_gpus = found.job.settings.device.lower() not in ("cpu", "auto")
    gpus = options.gpus_per_node if options.gpus_per_node is not None else per_node * on_gpus
    return script_of(
        nodes=options.ranks // per_node, ranks_per_node=per_node, cpus_per_rank=cpus, gpus_per_node=gpus,
        mebibytes_per_node=int(needed * SPARE + SPARE_BYTES) // (1 << 20) + 1,
        seconds=options.time or _seconds(found), command=_command(options), job_name=job_name_of(options.job),
        partition=options.partition, account=options.account, mpi=options.mpi, modules=options.module,
        environment=sys.prefix if sys.prefix != sys.base_prefix else "",
    )


def _ranks_per_node(options: argparse.Namespace) -> int:
    return int(min(options.ranks, options.ranks_per_node or options.ranks))


def _seconds(found: Forecast) -> int:
    """Return the time limit in seconds, whole minutes. Raises an `InputError` if the estimate has no time."""
    total = found.phases.total
    if total is None:
        raise InputError("it cannot be estimated how long this job takes; give a time limit with --time")
    return max(SHORTEST, (int(total * SLOWER) // 60 + 1) * 60)


def _command(options: argparse.Namespace) -> list[str]:
    """Return the command of each rank. Values are joined to their options, so that none is taken for an option."""
    job = options.job if not options.job.startswith("-") else os.path.join(".", options.job)
    named = {"device": options.device, "output": options.output}
    more = [f"--{name}={value}" for name, value in named.items() if value is not None]
    return ["hpcsolve", "run", job, *(f"--set={value}" for value in options.set), *more]


def _time(text: str) -> int:
    from hpcsolve.slurm import parsed_time

    try:
        return parsed_time(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 12:00:00 or 2-00:00:00") from None


def add_build(commands: Any) -> None:
    """Declare `hpcsolve build`, which compiles the kernels for other machines, such as the nodes of a cluster."""
    text = "compile all kernels for CPUs or GPUs of other machines that share this cache, which then need no compiler"
    parser = add_command(commands, "build", _build, text, alone=True)
    text = "a CPU as g++ names it, such as znver4 or x86-64-v4; may be repeated"
    parser.add_argument("--cpu", action="append", default=[], metavar="NAME", help=text)
    text = "the architecture of a GPU, such as sm_90; may be repeated"
    parser.add_argument("--gpu", action="append", default=[], metavar="NAME", help=text)


def _build(options: argparse.Namespace) -> int:
    from hpcsolve.device.build import check_target
    from hpcsolve.runner.ahead import build_for_target

    wanted = [*((name, False) for name in options.cpu), *((name, True) for name in options.gpu)]
    if not wanted:
        raise InputError("name the CPU or the GPU to compile for: --cpu znver4, --gpu sm_90")
    for name, is_gpu in wanted:
        check_target(name, is_gpu)
    for name, is_gpu in wanted:
        show(f"built:  {build_for_target(name, is_gpu, show)}")
    return 0


def add_info(commands: Any) -> None:
    """Declare `hpcsolve info`, which prints versions and devices."""
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


def add_completion(commands: Any) -> None:
    """Declare `hpcsolve completion`, which prints a completion file for a shell."""
    text = "print a completion file; docs/running.md says where to put it"
    parser = add_command(commands, "completion", _completion, text, alone=True)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def _completion(options: argparse.Namespace) -> int:
    from hpcsolve.analysis import require_installed
    from hpcsolve.cli import command_parser

    require_installed("shtab")
    import shtab

    parser, commands = command_parser()
    for each in commands.values():
        for action in each._actions:
            _describe(action, shtab.FILE, shtab.DIRECTORY)
    show(shtab.complete(parser, options.shell).rstrip())
    return 0


def _describe(action: argparse.Action, file: Any, folder: Any) -> None:
    """Tell shtab how to complete an argument: with one of some names, with a file, or with a folder."""
    from hpcsolve.algorithms.registry import NAMES
    from hpcsolve.job.examples import examples
    from hpcsolve.problems.generate import makers
    from hpcsolve.runner.kinds import KINDS

    if action.dest == "algorithm":
        action.choices = NAMES
    elif action.dest == "example":
        action.choices = list(examples())
    elif action.metavar == "KIND":
        action.choices = [name for kind in KINDS for name in makers(kind)]
    elif action.metavar in FILES:
        action.complete = file  # type: ignore[attr-defined]  # where shtab looks
    elif action.metavar in FOLDERS:
        action.complete = folder  # type: ignore[attr-defined]  # where shtab looks
