"""`hpcsolve run`: solves a job."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from hpcsolve.cli.options import DEVICES, add_command, add_job, interval, seconds, show_on_rank_0
from hpcsolve.errors import HpcsolveError, agree
from hpcsolve.parallel.interrupts import STOPPING

if TYPE_CHECKING:
    from hpcsolve.job import Job
    from hpcsolve.output.log import Log
    from hpcsolve.parallel.comm import Comm
    from hpcsolve.runner.checkpoints import CheckpointOptions


def add(commands: Any) -> None:
    """Declare the command and its options."""
    parser = add_command(commands, "run", _run, "solve a job, alone or on the ranks that mpiexec or srun starts")
    add_job(parser)
    add_run_options(parser)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that solve something."""
    parser.add_argument("--device", help=DEVICES)
    parser.add_argument("--output", metavar="FILE", help="the result file")
    parser.add_argument("--overwrite", action="store_true", help="replace the output if it exists")
    parser.add_argument("--quiet", action="store_true", help="print only the answer")
    parser.add_argument("--log-dir", metavar="FOLDER", help="write one log file for each rank into this folder")
    add_checkpoint_options(parser)


def add_checkpoint_options(parser: argparse.ArgumentParser) -> None:
    """Add the options about checkpoints and stopping."""
    parser.add_argument("--checkpoint-dir", metavar="FOLDER",
                        help="make the folder of the checkpoints in this one (default: beside the output)")
    parser.add_argument("--checkpoint-interval", type=interval, metavar="S",
                        help="seconds between checkpoints, or never (default: so many that they take 2 %% of the time)")
    parser.add_argument("--deadline", type=seconds, metavar="S",
                        help="stop with a checkpoint within so many seconds (default: before the end of the Slurm job)")
    parser.add_argument("--hang-timeout", type=seconds, metavar="S",
                        help="end the run, with the stack of each rank, after so many seconds without progress")


def checkpoint_options(options: argparse.Namespace) -> CheckpointOptions:
    """Return what the options say about checkpoints."""
    from hpcsolve.runner.checkpoints import CheckpointOptions

    return CheckpointOptions(options.checkpoint_dir, options.checkpoint_interval, options.deadline,
                             options.hang_timeout, options.overwrite)


def _run(options: argparse.Namespace) -> int:
    from hpcsolve.parallel.launch import guard

    loaded: list[Job] = []
    seconds_build: list[float] = []

    def prepare() -> dict[str, Any]:
        say = show_on_rank_0(options.quiet)
        say(f"job:    {options.job}")  # before the imports, which take seconds where the disk is slow
        from hpcsolve.job.load import load_job
        from hpcsolve.runner.ahead import prepare_run, terms_of
        from hpcsolve.sweep.axes import require_one_job

        require_one_job(options.job, options.set)
        loaded.append(load_job(options.job, options.set, output=options.output, device=options.device))
        seconds_build.append(prepare_run(loaded[0], say))
        return terms_of(loaded[0], checkpoint_options(options))

    def run(comm: Comm) -> int:
        from hpcsolve.runner.planned import plan_run
        from hpcsolve.runner.run import run_job

        log = open_log(comm, options)
        before, checkpointing = {"seconds_build": seconds_build[0]}, checkpoint_options(options)
        return run_job(comm, lambda: plan_run(loaded[0], options.overwrite, log.say), log, before, signals=STOPPING,
                       checkpointing=checkpointing).exit_code

    return guard(run, prepare)


def open_log(comm: Comm, options: argparse.Namespace) -> Log:
    """Return the log that the options ask for. Raises, on every rank, as `Log`."""
    from hpcsolve.output.log import Log

    log, fault = Log(comm.rank, options.quiet), None
    try:
        log = Log(comm.rank, options.quiet, options.log_dir)
    except HpcsolveError as error:
        fault = error
    agree(comm, fault)
    return log
