"""What the runner calls: the plan of a run, the run, and a trial of its time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import msgspec

from hpcsolve.algorithms.base import (
    NO_STOP,
    WITHOUT_WORK,
    Algorithm,
    Outcome,
    Plan,
    Report,
    StopCriteria,
    silent,
)
from hpcsolve.algorithms.edge_assembly import memory
from hpcsolve.algorithms.edge_assembly.areas import AREAS_FILE, Areas
from hpcsolve.algorithms.edge_assembly.few import best_of_few
from hpcsolve.algorithms.edge_assembly.first_tours import FIRST_TOUR_FILE, FirstTours, with_reduced_costs
from hpcsolve.algorithms.edge_assembly.outcome import HISTORY, Progress, bounded
from hpcsolve.algorithms.edge_assembly.parameters import MOST_WHOLE, Assembly, Parameters, statement
from hpcsolve.algorithms.edge_assembly.population import ASSEMBLY_FILE, Population
from hpcsolve.algorithms.edge_assembly.setting import Search, Setting
from hpcsolve.algorithms.tours import one_tree
from hpcsolve.algorithms.tours.cities import LARGEST_COST, Cities
from hpcsolve.algorithms.tours.k_opt import K_OPT_FILE
from hpcsolve.algorithms.tours.near import CLUSTERS_FILE, NEAR_FILE, NearLists, near_lists, with_clusters
from hpcsolve.algorithms.tours.one_tree import TourBound
from hpcsolve.algorithms.tours.stop import SearchStop
from hpcsolve.algorithms.trial import Stopwatch, Trial
from hpcsolve.answers.multipliers import MULTIPLIERS
from hpcsolve.answers.tour import TOUR
from hpcsolve.checkpoint.checkpoints import NONE, Checkpoints
from hpcsolve.device.base import ONE_CORE, Device, DeviceInfo
from hpcsolve.device.host import HostDevice, on_host
from hpcsolve.device.select import on_all_ranks
from hpcsolve.memory import give_back_freed_memory
from hpcsolve.parallel.comm import Comm, SerialComm, even_shares
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.tsp import Tsp
from hpcsolve.wording import counted

A_QUADRANT = 2
"""How many of the nearest cities of each quadrant are in a candidate list, whatever else is nearer."""
GIVE_BOTH_ENDS = "give the path a start and an end: with a free end it takes a matrix of all costs"
TRIAL_SECONDS = 1.0
WHOLE_TOUR_FILES = (NEAR_FILE, CLUSTERS_FILE, FIRST_TOUR_FILE, one_tree.ASSIGNMENT_FILE, K_OPT_FILE, ASSEMBLY_FILE)
"""Kernel files of searches that improve a population of whole tours, without a lower bound."""


class EdgeAssembly(Algorithm):
    """A population of tours, split over the ranks, or one tour whose areas are."""

    name, kind, answers, parameters = "edge-assembly", "tsp", (TOUR,), Parameters
    kernel_files = (*WHOLE_TOUR_FILES, AREAS_FILE, one_tree.ONE_TREE_FILE)
    groups: ClassVar = {"history": HISTORY, "multipliers": MULTIPLIERS}
    files = ("tour",)

    def kernels_of(
        self, parameters: Parameters, instance: str | dict[str, Any], criteria: StopCriteria
    ) -> tuple[str, ...]:
        """Return the files to build ahead for a job.

        How many cities a file has is not known yet. If they are so many that they are divided into areas, the functions
        for that are built when they are loaded.
        """
        n = instance.get("n") if isinstance(instance, dict) and "generate" in instance else None
        areas = (AREAS_FILE,) if isinstance(n, int) and n > MOST_WHOLE else ()
        return tuple(dict.fromkeys((*WHOLE_TOUR_FILES, *areas, *(one_tree.FILES if parameters.bound else ()))))

    def little_for_a_gpu(self, parameters: Parameters) -> str:
        """Return that edge assembly runs on the host's cores."""
        return "edge assembly"

    def largest_cost(self, n: int, edges: int) -> int:
        """Return the largest difference of two costs, whatever their number."""
        return LARGEST_COST

    def statement(self, problem: Tsp, parameters: Parameters, to_check: bool = False) -> Assembly:
        """Return the statement. Raises as `parameters.statement`."""
        return statement(problem, parameters, to_check)

    def plan(
        self, stated: Assembly, ranks: int, info: DeviceInfo = ONE_CORE, criteria: StopCriteria = NO_STOP
    ) -> Plan:
        """Return the bytes of each rank's tours. Raises as `Assembly.require_costs`."""
        tsp = stated.problem
        stated.require_costs()
        size = stated.population(criteria)
        shares = [len(share) for share in even_shares(1 if stated.is_large else size, ranks)]
        kind = memory.kind_of(stated)
        needs = [memory.need_of(kind, tsp.n, size, share, info) for share in shares]
        what = "tours in each area" if stated.is_large else "tours"
        details: dict[str, int | str] = {what: size, WITHOUT_WORK: 0 if stated.is_large else shares.count(0)}
        sent = 4 * tsp.n * (2 if kind.paired else 1) * max(shares) if ranks > 1 and not stated.is_large else 0

        def largest(free: Sequence[int]) -> int:
            def holds(n: int) -> bool:
                own = [memory.need_of(kind, n, size, share, info) for share in shares]
                return all(one.device + one.host + one.shared <= most for one, most in zip(own, free))

            low, high = 0, 1 << 31
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if holds(middle) else (low, middle)
            return low

        device, host = tuple(one.device for one in needs), tuple(one.host for one in needs)
        work = (1 if stated.is_large else size) * tsp.n
        return Plan(device, host, work, "city of a tour, in one generation", (sent,) * ranks, details, largest,
                    needs[0].shared, smaller=GIVE_BOTH_ENDS if kind.matrix and tsp.metric else "")

    def run(
        self, stated: Assembly, device: Device, comm: Comm, report: Report = silent,
        criteria: StopCriteria = NO_STOP, seed: int = 1, checkpoints: Checkpoints = NONE, method: str = "",
    ) -> Outcome:
        """Return the best tour, the same on all ranks. Groups are filled on rank 0."""
        if stated.is_few:
            return Outcome(on_rank_0(comm, lambda: best_of_few(stated)))
        parameters, early = stated.parameters, not stated.is_large or criteria.gap is not None
        stop = SearchStop(comm, criteria, scale=stated.problem.scale, checkpoints=checkpoints,
                          started=checkpoints.clock(), has_bound=parameters.bound and early)
        with on_host(device) as host:
            cities = comm.once_per_host(lambda: with_reduced_costs(host, stated.cities()))
            bound = self._bound(stated, cities, device, comm) if stop.has_bound else None
            stop.bound = None if bound is None else bound.value
            lists = comm.once_per_host(partial(_lists, stated, host, cities))
            stop.shift = cities.shift
            size = stated.population(criteria)
            given = None if stated.given is None else cities.nodes_of(stated.given[None])[0]
            own = 1 if stated.is_large else len(even_shares(size, comm.size)[comm.rank])
            k_opt_device = host if stated.is_large else device
            first = FirstTours(host, cities, lists, seed, k_opt_device,
                               memory.blocks_at_once(k_opt_device.info, own))
            at_once = memory.tours_at_once(k_opt_device.info, own, cities.nodes)
            setting = Setting(stated, cities, lists, host, comm, seed, stop, report, first, at_once, given)
            search: Search = Areas(setting, size) if stated.is_large else Population(setting, size)
            stop.unit = search.unit
            progress = Progress(setting, search)
            report(0.0)
            if (saved := checkpoints.saved) is not None:
                on_all_ranks(comm, partial(progress.resume, saved))
            give_back_freed_memory()  # what reading and the lists have left
            progress.run()
            first.close()
            iterations = max(0, search.number - progress.begun)
            rank = {"operations": own * stated.problem.n * iterations, "seconds_wait": stop.seconds_wait}
            outcome = progress.outcome(rank)
            del lists, first, setting, search, progress  # which have as many bytes as the lists of the bound
            if parameters.bound and not early and stop.complete:
                bound = self._bound(stated, cities, device, comm)
                stop.bound = comm.bcast(None if bound is None else bound.value)
            return bounded(outcome, bound, stop.bound)

    def _bound(self, stated: Assembly, cities: Cities, device: Device, comm: Comm) -> TourBound | None:
        """Return the lower bound on rank 0."""
        if comm.rank:
            return None
        given = cities if cities.assigned is None else None  # multipliers are those of the costs as they are
        return one_tree.bound_beside(stated.problem, device, stated.question, given)

    def trial(
        self, stated: Assembly, criteria: StopCriteria, ranks: int, device: Device, seed: int, method: str = "",
    ) -> Trial:
        """Improve some tours of a rank for a second."""
        watch, size = Stopwatch(), stated.population(criteria)
        part = StopCriteria(seconds=TRIAL_SECONDS)
        share = size if stated.is_large else max(2, len(even_shares(size, ranks)[0]))
        given = msgspec.structs.replace(stated.parameters, population=share, bound=False)
        small = statement(stated.problem, given, to_check=True)
        found = self.run(small, device, SerialComm(), watch, part, seed)
        limit = criteria.seconds
        open_end = "" if limit is not None else "when a population converges cannot be foreseen"
        what = counted(share, "tour")
        return Trial(small, found, watch.setup, limit, f"{what} for {TRIAL_SECONDS:g} s", open_end=open_end)


def _lists(stated: Assembly, host: HostDevice, cities: Cities) -> NearLists:
    """Return the candidate lists. Large instances have none between clusters."""
    lists = near_lists(host, cities, memory.NEAR, A_QUADRANT)
    return lists if stated.is_large else with_clusters(host, cities, lists)
