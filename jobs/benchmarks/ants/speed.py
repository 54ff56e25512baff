"""Milliseconds an iteration of the Ant System on one core: hpcsolve, programs in doubles, the literature."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hpcsolve.algorithms.base import Limits
from jobs.benchmarks import ant_published
from jobs.benchmarks.ant_quality import parameters_of
from jobs.benchmarks.ant_reference import RULES, DoubleColony, compiled
from jobs.benchmarks.ant_runs import Instance, build, search
from jobs.benchmarks.report import markdown

BEGINNING = 30
"""Iterations that are not timed: trails are flat at first, and far cities likely, which takes head-tail longer."""
WINDOWS = 5
WIDTH, WIDE = 10, 1500
"""Iterations a window of head-tail, for up to so many cities; above, and for all that is slower, one."""
PLAIN = ("candidates", "textbook")


@dataclass(frozen=True)
class Timing:
    """Milliseconds an iteration, the best of some windows; `spread`: the worst of them over the best."""

    milliseconds: float
    spread: float
    windows: int


def ours(instance: Instance, strategy: str, windows: int, width: int, device: str = "cpu") -> Timing:
    """hpcsolve, set-up excluded: each window is the mean of `width` iterations of one run, one after the other."""
    run = search(instance.tsp, parameters_of(strategy), Limits(iterations=BEGINNING + windows * width), device)
    marks = run.seconds[BEGINNING - 1 :: width]
    assert len(marks) == windows + 1, "the history has a row an iteration"
    return _best(np.diff(marks) / width)


def doubles(instance: Instance, library: ctypes.CDLL, rule: str, windows: int, width: int) -> Timing:
    """ant_system.cpp: the same beginning, then windows of iterations that draw by the rule."""
    seconds = []
    with DoubleColony(library, instance.tsp, 1) as colony:
        colony.iterate("head-tail", BEGINNING)
        for _ in range(windows):
            begin = time.process_time()
            colony.iterate(rule, width)
            seconds.append((time.process_time() - begin) / width)
    return _best(np.array(seconds))


def _best(seconds: np.ndarray) -> Timing:
    return Timing(1e3 * float(seconds.min()), float(seconds.max() / seconds.min()), len(seconds))


@dataclass(frozen=True)
class Row:
    """An instance: milliseconds an iteration, by strategy of hpcsolve and by rule of ant_system.cpp."""

    instance: str
    strategies: dict[str, Timing]
    rules: dict[str, Timing]


def measure(all_instances: list[Instance], strategies: list[str], plain_up_to: int, device: str) -> list[Row]:
    """Time everything; the plain programs, minutes an iteration in the end, only up to so many cities."""
    library, rows = compiled(), []
    for strategy in strategies:
        build(all_instances[0].tsp, parameters_of(strategy), device)
    for instance in all_instances:
        n, rules, times = instance.tsp.n, {}, {}
        width = WIDTH if n <= WIDE else 1
        for strategy in strategies:
            own_width = width if strategy == "head-tail" else 1
            times[strategy] = ours(instance, strategy, WINDOWS, own_width, device)
            _tell(instance, strategy, times[strategy])
        for rule in RULES:
            if rule not in PLAIN or n <= plain_up_to:
                rules[rule] = doubles(instance, library, rule, WINDOWS, 1 if rule in PLAIN else width)
                _tell(instance, f"doubles, {rule}", rules[rule])
        rows.append(Row(instance.name, times, rules))
    return rows


def _tell(instance: Instance, what: str, timing: Timing) -> None:
    text = f"{instance.name}, {what}: {timing.milliseconds:.4g} ms, the worst window {timing.spread:.2f} times that"
    print(text, file=sys.stderr, flush=True)


def tables(rows: list[Row]) -> list[str]:
    """Markdown: against plain programs in the same run; against the literature; strategies side by side."""
    first = next(iter(rows[0].strategies))
    return [*_against_doubles(rows, first), "", *_against_literature(rows, first), "", *_strategies(rows, first)]


def _against_doubles(rows: list[Row], first: str) -> list[str]:
    names = {"candidates": "full candidate list", "textbook": "textbook", "head-tail": "head and tail"}
    text = f"Milliseconds an iteration, the best of {WINDOWS} windows; in brackets how many times hpcsolve's."
    times = {f"doubles, {name}": {row.instance: row.rules[rule].milliseconds for row in rows if rule in row.rules}
             for rule, name in names.items()}  # fmt: skip
    return [text, "", *_beside(rows, first, times)]


def _against_literature(rows: list[Row], first: str) -> list[str]:
    text = "What papers report, in milliseconds; in brackets how many times hpcsolve's on one core of this machine."
    times = {"Zhou et al., i7-4770": ant_published.CPU, "Zhou et al., GTX 780": ant_published.GPU,
             **ant_published.OTHER_GPUS}  # fmt: skip
    return [text, "", *_beside(rows, first, times)]


def _strategies(rows: list[Row], first: str) -> list[str]:
    others = [name for name in rows[0].strategies if name != first]
    if not others:
        return []
    text = "hpcsolve's strategies, which draw from one distribution; in brackets how many times the first's."
    times = {name: {row.instance: row.strategies[name].milliseconds for row in rows} for name in others}
    return [text, "", *_beside(rows, first, times)]


def _beside(rows: list[Row], first: str, others: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A table: hpcsolve's first strategy, then others with their ratios to it."""
    lines = []
    for row in rows:
        own = row.strategies[first].milliseconds
        cells = [_ratio(times[row.instance], own) if row.instance in times else "" for times in others.values()]
        lines.append([row.instance, _short(own), *cells])
    return markdown(["instance", f"hpcsolve, {first}", *others], lines)


def _ratio(milliseconds: float, own: float) -> str:
    return f"{_short(milliseconds)} ({_short(milliseconds / own)})"


def _short(number: float) -> str:
    """Three digits, or all before the point."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
