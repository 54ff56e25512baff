"""The commands that compute: `hpcsolve solve` an instance, `run` a job file, `estimate` what a job would need."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from hpcsolve.cli.options import (
    DEVICES,
    add_command,
    add_job,
    add_set,
    at_least_one,
    interval,
    on_rank_0,
    prepared_job,
    seconds,
    show_on_rank_0,
)
from hpcsolve.errors import HpcsolveError, ResourceError, agree
from hpcsolve.parallel.interrupts import STOPPING
from hpcsolve.wording import show

if TYPE_CHECKING:
    from hpcsolve.job import Job
    from hpcsolve.output.log import Log
    from hpcsolve.parallel.comm import Comm
    from hpcsolve.runner.choose import Chosen
    from hpcsolve.runner.conclude import Finished
    from hpcsolve.runner.planned import PlannedRun
    from hpcsolve.runner.run import CheckpointOptions


def add_solve(commands: Any) -> None:
    """Declare `hpcsolve solve`, which solves an instance without a job file."""
    text = "solve an instance without a job file; the algorithm is chosen for it, and the choice explained"
    parser = add_command(commands, "solve", _solve, text)
    parser.add_argument("instance", metavar="FILE", help="cities or a graph, in any format that docs/jobs.md lists")
    parser.add_argument("--algorithm", metavar="NAME", help="held-karp, ant-colony, steiner-kmb or shortest-paths")
    text = "time limit of a search, from the start of the command on (default 60)"
    parser.add_argument("--seconds", type=seconds, metavar="S", help=text)
    add_set(parser, "a key of the job; may be repeated")
    parser.add_argument("--write-job", metavar="JOB.toml", help="keep the job, for hpcsolve run")
    add_run_options(parser)


def _solve(options: argparse.Namespace) -> int:
    from hpcsolve.parallel.launch import guard

    prepared: list[tuple[Chosen, dict[str, float]]] = []

    def prepare() -> dict[str, Any]:
        prepared.append(_chosen(options))
        from hpcsolve.runner.ahead import terms_of

        return terms_of(prepared[0][0].job, checkpoint_options(options))

    def run(comm: Comm) -> int:
        from hpcsolve.runner.run import run_job

        log, before, checkpointing = open_log(comm, options), prepared[0][1], checkpoint_options(options)
        if comm.rank > 0:
            prepared.clear()  # its memory: rank 0 sends the instance

        def plan() -> PlannedRun:
            from hpcsolve.runner.planned import plan_run

            chosen = prepared[0][0]
            log.note(f"choice: {chosen.reason}")
            planned = plan_run(chosen.job, options.overwrite, instance=chosen.instance)
            if options.write_job is not None:
                chosen.write(options.write_job, options.overwrite)
            return planned

        done = run_job(comm, plan, log, before, signals=STOPPING, checkpointing=checkpointing, clock=options.began)
        if comm.rank == 0 and done.exit_code == 0:
            _say_how_to_go_on(options, prepared[0][0].job, done, log)
        return done.exit_code

    return guard(run, prepare)


def _chosen(options: argparse.Namespace) -> tuple[Chosen, dict[str, float]]:
    """Choose an algorithm for the instance, build its kernels, and return the choice and the seconds of both."""
    say = show_on_rank_0(options.quiet)
    say(f"read:   {options.instance}")  # before the imports, which take seconds where the disk is slow
    from hpcsolve.runner.ahead import build_for
    from hpcsolve.runner.choose import choose
    from hpcsolve.runner.reading import reporting_progress

    started = time.perf_counter()
    with reporting_progress(options.instance, say):
        chosen = choose(options.instance, options.algorithm, options.seconds, options.set, output=options.output,
                        device=options.device)
    seconds_read = time.perf_counter() - started
    say(f"choice: {chosen.reason}")
    started = time.perf_counter()
    build_for(chosen.job, say)
    return chosen, {"seconds_read": seconds_read, "seconds_build": time.perf_counter() - started}


def _say_how_to_go_on(options: argparse.Namespace, job: Job, done: Finished, log: Log) -> None:
    """Say which command searches longer, if a search has ended without a proof: at its time limit, or of itself."""
    from hpcsolve.analysis.load import Result

    limit, own = job.settings.stop.seconds, job.parameters
    if limit is None or done.contents is None or Result(done.contents).optimal:
        return
    longer = f"--seconds {10 * limit:g}"
    if time.perf_counter() - options.began < limit:
        if job.settings.algorithm != "steiner-kmb" or own.mode not in ("best", "exact"):
            return
        longer = f"--set steiner-kmb.mode={own.mode} --set steiner-kmb.shakes={max(10, 10 * own.shakes)}"
    log.say(f"go on:  the same command with {longer} --overwrite searches longer")


def add_run(commands: Any) -> None:
    """Declare `hpcsolve run`, which solves a job."""
    parser = add_command(commands, "run", _run, "solve a job, alone or on the ranks that mpiexec or srun starts")
    add_job(parser)
    add_run_options(parser)


def _run(options: argparse.Namespace) -> int:
    from hpcsolve.parallel.launch import guard

    prepared: list[tuple[Job, float]] = []

    def prepare() -> dict[str, Any]:
        say = show_on_rank_0(options.quiet)
        say(f"job:    {options.job}")  # before the imports, which take seconds where the disk is slow
        prepared.append(prepared_job(options, say))
        from hpcsolve.runner.ahead import terms_of

        return terms_of(prepared[0][0], checkpoint_options(options))

    def run(comm: Comm) -> int:
        from hpcsolve.runner.planned import plan_run
        from hpcsolve.runner.run import run_job

        job, seconds_build = prepared[0]
        log, checkpointing = open_log(comm, options), checkpoint_options(options)
        return run_job(comm, lambda: plan_run(job, options.overwrite, log.say), log, {"seconds_build": seconds_build},
                       signals=STOPPING, checkpointing=checkpointing).exit_code

    return guard(run, prepare)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that solve something."""
    parser.add_argument("--device", help=DEVICES)
    parser.add_argument("--output", metavar="FILE", help="the result file")
    parser.add_argument("--overwrite", action="store_true", help="replace the output if it exists")
    parser.add_argument("--quiet", action="store_true", help="print only the answer")
    parser.add_argument("--log-dir", metavar="FOLDER", help="write one log file for each rank into this folder")
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
    from hpcsolve.runner.run import CheckpointOptions

    return CheckpointOptions(options.checkpoint_dir, options.checkpoint_interval, options.deadline,
                             options.hang_timeout, options.overwrite)


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


def add_estimate(commands: Any) -> None:
    """Declare `hpcsolve estimate`, which prints what a job would need."""
    text = "print the memory, the work and the time that a job would take"
    parser = add_command(commands, "estimate", _estimate, text)
    add_job(parser)
    parser.add_argument("--device", help=DEVICES)
    parser.add_argument("-n", "--ranks", type=at_least_one, default=1, help="number of ranks (default 1)")
    text = "memory for each rank, such as 80G (default: what this machine has)"
    parser.add_argument("--memory", type=_memory, metavar="SIZE", help=text)


def _estimate(options: argparse.Namespace) -> int:
    prepared: list[tuple[Job, float]] = []

    def prepare() -> None:
        way_out = "estimate one of them, as in --set seed=1"
        prepared.append(prepared_job(options, show_on_rank_0(), way_out))

    def estimate() -> int:
        from hpcsolve.runner.forecast import forecast

        job, seconds_build = prepared[0]
        found = forecast(job, options.ranks, options.memory, seconds_build, show)
        show("\n".join(found.lines()))
        if options.memory is not None and not found.fits:
            smaller = f"; {found.plan.smaller}" if found.plan.smaller else ""
            raise ResourceError("the job does not fit in the memory of --memory; the lines above say what it needs"
                                f"{smaller}")
        return 0

    return on_rank_0(estimate, prepare)


def _memory(text: str) -> int:
    from hpcsolve.runner.forecast import parsed_size

    try:
        return parsed_size(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 80G") from None
