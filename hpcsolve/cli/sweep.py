"""`hpcsolve sweep`: solves a job for every combination of the values that its keys have.

Each run is a process of its own, whose program is `main_of_run` of `hpcsolve.cli`.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import replace

from hpcsolve import cli
from hpcsolve import sweep as sweeps
from hpcsolve.errors import InputError
from hpcsolve.isolated import python_command
from hpcsolve.output.log import Log, Progress, duration
from hpcsolve.parallel import environment
from hpcsolve.sweep import Run, Sweep
from hpcsolve.wording import counted, show, warn

RUN = "import sys; from hpcsolve import cli; sys.exit(cli.main_of_run())"
"""The program of a run, whose arguments are those of `hpcsolve`."""


def do_sweep(options: argparse.Namespace) -> cli.Steps:
    """Solve the missing runs, or the run that `--run` names, on all ranks, each of which expands the sweep."""
    if options.run is None and environment.started_by_launcher(os.environ):
        raise InputError("a sweep starts its runs itself, each as one process: start it without mpiexec or srun")
    if options.run is None:
        yield None
        return _run_sweep(options)
    sweep, number = _expanded(options), options.run
    if number >= len(sweep.runs):
        raise InputError(f"there is no run {number}: the sweep has {counted(len(sweep.runs), 'run')}, counted from 0")
    more = [f"--{name}" for name in ("overwrite", "quiet") if vars(options)[name]]
    return (yield from cli.steps_of([*sweep.runs[number].arguments, *more]))


def _expanded(options: argparse.Namespace) -> Sweep:
    device = [f"device={options.device}"] if options.device else []
    return sweeps.expand(options.sweep, [*options.set, *device], options.output)


def _run_sweep(options: argparse.Namespace) -> int:
    sweep = _expanded(options)
    if options.overwrite:
        missing = [replace(run, arguments=(*run.arguments, "--overwrite")) for run in sweep.runs]
    else:
        missing = [run for run in sweep.runs if not run.is_done()]
    if options.missing:
        show(sweeps.number_ranges([run.index for run in missing]))
        return 0
    if options.dry_run:
        left = {run.index for run in missing}
        lines = [f"{run.command}  # {run.index}" if run.index in left else f"# {run.index} is done: {run.name}"
                 for run in sweep.runs]
        show("\n".join([f"# {_summary(sweep, missing)}", *lines]))
        return 0
    return _run_missing(sweep, missing, options)


def _summary(sweep: Sweep, missing: Sequence[Run]) -> str:
    runs, done = counted(len(sweep.runs), "run"), len(sweep.runs) - len(missing)
    return f"{runs} ({sweeps.axes_in_words(sweep.axes)}), {done} done, {len(missing)} to run"


def _run_missing(sweep: Sweep, missing: Sequence[Run], options: argparse.Namespace) -> int:
    log, started = Log(quiet=options.quiet), time.monotonic()
    log.say(f"sweep:  {_summary(sweep, missing)}")
    log.say(f"folder: {sweep.folder}")
    at_once = min(options.jobs or sweeps.number_at_once(missing), max(1, len(missing)))
    if missing:
        log.say(f"start:  {counted(at_once, 'run')} at a time, {counted(sweeps.cores(), 'core')}")
    progress = Progress(log)
    try:
        failures = sweeps.run_all(missing, at_once, python_command(RUN), progress)
    except KeyboardInterrupt:
        kept = sum(run.is_done() for run in sweep.runs)
        log.say(f"sweep:  {kept} of {len(sweep.runs)} runs are done; the same command goes on from there")
        raise
    finally:
        progress.close()
    for failure in failures:
        warn(f"hpcsolve: {failure.run.name}: exit code {failure.exit_code}: {failure.reason}")
    solved = len(sweep.runs) - len(failures)
    log.say(f"done:   {solved} of {len(sweep.runs)} runs solved, {duration(time.monotonic() - started)}")
    log.say(f"next:   hpcsolve collect '{os.path.join(sweep.folder, '*.h5')}' -o {os.path.normpath(sweep.folder)}.csv")
    return max((failure.exit_code for failure in failures), default=0)
