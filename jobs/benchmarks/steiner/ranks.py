"""A Steiner problem on one rank and on two: wall-clock time through `mpiexec`, one thread a rank."""

from __future__ import annotations

import numpy as np

from jobs.benchmarks.common.answers import require_equal
from jobs.benchmarks.common.ranks import efficiency_row
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.steiner.instances import Instance
from jobs.benchmarks.steiner.jobs import solve

HALTS = {"terminals": "the last terminal", "bottleneck": "the longest edge of the closure's spanning tree"}
"""Where the searches of mode kmb end: values of the job key `halt`, and what they mean."""
WALLS = {
    "kernels": "searches (`seconds_kernel`)",
    "run": "the run with its certificate (`seconds_run`)",
    "command": "the whole command",
}
"""The times that are compared: attributes of `Solved` and their titles."""


def ranks(instance: Instance, mode: str, repeats: int, seconds: float | None, halt: str) -> list[str]:
    """Run the job on one rank and on two in turn, and return a table of the best times in Markdown."""
    solve(instance, mode, 1, seconds, halt)
    runs = [[solve(instance, mode, count, seconds, halt) for count in (1, 2)] for _ in range(repeats)]
    first = runs[0][0]
    require_equal(instance.name, all(np.array_equal(found.edges, first.edges) for pair in runs for found in pair))
    rows = [efficiency_row(title, [(getattr(one, name), getattr(two, name)) for one, two in runs])
            for name, title in WALLS.items()]
    described = f"kmb with searches to {HALTS[halt]}" if mode == "kmb" else mode
    text = (f"{instance.name}, mode {described}; one thread a rank, the slowest rank, the best of {repeats} runs, "
            "taken in turn.")
    return [text, "", *markdown(["wall-clock s", "1 rank", "2 ranks", "efficiency"], rows)]
