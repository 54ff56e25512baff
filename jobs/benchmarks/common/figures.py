"""Figures that a benchmark prints on lines of their own, for the script that collects them (jobs/benchmarks/gpu)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

MARK = "figure: "


@dataclass(frozen=True)
class Figure:
    """A measured time.

    Attributes
    ----------
    name
        What was measured.
    device
        The device's name.
    seconds
        The time, the best of several runs.
    floor
        Seconds that the work takes at least, as computed for an H200 (jobs/benchmarks/gpu.md), None if not known.
    """

    name: str
    device: str
    seconds: float
    floor: float | None = None

    @property
    def line(self) -> str:
        """The line that `figures_in` reads."""
        return MARK + json.dumps(asdict(self))


def figures_in(text: str) -> list[Figure]:
    """Return the figures among the lines of a text."""
    return [Figure(**json.loads(line[len(MARK) :])) for line in text.splitlines() if line.startswith(MARK)]


def milliseconds(seconds: float | None) -> str:
    """Return a time for a table, with three significant digits, "-" for None."""
    return "-" if seconds is None else f"{1e3 * seconds:#.3g}".rstrip(".")
