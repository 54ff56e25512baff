"""`hpcsolve sweep`: solves a job for every combination of the values that its keys have.

Each run is a process of its own, whose program is `main_of_run`: `hpcsolve run`, which ends as if by Ctrl-C when the
sweep is gone. Its standard input is a pipe from the sweep, which sends nothing. So reading returns only when the sweep
closes the pipe, or when the process of the sweep has ended, even by SIGKILL.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from hpcsolve.cli.options import DEVICES, add_command, add_set, at_least_one, not_negative
from hpcsolve.errors import HpcsolveError, InputError
from hpcsolve.isolated import python_command
from hpcsolve.parallel import environment, launch
from hpcsolve.wording import counted, show, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hpcsolve.sweep import Run, Sweep

RUN = "import sys; from hpcsolve.cli.sweep import main_of_run; sys.exit(main_of_run())"
"""The program of a run, whose arguments are those of `hpcsolve`."""
WITH_LAUNCHER = "a sweep starts its runs itself, each as one process: start it without mpiexec or srun"
SECONDS_TO_END = 10.0
"""Time that the run has to write its result so far and end. After that the process is killed."""


def add_sweep(commands: Any) -> None:
    """Declare `hpcsolve sweep`."""
    text = "solve a job whose keys may be lists or ranges, for every combination of their values"
    parser = add_command(commands, "sweep", _sweep, text)
    parser.add_argument("sweep", metavar="SWEEP.toml", help='a job file with values to try, such as seed = "1..20"')
    text = "runs at a time (default: as many as the cores allow if the job sets `threads`, else 1)"
    parser.add_argument("-j", "--jobs", type=at_least_one, metavar="N", help=text)
    add_set(parser, "set a key of the job to another value, list or range; may be repeated")
    parser.add_argument("--device", help=DEVICES)
    parser.add_argument("--output", metavar="FOLDER", help="the folder of the results (default: results/SWEEP)")
    parser.add_argument("--overwrite", action="store_true", help="run every job, and replace existing results")
    parser.add_argument("--dry-run", action="store_true", help="print the commands of the missing runs, run nothing")
    text = "print the numbers of the missing runs, such as 0-3,7, for `sbatch --array`; run nothing"
    parser.add_argument("--missing", action="store_true", help=text)
    text = "solve this run alone, as `hpcsolve run` does, also on several ranks"
    parser.add_argument("--run", type=not_negative, metavar="NUMBER", help=text)
    parser.add_argument("--quiet", action="store_true", help="print only failures")


def _sweep(options: argparse.Namespace) -> int:
    if options.run is not None:
        return _one_run(options)
    if environment.started_by_launcher(os.environ):
        return launch.fail(InputError(WITH_LAUNCHER))
    return launch.guard(lambda comm: _run_sweep(options))


def _expanded(options: argparse.Namespace) -> Sweep:
    from hpcsolve.sweep import expand

    device = [f"device={options.device}"] if options.device else []
    return expand(options.sweep, [*options.set, *device], options.output)


def _one_run(options: argparse.Namespace) -> int:
    """Solve the run that `--run` names. Every rank finds the same run, or the same error."""
    from hpcsolve import cli

    try:
        sweep, number = _expanded(options), options.run
        if number >= len(sweep.runs):
            runs = counted(len(sweep.runs), "run")
            raise InputError(f"there is no run {number}: the sweep has {runs}, counted from 0")
    except HpcsolveError as error:
        return launch.fail(error)
    more = [f"--{name}" for name in ("overwrite", "quiet") if vars(options)[name]]
    return cli.execute([*sweep.runs[number].arguments, *more])


def _run_sweep(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from hpcsolve.sweep import number_ranges

    sweep = _expanded(options)
    if options.overwrite:
        missing = [replace(run, arguments=(*run.arguments, "--overwrite")) for run in sweep.runs]
    else:
        missing = [run for run in sweep.runs if not run.is_done()]
    if options.missing:
        show(number_ranges([run.index for run in missing]))
        return 0
    if options.dry_run:
        left = {run.index for run in missing}
        lines = [f"{run.command}  # {run.index}" if run.index in left else f"# {run.index} is done: {run.name}"
                 for run in sweep.runs]
        show("\n".join([f"# {_summary(sweep, missing)}", *lines]))
        return 0
    return _run_missing(sweep, missing, options)


def _summary(sweep: Sweep, missing: Sequence[Run]) -> str:
    from hpcsolve.sweep import axes_in_words

    runs, done = counted(len(sweep.runs), "run"), len(sweep.runs) - len(missing)
    return f"{runs} ({axes_in_words(sweep.axes)}), {done} done, {len(missing)} to run"


def _run_missing(sweep: Sweep, missing: Sequence[Run], options: argparse.Namespace) -> int:
    from hpcsolve.output.log import Log, Progress, duration
    from hpcsolve.sweep import cores, number_at_once, run_all

    log, started = Log(quiet=options.quiet), time.monotonic()
    log.say(f"sweep:  {_summary(sweep, missing)}")
    log.say(f"folder: {sweep.folder}")
    at_once = min(options.jobs or number_at_once(missing), max(1, len(missing)))
    if missing:
        log.say(f"start:  {at_once} at a time, {cores()} cores")
    progress = Progress(log)
    try:
        failures = run_all(missing, at_once, python_command(RUN), progress)
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


def main_of_run() -> int:
    """Run the command line, and return its exit code."""
    sys.argv[0] = "hpcsolve"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
    threading.Thread(target=_end_with_the_sweep, daemon=True).start()
    from hpcsolve import cli

    return cli.main(sys.argv[1:])


def _end_with_the_sweep() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(SECONDS_TO_END)
    os.kill(os.getpid(), signal.SIGKILL)
