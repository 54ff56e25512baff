"""The tables and figures of four sources, beside what hpcsolve does here. docs/studies.md maps each to its command.

    python -m jobs.benchmarks.studies held-karp    # two posts: time and memory against n
    python -m jobs.benchmarks.studies near-far     # a post: search space, efficiency by rank, delta and batch
    python -m jobs.benchmarks.studies ants         # a study of ant colonies on GPUs: Tables C1 to C6, Figure C1
    python -m jobs.benchmarks.studies kmb          # a study of Steiner trees on GPUs: engines, k-pull, p-SSSP

Prints Markdown, and writes it as tables.md with figures (SVG) into build/studies/NAME. Instances that are not in
HPCSOLVE_DATA are replaced by generated ones, and the report says so. The exit code is 1 if two solvers disagree.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", RAYON_NUM_THREADS="1", OMP_WAIT_POLICY="passive")

from hpcsolve.device.base import Device
from hpcsolve.device.host import HostDevice
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.charts import require_matplotlib
from jobs.benchmarks.common.command import end_with, new_parser
from jobs.benchmarks.common.machine import describe_load, describe_machine
from jobs.benchmarks.common.timing import load
from jobs.benchmarks.shortest_paths.graphs import HOW_TO_NAME, NEW_YORK
from jobs.benchmarks.studies import ants, held_karp, kmb, near_far

Study = Callable[[argparse.Namespace, Path], list[str]]
"""Takes the options and the folder for figures, and returns the report in Markdown."""
STUDIES: dict[str, tuple[Study, str]] = {
    "held-karp": (held_karp.study, "time and memory against n, beside two posts"),
    "near-far": (near_far.study, "search space, efficiency by Dijkstra rank, delta and batch"),
    "ants": (ants.study, "Tables C1 to C6 and Figure C1"),
    "kmb": (kmb.study, "engines, k-pull, p-SSSP, more and more terminals"),
}
PACKAGES = ("scipy", "matplotlib")


def main() -> int:
    """Make the study that the command asks for, print and write its report, and return the exit code."""
    options = _options()
    require_matplotlib()
    study, _ = STUDIES[options.study]
    folder, before, started = Path(options.output or f"build/studies/{options.study}"), load(), time.time()
    folder.mkdir(parents=True, exist_ok=True)
    body = study(options, folder)
    with _device(options.device) as device:
        head = [*describe_machine(device, 1, PACKAGES), describe_load(before)]
    figures = sorted(path.name for path in folder.glob("*.svg") if path.stat().st_mtime >= started - 1)
    lines = [body[0], "", *head, *body[1:], "", "## Figures", "", *(f"![{name}]({name})" for name in figures)]
    (folder / "tables.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    print(f"\nWritten to {folder}: tables.md and {len(figures)} figures")
    return 0


def _device(name: str) -> Device:
    return HostDevice(1) if name == "cpu" else open_device(name, SerialComm())[0]


def _options() -> argparse.Namespace:
    parser = new_parser(__package__, __doc__)
    parser.set_defaults(device="cpu")
    commands = parser.add_subparsers(required=True, metavar="STUDY", dest="study")
    for name, (_, text) in STUDIES.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--full", action="store_true", help="the source's own sizes: hours, and more memory")
        command.add_argument("--tiny", action="store_true", help="the smallest sizes, to try the program itself")
        command.add_argument("--output", metavar="FOLDER", help=f"(default build/studies/{name})")
        if name == "near-far":
            command.add_argument("--graph", default=NEW_YORK, metavar="NAME", help=HOW_TO_NAME)
        else:
            text = "hpcsolve's: cuda measures a GPU (default cpu, one core)"
            command.add_argument("--device", default="cpu", help=text)
    return parser.parse_args()


if __name__ == "__main__":
    end_with(main, __package__)
