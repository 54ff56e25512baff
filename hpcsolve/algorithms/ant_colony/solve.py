"""What the runner calls: the plan of a run, the run, and a trial of its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from hpcsolve.algorithms.ant_colony import colonies, max_min
from hpcsolve.algorithms.ant_colony.ant_system import RECORD, AntSystem
from hpcsolve.algorithms.ant_colony.instance import ROWS_AT_ONCE, ant_instance, list_width, nbytes, powers
from hpcsolve.algorithms.ant_colony.parameters import MOST_CITIES, Parameters, TourSearch
from hpcsolve.algorithms.ant_colony.roulette import Roulette
from hpcsolve.algorithms.base import (
    NO_STOP,
    TO_FILL_GPUS,
    WITHOUT_WORK,
    Algorithm,
    Outcome,
    Plan,
    Report,
    StopCriteria,
    silent,
)
from hpcsolve.algorithms.tours import one_tree
from hpcsolve.algorithms.tours.cities import LARGEST_COST
from hpcsolve.algorithms.tours.k_opt import K_OPT_FILE, TOURS_A_MULTIPROCESSOR
from hpcsolve.algorithms.tours.stop import SearchStop
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.answers.multipliers import MULTIPLIERS
from hpcsolve.answers.tour import TOUR
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.device.select import on_all_ranks
from hpcsolve.parallel.comm import Comm, SerialComm, even_shares
from hpcsolve.problems.tsp import Tsp
from hpcsolve.wording import counted

DEFAULT_ITERATIONS = 1000
"""Iterations where the job has no `[stop]` at all."""
TRIAL_SECONDS = 1.0
"""Seconds that the trial iterates for."""
KERNEL_FILES = (colonies.BEST_FILE, "ants/head_tail", "ants/roulette", "ants/ant_system", "ants/max_min",
                K_OPT_FILE, *one_tree.FILES)


class AntColony(Algorithm):
    """Independent ant colonies, split over the ranks."""

    name, kind, answers, parameters = "ant-colony", "tsp", (TOUR,), Parameters
    kernel_files = KERNEL_FILES
    groups: ClassVar = {
        "colonies": colonies.COLONIES, "improvements": colonies.IMPROVEMENTS, "history": colonies.HISTORY,
        "multipliers": MULTIPLIERS,
    }

    def kernels_of(
        self, parameters: Parameters, instance: str | dict[str, Any], criteria: StopCriteria
    ) -> tuple[str, ...]:
        """Return the files of the variant, of the way in which it constructs tours, and of the lower bound."""
        bounding = one_tree.FILES if parameters.bound else ()
        if parameters.variant == "mmas":
            return (colonies.BEST_FILE, "ants/max_min", K_OPT_FILE, *bounding)
        constructing = "ants/head_tail" if parameters.strategy == "head-tail" else "ants/roulette"
        return (colonies.BEST_FILE, constructing, "ants/ant_system", *bounding)

    def largest_cost(self, n: int, edges: int) -> int:
        """Return the largest difference of two costs, whatever their number."""
        return LARGEST_COST

    def statement(self, problem: Tsp, parameters: Parameters, to_check: bool = False) -> TourSearch:
        """Return the statement. Raises as `TourSearch.require` and, unless it is only to check, as `Tsp.cost`."""
        stated = TourSearch(problem, parameters)
        stated.require()
        if not to_check:
            _ = problem.cost  # made once, and broadcast: the ranks of a host share its memory
        return stated

    def plan(
        self, stated: TourSearch, ranks: int, info: DeviceInfo = ONE_CORE, criteria: StopCriteria = NO_STOP
    ) -> Plan:
        """Return the bytes of each rank's colonies. Raises as `TourSearch.require_costs`."""
        tsp, parameters = stated.problem, stated.parameters
        stated.require_costs()
        symmetric, ants = tsp.symmetric, parameters.ants_of(tsp.n)
        shares = [len(share) for share in even_shares(parameters.colonies, ranks)]
        device = tuple(device_bytes(parameters, tsp.n, symmetric, share) for share in shares)
        host = tuple(host_bytes(parameters, tsp.n, share, info.kind) for share in shares)
        details: dict[str, int | str] = {
            "colonies": parameters.colonies, "ants per colony": ants, WITHOUT_WORK: shares.count(0)
        }

        def largest(free: Sequence[int]) -> int:
            def holds(n: int) -> bool:
                needs = (device_bytes(parameters, n, symmetric, share) + host_bytes(parameters, n, share, info.kind)
                         for share in shares)
                return all(need <= most for need, most in zip(needs, free))

            low, high = 0, MOST_CITIES + 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if holds(middle) else (low, middle)
            return low

        if info.kind == "cuda" and parameters.local_search_of(symmetric) != "none":
            # The default stays one colony, because the same job gives the same bits everywhere.
            most = ranks * colonies_to_fill(info.units, ants)
            if 2 * parameters.colonies <= most:
                details[TO_FILL_GPUS] = f"ant-colony.colonies = {most}"
        work = parameters.colonies * ants * tsp.n
        return Plan(device, host, work, "choice of a city, in one iteration", (0,) * ranks, details, largest)

    def run(
        self, stated: TourSearch, device: Device, comm: Comm, report: Report = silent,
        criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE, method: str = "",
    ) -> Outcome:
        """Return the best tour of all colonies: the same outcome on all ranks but for `rank`."""
        tsp, parameters = stated.problem, stated.parameters
        if criteria == NO_STOP:
            criteria = StopCriteria(iterations=DEFAULT_ITERATIONS)
        instance = ant_instance(tsp)
        stop = SearchStop(comm, criteria, instance.shift, tsp.scale, checkpoints=checkpoints,
                          started=checkpoints.clock(), has_bound=parameters.bound)
        made = comm.bcast(powers(instance, parameters) if comm.rank == 0 else None)
        assert made is not None
        bound = one_tree.bound_beside(tsp, device) if parameters.bound and comm.rank == 0 else None  # others go on
        if bound is not None:
            stop.bound = bound.value
        mine = even_shares(parameters.colonies, comm.size)[comm.rank]
        keys = colonies.random_keys(seed, mine)
        search = search_of(parameters)(device, instance, parameters, made, keys) if mine else None
        own = colonies.Exploration(tsp, parameters, instance, search, colonies.no_incumbents(mine, tsp.n), stop, bound)
        report(0.0)
        if (saved := checkpoints.saved) is not None:
            on_all_ranks(comm, lambda: own.resume(saved))
        begun = own.iterations
        own.run(report)
        rank = {
            "operations": len(mine) * parameters.ants_of(tsp.n) * tsp.n * (own.iterations - begun),
            "seconds_wait": stop.seconds_wait,
        }
        if search:
            search.close()
        return own.outcome(rank)

    def trial(
        self, stated: TourSearch, criteria: StopCriteria, ranks: int, device: Device, seed: int, method: str = "",
    ) -> Trial:
        """Iterate the colonies of a rank for a second."""
        tsp, parameters = stated.problem, stated.parameters
        if criteria == NO_STOP:
            criteria = StopCriteria(iterations=DEFAULT_ITERATIONS)
        given = msgspec.structs.replace(parameters, colonies=len(even_shares(parameters.colonies, ranks)[0]))
        watch = Stopwatch()
        part = StopCriteria(seconds=TRIAL_SECONDS, iterations=criteria.iterations)
        small = TourSearch(tsp, given)
        found = self.run(small, device, SerialComm(), watch, part, seed)
        seconds = watch.seconds() - watch.setup
        count = round(found.rank["operations"] / (given.colonies * given.ants_of(tsp.n) * tsp.n))
        each = seconds / count
        limits = [] if criteria.seconds is None else [criteria.seconds + each]
        limits += [] if criteria.iterations is None else [criteria.iterations * each]
        measured_on = f"{counted(count, 'iteration')}, {each:.2g} s each"
        open_ended = " or ".join(key for key in ("target", "stagnation") if getattr(criteria, key) is not None)
        open_end = f"[stop] {open_ended} may end it at any time" if open_ended else ""
        return Trial(small, found, watch.setup, min(limits, default=None), measured_on, open_end=open_end)


def search_of(parameters: Parameters) -> type[colonies.Search]:
    """Return the class of the colonies."""
    if parameters.variant == "mmas":
        return max_min.MaxMin
    return AntSystem if parameters.strategy == "head-tail" else Roulette


def colonies_to_fill(units: int, ants: int) -> int:
    """Return the number of colonies that give a GPU as many tours to improve as it can improve at a time.

    Parameters
    ----------
    units
        Multiprocessors of the GPU.
    ants
        Ants of a colony.
    """
    return -(-units * TOURS_A_MULTIPROCESSOR // ants)


def default_colonies(units: int, memory: int) -> int:
    """Return the number of colonies with default parameters that fill a GPU, as far as they fit in its memory.

    They fit whatever the number of cities.

    Parameters
    ----------
    units, memory
        Multiprocessors and bytes of the GPU.
    """
    parameters = Parameters()
    one, two = (device_bytes(parameters, MOST_CITIES, True, count) for count in (1, 2))
    fitting = 1 + (memory * 4 // 5 - one) // (two - one)  # the rest is for the driver and other processes
    return max(1, min(fitting, colonies_to_fill(units, parameters.ants_of(MOST_CITIES))))


def device_bytes(parameters: Parameters, n: int, symmetric: bool, count: int) -> int:
    """Return the bytes of device memory of a rank with so many colonies, exactly."""
    if count == 0:
        return 0
    ants = parameters.ants_of(n)
    shapes = {"found": colonies.found_shape(n, count, ants), **search_of(parameters).shapes(n, count, ants, parameters)}
    if parameters.variant == "mmas":
        shapes |= max_min.local_search_shapes(parameters.local_search_of(symmetric), symmetric, count * ants, n)
    return nbytes(shapes)


def host_bytes(parameters: Parameters, n: int, count: int, device_kind: str) -> int:
    """Return the bytes of host memory: the instance, its tables while they are uploaded, and incumbents.

    The instance is renumbered first, in stripes of rows with 64-bit numbers. On a CPU, the bytes that `device_bytes`
    counts are free then, since they are allocated later.
    """
    if count == 0:
        return 0
    tables = 4 * n * n + 1024 * n + count * n * (256 + 8)
    if parameters.variant == "ant-system":
        tables = 16 * n * n + count * n * (8 * n + 4 * RECORD + 2)
    stripes = 4 * n * n + 2 * n * list_width(n) + 8 * min(n, ROWS_AT_ONCE) * (2 * n + list_width(n))
    return max(tables, stripes - (device_bytes(parameters, n, True, count) if device_kind == "cpu" else 0))
