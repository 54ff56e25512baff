"""The calls of the runner: `estimate` before anything is allocated, `run`, its outcome, and `trial`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony import ant_system, max_min
from hpcsolve.algorithms.ant_colony.ant_system import AntSystem, Strategy
from hpcsolve.algorithms.ant_colony.colonies import (
    NO_TOUR,
    ColonyStop,
    History,
    Incumbents,
    explore,
    kept_bytes,
    no_incumbents,
    random_keys,
    resume,
    state_of,
)
from hpcsolve.algorithms.ant_colony.instance import (
    ROWS_AT_ONCE,
    AntInstance,
    ant_instance,
    candidate_heuristic,
    heuristic_table,
    list_width,
    nbytes,
    unit_of,
)
from hpcsolve.algorithms.ant_colony.max_min import (
    LOCAL_SEARCH_FILE,
    TOURS_A_MULTIPROCESSOR,
    Improver,
    LocalSearch,
    MaxMin,
    Rules,
    rules,
    scratch_bytes,
)
from hpcsolve.algorithms.ant_colony.parameters import (
    MOST_CITIES,
    Parameters,
    ants_of,
    local_search_of,
    require_fit,
    rho_of,
)
from hpcsolve.algorithms.base import NO_STOP, TO_FILL_GPUS, WITHOUT_WORK, Estimate, Outcome, Report, StopCriteria
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.answers.contents import Column, Dataset, columns
from hpcsolve.answers.tour import Tour
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Buffer, Device, DeviceInfo
from hpcsolve.device.select import on_all_ranks
from hpcsolve.parallel.comm import Comm, SerialComm, even_shares
from hpcsolve.problems.tsp import Tsp
from hpcsolve.wording import counted

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
    found = _outcome(tsp, instance, incumbents, history, iterations, parameters, comm, rank)
    return replace(found, ended=stop.reason, complete=stop.complete)


BREADTH = 8
"""Neighbours of a city that local search tries."""
KERNEL_FILES = ("ants/head_tail", "ants/roulette", "ants/ant_system", "ants/max_min", LOCAL_SEARCH_FILE)


def device_bytes(parameters: Parameters, n: int, symmetric: bool, colonies: int) -> int:
    """Return the bytes of device memory of a rank with so many colonies, exactly."""
    if colonies == 0:
        return 0
    ants = ants_of(parameters, n)
    if parameters.variant == "ant-system":
        return nbytes(ant_system.shapes(n, colonies, ants, parameters.strategy))
    kind = local_search_of(parameters, symmetric)
    scratch = 0 if kind == "none" else scratch_bytes(colonies * ants, n, BREADTH)
    return nbytes(max_min.shapes(n, colonies, ants)) + scratch


def host_bytes(parameters: Parameters, n: int, colonies: int, device_kind: str) -> int:
    """Return the bytes of host memory: the instance, its tables while they are uploaded, and incumbents.

    The instance is renumbered first, in stripes of rows with 64-bit numbers. On a CPU, the bytes that `device_bytes`
    counts are free then, since they are allocated later.
    """
    if colonies == 0:
        return 0
    tables = 4 * n * n + 1024 * n + colonies * n * (256 + 8)
    if parameters.variant == "ant-system":
        tables = 16 * n * n + colonies * n * (8 * n + 4 * ant_system.RECORD + 2)
    stripes = 4 * n * n + 2 * n * list_width(n) + 8 * min(n, ROWS_AT_ONCE) * (2 * n + list_width(n))
    return max(tables, stripes - (device_bytes(parameters, n, True, colonies) if device_kind == "cpu" else 0))


@dataclass(frozen=True)
class Powers:
    """Numbers from powers of floats, whose last bits differ between machines, so that rank 0 computes them for all.

    Attributes
    ----------
    heuristic
        See `instance.heuristic_table` (ant-system) or `instance.candidate_heuristic` (mmas).
    """

    heuristic: NDArray[np.uint32]
    rules: Rules


def powers(instance: AntInstance, parameters: Parameters) -> Powers:
    """Return the heuristic and the rules of a job. Called on rank 0 alone."""
    local = local_search_of(parameters, instance.symmetric) != "none"
    bounds = rules(instance.n, parameters.candidates, local)
    if parameters.variant == "ant-system":
        return Powers(heuristic_table(instance, parameters.beta), bounds)
    return Powers(candidate_heuristic(instance, parameters.beta, parameters.candidates), bounds)


def open_search(
    device: Device, instance: AntInstance, parameters: Parameters, made: Powers, keys: NDArray[np.uint32]
) -> AntSystem | MaxMin:
    """Return the search of some colonies, whose random numbers have these keys."""
    ants, rho = ants_of(parameters, instance.n), rho_of(parameters)
    if parameters.variant == "ant-system":
        unit = unit_of(instance.greedy_length, instance.bound, instance.n, ants, rho)
        names = ("launch", "tour_list", "tiled", "block_threads")
        strategy = Strategy(parameters.strategy, *(getattr(parameters, name) for name in names))
        return AntSystem(device, instance, unit, ants, keys, made.heuristic, strategy)
    unit = unit_of(instance.greedy_length, instance.bound, instance.n, 1, rho)
    kind = local_search_of(parameters, instance.symmetric)
    improver = None if kind == "none" else partial(_improver, device, kind)
    return MaxMin(device, instance, unit, made.rules, ants, keys, made.heuristic, improver)


def _improver(device: Device, kind: str, own: dict[str, Buffer]) -> Improver:
    return LocalSearch(device, own["cost"], own["nearest"], own["tours"], own["lengths"], kind, BREADTH)


_OF_BEST = "Of the colonies' best, in the instance's own unit"
COLONIES = {
    "colony": Dataset("int64", "Its number: random numbers depend on it and on the seed", "colony"),
    "cost": Dataset(
        "int64", "Best tour, in exact integers: the instance's own unit times /instance/scale", "colony", scaled=True,
    ),
    "iteration": Dataset("int64", "Iteration that found it, from 0", "colony"),
    "iterations": Dataset("int64", "Iterations of every colony"),
    "mean": Dataset("float64", _OF_BEST),
    "median": Dataset("float64", _OF_BEST),
    "minimum": Dataset("float64", _OF_BEST),
    "maximum": Dataset("float64", _OF_BEST),
    "deviation": Dataset("float64", "Sample standard deviation of the colonies' best; 0 for one colony"),
    "gap": Dataset(
        "float64", "(cost - optimum) / optimum, with the optimum that the job names", "colony", optional=True
    ),
}
"""The group `/colonies`. `gap` is there if the job names the optimum."""
IMPROVEMENTS = {
    "colony": Dataset("int64", "Number of the colony; the rows are sorted by colony and iteration", "improvement"),
    "iteration": Dataset("int64", "Iteration that found a better tour than any before in this colony", "improvement"),
    "cost": Dataset("int64", "That tour, times /instance/scale, in exact integers", "improvement", scaled=True),
}
"""The group `/improvements`."""
HISTORY = {
    "step": Dataset("int64", "Iteration, from 0", "row"),
    "seconds": Dataset("float64", "Since the start", "row", "s"),
    "best": Dataset("float64", "Best so far of all colonies, in the instance's own unit", "row"),
    "mean": Dataset("float64", "Mean of the iteration's tours, in the instance's own unit", "row"),
}
"""The group `/history`."""


def _outcome(
    tsp: Tsp, instance: AntInstance, incumbents: Incumbents, history: History, iterations: int, parameters: Parameters,
    comm: Comm, rank: Mapping[str, float | int],
) -> Outcome:
    """Return the outcome, whose tables are on rank 0 only. Collective."""
    parts = comm.allgather(incumbents)
    best = min((part for part in parts if len(part.numbers)), key=lambda part: int(part.length.min()))
    row = int(best.length.argmin())
    tour = instance.order[best.tour[row]]
    tour = np.roll(tour, -int(tour.argmin()))  # from city 0
    histories = comm.gather(history)
    tables: dict[str, Mapping[str, Column]] = {}
    if histories is not None:
        shift = tsp.n * instance.offset
        lengths = np.concatenate([part.length for part in parts]) + shift
        tables["colonies"] = _colonies(parts, lengths, tsp, iterations, parameters.optimum)
        tables["improvements"] = _improvements(parts, shift)
        tours = len(lengths) * ants_of(parameters, tsp.n)
        tables["history"] = _history(histories, tours, shift, tsp.scale)
    cost = int(best.length[row]) + tsp.n * instance.offset
    return Outcome(Tour(cost, tour.astype(np.int32), False), tables, rank)


def _colonies(
    parts: list[Incumbents], lengths: NDArray[np.int64], tsp: Tsp, iterations: int, optimum: float | None
) -> dict[str, Column]:
    own = lengths / tsp.scale
    return columns(COLONIES, {
        "colony": np.concatenate([part.numbers for part in parts]),
        "cost": lengths,
        "iteration": np.concatenate([part.iteration for part in parts]),
        "iterations": iterations,
        "mean": own.mean(),
        "median": np.median(own),
        "minimum": own.min(),
        "maximum": own.max(),
        "deviation": own.std(ddof=1) if len(own) > 1 else 0.0,
        "gap": (own - optimum) / abs(optimum) if optimum else None,
    })


def _improvements(parts: list[Incumbents], shift: int) -> dict[str, Column]:
    rows = np.array(sorted(row for part in parts for row in part.improvements), np.int64)
    return columns(IMPROVEMENTS, {"colony": rows[:, 0], "iteration": rows[:, 1], "cost": rows[:, 2] + shift})


def _history(histories: list[History], tours: int, shift: int, scale: int) -> dict[str, Column]:
    rows = [history.rows for history in histories]
    best = np.array([min(one[2] for one in at) for at in zip(*rows)], np.int64)
    mean = np.array([sum(one[3] for one in at) / tours for at in zip(*rows)])
    assert (best < NO_TOUR).all()
    return columns(HISTORY, {
        "step": np.array([row[0] for row in rows[0]], np.int64),
        "seconds": np.array([row[1] for row in rows[0]]),
        "best": (best + shift) / scale,
        "mean": (mean + shift) / scale,
    })


TRIAL_SECONDS = 1.0
"""Seconds that the trial iterates for."""


def trial(tsp: Tsp, parameters: Parameters, criteria: StopCriteria, ranks: int, device: Device, seed: int) -> Trial:
    """Iterate the colonies of a rank for a second."""
    if criteria == NO_STOP:
        criteria = StopCriteria(iterations=DEFAULT_ITERATIONS)
    given = msgspec.structs.replace(parameters, colonies=len(even_shares(parameters.colonies, ranks)[0]))
    watch = Stopwatch()
    part = StopCriteria(seconds=TRIAL_SECONDS, iterations=criteria.iterations)
    outcome = run(tsp, device, SerialComm(), given, watch, part, seed)
    seconds = watch.seconds() - watch.setup
    count = round(outcome.rank["operations"] / (given.colonies * ants_of(given, tsp.n) * tsp.n))
    each = seconds / count
    limits = [] if criteria.seconds is None else [criteria.seconds + each]
    limits += [] if criteria.iterations is None else [criteria.iterations * each]
    measured_on = f"{counted(count, 'iteration')}, {each:.2g} s each"
    return Trial(tsp, given, outcome, watch.setup, min(limits, default=None), measured_on, open_end=_open_end(criteria))


def _open_end(criteria: StopCriteria) -> str:
    """Return which criteria may end the search at a time that cannot be foreseen, in words, or ""."""
    keys = [key for key in ("target", "stagnation") if getattr(criteria, key) is not None]
    return f"[stop] {' or '.join(keys)} may end it at any time" if keys else ""
