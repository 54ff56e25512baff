"""What the runs show, in Markdown: gaps by time, times to the optimum, and ratios to hpcsolve's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.edge_assembly.instances import Instance
from jobs.benchmarks.edge_assembly.runs import Run

MIDDLE = 1000, 6000
"""Files of so many cities are compared with fast-tsp by their mean gap."""


@dataclass(frozen=True)
class Found:
    """The runs of all solvers on an instance.

    Attributes
    ----------
    marks
        CPU seconds after which tours are compared.
    runs
        By solver: the runs of a solver that is told its limit have the marks as their limits.
    limited
        The solvers that are told their limit.
    """

    instance: Instance
    marks: tuple[float, ...]
    runs: dict[str, list[Run]]
    limited: frozenset[str]

    @property
    def has_tours(self) -> bool:
        """Whether any run found a tour."""
        return any(run.cost is not None for runs in self.runs.values() for run in runs)

    @property
    def target(self) -> int | None:
        """The optimum, or the least cost of all runs of asymmetric costs whose optimum is not known."""
        if self.instance.optimum is not None or self.instance.symmetric:
            return self.instance.optimum
        return self.least

    @property
    def least(self) -> int:
        """The least cost of all runs."""
        return min(run.cost for runs in self.runs.values() for run in runs if run.cost is not None)

    @property
    def reference(self) -> float:
        """The cost that gaps are counted from."""
        return self.instance.optimum or self.instance.expected or self.least

    def gap(self, cost: float) -> float:
        """Return by how many percent a cost is above the reference."""
        return 100 * (cost / self.reference - 1)

    def of_mark(self, solver: str, mark: float) -> list[Run]:
        """Return a solver's runs that serve a mark."""
        return [run for run in self.runs[solver] if run.ask.limit == mark or solver not in self.limited]

    def mean_gap(self, solver: str, mark: float) -> float:
        """Return the mean gap after a mark, infinite if a run had no tour then.

        The last tour of a run whose limit was the mark counts, even if the process ended a little later.
        """
        costs = [(math.inf if run.cost is None else run.cost) if solver in self.limited else run.cost_after(mark)
                 for run in self.of_mark(solver, mark)]
        return float(np.mean([self.gap(cost) for cost in costs])) if costs else math.nan

    def to_target(self, solver: str) -> tuple[int, int, float, float]:
        """Return how many seeds reach the target, of how many, the median of their seconds, and of which limit.

        Of a solver that is told its limit, those runs count whose limit is the shortest one with the most seeds. A seed
        that does not reach the target takes infinitely long.
        """
        assert self.target is not None
        limits = sorted({run.ask.limit for run in self.runs[solver]})
        best = (0, 0, math.inf, math.inf)
        for limit in limits:
            times = [run.seconds_to(self.target) for run in self.runs[solver] if run.ask.limit == limit]
            reached = sum(math.isfinite(time) for time in times)
            if best[1] == 0 or reached > best[0]:
                best = reached, len(times), float(np.median(times)), limit
        return best


def gaps(all_found: Sequence[Found]) -> list[str]:
    """Return the table of mean gaps after each mark, by instance and solver, with memory."""
    lines = []
    for marks in dict.fromkeys(found.marks for found in all_found):
        head = ["instance", "solver", *(f"{mark:g} s" for mark in marks), "best run", "reached", "median s", "peak MiB"]
        rows = [_row(found, solver) for found in all_found if found.marks == marks for solver in found.runs]
        lines += [*markdown(head, rows), ""]
    return [*lines, *_notes(all_found)]


def _row(found: Found, solver: str) -> list[str]:
    runs = found.runs[solver]
    least = min((found.gap(run.cost) for run in runs if run.cost is not None), default=math.inf)
    reached = time = ""
    if found.target is not None:
        count, of, median, limit = found.to_target(solver)
        reached = f"{count}/{of}" + (f" in {limit:g} s" if solver in found.limited and count else "")
        time = _number(median)
    cells = []
    for mark in found.marks:
        cell = _percent(found.mean_gap(solver, mark))
        if solver in found.limited:
            used = float(np.median([run.cpu for run in found.of_mark(solver, mark)]))
            cell += f" ({used:.1f})"
        cells.append(cell)
    return [found.instance.name, solver, *cells, _percent(least), reached, time, f"{max(run.peak for run in runs):.0f}"]


def _notes(all_found: Sequence[Found]) -> list[str]:
    """Return lines on what gaps are counted from, and on what runs noted."""
    lines = []
    for found in all_found:
        name = found.instance.name
        if found.instance.optimum is None:
            expected = found.instance.expected
            what = f".7124 sqrt(nA), {expected:.0f}" if expected else f"the least cost of all runs, {found.least}"
            lines.append(f"- {name}: gaps are counted from {what}.")
        for solver, runs in found.runs.items():
            notes = dict.fromkeys(run.note for run in runs if run.note)
            lines += [f"- {name}, {solver}: {note}." for note in notes]
            if ended := sum(not run.checked for run in runs):
                lines.append(f"- {name}, {solver}: {ended} of {len(runs)} runs were ended at their limit, and have the "
                             "costs that it had printed.")
    return lines


def compared(all_found: Sequence[Found]) -> list[str]:
    """Return the median seconds to the optimum and their ratios to hpcsolve's, and mean gaps beside fast-tsp's."""
    lines: list[str] = []
    rows = []
    for found in all_found:
        if found.target is None or "hpcsolve" not in found.runs:
            continue
        own = found.to_target("hpcsolve")[2]
        cells = []
        for name in ("LKH", "GA-EAX"):
            time = found.to_target(name)[2] if name in found.runs else math.nan
            ratio = f" ({_number(time / own)})" if math.isfinite(time) and math.isfinite(own) else ""
            cells.append(f"{_number(time)}{ratio}")
        rows.append([found.instance.name, _number(own), *cells])
    if rows:
        text = "Median seconds to the optimum; in brackets the ratio to hpcsolve's."
        lines += [text, "", *markdown(["instance", "hpcsolve", "LKH", "GA-EAX"], rows), ""]
    middle = [found for found in all_found if found.instance.kind == "file" and found.instance.symmetric
              and MIDDLE[0] <= found.instance.n <= MIDDLE[1] and {"hpcsolve", "fast-tsp"} <= found.runs.keys()]
    marks = middle[0].marks if middle else ()
    for mark in marks:
        own, other = (np.mean([found.mean_gap(name, mark) for found in middle]) for name in ("hpcsolve", "fast-tsp"))
        lines.append(f"- Mean gap of the {len(middle)} files of {MIDDLE[0]} to {MIDDLE[1]} cities after {mark:g} s: "
                     f"hpcsolve {_percent(float(own))}, fast-tsp {_percent(float(other))}.")
    return lines


def _percent(gap: float) -> str:
    """Return a gap with three decimals, "-" if there was no tour, "" if nothing was run."""
    return "" if math.isnan(gap) else "-" if math.isinf(gap) else f"{gap:.3f}"


def _number(seconds: float) -> str:
    """Return seconds or a ratio with three significant digits or all before the point, "-" if they are infinite."""
    return "-" if not math.isfinite(seconds) else f"{seconds:.0f}" if seconds >= 100 else f"{seconds:.3g}"
