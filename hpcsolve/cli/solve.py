"""`hpcsolve solve`: solves an instance without a job file."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hpcsolve.cli.options import add_command, add_set, seconds, show_on_rank_0
from hpcsolve.cli.run import add_run_options, checkpoint_options, open_log
from hpcsolve.parallel.interrupts import STOPPING

if TYPE_CHECKING:
    from hpcsolve.output.log import Log
    from hpcsolve.parallel.comm import Comm
    from hpcsolve.runner.choose import Chosen
    from hpcsolve.runner.conclude import Finished
    from hpcsolve.runner.planned import PlannedRun


def add(commands: Any) -> None:
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
