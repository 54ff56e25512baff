"""The report: tables and a chart of characters in Markdown, and a chart as a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jobs.benchmarks.common import charts
from jobs.benchmarks.common.table import line
from jobs.benchmarks.held_karp.peak import min_adds

HPCSOLVE = "hpcsolve"
HOW_MEASURED = """\
Solve: from the costs to the tour within this process, that is the quick tour, the reduction of the costs, the kernels
and the reconstruction of the tour. An earlier run has touched the memory, as for the rivals. Min-adds:
m (m - 1) 2^(m - 2) with m = n - 1 (a symmetric problem needs half of them), divided by the kernels' wall-clock seconds
and by their CPU seconds; the latter is the rate of one core. Of peak: the min-adds that were really done in a CPU
second. For 32-bit states half the peak counts, because a register holds half as many."""
HOW_COMPARED = """\
A rival's time is that of one call; its table was touched before. The OpenMP programs find the optimum but no tour.
Ratio: the rival's time divided by that of hpcsolve's whole solve, and its CPU time divided by that of hpcsolve's
kernels alone. (hpcsolve on a GPU: wall-clock time throughout.)"""
CHART_WIDTH = 90
"""Columns of the chart of characters."""
DECADES = (-5, 2)
"""Its time axis, as powers of ten: from 10 microseconds to 100 seconds."""


@dataclass(frozen=True)
class Row:
    """A solver's answer and times on an instance. Times that were not measured are None.

    Attributes
    ----------
    kind
        Kind of the costs, a key of `KINDS`.
    letter
        The solver's mark in the chart of characters.
    wall, cpu
        Seconds of the whole solve.
    states
        "16-bit" or "32-bit": hpcsolve only.
    kernel, kernel_cpu
        Wall-clock and CPU seconds of the kernels: hpcsolve only.
    operations
        Min-adds that the kernels did: hpcsolve only.
    """

    n: int
    kind: str
    solver: str
    letter: str
    optimum: int
    wall: float | None
    cpu: float | None
    runs: int
    states: str = ""
    kernel: float | None = None
    kernel_cpu: float | None = None
    operations: int = 0

    def progress(self) -> str:
        """Return one line for standard error."""
        times = "answer only" if self.cpu is None else f"{self.cpu:.4g} s CPU, runs: {self.runs}"
        return f"n = {self.n}, {self.kind}: {self.solver}, optimum {self.optimum}, {times}"

    @property
    def seconds(self) -> float:
        """CPU time, or for hpcsolve on a GPU wall-clock time."""
        return (self.wall if self.kernel is not None and self.kernel_cpu is None else self.cpu) or math.nan

    @property
    def kernel_seconds(self) -> float:
        """CPU time of the kernels if the device measures it, else wall-clock time."""
        return (self.kernel if self.kernel_cpu is None else self.kernel_cpu) or math.nan


def tables(rows: list[Row], peak: float, skipped: list[str]) -> list[str]:
    """Return the report in Markdown: the peak, hpcsolve's times, the rivals' times, the chart of characters.

    Parameters
    ----------
    peak
        16-bit min-adds a second, see `peak_rate`.
    skipped
        A line for each solver that was left out.
    """
    kind = rows[0].kind
    device = "the GPU, a second" if rows[0].kernel_cpu is None else "a core, a CPU second"
    return [
        f"- peak of {device}: {peak:.3g} min-adds of 16-bit values (cuda_src/held_karp/min_add.cu, same process)",
        *(f"- {reason}" for reason in skipped),
        "", "## hpcsolve", "",
        *_hpcsolve_table([row for row in rows if row.solver == HPCSOLVE], peak),
        "", f"## Rivals: {kind}", "",
        *rival_table([row for row in rows if row.kind == kind]),
        "", _checked(rows),
        "", "## CPU seconds against n", "",
        *_chart([row for row in rows if row.kind == kind]),
    ]


def _hpcsolve_table(rows: list[Row], peak: float) -> list[str]:
    """Return the table of hpcsolve's whole solves and of their kernels."""
    lines = [
        HOW_MEASURED, "",
        line("n", "costs", "states", "optimum", "solve, wall s", "solve, CPU s", "kernels, wall s", "kernels, CPU s",
              "min-adds/s, wall", "min-adds/s, CPU", "of peak", "runs"),
        line(*["---:", "---", "---"], *["---:"] * 9),
    ]
    for row in rows:
        work, scale = min_adds(row.n), 2 if row.states.startswith("32") else 1
        share = 100 * scale * row.operations / row.kernel_seconds / peak
        lines.append(line(
            row.n, row.kind, row.states, row.optimum, *map(_seconds, (row.wall, row.cpu, row.kernel, row.kernel_cpu)),
            f"{work / (row.kernel or math.nan):.2e}", f"{work / row.kernel_seconds:.2e}", f"{share:.0f} %", row.runs,
        ))
    return lines


def rival_table(rows: list[Row]) -> list[str]:
    """Return the table of all solvers' times on one kind of costs."""
    lines = [
        HOW_COMPARED, "",
        line("n", "solver", "wall s", "CPU s", "min-adds/s, CPU", "runs", "ratio, wall", "ratio, CPU",
              "kernels, CPU"),
        line("---:", "---", *["---:"] * 7),
    ]
    ours = {row.n: row for row in rows if row.solver == HPCSOLVE}
    for row in rows:
        if row.wall is None or row.cpu is None:
            continue
        own = ours[row.n]
        assert own.wall is not None
        ratios = row.wall / own.wall, row.cpu / own.seconds, row.cpu / own.kernel_seconds
        shown = ["", "", ""] if row is own else [f"{ratio:.3g}" for ratio in ratios]
        rate = f"{min_adds(row.n) / row.cpu:.2e}"
        lines.append(line(row.n, row.solver, _seconds(row.wall), _seconds(row.cpu), rate, row.runs, *shown))
    return lines


def _checked(rows: list[Row]) -> str:
    """Return a sentence that says whether all solvers found the same optima."""
    optima: dict[tuple[int, str], list[int]] = {}
    for row in rows:
        optima.setdefault((row.n, row.kind), []).append(row.optimum)
    several = [found for found in optima.values() if len(found) > 1]
    agree = all(len(set(found)) == 1 for found in several)
    text = "All solvers found the same optima" if agree else "**The solvers found different optima**"
    alone = sum(len(found) == 1 for found in optima.values())
    return f"{text}: {len(several)} instances; {alone} were solved by hpcsolve alone."


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value >= 1e-3 else f"{value:.1e}"


def _chart(rows: list[Row]) -> list[str]:
    """Return a chart of characters: a line for each n, a letter for each solver, a logarithmic time axis."""
    lines = []
    for n in dict.fromkeys(row.n for row in rows):
        here = [row for row in rows if row.n == n and row.cpu]
        marks = [(row.letter, row.seconds) for row in here] + [("k", row.kernel_seconds) for row in here if row.kernel]
        text = [" "] * (CHART_WIDTH + 1)
        for letter, seconds in reversed(marks):
            text[_column(seconds)] = letter
        lines.append(f"{n:4} |{''.join(text)}".rstrip())
    scale = [" "] * (CHART_WIDTH + 8)
    for decade in range(DECADES[0], DECADES[1] + 1):
        mark = f"{10.0**decade:g} s"
        scale[_column(10.0**decade) : _column(10.0**decade) + len(mark)] = mark
    names = dict.fromkeys([f"{row.letter} {row.solver}" for row in rows] + ["k hpcsolve's kernels alone"])
    rule = "     +" + "-" * CHART_WIDTH
    return ["```text", *lines, rule, "      " + "".join(scale).rstrip(), "", *names, "```"]


def _column(seconds: float) -> int:
    """Return the column of the chart at which a time stands."""
    low, high = DECADES
    return min(max(round((math.log10(seconds) - low) / (high - low) * CHART_WIDTH), 0), CHART_WIDTH)


def draw(rows: list[Row], path: str, published: Mapping[str, tuple[int, float]] | None = None) -> None:
    """Draw CPU seconds against n for all solvers, and for hpcsolve's kernels on all kinds of costs.

    Parameters
    ----------
    published
        n and seconds of a program that others measured, by its name.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5.5), layout="constrained")
    axes = figure.add_subplot()
    for name, times in _curves(rows).items():
        style = "--" if "kernels" in name else "o-"
        axes.semilogy(list(times), list(times.values()), style, label=name, markersize=4, linewidth=1.2)
    for name, point in (published or {}).items():
        axes.semilogy(*([number] for number in point), "*", color="black", label=name, markersize=11)
    title = f"Held-Karp, {rows[0].kind}; best of several runs"
    axes.set(xlabel="cities", ylabel="CPU seconds (GPU: wall-clock)", title=title)
    axes.set_xticks(sorted({row.n for row in rows} | {n for n, _ in (published or {}).values()}))
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=7)
    charts.save(figure, Path(path))


def _curves(rows: list[Row]) -> dict[str, dict[int, float]]:
    """Return the seconds by curve and n."""
    curves: dict[str, dict[int, float]] = {}
    for row in rows:
        if row.cpu is not None and row.kind == rows[0].kind:
            curves.setdefault(row.solver, {})[row.n] = row.seconds
    for row in rows:
        if row.solver == HPCSOLVE:
            name = f"hpcsolve's kernels, {row.states}, {row.kind.split(',')[0]}"
            curves.setdefault(name, {})[row.n] = row.kernel_seconds
    return curves
