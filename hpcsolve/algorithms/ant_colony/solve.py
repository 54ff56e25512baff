"""The calls of the runner: `estimate` before anything is allocated, and `run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hpcsolve.algorithms.ant_colony import ant_system
from hpcsolve.algorithms.ant_colony.ant_system import AntSystem
from hpcsolve.algorithms.ant_colony.colonies import Watch, explore, nothing_kept, random_keys
from hpcsolve.algorithms.ant_colony.fixed_point import unit_of
from hpcsolve.algorithms.ant_colony.layout import heuristic_table, lay_out
from hpcsolve.algorithms.ant_colony.outcome import outcome
from hpcsolve.algorithms.ant_colony.parameters import Parameters, ants_of, require_fit, rho_of
from hpcsolve.algorithms.base import UNLIMITED, WITHOUT_WORK, Estimate, Limits, Outcome, Report
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.partition import blocks
from hpcsolve.problems.tsp import Tsp

KERNEL_FILES = ("ant_head_tail", "ant_system")
STOPS = ("seconds", "target", "iterations", "stagnation")
DEFAULT_ITERATIONS = 1000
"""Where the job has no `[stop]` at all."""


def estimate(tsp: Tsp, parameters: Parameters, ranks: int, info: DeviceInfo = ONE_CORE) -> Estimate:
    """What a run on so many ranks will need.

    Raises
    ------
    InputError
        The parameters do not fit the instance.
    """
    require_fit(tsp, parameters)
    shares = [len(share) for share in blocks(parameters.colonies, ranks)]
    ants = ants_of(parameters, tsp.n)
    device = tuple(_device_bytes(tsp.n, share, ants) for share in shares)
    host = tuple(_host_bytes(tsp.n, share, ants) for share in shares)
    details: dict[str, int | str] = {"colonies": parameters.colonies, "ants a colony": ants,
                                     WITHOUT_WORK: shares.count(0)}  # fmt: skip

    def largest(free: Sequence[int]) -> int:
        def fits(n: int) -> bool:
            m = ants_of(parameters, n)
            return all(_device_bytes(n, s, m) + _host_bytes(n, s, m) <= f for s, f in zip(shares, free))

        low, high = 0, 1 << 16
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    work = parameters.colonies * ants * tsp.n
    return Estimate(device, host, work, "city chosen, of one iteration", (0,) * ranks, details, largest)


def run(tsp: Tsp, device: Device, comm: Comm, parameters: Parameters, report: Report, limits: Limits = UNLIMITED
        ) -> Outcome:  # fmt: skip
    """The best tour of all colonies. `tsp` is the same on all ranks; so is the outcome but for `rank`."""
    if replace(limits, seed=1) == UNLIMITED:
        limits = replace(limits, iterations=DEFAULT_ITERATIONS)
    layout, ants = lay_out(tsp), ants_of(parameters, tsp.n)
    unit = unit_of(layout.greedy_length, layout.bound, tsp.n, ants, rho_of(parameters))
    heuristic = comm.bcast(heuristic_table(layout, parameters.beta) if comm.rank == 0 else None)
    assert heuristic is not None
    mine = blocks(parameters.colonies, comm.size)[comm.rank]
    keys = random_keys(limits.seed, mine)
    search = AntSystem(device, layout, unit, ants, keys, heuristic) if mine else None
    kept = nothing_kept(mine, tsp.n)
    target = None if limits.target is None else limits.target * tsp.scale - tsp.n * layout.offset
    watch = Watch(comm, limits, target)

    def tell(best: int, mean: float) -> str:
        own = [(length + tsp.n * layout.offset) / tsp.scale for length in (best, mean)]
        return f"best {own[0]:.10g}, mean {own[1]:.10g}"

    history, iterations = explore(search, kept, watch, report, tell)
    statistics = {
        "operations": len(mine) * ants * tsp.n * iterations,
        "seconds_kernel": search.timer.seconds if search else 0.0,
        "seconds_wait": watch.seconds_wait,
    }
    if search:
        search.close()
    return outcome(tsp, layout, kept, history, ants, iterations, comm, statistics)


def _device_bytes(n: int, colonies: int, ants: int) -> int:
    return ant_system.nbytes(ant_system.shapes(n, colonies, ants)) if colonies else 0


def _host_bytes(n: int, colonies: int, ants: int) -> int:
    """The layout, the heuristic three times while it is laid out, first trails, and what is kept."""
    if not colonies:
        return 0
    return 16 * n * n + colonies * (n * (8 * n + 4 * ant_system.RECORD + 2) + 8 * ants)
