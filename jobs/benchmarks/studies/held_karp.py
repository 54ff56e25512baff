"""Held-Karp beside two posts: layers as textures in a browser, and a numba CUDA program with a compact index."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from hpcsolve.device.base import Device
from hpcsolve.device.select import open_device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.held_karp import memory, published, report
from jobs.benchmarks.held_karp.measure import FIRST, Effort, Layout, own_row, random_costs, rival_rows
from jobs.benchmarks.held_karp.peak import MeasuredDevice, min_adds
from jobs.benchmarks.held_karp.report import HPCSOLVE, Row
from jobs.benchmarks.held_karp.rivals import TEXTBOOK, Rival, all_rivals
from jobs.benchmarks.studies.sizes import chosen

HEAD = """\
Two posts: one solves the layers as textures in a browser (WebGL) and in pure Python, the other by a numba CUDA program
whose one table, by a compact index of the set without its last city, has (n - 1) 2^(n - 2) values of 32 bits.
hpcsolve's layout `compact` is the second post's scheme, for study, `planes` (the default) its own. Instances are random
matrices, asymmetric with costs to 1000."""
TIMES = """\
Rivals: the table in C++ (OpenMP, here one thread) and a Python program with a dictionary, which stands for the first
post's; its own times are not known here, nor those in the browser, which ends at {most} cities."""


def study(options: argparse.Namespace, folder: Path) -> list[str]:
    """Measure, draw, and return the report in Markdown."""
    skipped: list[str] = []
    solved = _solved(options, skipped)
    rows = list(_rows(options, solved, skipped))
    post = {f"{published.NUMBA}: about 2 s": (published.NUMBA_N, published.NUMBA_SECONDS)}
    report.draw(rows, str(folder / "held-karp-time.svg"), post)
    used = memory.measure(solved, partial(_device, options.device), chosen(options, 13, 30, 36))
    memory.draw(used, folder / "held-karp-memory.svg")
    processes = memory.resident(chosen(options, [13], [24, 26], [24, 26, 28]))
    return [
        "# Held-Karp, beside two posts", "", HEAD, "",
        "## Time against n", "", TIMES.format(most=published.TEXTURES_MOST), *(f"- {line}" for line in skipped), "",
        *report.rival_table([row for row in rows if not row.solver.endswith("GPU")]), "",
        "## The second post's figure", "", *_beside_post(rows), "",
        "## Memory against n", "", *memory.table(used), "", *memory.resident_table(processes, used),
    ]


def _device(name: str) -> Device:
    return MeasuredDevice(1) if name == "cpu" else open_device(name, SerialComm())[0]


def _solved(options: argparse.Namespace, skipped: list[str]) -> dict[Layout, list[int]]:
    """Return the sizes that are solved in each layout, and add what memory leaves out to `skipped`."""
    sizes: list[int] = chosen(options, [12], [12, 14, 16, 18, 20, 22, 24], [12, 14, 16, 18, 20, 22, 24, 26, 28])
    most = chosen(options, 12, 22, 26)
    small = [n for n in sizes if n <= most]
    room = MeasuredDevice().memory_free() // 2
    fits = [n for n in small if 2 * published.full_table_bytes(n) <= room]
    skipped += [f"compact: n = {n} skipped, its tables take more than half of the memory" for n in small[len(fits):]]
    return {"planes": sizes, "compact": fits}


def _rows(options: argparse.Namespace, solved: dict[Layout, list[int]], skipped: list[str]) -> Iterator[Row]:
    """Measure hpcsolve on one core, and on the GPU that the options name, and the rivals on one core."""
    rivals, missing = all_rivals(1)
    skipped += missing
    effort = Effort(chosen(options, 1, 3, 5), chosen(options, 1.0, 5.0, 60.0))
    gpu = nullcontext() if options.device == "cpu" else _device(options.device)
    with MeasuredDevice(1) as core, gpu as card:
        for n in solved["planes"]:
            here = list(_rows_of(n, solved, core, card, effort, rivals, skipped))
            require_equal(f"n = {n}", len({row.optimum for row in here}) == 1)
            yield from here


def _rows_of(
    n: int, solved: dict[Layout, list[int]], core: Device, card: Device | None, effort: Effort, rivals: list[Rival],
    skipped: list[str],
) -> Iterator[Row]:
    tsp = random_costs(n, FIRST)
    layouts = [layout for layout, sizes in solved.items() if n in sizes]
    for layout in layouts:
        yield _reported(own_row(tsp, FIRST, core, effort, layout))
    for layout in layouts if card else []:
        row = own_row(tsp, FIRST, card, effort, layout)
        yield _reported(replace(row, solver=f"{row.solver}, GPU"))
    for rival in rivals:
        if rival.name != TEXTBOOK or n <= max(solved["compact"]):  # its table takes as long to fill as the compact one
            yield from map(_reported, rival_rows(rival, tsp, skipped, effort))


def _reported(row: Row) -> Row:
    print(row.progress(), file=sys.stderr, flush=True)
    return row


def _beside_post(rows: list[Row]) -> list[str]:
    """Return the table of the post's time and of hpcsolve's largest n, by min-adds a second."""
    n, seconds = published.NUMBA_N, published.NUMBA_SECONDS
    cells = [[published.NUMBA, str(n), f"about {seconds:g}", f"{min_adds(n) / seconds:.2e}"]]
    for solver in dict.fromkeys(row.solver for row in rows if row.solver.startswith(HPCSOLVE)):
        row = max((row for row in rows if row.solver == solver), key=lambda row: row.n)
        cells.append([solver, str(row.n), f"{row.seconds:.3g}", f"{min_adds(row.n) / row.seconds:.2e}"])
    text = "Seconds of a whole solve: wall-clock time on a GPU, CPU time of one core otherwise. Min-adds: m (m - 1) \
2^(m - 2) with m = n - 1, which makes different n comparable."
    return [text, "", *markdown(["program", "n", "seconds", "min-adds a second"], cells)]
