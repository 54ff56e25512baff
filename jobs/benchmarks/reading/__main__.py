"""Measures how long files of many cities with coordinates take to be read, and their tours to be checked.

    python -m jobs.benchmarks.reading                         # 20,000 and 1,000,000 cities
    python -m jobs.benchmarks.reading 20000 --other CHECKOUT  # beside another version, in turn

Prints Markdown: CPU seconds of one core and the peak memory of a process that reads a file, makes the notes on it and
computes the cost of a tour. The best of several runs counts.
A checkout of another version may refuse a file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from hpcsolve.device.host import HostDevice
from hpcsolve.formats import write
from hpcsolve.problems.generate.tsp import uniform_tsp
from hpcsolve.problems.geographic import from_places
from jobs.benchmarks.common.command import add_repeats, end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.common.timing import load

PROGRAM = """
import resource, sys
import numpy
from hpcsolve.formats import read
from hpcsolve.memory import peak_resident_memory
from hpcsolve.problems.notes import notes_on
from hpcsolve.problems.questions import check_tour
tsp = read(sys.argv[1]).problem
list(notes_on(tsp))
check_tour(tsp, numpy.arange(tsp.n))
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, peak_resident_memory() / 2**20)
"""
TITLES = ["cities", "CPU s", "peak MiB", "other: CPU s", "peak MiB"]


def main() -> int:
    """Measure, print the report, and return the exit code."""
    parser = new_parser(__package__, __doc__)
    parser.add_argument("cities", nargs="*", type=int, default=[20_000, 1_000_000], help="numbers of cities")
    parser.add_argument("--other", help="root of a checkout of another version")
    add_repeats(parser, 3)
    options, before = parser.parse_args(), load()
    print("\n".join(["# Reading", "", *describe_machine(HostDevice(1), 1, ()), ""]))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n in options.cities:
            tsp = uniform_tsp(n, extent=1_000_000)
            assert tsp.coordinates is not None
            x, y = tsp.coordinates.T / 10_000
            plane, globe = Path(folder) / f"{n}.tsp", Path(folder) / f"{n}.csv"
            write(tsp, str(plane))
            write(from_places(y - 50, x - 50, city_names=[f"place {city}" for city in range(n)]), str(globe))
            for file, what in ((plane, "TSPLIB"), (globe, "CSV of places")):
                rows.append([f"{n}, {what}", *_measured(file, options.other, options.repeats)])
    print("\n".join([*markdown(TITLES if options.other else TITLES[:3], rows), "", describe_load(before)]))
    return 0


def _measured(file: Path, other: str | None, repeats: int) -> list[str]:
    """Return the cells of a row: of each version the least CPU seconds and the peak memory."""
    folders = [None, other] if other else [None]
    runs = [[_once(file, folder) for folder in folders] for _ in range(repeats)]
    best = [min((run for run in found if run), default=None) for found in zip(*runs)]
    return [cell for run in best for cell in (("refused", "-") if run is None else (f"{run[0]:.1f}", f"{run[1]:.0f}"))]


def _once(file: Path, folder: str | None) -> tuple[float, float] | None:
    """Return the CPU seconds and the peak memory in MiB of one process, or None if it refuses the file."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(file)], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        return None
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak


if __name__ == "__main__":
    end_with(main, __package__)
