"""The calls of the runner: `estimate` before anything is allocated, and `run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hpcsolve.algorithms.ant_colony.colonies import ColonyStop, History, explore, no_incumbents, random_keys
from hpcsolve.algorithms.ant_colony.instance import ant_instance
from hpcsolve.algorithms.ant_colony.local_search import TOURS_A_MULTIPROCESSOR
from hpcsolve.algorithms.ant_colony.outcome import outcome
from hpcsolve.algorithms.ant_colony.parameters import MOST_CITIES, Parameters, ants_of, local_search_of, require_fit
from hpcsolve.algorithms.ant_colony.resume import kept_bytes, resume, state_of
from hpcsolve.algorithms.ant_colony.search import device_bytes, host_bytes, open_search, powers
from hpcsolve.algorithms.base import NO_STOP, TO_FILL_GPUS, WITHOUT_WORK, Estimate, Outcome, Report, StopCriteria
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.device.select import on_all_ranks
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.partition import even_shares
from hpcsolve.problems.tsp import Tsp

STOPS = ("seconds", "target", "iterations", "stagnation")
DEFAULT_ITERATIONS = 1000
"""Iterations where the job has no `[stop]` at all."""


def estimate(tsp: Tsp, parameters: Parameters, ranks: int, info: DeviceInfo = ONE_CORE) -> Estimate:
    """Return what a run on so many ranks will need.

    Raises
    ------
    InputError
        The parameters do not fit the instance.
    """
    require_fit(tsp, parameters)
    symmetric, ants = tsp.symmetric, ants_of(parameters, tsp.n)
    shares = [len(share) for share in even_shares(parameters.colonies, ranks)]
    device = tuple(device_bytes(parameters, tsp.n, symmetric, share) for share in shares)
    host = tuple(host_bytes(parameters, tsp.n, share, info.kind) for share in shares)
    details: dict[str, int | str] = {
        "colonies": parameters.colonies, "ants per colony": ants, WITHOUT_WORK: shares.count(0)
    }

    def largest(free: Sequence[int]) -> int:
        def fits(n: int) -> bool:
            needs = (device_bytes(parameters, n, symmetric, share) + host_bytes(parameters, n, share, info.kind)
                     for share in shares)
            return all(need <= most for need, most in zip(needs, free))

        low, high = 0, MOST_CITIES + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    if more := colonies_to_fill(parameters, symmetric, ants, ranks, info):
        details[TO_FILL_GPUS] = f"ant-colony.colonies = {more}"
    work = parameters.colonies * ants * tsp.n
    return Estimate(device, host, work, "choice of a city, in one iteration", (0,) * ranks, details, largest)


def colonies_to_fill(parameters: Parameters, symmetric: bool, ants: int, ranks: int, info: DeviceInfo) -> int:
    """Return how many colonies would give every GPU as many tours to improve as it can improve at a time.

    The default stays one colony, because the same job gives the same bits everywhere. Return 0 where half of that is
    reached, without local search, and on a CPU.
    """
    if info.kind != "cuda" or local_search_of(parameters, symmetric) == "none":
        return 0
    most = ranks * -(-info.units * TOURS_A_MULTIPROCESSOR // ants)
    return most if 2 * parameters.colonies <= most else 0


def run(
    tsp: Tsp, device: Device, comm: Comm, parameters: Parameters, report: Report,
    criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE,
) -> Outcome:
    """Return the best tour of all colonies. `tsp` is the same on all ranks, and so is the outcome but for `rank`."""
    if criteria == NO_STOP:
        criteria = StopCriteria(iterations=DEFAULT_ITERATIONS)
    instance = ant_instance(tsp)
    shift, target = tsp.n * instance.offset, criteria.scaled_target(tsp.scale)
    stop = ColonyStop(comm, criteria, None if target is None else target - shift, checkpoints,
                      started=checkpoints.clock())
    made = comm.bcast(powers(instance, parameters) if comm.rank == 0 else None)
    assert made is not None
    mine = even_shares(parameters.colonies, comm.size)[comm.rank]
    incumbents = no_incumbents(mine, tsp.n)
    search = open_search(device, instance, parameters, made, random_keys(seed, mine)) if mine else None

    def tell(best: int, mean: float) -> str:
        own = [(length + shift) / tsp.scale for length in (best, mean)]
        return f"best {own[0]:.10g}, mean {own[1]:.10g}"

    def save(iterations: int) -> None:
        checkpoints.save(state_of(search, incumbents, history, stop, iterations), last=not stop.complete)

    report(0.0)
    history, begun, stop.nbytes = History(), 0, kept_bytes(search)
    if (saved := checkpoints.saved) is not None:
        begun = on_all_ranks(comm, lambda: resume(saved, search, incumbents, history, stop))
    iterations = explore(search, incumbents, stop, parameters.migration, report, tell, history, begun, save)
    rank = {
        "operations": len(mine) * ants_of(parameters, tsp.n) * tsp.n * (iterations - begun),
        "seconds_kernel": search.timer.seconds if search else 0.0,
        "seconds_wait": stop.seconds_wait,
    }
    if search:
        search.close()
    found = outcome(tsp, instance, incumbents, history, iterations, parameters, comm, rank)
    return replace(found, ended=stop.reason, complete=stop.complete)
