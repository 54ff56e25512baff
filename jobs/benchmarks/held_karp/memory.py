"""Memory against n: the plan's bytes, those that a run allocated at its peak, and the table of a published program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hpcsolve.algorithms import held_karp
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from jobs.benchmarks.common.charts import save
from jobs.benchmarks.common.table import markdown
from jobs.benchmarks.held_karp import published
from jobs.benchmarks.held_karp.measure import FIRST, LAYOUTS, Layout, random_costs
from jobs.benchmarks.held_karp.whole_process import run_job

SYMMETRIC = "symmetric, costs to 10^3"
CASES: dict[str, tuple[Layout, str]] = {
    f"{LAYOUTS['planes'][0]}, asymmetric": ("planes", FIRST),
    f"{LAYOUTS['planes'][0]}, symmetric": ("planes", SYMMETRIC),
    LAYOUTS["compact"][0]: ("compact", FIRST),
}
"""Layout and kind of costs of each curve."""
LARGEST: dict[Layout, int] = {"planes": 36, "compact": 28}
"""The largest n that is planned."""
UNITS = ("KiB", "MiB", "GiB", "TiB")
HOW = """\
Bytes of device memory (on a CPU of host memory) by one rank. Planned: by `hpcsolve estimate`, before the run. Measured:
the most that the run had allocated at a time. Full table: the bytes of the post's table, 4 (n - 1) 2^(n - 2), and the
planned bytes divided by them. The layout `compact` has that table, and some small ones beside it."""

HOW_RESIDENT = """\
Whole processes, layout `planes`, asymmetric costs: by how many bytes the plan, and the resident memory that the system
reports of `hpcsolve run` at its peak, exceed those of 12 cities. Those have Python and its
libraries, and some 15 MB that are free again before the tables are allocated: small n stay below the plan."""


@dataclass(frozen=True)
class Memory:
    """Bytes of device memory: planned, and measured if the instance was solved.

    Attributes
    ----------
    case
        A key of `CASES`.
    """

    n: int
    case: str
    planned: int
    measured: int | None


def measure(solved: dict[Layout, list[int]], open_device: Callable[[], Device], most: int) -> list[Memory]:
    """Plan for n = 12 up to `most` in each case, and solve the sizes that `solved` names.

    Parameters
    ----------
    open_device
        Opens a device whose peak of memory is still 0.
    """
    return [_memory(n, case, n in solved[layout], open_device) for case, (layout, _) in CASES.items()
            for n in range(12, min(most, LARGEST[layout]) + 1)]


def _memory(n: int, case: str, solve: bool, open_device: Callable[[], Device]) -> Memory:
    layout, kind = CASES[case]
    tsp, parameters = random_costs(n, kind), held_karp.Parameters(layout=layout)
    planned = held_karp.ALGORITHM.plan(held_karp.ALGORITHM.statement(tsp, parameters), 1).device_bytes[0]
    if not solve:
        return Memory(n, case, planned, None)
    with open_device() as device:
        held_karp.ALGORITHM.solve(tsp, device, SerialComm(), parameters)
        return Memory(n, case, planned, device.memory_peak)


def resident(sizes: list[int]) -> dict[int, int]:
    """Return, by n, the bytes by which the resident memory of `hpcsolve run` exceeds that of a run with 12 cities."""
    with TemporaryDirectory() as name:
        peaks = {n: run_job(Path(name), "random-matrix", n, "lattice", 1, "cpu").peak_bytes for n in [12, *sizes]}
    return {n: peaks[n] - peaks[12] for n in sizes}


def resident_table(found: dict[int, int], rows: list[Memory]) -> list[str]:
    """Return a table in Markdown that compares resident memory with the plan of asymmetric costs."""
    case = next(iter(CASES))
    planned = {row.n: row.planned for row in rows if row.case == case}
    cells = [[str(n), str(planned[n] - planned[12]), str(bytes_), f"{bytes_ / (planned[n] - planned[12]):.2f}"]
             for n, bytes_ in found.items()]
    return [HOW_RESIDENT, "", *markdown(["n", "planned", "resident", "resident / planned"], cells)]


def table(rows: list[Memory]) -> list[str]:
    """Return a table in Markdown, a row for each n."""
    found = {(row.n, row.case): row for row in rows}
    names = ["n", "full table, post"]
    for case in CASES:
        names += [f"{case}: planned", "measured", "/ full table"]
    lines = []
    for n in sorted({row.n for row in rows}):
        full = published.full_table_bytes(n)
        cells = [str(n), str(full)]
        for case in CASES:
            row = found.get((n, case))
            measured = "" if row is None or row.measured is None else str(row.measured)
            cells += [str(row.planned), measured, f"{row.planned / full:.4f}"] if row else ["", "", ""]
        lines.append(cells)
    return [HOW, "", *markdown(names, lines)]


def draw(rows: list[Memory], path: Path) -> None:
    """Draw bytes against n: lines are planned, crosses measured."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5), layout="constrained")
    axes = figure.add_subplot()
    sizes = sorted({row.n for row in rows})
    axes.semilogy(sizes, [published.full_table_bytes(n) for n in sizes], "--", color="black", linewidth=1.2,
                  label="post's full table, 4 (n - 1) 2^(n - 2)")
    axes.semilogy([published.NUMBA_N], [published.NUMBA_BYTES], "*", color="black", markersize=11,
                  label=f"{published.NUMBA}: about 7 GB")
    for case in CASES:
        mine = [row for row in rows if row.case == case]
        (line,) = axes.semilogy([row.n for row in mine], [row.planned for row in mine], linewidth=1.2,
                                label=f"{case}, planned")
        points = [(row.n, row.measured) for row in mine if row.measured is not None]
        if points:
            axes.semilogy(*zip(*points), "x", color=line.get_color(), label=f"{case}, measured")
    low, high = axes.get_ylim()
    marks = {2 ** (10 * power + more): f"{2**more} {unit}" for power, unit in enumerate(UNITS, 1) for more in (0, 5)}
    shown = {place: text for place, text in marks.items() if low <= place <= high}
    axes.set_yticks(list(shown), list(shown.values()))
    axes.set_yticks([], minor=True)
    axes.set_xticks([n for n in sizes if n % 2 == 0])
    axes.set(xlabel="cities", ylabel="device memory of one rank", title="Held-Karp: memory against n")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, path)
