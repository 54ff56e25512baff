"""`hpcsolve run`: solves a job."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from hpcsolve.cli.options import DEVICES, add_command, add_job, show_on_rank_0
from hpcsolve.errors import HpcsolveError, agree
from hpcsolve.parallel.interrupts import CTRL_C_AND_TERM

if TYPE_CHECKING:
    from hpcsolve.output.log import Log
    from hpcsolve.parallel.comm import Comm
    from hpcsolve.runner.planned import PlannedRun


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


def _run(options: argparse.Namespace) -> int:
    from hpcsolve.parallel.launch import guard

    seconds_build: list[float] = []

    def prepare() -> None:
        say = show_on_rank_0(options.quiet)
        say(f"job:    {options.job}")  # before the imports, which take seconds where the disk is slow
        from hpcsolve.runner.ahead import prepare_run

        seconds_build.append(prepare_run(options.job, options.set, options.device, say))

    def run(comm: Comm) -> int:
        from hpcsolve.runner.run import run_job

        log = open_log(comm, options)
        plan = partial(_planned, options, log)
        return run_job(comm, plan, log, {"seconds_build": sum(seconds_build)}, signals=CTRL_C_AND_TERM).exit_code

    return guard(run, prepare)


def _planned(options: argparse.Namespace, log: Log) -> PlannedRun:
    from hpcsolve.job.load import load_job
    from hpcsolve.runner.planned import plan_run
    from hpcsolve.sweep.axes import require_one_job

    require_one_job(options.job, options.set)
    job = load_job(options.job, options.set, output=options.output, device=options.device)
    return plan_run(job, options.overwrite, log.say)


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
