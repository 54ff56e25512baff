"""The commands that fit hpcsolve to a site: `hpcsolve slurm`, `build`, `info`, `check` and `completion`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from hpcsolve import slurm
from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.analysis import require_installed
from hpcsolve.cli import Steps, command_parser
from hpcsolve.cli.options import show_on_rank_0
from hpcsolve.cli.run import prepared_job
from hpcsolve.device import array_cache
from hpcsolve.device.build import check_target
from hpcsolve.errors import InputError
from hpcsolve.job.examples import examples
from hpcsolve.output.json_text import json_text
from hpcsolve.output.log import say_nothing
from hpcsolve.parallel import launch
from hpcsolve.parallel.environment import started_by_launcher
from hpcsolve.problems.generate import makers
from hpcsolve.runner import check, info
from hpcsolve.runner.ahead import build_for_target
from hpcsolve.runner.forecast import Forecast, forecast
from hpcsolve.runner.kinds import KINDS
from hpcsolve.wording import counted, show, warn

SPARE = 1.25
"""Factor by which more memory is asked for than estimated, since the estimate may be wrong by a fifth."""
SPARE_BYTES = 256 << 20
"""Bytes per node that are asked for in addition."""
SLOWER = 2
"""Factor by which more time is asked for than estimated, since the estimate may be wrong by this factor."""
SHORTEST = 600
"""Shortest time limit in seconds: starting a job takes minutes on busy file systems."""
FILES = ("FILE", "JOB.toml", "SWEEP.toml", "RESULT.h5", "A", "B")
"""The metavars in `--help` that stand for a file."""
FOLDERS = ("FOLDER",)


def do_slurm(options: argparse.Namespace) -> Steps:
    """Print a Slurm script for a job, with what the job needs by its estimate."""
    if options.ranks % _ranks_per_node(options):
        raise InputError(f"{options.ranks} ranks do not fill nodes of {_ranks_per_node(options)} ranks; change "
                         "--ranks-per-node")
    sweep = f"hpcsolve sweep {options.job}"
    way_out = f"for sbatch --array {sweep} --missing prints their numbers, and each task is {sweep} --run NUMBER"
    job, seconds_build = prepared_job(options, say_nothing, way_out)
    comm = yield None

    def write() -> int:
        cpus = options.cpus or job.settings.threads or 1
        cores = len(os.sched_getaffinity(0))  # a rank may have more threads than this machine has cores
        found = forecast(job.with_settings(threads=min(cpus, cores)), options.ranks, None, seconds_build)
        for line in found.lines():
            if not line.startswith("fits"):  # that is about the memory of this machine
                warn(line)
        show(_script(options, found, cpus).rstrip("\n"))
        return 0

    return launch.on_rank_0(comm, write)


def _script(options: argparse.Namespace, found: Forecast, cpus: int) -> str:
    per_node = _ranks_per_node(options)
    once = found.plan.shared_bytes  # memory that ranks share counts once, and every rank like rank 0
    needed = once + per_node * (found.process - once)
    on_gpus = found.job.settings.device.lower() not in ("cpu", "auto")
    gpus = options.gpus_per_node if options.gpus_per_node is not None else per_node * on_gpus
    if gpus and (little := algorithm(found.job.settings.algorithm).little_for_a_gpu(found.job.parameters)):
        warn(f"hpcsolve: {little} computes nearly all on the host's cores: leave out the GPUs, and give a rank --cpus")
    total, seconds = found.phases.total, options.time
    if seconds is None:
        if total is None:
            raise InputError("it cannot be estimated how long this job takes; give a time limit with --time")
        seconds = max(SHORTEST, (int(total * SLOWER) // 60 + 1) * 60)  # whole minutes
    return slurm.script_of(
        nodes=options.ranks // per_node, ranks_per_node=per_node, cpus_per_rank=cpus, gpus_per_node=gpus,
        mebibytes_per_node=int(needed * SPARE + SPARE_BYTES) // (1 << 20) + 1,
        seconds=seconds, command=_command(options), job_name=slurm.job_name_of(options.job),
        partition=options.partition, account=options.account, mpi=options.mpi, modules=options.module,
        environment=sys.prefix if sys.prefix != sys.base_prefix else "",
    )


def _ranks_per_node(options: argparse.Namespace) -> int:
    return int(min(options.ranks, options.ranks_per_node or options.ranks))


def _command(options: argparse.Namespace) -> list[str]:
    """Return the command of each rank. Values are joined to their options, so that none is taken for an option."""
    job = options.job if not options.job.startswith("-") else os.path.join(".", options.job)
    named = {"device": options.device, "output": options.output}
    more = [f"--{name}={value}" for name, value in named.items() if value is not None]
    return ["hpcsolve", "run", job, *(f"--set={value}" for value in options.set), *more]


def do_build(options: argparse.Namespace) -> int:
    """Compile the kernels for other machines, such as the nodes of a cluster."""
    wanted = [*((name, False) for name in options.cpu), *((name, True) for name in options.gpu)]
    if not wanted:
        raise InputError("name the CPU or the GPU to compile for: --cpu znver4, --gpu sm_90")
    for name, is_gpu in wanted:
        check_target(name, is_gpu)
    for name, is_gpu in wanted:
        show(f"built:  {build_for_target(name, is_gpu, show)}")
    return 0


def do_info(options: argparse.Namespace) -> Steps:
    """Print versions and devices."""
    if options.clear_cache:
        array_cache.clear()
    found = list(info.compilers())
    comm = yield None
    lines = comm.gather(info.rank_line(comm.rank, comm.size))
    if lines is not None and options.json:
        general = (line.partition(" ") for line in (*info.general_lines(comm.mpi_library), *found))
        show(json_text({**{name: text.strip() for name, _, text in general}, "ranks": lines,
                        "problems": [line.removeprefix("problem: ") for line in info.problem_lines(found)]}))
    elif lines is not None:
        show("\n".join([*info.general_lines(comm.mpi_library), *found, *lines, *info.problem_lines(found)]))
    return 0


def do_check(options: argparse.Namespace) -> Steps:
    """Solve small instances with every algorithm, and compare with recorded answers.

    Started without a launcher, it starts itself on two ranks too.
    """
    device, say = options.device or "auto", show_on_rank_0(False)
    check.build_for_cases(check.CASES, device, say)
    found = list(info.compilers())
    comm = yield {"device": device}
    lines = comm.gather(info.rank_line(comm.rank, comm.size))
    if lines is not None and not options.brief:
        show("\n".join([*info.general_lines(comm.mpi_library), *found, *lines, *info.problem_lines(found)]))
    say_of_all = show if comm.rank == 0 else say_nothing
    say_of_all(f"on {counted(comm.size, 'rank')}, {comm.mpi_library if comm.size > 1 else 'without MPI'}:")
    code = check.check_cases(check.CASES, device, comm, say_of_all)
    if comm.size == 1 and not started_by_launcher(os.environ):
        launcher = check.mpiexec()
        if launcher is None:
            show("on 2 ranks: not tried, since mpi4py or mpiexec is missing; in a Slurm job: srun -n 2 hpcsolve check")
        else:
            words = ["check", "--brief", "--device", device]
            on_two = check.check_on_ranks(launcher, 2, words)
            code = check.worst_of([code, on_two])
    return code


def do_completion(options: argparse.Namespace) -> int:
    """Print a completion file for a shell."""
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
