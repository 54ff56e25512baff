"""Timed runs: hpcsolve in both of its layouts, and the rivals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.base import Outcome
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.tsp import random_matrix
from hpcsolve.problems.questions import check_tour
from hpcsolve.problems.tsp import NO_ARC, Tsp
from jobs.benchmarks.common.timing import best_of
from jobs.benchmarks.held_karp.peak import MeasuredDevice
from jobs.benchmarks.held_karp.report import HPCSOLVE, Row
from jobs.benchmarks.held_karp.rivals import TEXTBOOK, Rival

KINDS = {
    "asymmetric, costs to 10^3": (1000, False), "asymmetric, costs to 10^6": (10**6, False),
    "symmetric, costs to 10^3": (1000, True), "symmetric, costs to 10^6": (10**6, True),
}
"""Largest cost of each kind, and whether it is symmetric.

Rivals are timed on the first kind. Costs to 10^6 need 32-bit states."""
FIRST = next(iter(KINDS))
CHECKED = 22
"""Up to this n one rival also solves the other kinds, not timed, to check hpcsolve's optimum."""
Layout = Literal["planes", "compact"]
LAYOUTS: dict[Layout, tuple[str, str]] = {"planes": (HPCSOLVE, "h"), "compact": (f"{HPCSOLVE}, compact", "c")}
"""Name and letter of hpcsolve's layouts in tables and charts."""


@dataclass(frozen=True)
class Effort:
    """A measurement has this many runs, fewer if they take longer than so many seconds together."""

    repeats: int
    seconds: float


def random_costs(n: int, kind: str) -> Tsp:
    """Return the instance of this size and kind."""
    high, symmetric = KINDS[kind]
    return random_matrix(n, seed=n, high=high, symmetric=symmetric)


def all_rows(
    sizes: list[int], device: Device, rivals: list[Rival], skipped: list[str], effort: Effort
) -> Iterator[Row]:
    """Measure hpcsolve and the rivals on every instance, and add rivals without memory for their table to `skipped`."""
    for n in sorted(set(sizes)):
        for kind in KINDS:
            tsp = random_costs(n, kind)
            yield own_row(tsp, kind, device, effort)
            for rival in rivals:
                if kind == FIRST:
                    yield from rival_rows(rival, tsp, skipped, effort)
                elif rival.name == TEXTBOOK and n <= min(rival.largest, CHECKED):
                    yield _rival_row(rival, tsp, kind, None)


def own_row(tsp: Tsp, kind: str, device: Device, effort: Effort, layout: Layout = "planes") -> Row:
    """Measure hpcsolve from the costs to the tour, and check the tour."""
    kernels: list[tuple[float, float | None]] = []
    parameters = held_karp.Parameters(layout=layout, method="lattice")

    def solve() -> Outcome:
        before = device.seconds_kernel
        outcome = held_karp.ALGORITHM.solve(tsp, device, SerialComm(), parameters)
        by_events = device.seconds_kernel - before, None
        kernels.append(device.kernel_seconds() if isinstance(device, MeasuredDevice) else by_events)
        return outcome

    measured = best_of(solve, effort.repeats, effort.seconds)
    outcome = measured.value
    assert isinstance(outcome, Outcome)
    value = check_tour(tsp, outcome.solution["tour"].values)
    if value != outcome.cost:
        raise AssertionError(f"n = {tsp.n}: the tour costs {value}, not {outcome.cost}")
    details = held_karp.ALGORITHM.plan(held_karp.ALGORITHM.statement(tsp, parameters), 1).details
    states = "32-bit" if layout == "compact" else str(details.get("states", "small table")).split(",")[0]
    return Row(tsp.n, kind, *LAYOUTS[layout], value, measured.wall, measured.cpu, measured.runs, states,
               min(wall for wall, _ in kernels), min((cpu for _, cpu in kernels if cpu is not None), default=None),
               int(outcome.rank["operations"]))


def rival_rows(rival: Rival, tsp: Tsp, skipped: list[str], effort: Effort) -> Iterator[Row]:
    """Measure a rival on an instance of the first kind, unless that is too large for it."""
    if tsp.n > rival.largest:
        return
    if rival.table_bytes(tsp.n) > MeasuredDevice().memory_free() // 2:
        gigabytes = rival.table_bytes(tsp.n) / 1e9
        skipped.append(f"{rival.name}: n = {tsp.n} skipped, its table of {gigabytes:.1f} GB is more than half of the "
                       "free memory")
        return
    yield _rival_row(rival, tsp, FIRST, effort)


def _rival_row(rival: Rival, tsp: Tsp, kind: str, effort: Effort | None) -> Row:
    """Measure a rival, or without an effort run it once for its answer alone."""
    call = rival.prepare(tsp.cost * (tsp.cost != NO_ARC))
    measured = best_of(call, effort.repeats if effort else 1, effort.seconds if effort else 0.0)
    times = (measured.wall, measured.cpu) if effort else (None, None)
    return Row(tsp.n, kind, rival.name, rival.letter, int(str(measured.value)), *times, measured.runs)
