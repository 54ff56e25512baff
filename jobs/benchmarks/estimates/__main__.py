"""Compares `hpcsolve estimate` with what the jobs then take: seconds of the whole command, and bytes.

    python -m jobs.benchmarks.estimates                       # five jobs of each algorithm, about five minutes
    python -m jobs.benchmarks.estimates steiner-kmb           # those of one algorithm

Prints Markdown. Estimate and run of a job follow each other, and the least seconds of each count. Seconds mean nothing
if other programs slow one of the two down: look at the load. A ratio is the estimate divided by what
was measured. Device bytes are those of rank 0; host bytes are those of its process.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.algorithms.registry import NAMES
from hpcsolve.device.host import HostDevice
from hpcsolve.errors import EnvironmentFault
from hpcsolve.output.reader import read_result
from hpcsolve.wording import size
from jobs.benchmarks.common.command import add_repeats, end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.ranks import mpiexec
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import load
from jobs.benchmarks.estimates.jobs import JOBS, Measured

TITLES = ["job", "estimate s", "measured s", "ratio", "device bytes", "measured", "ratio", "host bytes", "measured",
          "ratio"]
UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "s": 1, "min": 60, "h": 3600}


@dataclass(frozen=True)
class Need:
    """What a job takes: seconds (None if not known, the most if `at_most`), device bytes and host bytes of rank 0."""

    seconds: float | None
    device: int
    host: int
    at_most: bool = False


def main() -> int:
    """Measure, print the report, and return the exit code."""
    options = _options()
    before = load()
    print("\n".join(["# Estimates", "", *describe_machine(HostDevice(os.cpu_count() or 1), os.cpu_count() or 1, ())]))
    for algorithm in options.algorithms:
        rows = [_row(job, options.repeats) for job in JOBS if job.algorithm == algorithm]
        print("\n".join(["", f"## {algorithm}", "", *markdown(TITLES, rows)]), flush=True)
    print(f"\n{describe_load(before)}")
    return 0


def _row(job: Measured, repeats: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        file, output = Path(folder) / "job.toml", Path(folder) / "out.h5"
        file.write_text(job.text(str(output)))
        both = [(_estimated(job, file), _measured(job, file, output)) for _ in range(repeats)]
    estimated, measured = (min(needs, key=lambda need: need.seconds or 0.0) for needs in zip(*both))
    seconds = ["not known", f"{measured.seconds:.2f}", "-"]
    if estimated.seconds is not None and measured.seconds is not None:
        words = f"{'at most ' if estimated.at_most else ''}{estimated.seconds:.2g}"
        seconds = [words, f"{measured.seconds:.2f}", f"{estimated.seconds / measured.seconds:.2f}"]
    pairs = ((estimated.device, measured.device), (estimated.host, measured.host))
    return [job.name, *seconds, *(cell for one, other in pairs for cell in _bytes(one, other))]


def _bytes(estimated: int, measured: int) -> list[str]:
    return [size(estimated), size(measured), f"{estimated / measured:.2f}" if measured else "-"]


def _estimated(job: Measured, file: Path) -> Need:
    """Return what `hpcsolve estimate` says."""
    text = _done([sys.executable, "-m", "hpcsolve", "estimate", str(file), "-n", str(job.ranks)])
    lines = {line[:23].strip(): line[24:] for line in text.splitlines()}
    at_most, known = "at most" in lines["time"], "not known" not in lines["time"]
    device = re.search(r"([\d,]+) (to ([\d,]+) )?bytes", lines["device memory per rank"])
    assert device is not None
    return Need(_number(lines["time"]) if known else None, int((device[3] or device[1]).replace(",", "")),
                round(_number(lines["process of rank 0"])), at_most)


def _number(text: str) -> float:
    """Return the seconds of `about 3 min 20 s`, or the bytes of `1.5 MiB`."""
    found = re.findall(r"([\d.]+) (bytes|KiB|MiB|GiB|h|min|s)\b", text)
    return sum(float(number) * UNITS[unit] for number, unit in found)


def _measured(job: Measured, file: Path, output: Path) -> Need:
    """Run the job, and return what it took."""
    run = [sys.executable, "-m", "hpcsolve", "run", str(file), "--quiet"]
    output.unlink(missing_ok=True)
    begun = time.perf_counter()
    _done([*([mpiexec(), "-n", str(job.ranks)] if job.ranks > 1 else []), *run])
    seconds = time.perf_counter() - begun
    ranks = read_result(output).groups["ranks"]
    device, host = (int(ranks[name].values[0]) for name in ("peak_bytes", "peak_resident_bytes"))
    return Need(seconds, device, host)


def _done(command: list[str]) -> str:
    """Run a command and return what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EnvironmentFault(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _options() -> argparse.Namespace:
    parser = new_parser(__package__, __doc__)
    parser.add_argument("algorithms", nargs="*", default=list(NAMES), help=f"{', '.join(NAMES)} (default: all)")
    add_repeats(parser, 3)
    return parser.parse_args()


if __name__ == "__main__":
    end_with(main, __package__)
