"""The commands that compute: `hpcsolve solve` an instance, `run` a job file, `estimate` what a job would need."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from hpcsolve.cli import Steps
from hpcsolve.cli.options import show_on_rank_0
from hpcsolve.errors import HpcsolveError, ResourceError, agree
from hpcsolve.job import Job, load_job
from hpcsolve.output.json_text import json_text
from hpcsolve.output.log import Log, say_nothing
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.interrupts import STOPPING
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.runner.ahead import build_for, prepare_run, terms_of
from hpcsolve.runner.conclude import Finished
from hpcsolve.runner.forecast import forecast
from hpcsolve.runner.planned import PlannedRun, plan_run
from hpcsolve.runner.reading import reporting_progress
from hpcsolve.runner.run import CheckpointOptions, run_job
from hpcsolve.sweep import require_one_job
from hpcsolve.wording import show


def do_solve(options: argparse.Namespace) -> Steps:
    """Choose an algorithm for the instance, build its kernels, and solve it."""
    from hpcsolve.runner.choose import choose  # with all of Held-Karp, which most jobs of `run` do not need

    say, checkpointing, started = show_on_rank_0(options.quiet), checkpoint_options(options), time.perf_counter()
    with reporting_progress(options.instance, say):
        chosen = choose(options.instance, options.algorithm, options.seconds, options.set, output=options.output,
                        device=options.device)
    before = {"seconds_read": time.perf_counter() - started}
    say(f"choice: {chosen.reason}")
    started = time.perf_counter()
    build_for(chosen.job, say)
    before["seconds_build"] = time.perf_counter() - started
    begun = options.began + before["seconds_build"]  # a limit of --seconds is no shorter where kernels are compiled
    comm = yield terms_of(chosen.job, checkpointing)
    log = open_log(comm, options)
    if comm.rank > 0:
        del chosen  # its memory: rank 0 sends the instance

    def plan() -> PlannedRun:
        log.note(f"choice: {chosen.reason}")
        planned = plan_run(chosen.job, options.overwrite, instance=chosen.instance)
        if options.write_job is not None:
            chosen.write(options.write_job, options.overwrite)
        return planned

    done = run_job(comm, plan, log, before, signals=STOPPING, checkpointing=checkpointing, clock=begun)
    if comm.rank == 0 and done.exit_code == 0:
        _say_how_to_go_on(chosen.job, done, time.perf_counter() - begun, log)
    return done.exit_code


def _say_how_to_go_on(job: Job, done: Finished, seconds: float, log: Log) -> None:
    """Say which command searches longer, if a search has ended without a proof: at its time limit, or of itself."""
    from hpcsolve.analysis.load import Result

    limit, own = job.settings.stop.seconds, job.parameters
    if limit is None or done.contents is None or Result(done.contents).optimal:
        return
    longer = f"--seconds {10 * limit:g}"
    if seconds < limit:
        if job.settings.algorithm != "steiner-kmb" or own.mode not in ("best", "exact"):
            return
        longer = f"--set steiner-kmb.mode={own.mode} --set steiner-kmb.shakes={max(10, 10 * own.shakes)}"
    log.say(f"go on:  the same command with {longer} --overwrite searches longer")


def do_run(options: argparse.Namespace) -> Steps:
    """Solve a job."""
    checkpointing = checkpoint_options(options)
    job, seconds_build = prepared_job(options, show_on_rank_0(options.quiet))
    comm = yield terms_of(job, checkpointing)
    log = open_log(comm, options)
    return run_job(comm, lambda: plan_run(job, options.overwrite, log.say), log, {"seconds_build": seconds_build},
                   signals=STOPPING, checkpointing=checkpointing).exit_code


def prepared_job(
    options: argparse.Namespace, say: Callable[[str], None], way_out: str = "`hpcsolve sweep` runs every combination"
) -> tuple[Job, float]:
    """Return the job of a command line, and the seconds that building its kernels took, for use before MPI starts.

    Parameters
    ----------
    say
        Prints lines about building.
    way_out
        What to do with a file that has several values for a key, which is refused.
    """
    require_one_job(options.job, options.set, way_out)
    job = load_job(options.job, options.set, output=vars(options).get("output"), device=options.device)
    return job, prepare_run(job, say)


def checkpoint_options(options: argparse.Namespace) -> CheckpointOptions:
    """Return what the options say about checkpoints."""
    return CheckpointOptions(options.checkpoint_dir, options.checkpoint_interval, options.deadline,
                             options.hang_timeout, options.overwrite)


def open_log(comm: Comm, options: argparse.Namespace) -> Log:
    """Return the log that the options ask for. Raises, on every rank, as `Log`."""
    log, fault = Log(comm.rank, options.quiet), None
    try:
        log = Log(comm.rank, options.quiet, options.log_dir, options.json)
    except HpcsolveError as error:
        fault = error
    agree(comm, fault)
    return log


def do_estimate(options: argparse.Namespace) -> Steps:
    """Print what a job would need."""
    job, seconds_build = prepared_job(options, show_on_rank_0(options.json), "estimate one of them, as in --set seed=1")
    comm = yield None

    def estimate() -> int:
        found = forecast(job, options.ranks, options.memory, seconds_build, say_nothing if options.json else show)
        show(json_text(found.values()) if options.json else "\n".join(found.lines()))
        if options.memory is not None and not found.fits:
            smaller = f"; {found.plan.smaller}" if found.plan.smaller else ""
            raise ResourceError("the job does not fit in the memory of --memory; the lines above say what it needs"
                                f"{smaller}")
        return 0

    return on_rank_0(comm, estimate)
