"""Colonies over ranks: each rank iterates its own colonies together, and all ranks agree on when to stop.

A colony's random numbers are keyed by the seed and its number, so what it finds depends neither on the rank that it is
on nor on the other colonies. Incumbents are arrays with a row for each colony, and so is what a checkpoint keeps: any
number of ranks goes on from it.
"""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.instance import (
    ANT_THREADS,
    AntInstance,
    Powers,
    Shapes,
    allocated,
    unit_of,
)
from hpcsolve.algorithms.ant_colony.parameters import Parameters
from hpcsolve.algorithms.base import Outcome, Report
from hpcsolve.algorithms.tours.one_tree import TourBound, with_bound
from hpcsolve.algorithms.tours.stop import MOST_ROWS, NO_TOUR, History, SearchStop, merged
from hpcsolve.answers.contents import Column, Dataset, columns
from hpcsolve.answers.multipliers import multipliers_group
from hpcsolve.answers.tour import Tour
from hpcsolve.checkpoint.checkpoints import Wish
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.store import Part, State, part
from hpcsolve.device.base import Argument, Buffer, Device
from hpcsolve.problems.tsp import Tsp
from hpcsolve.wording import counted

BEST_FILE = "ants/best_tours"
CITIES_A_WORD = 4
"""Cities of a best tour in a 64-bit word (cuda_src/ants/best_tours.cu)."""
MOST_ITERATIONS = 2**32 - 1
"""The random numbers of the kernels count iterations in 32 bits."""

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


class Search(ABC):
    """The colonies of one rank on its device.

    Attributes
    ----------
    powers
        What rank 0 has computed for all ranks.
    keys
        Shape (colonies, 2), uint32: the keys of the colonies' random numbers.
    ants
        Ants of a colony.
    unit
        The unit of pheromone.
    buffers
        By name; among them `tours`, uint16 (colonies, ants, n), in the numbers of `AntInstance`, `lengths`, uint64
        (colonies, ants), and `pheromone`.
    best
        The shortest tour of each colony in this iteration, the first of equal ones, uint16 (colonies, n).
    kept
        The names of the buffers from which `remade` makes all others that `learn` leaves for the next iteration. They
        have a row for each colony.
    """

    kept: tuple[str, ...]

    def __init__(self, device: Device, instance: AntInstance, parameters: Parameters, powers: Powers,
                 keys: NDArray[np.uint32]) -> None:
        self.device, self.instance, self.parameters, self.powers = device, instance, parameters, powers
        self.keys, self.ants = keys, parameters.ants_of(instance.n)
        depositors = self.ants if parameters.variant == "ant-system" else 1
        self.unit = unit_of(instance.greedy_length, instance.bound, instance.n, depositors, parameters.evaporation)
        self.buffers = allocated(device, self.shapes(instance.n, len(keys), self.ants, parameters))
        colonies, words = len(keys), -(-instance.n // CITIES_A_WORD)
        found = self.buffers["found"] = device.empty(*found_shape(instance.n, colonies, self.ants))
        self.buffers["lengths"] = found.view(0, (colonies, self.ants))
        self.buffers["best"] = found.view(colonies * self.ants, (colonies, words))
        self.best = np.zeros((colonies, instance.n), np.uint16)
        self.buffers["cost"].upload(instance.cost)
        self.buffers["keys"].upload(keys)
        first = np.full(self.buffers["pheromone"].shape, self.unit.first_pheromone, np.uint64)
        self.buffers["pheromone"].upload(first)

    @staticmethod
    @abstractmethod
    def shapes(n: int, colonies: int, ants: int, parameters: Parameters) -> Shapes:
        """Return the shapes and types of all buffers but those of `found_shape`, by name."""

    def construct(self, iteration: int) -> NDArray[np.uint64]:
        """Construct the tours of all ants, find each colony's best one, and return all lengths, (colonies, ants)."""
        self.construct_on_device(iteration)
        return self.found()

    def found(self) -> NDArray[np.uint64]:
        """Find each colony's best tour on the device, and return all lengths: one copy to the host brings both."""
        own, (colonies, n), kernel = self.buffers, self.best.shape, self.device.kernel(BEST_FILE, "best_tours")
        kernel(colonies, ANT_THREADS, sizes=self.sizes(), lengths=own["lengths"], tours=own["tours"], best=own["best"])
        words = own["found"].download()
        lengths, tours = words[: colonies * self.ants], words[colonies * self.ants :]
        self.best = tours.view(np.uint16).reshape(colonies, -1)[:, :n]
        return lengths.reshape(colonies, self.ants)

    @abstractmethod
    def construct_on_device(self, iteration: int) -> None:
        """Construct the tours of all ants in the buffers."""

    @abstractmethod
    def learn(self, iteration: int, lengths: NDArray[np.uint64], incumbents: Incumbents) -> None:
        """Change the pheromone after an iteration."""

    @abstractmethod
    def remade(self, incumbents: Incumbents) -> bool:
        """Make what follows from the buffers that are kept. Return False if no run of this job leaves such buffers."""

    def rows(self) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of the host that `learn` changes in place, with a row for each colony."""
        return {}

    def tour(self, colony: int, ant: int) -> Buffer:
        """Return an ant's tour, uint16 (n,), which shares the memory of all tours."""
        n = self.instance.n
        return self.buffers["tours"].view((colony * self.ants + ant) * n, n)

    def construction(self, iteration: int) -> dict[str, dict[str, Argument]]:
        """Return the kernels' arguments `sizes`, `random` and `out` (cuda_src/ants/construction.cuh)."""
        own = self.buffers
        return {"sizes": self.sizes(), "random": {"iteration": iteration, "keys": own["keys"]},
                "out": {name: own[name] for name in ("open", "tours", "lengths")}}

    def sizes(self) -> dict[str, Argument]:
        """Return the kernels' argument `sizes`."""
        return {"n": self.instance.n, "ants": self.ants, "colonies": len(self.keys)}

    def close(self) -> None:
        """Give the device's memory back."""
        for buffer in self.buffers.values():
            buffer.free()


@dataclass
class Incumbents:
    """The best tours that some colonies have found, a row each.

    Attributes
    ----------
    numbers
        Shape (colonies,), int64: the colonies' numbers.
    length, tour
        The incumbent in terms of `AntInstance`: int64 (colonies,) and uint16 (colonies, n).
    iteration
        Shape (colonies,), int64: the iteration that found it.
    improvements
        (colony, iteration, length) of every incumbent so far, in order of time.
    """

    numbers: NDArray[np.int64]
    length: NDArray[np.int64]
    tour: NDArray[np.uint16]
    iteration: NDArray[np.int64]
    improvements: list[tuple[int, int, int]] = field(default_factory=list)

    def note(self, iteration: int, lengths: NDArray[np.uint64], search: Search) -> None:
        """Replace incumbents by an iteration's best tours, the first of equal ones, where these are better."""
        for colony, ant in enumerate(lengths.argmin(axis=1).tolist()):
            if lengths[colony, ant] < self.length[colony]:
                self.length[colony] = lengths[colony, ant]
                self.tour[colony] = search.best[colony]
                self.iteration[colony] = iteration
                self.improvements.append((int(self.numbers[colony]), iteration, int(self.length[colony])))


def found_shape(n: int, colonies: int, ants: int) -> tuple[tuple[int], type[np.uint64]]:
    """Return the words that an iteration brings to the host, and their type: lengths, and each colony's best tour."""
    return (colonies * (ants + -(-n // CITIES_A_WORD)),), np.uint64


def no_incumbents(numbers: range, n: int) -> Incumbents:
    """Return the incumbents of colonies that have not begun."""
    colonies = len(numbers)
    lengths, tours = np.full(colonies, NO_TOUR, np.int64), np.zeros((colonies, n), np.uint16)
    return Incumbents(np.array(numbers, np.int64), lengths, tours, np.zeros(colonies, np.int64))


def random_keys(seed: int, numbers: range) -> NDArray[np.uint32]:
    """Return the keys of the colonies' random numbers, shape (colonies, 2): 64 bits of a hash of (seed, number)."""
    digests = [hashlib.sha256(f"ant-colony {seed} {number}".encode()).digest()[:8] for number in numbers]
    return np.frombuffer(b"".join(digests), "<u4").astype(np.uint32).reshape(-1, 2)


@dataclass
class Exploration:
    """A run of all colonies, of which each rank iterates its own.

    Attributes
    ----------
    search
        The colonies of this rank, None if it has none.
    bound
        On rank 0 the lower bound of every tour, if there is one.
    iterations
        The iterations so far.
    """

    tsp: Tsp
    parameters: Parameters
    instance: AntInstance
    search: Search | None
    incumbents: Incumbents
    stop: SearchStop
    bound: TourBound | None = None
    history: History = field(default_factory=History)
    iterations: int = 0

    def __post_init__(self) -> None:
        """Tell the stop criterion about how many bytes of a checkpoint are this rank's."""
        search = self.search
        self.stop.nbytes = sum(search.buffers[name].nbytes for name in search.kept) if search else 0

    def run(self, report: Report) -> None:
        """Iterate until a stop criterion is met. Collective."""
        search, incumbents, stop, begun = self.search, self.incumbents, self.stop, self.iterations
        started, migration, last = time.perf_counter(), self.parameters.migration, False
        while not last:
            iteration = self.iterations
            lengths = search.construct(iteration) if search else np.empty((0, 1), np.uint64)
            if migration and iteration and iteration % migration == 0:
                lengths = self._migrate(lengths)
            if search:
                incumbents.note(iteration, lengths, search)
            best = int(incumbents.length.min(initial=NO_TOUR))
            last = stop.is_last(iteration, best)
            self.history.note(iteration, stop.seconds(), best, int(lengths.sum()), last)
            if lengths.size:
                pace = (iteration + 1 - begun) / max(1e-9, time.perf_counter() - started)
                own = [(length + self.instance.shift) / self.tsp.scale for length in (stop.best, float(lengths.mean()))]
                words = f"best {own[0]:.10g}, mean {own[1]:.10g}, {pace:.3g} iterations a second"
                report(stop.done(iteration), words)
            ended = last and stop.complete
            if search and not ended:
                search.learn(iteration, lengths, incumbents)
            self.iterations += 1
            if stop.wish != Wish.GO_ON and not ended:
                stop.checkpoints.save(self._state(), last=not stop.complete)

    def _migrate(self, lengths: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Put each colony's incumbent in the place of the longest tour of the next colony, in a ring. Collective.

        Return the lengths of all tours.
        """
        waiting, own = time.perf_counter(), self.incumbents
        parts = self.stop.comm.allgather((own.length.copy(), own.tour.copy()))
        self.stop.seconds_wait += time.perf_counter() - waiting
        length, tour = (np.concatenate(columns) for columns in zip(*parts))
        for row, number in enumerate(own.numbers.tolist()):
            ant = int(lengths[row].argmax())
            lengths[row, ant] = length[number - 1]
            if self.search:
                self.search.tour(row, ant).upload(tour[number - 1])
        if not self.search:
            return lengths
        self.search.buffers["lengths"].upload(lengths)
        return self.search.found()

    def _rows(self) -> Mapping[str, NDArray[Any]]:
        """Return the arrays on the host that have a row for each colony."""
        own, others = self.incumbents, self.search.rows() if self.search else {}
        return {"length": own.length, "tour": own.tour, "found": own.iteration, **others}

    def _state(self) -> State:
        """Return this rank's share of the state, with the pheromone updates of the last iteration. Collective."""
        search, stop = self.search, self.stop
        numbers = {"iterations": self.iterations, "seconds": stop.seconds(), "best": stop.best,
                   "improved": stop.improved, "step": self.history.step}
        parts: list[Part] = []
        if histories := stop.comm.gather(self.history):
            rows, seconds = merged(histories)
            parts += [part("history", 0, np.array(rows, np.int64).reshape(-1, 3)),
                      part("seconds", 0, np.array(seconds))]
        if search:
            first = int(self.incumbents.numbers[0])
            parts.append(part("improvements", 0, np.array(self.incumbents.improvements, np.int64).reshape(-1, 3)))
            parts += [part(name, first, values) for name, values in self._rows().items()]
            kept = [(name, search.buffers[name]) for name in search.kept]
            parts += [Part(name, first, buffer.shape, buffer.dtype, buffer.download) for name, buffer in kept]
        return State(numbers, parts, f"after {counted(self.iterations, 'iteration')}")

    def resume(self, saved: Saved) -> None:
        """Set colonies, history and stop criteria to those of a checkpoint."""
        search, stop, any_length = self.search, self.stop, range(2**63)
        self.iterations = saved.integer("iterations", 1, MOST_ITERATIONS)
        stop.started -= saved.seconds()
        stop.best, stop.improved = saved.integer("best", most=NO_TOUR), saved.integer("improved", most=self.iterations)
        self.history.step = saved.integer("step", 1)
        table = saved.gathered("history", (3,), np.int64, range(MOST_ROWS + 2)).tolist()
        times = saved.gathered("seconds", (), np.float64, range(len(table), len(table) + 1)).tolist()
        mine = stop.comm.rank == 0  # the rows of all ranks are merged there
        self.history.rows = [(iteration, at, best if mine else NO_TOUR, total if mine else 0)
                             for (iteration, best, total), at in zip(table, times)
                             if iteration % self.history.step == 0]
        if not search:
            return
        first = int(self.incumbents.numbers[0])
        wanted, rows = range(first, first + len(self.incumbents.numbers)), self._rows()
        better = saved.gathered("improvements", (3,), np.int64, ANY_COUNT, any_length).tolist()
        self.incumbents.improvements = [(colony, at, length) for colony, at, length in better if colony in wanted]
        for name, values in rows.items():
            values[...] = saved.rows(name, wanted, values.shape[1:], values.dtype, any_length)
        for name, lengths in (("tour", "length"), ("since_tour", "since_length")):
            if name in rows:
                saved.require(_are_tours(rows[name], rows[lengths], self.instance.cost), f"a tour of {name}")
        for name in search.kept:
            buffer = search.buffers[name]
            buffer.upload(saved.rows(name, wanted, buffer.shape[1:], buffer.dtype))
        saved.require(search.remade(self.incumbents), "its pheromone")

    def outcome(self, rank: Mapping[str, float | int]) -> Outcome:
        """Return the outcome, whose tables are on rank 0 only. Collective."""
        stop, scale = self.stop, self.tsp.scale
        parts = stop.comm.allgather(self.incumbents)
        best = min((part for part in parts if len(part.numbers)), key=lambda part: int(part.length.min()))
        row = int(best.length.argmin())
        tour = self.instance.order[best.tour[row]]
        tour = np.roll(tour, -int(tour.argmin()))  # from city 0
        tables: dict[str, Mapping[str, Column]] = {}
        if histories := stop.comm.gather(self.history):
            lengths = np.concatenate([part.length for part in parts]) + self.instance.shift
            own, optimum = lengths / scale, self.parameters.optimum
            tables["colonies"] = columns(COLONIES, {
                "colony": np.concatenate([part.numbers for part in parts]),
                "cost": lengths,
                "iteration": np.concatenate([part.iteration for part in parts]),
                "iterations": self.iterations,
                "mean": own.mean(),
                "median": np.median(own),
                "minimum": own.min(),
                "maximum": own.max(),
                "deviation": own.std(ddof=1) if len(own) > 1 else 0.0,
                "gap": (own - optimum) / abs(optimum) if optimum else None,
            })
            better = np.array(sorted(row for part in parts for row in part.improvements), np.int64)
            tables["improvements"] = columns(IMPROVEMENTS, {
                "colony": better[:, 0], "iteration": better[:, 1], "cost": better[:, 2] + self.instance.shift,
            })
            rows, seconds = merged(histories)
            least, tours = np.array([row[1] for row in rows], np.int64), self.parameters.ants_of(self.tsp.n) * len(own)
            assert (least < NO_TOUR).all()
            tables["history"] = columns(HISTORY, {
                "step": np.array([row[0] for row in rows], np.int64),
                "seconds": np.array(seconds),
                "best": (least + self.instance.shift) / scale,
                "mean": (np.array([row[2] / tours for row in rows]) + self.instance.shift) / scale,
            })
        if self.bound is not None:
            tables |= multipliers_group(self.bound.proof)
        answer = Tour(int(best.length[row]) + self.instance.shift, tour.astype(np.int32), False)
        return Outcome(with_bound(answer, stop.bound), tables, rank, stop.reason, stop.complete)


def _are_tours(tours: NDArray[Any], lengths: NDArray[np.int64], cost: NDArray[np.int32]) -> bool:
    """Return whether each row is a tour of its length, or has the length `NO_TOUR`."""
    if tours.max(initial=0) >= len(cost):
        return False
    each = (np.sort(tours, axis=1) == np.arange(len(cost))).all(axis=1)
    added = cost[tours, np.roll(tours, -1, axis=1)].sum(axis=1, dtype=np.int64)
    return bool((each & (added == lengths) | (lengths == NO_TOUR)).all())
