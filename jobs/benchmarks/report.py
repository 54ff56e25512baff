"""What the benchmark found, as tables and as a chart of characters (Markdown), and as a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.errors import EnvironmentFault
from jobs.benchmarks.measure import min_adds

HPCSOLVE = "hpcsolve"
HOW_MEASURED = """\
Solve: from the costs to the tour within this process: quick tour, reduction, kernels, the two halves of the tour.
Min-adds by the formula m (m - 1) 2^(m - 2), m = n - 1 (of which a symmetric problem needs half), a second of the clock
in the kernels, and a second of CPU time there, which is one core's. Of peak: min-adds really done a CPU second; for
32-bit states of half the peak, since a register holds half as many."""
HOW_COMPARED = """\
A rival's time is that of its one call, its table touched before; the OpenMP programs find the optimum but no tour.
Ratios: the rival's time to hpcsolve's whole solve, and its CPU time to that of hpcsolve's kernels alone. (Of hpcsolve
on a GPU: wall-clock time throughout.)"""
CHART_WIDTH, DECADES = 90, (-5, 2)


@dataclass(frozen=True)
class Row:
    """A solver on an instance; seconds, None where they were not measured."""

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
        """One line for who waits."""
        times = "checked" if self.cpu is None else f"{self.cpu:.4g} s CPU, runs: {self.runs}"
        return f"n = {self.n}, {self.kind}: {self.solver}, optimum {self.optimum}, {times}"

    @property
    def seconds(self) -> float:
        """CPU time; of hpcsolve on a GPU wall-clock time."""
        return (self.wall if self.solver == HPCSOLVE and self.kernel_cpu is None else self.cpu) or math.nan

    @property
    def kernel_seconds(self) -> float:
        """CPU time of the kernels if the device tells it, else wall-clock time."""
        return (self.kernel if self.kernel_cpu is None else self.kernel_cpu) or math.nan


def tables(rows: list[Row], peak: float, skipped: list[str]) -> list[str]:
    """Markdown."""
    kind = rows[0].kind
    device = "the GPU, a second" if rows[0].kernel_cpu is None else "a core, a CPU second"
    return [
        f"- peak of {device}: {peak:.3g} min-adds of 16-bit values (cuda_src/minplus.cu, same process)",
        *(f"- {line}" for line in skipped),
        "", "## hpcsolve", "",
        *_hpcsolve_table([row for row in rows if row.solver == HPCSOLVE], peak),
        "", f"## Rivals: {kind}", "",
        *_rival_table([row for row in rows if row.kind == kind]),
        "", _checked(rows),
        "", "## CPU seconds against n", "",
        *_chart([row for row in rows if row.kind == kind]),
    ]  # fmt: skip


def _hpcsolve_table(rows: list[Row], peak: float) -> list[str]:
    """Whole solves and their kernels."""
    lines = [
        HOW_MEASURED, "",
        _line("n", "costs", "states", "optimum", "solve, wall s", "solve, CPU s", "kernels, wall s", "kernels, CPU s",
              "min-adds/s, wall", "min-adds/s, CPU", "of peak", "runs"),
        _line(*["---:", "---", "---"], *["---:"] * 9),
    ]  # fmt: skip
    for row in rows:
        work, scale = min_adds(row.n), 2 if row.states.startswith("32") else 1
        share = 100 * scale * row.operations / row.kernel_seconds / peak
        lines.append(_line(
            row.n, row.kind, row.states, row.optimum, *map(_seconds, (row.wall, row.cpu, row.kernel, row.kernel_cpu)),
            f"{work / (row.kernel or math.nan):.2e}", f"{work / row.kernel_seconds:.2e}", f"{share:.0f} %", row.runs,
        ))  # fmt: skip
    return lines


def _rival_table(rows: list[Row]) -> list[str]:
    """Times and ratios of one kind of problem."""
    lines = [
        HOW_COMPARED, "",
        _line("n", "solver", "wall s", "CPU s", "min-adds/s, CPU", "runs", "ratio, wall", "ratio, CPU",
              "kernels, CPU"),
        _line("---:", "---", *["---:"] * 7),
    ]  # fmt: skip
    ours = {row.n: row for row in rows if row.solver == HPCSOLVE}
    for row in rows:
        if row.wall is None or row.cpu is None:
            continue
        own = ours[row.n]
        assert own.wall is not None
        ratios = row.wall / own.wall, row.cpu / own.seconds, row.cpu / own.kernel_seconds
        shown = ["", "", ""] if row is own else [f"{ratio:.3g}" for ratio in ratios]
        rate = f"{min_adds(row.n) / row.cpu:.2e}"
        lines.append(_line(row.n, row.solver, _seconds(row.wall), _seconds(row.cpu), rate, row.runs, *shown))
    return lines


def _checked(rows: list[Row]) -> str:
    optima: dict[tuple[int, str], list[int]] = {}
    for row in rows:
        optima.setdefault((row.n, row.kind), []).append(row.optimum)
    several = [found for found in optima.values() if len(found) > 1]
    agree = all(len(set(found)) == 1 for found in several)
    text = "All solvers found the same optima" if agree else "**The solvers found different optima**"
    alone = sum(len(found) == 1 for found in optima.values())
    return f"{text}: {len(several)} instances; {alone} were solved by hpcsolve alone."


def markdown(names: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table whose first column is text and whose others are numbers."""
    return [_line(*names), _line("---", *["---:"] * (len(names) - 1)), *(_line(*row) for row in rows)]


def _line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value >= 1e-3 else f"{value:.1e}"


def _chart(rows: list[Row]) -> list[str]:
    """One line an n, one letter a solver, logarithmic."""
    lines = []
    for n in dict.fromkeys(row.n for row in rows):
        here = [row for row in rows if row.n == n and row.cpu]
        marks = [(row.letter, row.seconds) for row in here] + [("k", row.kernel_seconds) for row in here if row.kernel]
        text = [" "] * (CHART_WIDTH + 1)
        for letter, seconds in reversed(marks):
            text[_place(seconds)] = letter
        lines.append(f"{n:4} |{''.join(text)}".rstrip())
    scale = [" "] * (CHART_WIDTH + 8)
    for decade in range(DECADES[0], DECADES[1] + 1):
        mark = f"{10.0**decade:g} s"
        scale[_place(10.0**decade) : _place(10.0**decade) + len(mark)] = mark
    names = dict.fromkeys([f"{row.letter} {row.solver}" for row in rows] + ["k hpcsolve's kernels alone"])
    rule = "     +" + "-" * CHART_WIDTH
    return ["```text", *lines, rule, "      " + "".join(scale).rstrip(), "", *names, "```"]


def _place(seconds: float) -> int:
    low, high = DECADES
    return min(max(round((math.log10(seconds) - low) / (high - low) * CHART_WIDTH), 0), CHART_WIDTH)


def require_matplotlib() -> None:
    """Raise `EnvironmentFault` if it is not installed: before all the measuring, not after."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise EnvironmentFault("--chart needs matplotlib: pip install 'hpcsolve[plot]'") from None


def draw(rows: list[Row], path: str) -> None:
    """CPU seconds against n: all solvers, and hpcsolve's kernels with all kinds of states."""
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams["svg.hashsalt"] = "hpcsolve"
    figure = Figure(figsize=(7.5, 5.5), layout="constrained")
    axes = figure.add_subplot()
    for name, times in _curves(rows).items():
        style = "--" if "kernels" in name else "o-"
        axes.semilogy(list(times), list(times.values()), style, label=name, markersize=4, linewidth=1.2)
    axes.set(xlabel="cities", ylabel="CPU seconds", title=f"Held-Karp, {rows[0].kind}; best of several runs")
    axes.set_xticks(sorted({row.n for row in rows}))
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None} if Path(path).suffix == ".svg" else None)


def _curves(rows: list[Row]) -> dict[str, dict[int, float]]:
    curves: dict[str, dict[int, float]] = {}
    for row in rows:
        if row.cpu is not None and row.kind == rows[0].kind:
            curves.setdefault(row.solver, {})[row.n] = row.seconds
    for row in rows:
        if row.solver == HPCSOLVE:
            name = f"hpcsolve's kernels, {row.states}, {row.kind.split(',')[0]}"
            curves.setdefault(name, {})[row.n] = row.kernel_seconds
    return curves
