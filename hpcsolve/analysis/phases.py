"""The time of a run by phase and rank, and one line that says where it went."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hpcsolve.analysis.load import Result

Seconds = NDArray[np.float64]
OTHER = "other work"
"""The algorithm's time outside kernels, copies and waiting: Python, numpy and messages."""
PHASES = {
    "read": "reading", "build": "compiling or loading kernels", "kernel": "kernels", "copy": "copies",
    "wait": "waiting", OTHER: OTHER, "check": "checking the answer", "write": "writing",
}
"""Phase -> its name in words, in the order of drawing."""
MUCH_WAITING = 0.25
"""Fraction of the algorithm's time from which a rank's waiting is reported."""


def seconds_by_phase(result: Result) -> dict[str, Seconds]:
    """Return the seconds of each phase, arrays of shape (ranks,), which add up to the time of each rank.

    Raises
    ------
    InputError
        The result has no `/ranks`.
    """
    table = result.table("ranks")
    none = np.zeros(len(table["seconds_run"]))  # old files have no seconds_check
    found = {name: np.asarray(table.get(f"seconds_{name}", none), float) for name in PHASES if name != OTHER}
    inside = found["kernel"] + found["copy"] + found["wait"]
    found[OTHER] = np.maximum(np.asarray(table["seconds_run"], float) - inside, 0)
    return {name: found[name] for name in PHASES}


def diagnosis(result: Result) -> str:
    """Return one line that says where the time went: `82 % of the time is in kernels`.

    Percentages are of the time summed over all ranks.
    """
    phases = seconds_by_phase(result)
    total = sum(float(seconds.sum()) for seconds in phases.values())
    if total <= 0:
        return "no time was measured"
    largest = max(phases, key=lambda name: float(phases[name].sum()))
    part = float(phases[largest].sum()) / total
    text = f"{100 * part:.0f} % of the time is {PHASES[largest] if largest != 'kernel' else 'in kernels'}"
    if largest == "build":
        text += "; a later run finds them in the cache"
    return "; ".join([text, *_waiting(phases)])


def _waiting(phases: dict[str, Seconds]) -> list[str]:
    """Return one text about the ranks that wait long for others, or none."""
    run = phases["kernel"] + phases["copy"] + phases["wait"] + phases[OTHER]
    part = np.divide(phases["wait"], run, out=np.zeros_like(run), where=run > 0)
    worst = int(np.argmax(part))
    if len(part) < 2 or part[worst] < MUCH_WAITING:
        return []
    many = int((part >= MUCH_WAITING).sum())
    others = f", and {many - 1} more {'ranks wait' if many > 2 else 'rank waits'} long" if many > 1 else ""
    return [f"rank {worst} waits {100 * part[worst]:.0f} % of the algorithm's time for other ranks{others}"]
