"""`hpcsolve solve`: solves an instance without a job file."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from hpcsolve.cli.options import add_command, add_set, seconds, show_on_rank_0
from hpcsolve.cli.run import add_run_options, checkpoint_options, open_log
from hpcsolve.errors import HpcsolveError
from hpcsolve.parallel.interrupts import STOPPING

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm
    from hpcsolve.runner.choose import Chosen
    from hpcsolve.runner.planned import PlannedRun


def add(commands: Any) -> None:
    """Declare the command and its options."""
    text = "solve an instance without a job file; the algorithm is chosen for it, and the choice explained"
    parser = add_command(commands, "solve", _solve, text)
    parser.add_argument("instance", metavar="FILE", help="cities or a graph, in any format that docs/jobs.md lists")
    parser.add_argument("--algorithm", metavar="NAME", help="held-karp, ant-colony, steiner-kmb or shortest-paths")
    parser.add_argument("--seconds", type=seconds, metavar="S", help="time limit of a search (default 60 for ants)")
    add_set(parser, "a key of the job; may be repeated")
    parser.add_argument("--write-job", metavar="JOB.toml", help="keep the job, for hpcsolve run")
    add_run_options(parser)


def _solve(options: argparse.Namespace) -> int:
    from hpcsolve.parallel.launch import guard

    chosen: list[Chosen] = []
    failed: list[HpcsolveError] = []
    before = {"seconds_read": 0.0, "seconds_build": 0.0}

    def prepare() -> None:
        say = show_on_rank_0(options.quiet)
        say(f"read:   {options.instance}")  # before the imports, which take seconds where the disk is slow
        from hpcsolve.runner.ahead import build_for
        from hpcsolve.runner.reading import reporting_progress

        started = time.perf_counter()
        try:
            with reporting_progress(options.instance, say):
                chosen.append(_choose(options))
        except HpcsolveError as error:
            failed.append(error)  # rank 0 reports it for all ranks
            return
        before["seconds_read"] = time.perf_counter() - started
        say(f"choice: {chosen[0].reason}")
        started = time.perf_counter()
        build_for(chosen[0].job, say)
        before["seconds_build"] = time.perf_counter() - started

    def run(comm: Comm) -> int:
        from hpcsolve.runner.run import run_job

        log = open_log(comm, options)
        if comm.rank > 0:
            chosen.clear()  # its memory: rank 0 sends the instance

        def planned() -> PlannedRun:
            if failed:
                raise failed[0]
            log.note(f"choice: {chosen[0].reason}")
            return _planned(chosen[0], options)

        checkpointing = checkpoint_options(options)
        return run_job(comm, planned, log, before, signals=STOPPING, checkpointing=checkpointing).exit_code

    return guard(run, prepare)


def _choose(options: argparse.Namespace) -> Chosen:
    from hpcsolve.runner.choose import choose

    return choose(options.instance, options.algorithm, options.seconds, options.set,
                  output=options.output, device=options.device)


def _planned(chosen: Chosen, options: argparse.Namespace) -> PlannedRun:
    from hpcsolve.runner.planned import plan_run

    planned = plan_run(chosen.job, options.overwrite, instance=chosen.instance)
    if options.write_job is not None:
        chosen.write(options.write_job, options.overwrite)
    return planned
