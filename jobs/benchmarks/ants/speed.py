"""Milliseconds an iteration of the Ant System: hpcsolve, double-precision programs, and the literature."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.base import StopCriteria
from jobs.benchmarks.ants import published
from jobs.benchmarks.ants.instances import Instance
from jobs.benchmarks.ants.quality import parameters_of
from jobs.benchmarks.ants.reference import RULES, DoubleColony, load_reference
from jobs.benchmarks.ants.runs import compile_kernels, search
from jobs.benchmarks.common.table import markdown

WARM_UP = 30
"""First iterations, not timed: pheromone is even at first and far cities are likely, which slows head-tail down."""
WINDOWS = 5
WIDTH, WIDE_UP_TO = 10, 1500
"""Iterations in a window of head-tail for up to 1500 cities; all other windows have one iteration."""
PLAIN = ("candidates", "textbook")
"""The rules of the plain sequential programs, whose time for an iteration is proportional to n^3."""


@dataclass(frozen=True)
class Timing:
    """Milliseconds an iteration in the best of several windows, and the worst window divided by the best (`spread`)."""

    milliseconds: float
    spread: float
    windows: int


def own_timing(instance: Instance, strategy: str, windows: int, width: int, device: str = "cpu") -> Timing:
    """Time hpcsolve without its set-up, by windows of `width` successive iterations of one run."""
    stop = StopCriteria(iterations=WARM_UP + windows * width)
    run = search(instance.tsp, parameters_of(strategy), stop, device=device)
    marks = run.seconds[WARM_UP - 1 :: width]
    assert len(marks) == windows + 1, "the history must have a row for each iteration"
    return _best(np.diff(marks) / width)


def reference_timing(instance: Instance, library: ctypes.CDLL, rule: str, windows: int, width: int) -> Timing:
    """Time ant_system.cpp: after the warm-up by head and tail, windows of iterations that draw by `rule`."""
    seconds = []
    with DoubleColony(library, instance.tsp, 1) as colony:
        colony.iterate("head-tail", WARM_UP)
        for _ in range(windows):
            begin = time.process_time()
            colony.iterate(rule, width)
            seconds.append((time.process_time() - begin) / width)
    return _best(np.array(seconds))


def _best(seconds: np.ndarray) -> Timing:
    return Timing(1e3 * float(seconds.min()), float(seconds.max() / seconds.min()), len(seconds))


@dataclass(frozen=True)
class Row:
    """The timings on an instance, by strategy of hpcsolve and by rule of ant_system.cpp.

    Attributes
    ----------
    published_name
        The instance of the literature whose times stand beside ours.
    """

    instance: str
    published_name: str
    strategies: dict[str, Timing]
    rules: dict[str, Timing]


def measure(all_instances: list[Instance], strategies: list[str], plain_up_to: int, device: str) -> list[Row]:
    """Time all strategies, and all rules but those of the plain programs for more than `plain_up_to` cities."""
    library, rows = load_reference(), []
    for strategy in strategies:
        compile_kernels(all_instances[0].tsp, parameters_of(strategy), device)
    for instance in all_instances:
        n, rules, times = instance.tsp.n, {}, {}
        width = WIDTH if n <= WIDE_UP_TO else 1
        for strategy in strategies:
            own_width = width if strategy == "head-tail" else 1
            times[strategy] = own_timing(instance, strategy, WINDOWS, own_width, device)
            _report(instance, strategy, times[strategy])
        for rule in RULES:
            if rule not in PLAIN or n <= plain_up_to:
                rules[rule] = reference_timing(instance, library, rule, WINDOWS, 1 if rule in PLAIN else width)
                _report(instance, f"double precision, {rule}", rules[rule])
        rows.append(Row(instance.name, instance.published_name, times, rules))
    return rows


def _report(instance: Instance, what: str, timing: Timing) -> None:
    text = f"{instance.name}, {what}: {timing.milliseconds:.4g} ms, worst window {timing.spread:.2f} times the best"
    print(text, file=sys.stderr, flush=True)


def tables(rows: list[Row]) -> list[str]:
    """Return tables in Markdown: beside double precision, beside the literature, and the strategies side by side."""
    first = next(iter(rows[0].strategies))
    others = [name for name in rows[0].strategies if name != first]
    text = "hpcsolve's strategies, which draw from the same distribution; in brackets the ratio to the first one's."
    return [*beside_reference(rows, first), "", *beside_literature(rows, first), "",
            *([text, "", *side_by_side(rows, first, others)] if others else [])]


def published_times(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Return milliseconds an iteration that papers report, by program and by our instance."""
    known = {"Zhou et al., i7-4770": published.CPU, "Zhou et al., GTX 780": published.GPU, **published.OTHER_GPUS}
    return {name: {row.instance: times[row.published_name] for row in rows if row.published_name in times}
            for name, times in known.items()}


def beside_reference(rows: list[Row], first: str) -> list[str]:
    """Return the table of hpcsolve's times and those in double precision."""
    names = {"candidates": "full candidate list", "textbook": "textbook", "head-tail": "head and tail"}
    text = f"Milliseconds an iteration, the best of {WINDOWS} windows; in brackets the ratio to hpcsolve's."
    times = {
        f"double precision, {name}": {row.instance: row.rules[rule].milliseconds for row in rows if rule in row.rules}
        for rule, name in names.items()
    }
    return [text, "", *_beside(rows, first, times)]


def beside_literature(rows: list[Row], first: str) -> list[str]:
    """Return the table of hpcsolve's times and those of the literature."""
    text = "Milliseconds that papers report; in brackets the ratio to hpcsolve's on this machine."
    return [text, "", *_beside(rows, first, published_times(rows))]


def side_by_side(rows: list[Row], first: str, others: list[str]) -> list[str]:
    """Return the table of one strategy's times and of others'."""
    times = {name: {row.instance: row.strategies[name].milliseconds for row in rows} for name in others}
    return _beside(rows, first, times)


def _beside(rows: list[Row], first: str, others: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a table of hpcsolve's first strategy and, with their ratios to it, the others."""
    lines = []
    for row in rows:
        own = row.strategies[first].milliseconds
        cells = [_ratio(times[row.instance], own) if row.instance in times else "" for times in others.values()]
        lines.append([row.instance, _short(own), *cells])
    return markdown(["instance", f"hpcsolve, {first}", *others], lines)


def _ratio(milliseconds: float, own: float) -> str:
    return f"{_short(milliseconds)} ({_short(milliseconds / own)})"


def _short(number: float) -> str:
    """Return a number with three significant digits, or without decimals from 100 on."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
