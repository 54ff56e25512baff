"""A run of a solver: the tours that it had found after so many CPU seconds. A file keeps the runs of a long series."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ask:
    """A run to be made.

    Attributes
    ----------
    limit
        CPU seconds of the whole process, reading included, after which it is to end or is ended.
    """

    instance: str
    solver: str
    seed: int
    limit: float


@dataclass(frozen=True)
class Run:
    """A run that was made.

    Attributes
    ----------
    curve
        (CPU seconds since the start of the process, cost of the best tour so far), in order of time.
    cost
        That of the last tour, or None if there was none when the process was ended.
    checked
        Whether this program has checked the tour and its cost. A process that was ended leaves no tour, only its lines.
    cpu, peak
        CPU seconds and peak memory in MiB of the whole process.
    note
        What the report has to say about the run.
    """

    ask: Ask
    curve: tuple[tuple[float, int], ...]
    cost: int | None
    checked: bool
    cpu: float
    peak: float
    note: str = ""

    def cost_after(self, seconds: float) -> float:
        """Return the cost of the best tour after so many CPU seconds, or infinity."""
        return min((cost for cpu, cost in self.curve if cpu <= seconds), default=math.inf)

    def seconds_to(self, target: int) -> float:
        """Return the CPU seconds after which a tour of at most this cost was known, or infinity."""
        return next((cpu for cpu, cost in self.curve if cost <= target), math.inf)


class Series:
    """Runs by what was asked, with a file that keeps them.

    Parameters
    ----------
    path
        File with a JSON object a line, to which each run is appended when it ends; None: nothing is kept.
    """

    def __init__(self, path: str | None) -> None:
        self._path = Path(path) if path else None
        self._known: dict[Ask, Run] = {}
        if self._path and self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                run = _from(json.loads(line))
                self._known[run.ask] = run

    def find(self, asked: Ask) -> Run | None:
        """Return the run from the file, or None."""
        return self._known.get(asked)

    def add(self, run: Run) -> None:
        """Keep a run."""
        self._known[run.ask] = run
        if self._path:
            with open(self._path, "a", encoding="utf-8") as file:
                print(json.dumps(asdict(run)), file=file)


def _from(table: dict[str, Any]) -> Run:
    """Return the run that a line of the file holds."""
    curve = tuple((float(cpu), int(cost)) for cpu, cost in table["curve"])
    return Run(**{**table, "ask": Ask(**table["ask"]), "curve": curve})
