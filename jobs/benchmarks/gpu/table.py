"""Writes the figures of a run into a document, between two marks.

    python -m jobs.benchmarks.gpu.table build/gpu                             # into jobs/benchmarks/gpu.md
    python -m jobs.benchmarks.gpu.table build/gpu --into other.md
"""

from __future__ import annotations

import time
from pathlib import Path

from hpcsolve.errors import InputError
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.figures import figures_in, milliseconds
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.gpu.steps import RECORD, Done, recorded

BEGIN, END = "<!-- figures of a GPU -->", "<!-- end of the figures -->"
DOCUMENT = Path(__file__).resolve().parents[1] / "gpu.md"


def main() -> int:
    """Write the table and return the exit code."""
    parser = new_parser("jobs.benchmarks.gpu.table", __doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="with the logs of a run")
    parser.add_argument("--into", type=Path, default=DOCUMENT, metavar="FILE")
    options = parser.parse_args()
    write(options.into, figure_table(options.folder))
    return 0


def write(document: Path, lines: list[str]) -> None:
    """Put lines between the marks of a document. Raises `InputError` if it has none."""
    text = document.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise InputError(f"there must be one line {BEGIN!r} and after it one line {END!r}", str(document))
    before, behind = text.split(BEGIN)[0], text.split(END)[1]
    document.write_text("\n".join([before + BEGIN, *lines, END]) + behind, encoding="utf-8")


def figure_table(folder: Path) -> list[str]:
    """Return a table of all figures in the logs: date, device, command, milliseconds, floor, ratio.

    Raises
    ------
    InputError
        The folder has no figures.
    """
    rows = [row for done in recorded(folder) for row in _rows(folder, done)]
    if not rows:
        raise InputError("has no figures: run python -m jobs.benchmarks.gpu first", str(folder))
    names = ["figure", "ms", "floor", "ratio", "device", "date", "command"]
    return ["", *markdown(names, rows), ""]


def step_table(steps: list[Done]) -> list[str]:
    """Return a table of the steps' outcomes, and one of the seconds of each part."""
    rows = [[f"{done.part}: {done.step}", done.outcome, f"{done.seconds:.1f}", done.log] for done in steps]
    parts = dict.fromkeys(done.part for done in steps)
    sums = [[part, f"{sum(done.seconds for done in steps if done.part == part):.0f}"] for part in parts]
    return [*markdown(["step", "outcome", "seconds", "log"], rows), "", *markdown(["part", "seconds"], sums)]


def _rows(folder: Path, done: Done) -> list[list[str]]:
    log = folder / done.log
    if not log.exists():
        return []
    date = time.strftime("%Y-%m-%d", time.gmtime(log.stat().st_mtime))
    command = f"`{' '.join(['python', *done.command.split()[1:]])}`"
    return [[f.name, milliseconds(f.seconds), milliseconds(f.floor), f"{f.seconds / f.floor:.2f}" if f.floor else "-",
             f.device, date, command] for f in figures_in(log.read_text(encoding="utf-8", errors="replace"))]


def summary(folder: Path) -> list[str]:
    """Return the summary of a run: its steps, those that failed by name, and its figures."""
    steps = recorded(folder)
    failed = [f"- **{done.part}: {done.step}: {done.outcome}** ({done.log})" for done in steps if done.failed]
    try:
        figures = figure_table(folder)
    except InputError:
        figures = ["", f"No figures: see {RECORD}"]
    return ["# A run on a GPU", "", *(failed or ["No step failed."]), "", *step_table(steps), *figures]


if __name__ == "__main__":
    end_with(main, "jobs.benchmarks.gpu.table")
