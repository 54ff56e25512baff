"""Mode best: a search by ruin and recreate, one that is longer, and several whose trees are recombined."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.steiner.instances import Instance
from jobs.benchmarks.steiner.jobs import Solved, solve
from jobs.benchmarks.steiner.quality import Row, mistakes

INSTANCES = ["hc9p", "bipe2p", "w13c29", "es1000fst08", "lin23", "lin37", "alue7080", "es10000fst01"]
"""The files of at most 40,000 vertices whose optimum mode best misses by its defaults."""
SHAKES = 4
"""The default of the job key."""
HOW = """\
Mode best by `hpcsolve run`, one thread a rank. Long: one search with {starts} times the shakes. CPU: seconds of the
whole command, all ranks. Wall: wall-clock seconds of the run with its certificate. The tree of {starts} starts must be
the same on 1 and on {ranks} ranks."""


@dataclass(frozen=True)
class Compared:
    """An instance solved in four ways: one start, one long start, several starts on one rank and on more."""

    rows: list[Row]
    equal: bool

    @property
    def is_right(self) -> bool:
        """Whether all trees are right, and those of one job on several ranks the same."""
        return self.equal and not any(row.wrong for row in self.rows)


def measure(instance: Instance, starts: int, ranks: int) -> Compared:
    """Solve an instance in all ways, and check the trees."""
    ways = [("one", 1, SHAKES, 1), ("long", 1, SHAKES * starts, 1), ("starts", starts, SHAKES, 1),
            ("ranks", starts, SHAKES, ranks)]
    rows = [_row(instance, way, solve(instance, "best", count, shakes=shakes, starts=number))
            for way, number, shakes, count in ways]
    return Compared(rows, np.array_equal(rows[2].found.edges, rows[3].found.edges))


def _row(instance: Instance, way: str, found: Solved) -> Row:
    row = Row(instance, way, found, mistakes(instance, found))
    print(f"{instance.name}, {way}: {row.ratio:.5f}, {found.run:.2f} s", file=sys.stderr, flush=True)
    return row


def table(compared: list[Compared], starts: int, ranks: int) -> list[str]:
    """Return a table in Markdown, its means, and what is wrong."""
    names = ["weight / optimum", "one start", "CPU s", "long", "CPU s", f"{starts} starts", "CPU s", "wall s",
             f"wall s, {ranks} ranks"]
    cells = [_cells(one.rows) for one in compared]
    means = [f"{np.mean([one.rows[way].ratio for one in compared]):.5f}" for way in range(3)]
    sums = [f"{sum(one.rows[way].found.cpu for one in compared):.1f}" for way in range(3)]
    walls = [f"{sum(one.rows[way].found.run for one in compared):.1f}" for way in (2, 3)]
    last = ["mean, sum", means[0], sums[0], means[1], sums[1], means[2], sums[2], *walls]
    wrong = [f"- **{one.rows[0].instance.name}: a tree is wrong, or not the same on {ranks} ranks**"
             for one in compared if not one.is_right]
    return [HOW.format(starts=starts, ranks=ranks), "", *markdown(names, [*cells, last]), "",
            *(wrong or ["All trees are right, and the same on any number of ranks."])]


def _cells(rows: list[Row]) -> list[str]:
    one, long, starts, ranks = rows
    pairs = [text for row in (one, long, starts) for text in (f"{row.ratio:.5f}", f"{row.found.cpu:.2f}")]
    return [one.instance.name, *pairs, f"{starts.found.run:.2f}", f"{ranks.found.run:.2f}"]
