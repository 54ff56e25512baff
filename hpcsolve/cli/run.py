"""The commands that compute: `hpcsolve solve` an instance, `run` a job file, `estimate` what a job would need."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hpcsolve.cli.options import (
    DEVICES,
    add_command,
    add_job,
    add_set,
    at_least_one,
    interval,
    on_rank_0,
    seconds,
    show_on_rank_0,
)
from hpcsolve.errors import HpcsolveError, agree
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


def add_run(commands: Any) -> None:
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
    from hpcsolve.runner.run import CheckpointOptions

    return CheckpointOptions(options.checkpoint_dir, options.checkpoint_interval, options.deadline,
                             options.hang_timeout, options.overwrite)


def _run(options: argparse.Namespace) -> int:
    from hpcsolve.parallel.launch import guard

    loaded: list[Job] = []
    seconds_build: list[float] = []

    def prepare() -> dict[str, Any]:
        say = show_on_rank_0(options.quiet)
        say(f"job:    {options.job}")  # before the imports, which take seconds where the disk is slow
        from hpcsolve.job import load_job
        from hpcsolve.runner.ahead import prepare_run, terms_of
        from hpcsolve.sweep import require_one_job

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


def add_solve(commands: Any) -> None:
    """Declare the command and its options."""
    text = "solve an instance without a job file; the algorithm is chosen for it, and the choice explained"
    parser = add_command(commands, "solve", _solve, text)
    parser.add_argument("instance", metavar="FILE", help="cities or a graph, in any format that docs/jobs.md lists")
    parser.add_argument("--algorithm", metavar="NAME", help="held-karp, ant-colony, steiner-kmb or shortest-paths")
    text = "time limit of a search, from the start of the command on (default 60)"
    parser.add_argument("--seconds", type=seconds, metavar="S", help=text)
    add_set(parser, "a key of the job; may be repeated")
    parser.add_argument("--write-job", metavar="JOB.toml", help="keep the job, for hpcsolve run")
    add_run_options(parser)


class _Prepared(NamedTuple):
    """What a process has chosen, and the seconds of reading and of building kernels."""

    chosen: Chosen
    seconds: dict[str, float]


def _solve(options: argparse.Namespace) -> int:
    from hpcsolve.parallel.launch import guard

    prepared: list[_Prepared] = []

    def prepare() -> dict[str, Any]:
        prepared.append(_prepare(options))
        from hpcsolve.runner.ahead import terms_of

        return terms_of(prepared[0].chosen.job, checkpoint_options(options))

    def run(comm: Comm) -> int:
        from hpcsolve.runner.run import run_job

        log, before, checkpointing = open_log(comm, options), prepared[0].seconds, checkpoint_options(options)
        if comm.rank > 0:
            prepared.clear()  # its memory: rank 0 sends the instance
        plan = partial(_planned, prepared, options, log)
        done = run_job(comm, plan, log, before, signals=STOPPING, checkpointing=checkpointing, clock=options.began)
        if comm.rank == 0 and done.exit_code == 0:
            _say_how_to_go_on(options, prepared, done, log)
        return done.exit_code

    return guard(run, prepare)


def _prepare(options: argparse.Namespace) -> _Prepared:
    """Choose an algorithm for the instance, and build its kernels."""
    say = show_on_rank_0(options.quiet)
    say(f"read:   {options.instance}")  # before the imports, which take seconds where the disk is slow
    from hpcsolve.runner.ahead import build_for
    from hpcsolve.runner.reading import reporting_progress

    started = time.perf_counter()
    with reporting_progress(options.instance, say):
        chosen = _choose(options)
    seconds_read = time.perf_counter() - started
    say(f"choice: {chosen.reason}")
    started = time.perf_counter()
    build_for(chosen.job, say)
    return _Prepared(chosen, {"seconds_read": seconds_read, "seconds_build": time.perf_counter() - started})


def _choose(options: argparse.Namespace) -> Chosen:
    from hpcsolve.runner.choose import choose

    return choose(options.instance, options.algorithm, options.seconds, options.set,
                  output=options.output, device=options.device)


def _planned(prepared: Sequence[_Prepared], options: argparse.Namespace, log: Log) -> PlannedRun:
    from hpcsolve.runner.planned import plan_run

    chosen = prepared[0].chosen
    log.note(f"choice: {chosen.reason}")
    planned = plan_run(chosen.job, options.overwrite, instance=chosen.instance)
    if options.write_job is not None:
        chosen.write(options.write_job, options.overwrite)
    return planned


def _say_how_to_go_on(options: argparse.Namespace, prepared: Sequence[_Prepared], done: Finished, log: Log) -> None:
    """Say which command searches longer, if a search has ended without a proof: at its time limit, or of itself."""
    from hpcsolve.analysis.load import Result

    job = prepared[0].chosen.job
    limit, own = job.settings.stop.seconds, job.parameters
    if limit is None or done.contents is None or Result(done.contents).optimal:
        return
    longer = f"--seconds {10 * limit:g}"
    if time.perf_counter() - options.began < limit:
        if job.settings.algorithm != "steiner-kmb" or own.mode not in ("best", "exact"):
            return
        longer = f"--set steiner-kmb.mode={own.mode} --set steiner-kmb.shakes={max(10, 10 * own.shakes)}"
    log.say(f"go on:  the same command with {longer} --overwrite searches longer")


def add_estimate(commands: Any) -> None:
    """Declare the command and its options."""
    text = "print the memory, the work and the time that a job would take"
    parser = add_command(commands, "estimate", _estimate, text)
    add_job(parser)
    parser.add_argument("--device", help=DEVICES)
    parser.add_argument("-n", "--ranks", type=at_least_one, default=1, help="number of ranks (default 1)")
    text = "memory for each rank, such as 80G (default: what this machine has)"
    parser.add_argument("--memory", type=_memory, metavar="SIZE", help=text)


def _estimate(options: argparse.Namespace) -> int:
    loaded: list[Job] = []
    seconds_build: list[float] = []

    def prepare() -> None:
        from hpcsolve.job import load_job
        from hpcsolve.runner.ahead import prepare_run
        from hpcsolve.sweep import require_one_job

        require_one_job(options.job, options.set, "estimate one of them, as in --set seed=1")
        loaded.append(load_job(options.job, options.set, device=options.device))
        seconds_build.append(prepare_run(loaded[0], show_on_rank_0()))

    def estimate() -> int:
        from hpcsolve.errors import ResourceError
        from hpcsolve.runner.forecast import forecast

        found = forecast(loaded[0], options.ranks, options.memory, seconds_build[0], show)
        show("\n".join(found.lines()))
        if options.memory is not None and not found.fits:
            smaller = f"; {found.estimate.smaller}" if found.estimate.smaller else ""
            what = f"the job does not fit in the memory of --memory; the lines above say what it needs{smaller}"
            raise ResourceError(what)
        return 0

    return on_rank_0(estimate, prepare)


def _memory(text: str) -> int:
    from hpcsolve.runner.forecast import parsed_size

    try:
        return parsed_size(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 80G") from None
