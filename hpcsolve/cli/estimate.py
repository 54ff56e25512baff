"""`hpcsolve estimate`: prints what a job would need."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from hpcsolve.cli.options import DEVICES, add_command, add_job, at_least_one, on_rank_0, show_on_rank_0
from hpcsolve.parallel.printing import show

if TYPE_CHECKING:
    from hpcsolve.job import Job


def add(commands: Any) -> None:
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
        from hpcsolve.job.load import load_job
        from hpcsolve.runner.ahead import prepare_run
        from hpcsolve.sweep.axes import require_one_job

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
