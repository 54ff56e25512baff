"""The run of a search until a stop criterion is met: its history, its checkpoints, and its outcome."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Outcome
from hpcsolve.algorithms.edge_assembly.parameters import Assembly
from hpcsolve.algorithms.edge_assembly.setting import Found, Search, Setting
from hpcsolve.algorithms.tours.one_tree import TourBound, with_bound
from hpcsolve.algorithms.tours.stop import MOST_ROWS, NO_TOUR, History
from hpcsolve.answers.contents import Column, Dataset, columns
from hpcsolve.answers.multipliers import multipliers_group
from hpcsolve.answers.tour import Tour
from hpcsolve.checkpoint.checkpoints import Wish
from hpcsolve.checkpoint.saved import Saved
from hpcsolve.checkpoint.store import Part, State, part
from hpcsolve.wording import counted

HISTORY = {
    "step": Dataset("int64", "Generations (of many cities: rounds) done; 0: the first tours", "row"),
    "seconds": Dataset("float64", "Since the start", "row", "s"),
    "best": Dataset("float64", "Cost of the best tour so far, in the instance's own unit", "row"),
    "mean": Dataset("float64", "Mean cost of the population (of many cities: as best), in the instance's own unit",
                    "row"),
}
"""The group `/history`."""


def in_order(stated: Assembly, tour: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return a tour from its first city on, in the direction in which the smaller of two neighbours comes sooner."""
    if stated.closed:
        tour = np.roll(tour, -int((tour == (stated.question.start or 0)).argmax()))
        if stated.problem.symmetric and (tour[1:2] > tour[-1:]).any():
            tour = np.append(tour[:1], tour[:0:-1])
    elif stated.question.start is None and stated.question.end is None and stated.problem.symmetric:
        tour = tour[::-1] if tour[0] > tour[-1] else tour
    return tour.astype(np.int32)


@dataclass
class Progress:
    """A run of a search, and what it has found.

    Attributes
    ----------
    history
        On rank 0.
    begun
        Iterations before this run, which went on from a checkpoint.
    """

    setting: Setting
    search: Search
    history: History = field(default_factory=History)
    begun: int = 0

    def run(self) -> None:
        """Search until a stop criterion is met. Collective."""
        search, stop, started, last = self.search, self.setting.stop, time.perf_counter(), False
        while not last:
            if search.number >= 0:
                self.setting.first.close()  # all first tours are made
            for best, words in search.work():
                stop.nbytes = search.nbytes
                number = max(0, search.number)
                last = stop.is_last(number - 1, best, work=words, ask=True)
                self.setting.report(stop.done(number - 1), words)
                self._save_if_wished()
                if last:
                    self._note(number, search.cut_short(), last)
                    return
            found, number = search.finish(), search.number
            last = stop.is_last(number - 1, found.best, found.ended, search.work_done, not number)
            self._note(number, found, last)
            pace = (number - self.begun) / max(1e-9, time.perf_counter() - started)
            own = [stop.own_unit(length) for length in (found.best, found.total / search.size)]
            words = f"best {own[0]:.10g}, mean {own[1]:.10g}, {pace:.3g} {search.unit}s a second"
            self.setting.report(stop.done(number - 1), words)
            stop.nbytes = search.nbytes
            self._save_if_wished()

    def _note(self, number: int, found: Found, last: bool) -> None:
        if self.setting.comm.rank == 0:
            self.history.rows = [row for row in self.history.rows if row[0] < number]  # a round that was cut short
            self.history.note(number, self.setting.stop.seconds(), found.best, found.total, last)

    def _save_if_wished(self) -> None:
        stop = self.setting.stop
        if stop.wish != Wish.GO_ON and not (stop.reason and stop.complete):
            stop.checkpoints.save(self._state(), last=not stop.complete)

    def _state(self) -> State:
        """Return this rank's share of the state. Collective."""
        stop, search = self.setting.stop, self.search
        numbers = search.numbers_kept() | {"seconds": stop.seconds(), "shortest": stop.best, "improved": stop.improved,
                                           "step": self.history.step}
        parts: list[Part] = search.parts()
        if self.setting.comm.rank == 0:
            rows = self.history.rows
            table = np.array([(row[0], row[2], row[3]) for row in rows], np.int64).reshape(-1, 3)
            parts += [part("history", 0, table), part("seconds", 0, np.array([row[1] for row in rows], np.float64))]
        work = f"after {counted(search.number, search.unit)}"
        return State(numbers, parts, "while the first tours are made" if search.number < 0 else work)

    def resume(self, saved: Saved) -> None:
        """Go on from a checkpoint."""
        stop = self.setting.stop
        self.search.resume(saved)
        self.begun = max(0, self.search.number)
        stop.started -= saved.seconds()
        stop.best, stop.improved = saved.integer("shortest", most=NO_TOUR), saved.integer("improved", -1, self.begun)
        self.history.step = saved.integer("step", 1)
        table = saved.gathered("history", (3,), np.int64, range(MOST_ROWS + 2)).tolist()
        times = saved.gathered("seconds", (), np.float64, range(len(table), len(table) + 1)).tolist()
        self.history.rows = [(number, at, best, total) for (number, best, total), at in zip(table, times)
                             if number % self.history.step == 0 and number <= self.begun]

    def outcome(self, rank: Mapping[str, float | int]) -> Outcome:
        """Return the outcome without a lower bound, whose tables are on rank 0 only. Collective."""
        setting, stop = self.setting, self.setting.stop
        _, nodes = self.search.best_tour()
        tour = in_order(setting.stated, setting.cities.tour_of(nodes)[0])
        cost = int(setting.stated.question.legs_of(setting.stated.problem, tour).sum())
        tables: dict[str, Mapping[str, Column]] = {}
        if setting.comm.rank == 0:
            rows = self.history.rows
            tables["history"] = columns(HISTORY, {
                "step": np.array([row[0] for row in rows], np.int64),
                "seconds": np.array([row[1] for row in rows]),
                "best": np.array([stop.own_unit(row[2]) for row in rows]),
                "mean": np.array([stop.own_unit(row[3] / self.search.size) for row in rows]),
            })
        return Outcome(Tour(cost, tour, False), tables, rank, stop.reason, stop.complete)


def bounded(outcome: Outcome, bound: TourBound | None, value: int | None) -> Outcome:
    """Return an outcome with a lower bound, if there is one.

    Parameters
    ----------
    bound
        On rank 0, the bound and its proof.
    value
        On all ranks, the bound.
    """
    groups = outcome.groups if bound is None else {**outcome.groups, **multipliers_group(bound.proof)}
    return replace(outcome, answer=with_bound(outcome.answer, value), groups=groups)
