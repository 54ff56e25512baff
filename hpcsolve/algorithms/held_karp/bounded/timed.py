"""The relaxation by time on a device: lower bounds of the cost of completions where windows must be met.

Its kernels and the meaning of a bound are in cuda_src/held_karp/timed_bounds.cu. It has the interface of the relaxation
by place (relaxation.py), whose memories it takes.

What is proven rests on these facts: a tour of cost c has the reduced cost scale * c + shift, in which `BIAS` counts
for the arc from the depot and for the one to it. A bound that saturates is below the true one, so it remains a bound.
All that is to be checked is that no sum wraps: arcs cost at most `LARGEST_ARC`, and no completion, and no beginning
that visits cities once, costs less than `-LARGEST_ARC`. `solve` checks it, and `limit_of` is None where it fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.devices import Devices
from hpcsolve.algorithms.held_karp.bounded.relaxation import (
    FEWEST_SLOTS,
    FLOORS,
    MOST_BOUNDS,
    NO_PATH,
    NO_SCALED_ARC,
    TILE,
    Completion,
    Relaxed,
    Slots,
    wishes_for,
)
from hpcsolve.algorithms.held_karp.bounded.windows import TimedOrders, due_times, shortest_times
from hpcsolve.device.base import Argument, Buffer, Device
from hpcsolve.problems.tsp import NO_ARC

FILE = "held_karp/timed_bounds"
THREADS = 128
LARGEST_ARC = 1 << 28
BIAS = 2 * LARGEST_ARC
"""What is added to the arcs from the depot and to it, so that no beginning and no completion is negative."""
ROWS = 5000
"""Rows to aim at. There are more where a step of one unit of time, or of the shortest arc's time, needs more."""
MOST_ROWS = 50_000
"""Rows at which steps become longer than the shortest arc, which then needs more passes."""
MOST_WORK = 1 << 27
"""The most min-adds of a round. Where `FEWEST_SLOTS` slots need more, a round takes longer."""
LARGEST_VALUE = 1 << 26
"""The reduced cost that a tour of the first upper bound may have."""
COST = 2**32 - 1
"""The bits of a label that are its cost. Those above are its time."""
LONGEST_WALK = 4
"""The most cities of a relaxed tour that is followed, for each city of the problem."""


class Direction:
    """The rows of one direction of time, and the arcs in this direction, on a device.

    Parameters
    ----------
    earliest, latest
        Shape (m,): the windows, in this direction's time.
    arcs, time
        Shape (m, m): the arcs from row to column, and their times.
    until
        Shape (m,): the latest time at which a city can be the last one, -1 if none is.
    step
        Units of time in a step.
    together
        Steps of a run.
    short
        Shape (m,), bool: the cities that short arcs join.
    rates
        Shape (m + 1,): what each unit of the time costs at which service begins at a city, or the tour ends; or None.
    back
        Shape (m,): the time from each city to the end.
    home
        The time before which no tour ends.

    Attributes
    ----------
    rows
        Number of rows.
    """

    def __init__(
        self, device: Device, earliest: NDArray[np.int64], latest: NDArray[np.int64], arcs: NDArray[np.bool_],
        time: NDArray[np.int64], until: NDArray[np.int64], step: int, together: int, short: NDArray[np.bool_],
        rates: NDArray[np.int64] | None, back: NDArray[np.int64], home: int,
    ) -> None:
        first = earliest // step
        counts = latest // step - first + 1
        offset = np.cumsum(counts) - counts
        city = np.repeat(np.arange(len(counts)), counts)
        at = np.arange(len(city)) - (offset - first)[city]
        run = (int(at.max()) - at) // together
        order = np.lexsort((city, ~short[city], run))
        run, city, at = run[order], city[order], at[order]
        begin = np.flatnonzero(np.diff(run, prepend=-1))
        self.rows, self.runs, self.device = len(city), len(begin), device
        self.widest = int(np.diff(begin, append=len(city)).max())
        self.tail, self.head = np.nonzero(arcs)
        tables = {
            "begin": np.searchsorted(self.tail, np.arange(len(arcs) + 1)), "cost": np.zeros(len(self.tail)),
            "time": time[self.tail, self.head], "earliest": earliest, "latest": latest, "end": np.zeros(len(arcs)),
            "runs": np.append(begin, len(city)), "again": begin + np.add.reduceat(short[city].astype(np.int64), begin),
            "step": at,
            "back": np.minimum(back, NO_PATH),
        }
        own = self.buffers = {name: device.upload(values.astype(np.uint32)) for name, values in tables.items()}
        own |= {"head": device.upload(self.head.astype(np.uint8)), "city": device.upload(city.astype(np.uint8)),
                "row": device.upload((offset - first).astype(np.int32)),
                "until": device.upload(until.clip(-1, NO_PATH).astype(np.int32))}
        self.rate = None if rates is None else device.upload(rates[:-1].astype(np.uint32))
        self.arguments: dict[str, dict[str, Argument]] = {
            "arcs": {name: own[name] for name in ("begin", "head", "cost", "time")},
            "cities": {"step": step, "rate": self.rate, "home": home,
                       "home_rate": 0 if rates is None else int(rates[-1]),
                       **{name: own[name] for name in ("earliest", "latest", "row", "end", "until", "back")}},
            "runs": {"begin": own["runs"], **{name: own[name] for name in ("again", "city", "step")}},
        }

    def relax(self, costs: NDArray[np.int64], ends: NDArray[np.int64], small: bool, passes: int, parts: int,
              **given: Argument) -> None:
        """Compute all rows.

        Parameters
        ----------
        costs, ends
            Shape (arcs,) and (m,): of the arcs, and of the arc from each city to the end of this direction.
        small
            Whether one block computes all runs.
        passes
            Passes after the first one.
        parts
            Blocks that share a row.
        given
            The memory and the tables, as the kernels have them.
        """
        self.buffers["cost"].upload(costs.astype(np.uint32))
        self.buffers["end"].upload(ends.astype(np.uint32))
        given |= self.arguments
        if small:
            self.device.kernel(FILE, "timed_relax_small")(1, THREADS, count=self.runs, passes=passes, **given)
            return
        kernel, grid = self.device.kernel(FILE, "timed_relax"), self.widest * parts
        if passes == 0:
            kernel.each("run", range(self.runs), grid, THREADS, again=0, parts=parts, **given)
            return
        for run in range(self.runs):
            kernel.each("again", range(passes + 1), grid, THREADS, run=run, parts=parts, **given)

    def close(self) -> None:
        """Free the memory on the device."""
        for buffer in (*self.buffers.values(), *([self.rate] if self.rate else [])):
            buffer.free()


class TimedRelaxation:
    """The tables of one problem with windows, on the device that serves the present memories.

    Attributes
    ----------
    scale, shift
        As in `Relaxation`.
    scaled
        Shape (m + 1, m + 1), int64: scale times the cost of each arc that is left, else `NO_SCALED_ARC`.
    rates
        Shape (m + 1,), int64: scale times the `rates` of the problem, or None.
    windows
        Shape (2, m), int64: the windows that are left, the earliest times and the latest ones.
    multiplier
        Shape (m,): those of the last `solve`.
    step
        Units of time in a step.
    passes
        How many more passes the rows take that short arcs join.
    end
        The last unit of time of the last step, from which time is counted where it is turned round.
    device, buffers, small
        As in `Relaxation`.
    """

    device: Device
    completions: Direction
    labels = True
    """Whether the values of states are labels."""
    sooner_first = False
    """Narrow layers keep the labels of least bound."""
    returns = True
    """Whether multipliers return to the best ones where they become no better."""

    def __init__(self, problem: TimedOrders, devices: Devices, scale: int) -> None:
        m = problem.cities
        self.problem, self.devices, self.scale, self.shift = problem, devices, scale, 0
        self.slope = 0 if problem.hours is None or problem.rates is not None else scale
        there = problem.time != NO_ARC
        self.scaled = np.where(there, np.where(there, problem.cost, 0) * scale, NO_SCALED_ARC)
        self.rates = None if problem.rates is None else problem.rates * scale
        self.windows = np.stack([problem.earliest[:m], problem.latest[:m]])
        self.slots: Slots | None = None
        self.sound = False
        self.buffers: dict[str, Buffer] = {}

    def first_wishes(self) -> NDArray[np.int64]:
        """Return the first wishes: for the nearest cities that may come before or after."""
        time, before = self.problem.time[:-1, :-1], self.problem.before
        near = np.where((time == NO_ARC) | (time.T == NO_ARC), NO_ARC // 4, time // 2 + time.T // 2)
        wishes = wishes_for(near)
        wishes[before | before.T] = 0
        return wishes

    def first_multiplier(self) -> NDArray[np.int64]:
        """Return the first multipliers: what reduced rows and then reduced columns take off."""
        least = np.where(self.scaled == NO_SCALED_ARC, NO_SCALED_ARC, self.scaled + self._least_of_times())
        rows = least.min(axis=1)
        rows[-1] = 0
        columns = (least - rows[:, None]).min(axis=0)
        return np.where(columns + rows < NO_SCALED_ARC, columns + rows, 0)[:-1]

    def slots_for(self, count: int) -> int:
        """Return the slots of a level, `count` or fewer, so that a round has at most `MOST_WORK` min-adds."""
        arcs = (self.scaled[:-1, :-1] != NO_SCALED_ARC).sum(axis=1)
        rows = (self.latest - self.earliest) // self._step()[0] + 1
        most = max(int((arcs * rows).sum()) / MOST_WORK, 2 * int(rows.sum()) / MOST_BOUNDS)
        return next(slots for slots in range(count, 0, -1) if slots == FEWEST_SLOTS or most * 2 ** (slots - 1) <= 1)

    def remember(self, slots: Slots) -> None:
        """Take these memories. The bounds are undefined until the next `solve`."""
        m = self.problem.cities
        self.close()
        self.slots, self.arcs, self.time = slots, self.scaled[:m, :m] != NO_SCALED_ARC, self.problem.time[:m, :m]
        self.step, shortest, length = self._step()
        group = _connected(self.arcs & (self.time < self.step))
        sizes = np.bincount(group)
        self.passes = int(sizes.max()) // 2 * 2  # an even number, so that the last pass fills the table
        self.end = (int(self.latest.max()) // self.step + 1) * self.step - 1
        self.steps = self.step, max(1, shortest // self.step), sizes[group] > 1
        work = (length // self.step * int(self.arcs.sum()) // m << slots.count >> 1) // (self.end // self.step + 1)
        self.small = self.devices.are_small(work)
        self.device = device = self.devices.for_tables(work)
        until = np.where(self.scaled[:m, m] == NO_SCALED_ARC, -1, self.problem.latest[m] - self.problem.time[:m, m])
        self.completions = Direction(device, self.earliest, self.latest, self.arcs, self.time, until, *self.steps,
                                     self.rates, self.problem.time[:m, m], int(self.problem.earliest[m]))
        leaves = np.flatnonzero(self.scaled[m, :m] != NO_SCALED_ARC)
        tables = {
            **{name: vars(slots)[name] for name in ("keep", "put", "barred", "barred_past", "own")},
            "floors": FLOORS, "leave begin": np.array([0, len(leaves)], np.uint32),
            "leave head": leaves.astype(np.uint8), "leave time": self.problem.time[m, leaves].astype(np.uint32),
        }
        self.buffers = {name: device.upload(table) for name, table in tables.items()} | {
            "leave cost": device.empty(len(leaves), np.uint32), "spare": device.empty(m << slots.count, np.uint32),
            "bounds": device.empty(self.completions.rows << slots.count, np.uint32),
            "least": device.empty(1, np.uint32), "found": device.empty(2 + LONGEST_WALK * m, np.int32),
        }
        self.leaves = leaves

    def solve(self, multiplier: NDArray[np.int64]) -> Relaxed:
        """Compute all bounds for these multipliers, and return a cheapest relaxed tour.

        Parameters
        ----------
        multiplier
            Shape (m,), in units of reduced cost: what is taken off the cost of every arc to a city.
        """
        m, own, scaled = self.problem.cities, self.buffers, self.scaled
        self.multiplier, self.shift = multiplier, 2 * BIAS - sum(multiplier.tolist())
        leaves = scaled[m, self.leaves] - multiplier[self.leaves]
        ends = np.where(scaled[:m, m] == NO_SCALED_ARC, 0, scaled[:m, m])
        costs = scaled[self.completions.tail, self.completions.head] - multiplier[self.completions.head]
        # The arcs to each city once, and one to the depot: no beginning that visits cities once costs less.
        cheapest = np.minimum(0, scaled.min(axis=0) - np.append(multiplier, 0)).sum()
        largest = max(int(np.abs(some).max(initial=0)) for some in (leaves, ends, costs))
        if self.rates is not None:
            largest += int(self.rates.max()) * int(max(self.latest.max(), self.problem.deadline))
        self.sound = largest <= LARGEST_ARC and bool(cheapest >= -LARGEST_ARC)
        if not self.sound:
            return Relaxed(NO_PATH, self.shift, [])
        self.sound = self._relax(self.completions, costs, scaled[:m, m], own["barred"], own["bounds"])
        begun = np.maximum(self.earliest, self.problem.time[m, :m])[self.leaves]
        first = 0 if self.rates is None else self.rates[self.leaves] * begun
        own["leave cost"].upload((leaves + BIAS + first).astype(np.uint32))
        leave = {key: own[f"leave {key}"] for key in ("begin", "head", "cost", "time")}
        arcs, cities = (self.completions.arguments[name] for name in ("arcs", "cities"))
        self.device.kernel(FILE, "timed_walk")(
            1, 32, room=LONGEST_WALK * m, memory=self._memory(own["barred"]), arcs=arcs, cities=cities, leave=leave,
            table=own["bounds"], found=own["found"])
        found = own["found"].download()
        return Relaxed(int(found[0]), self.shift, found[2 : 2 + found[1]].tolist())

    @property
    def earliest(self) -> NDArray[np.int64]:
        """When the windows begin that are left."""
        earliest: NDArray[np.int64] = self.windows[0]
        return earliest

    @property
    def latest(self) -> NDArray[np.int64]:
        """When they end."""
        latest: NDArray[np.int64] = self.windows[1]
        return latest

    @property
    def reduced(self) -> NDArray[np.int64]:
        """The reduced costs, in the shape of `scaled`: less the multipliers, with `BIAS` on the depot's arcs."""
        lift = np.zeros_like(self.scaled)
        lift[:, :-1] -= self.multiplier
        lift[-1] += BIAS
        lift[:, -1] += BIAS
        return np.where(self.scaled == NO_SCALED_ARC, NO_SCALED_ARC, self.scaled + lift)

    def _least_of_times(self) -> NDArray[np.int64]:
        """Return what the time at least costs at which service begins at each city, and the tour ends."""
        if self.rates is None:
            return np.zeros(self.problem.cities + 1, np.int64)
        least: NDArray[np.int64] = self.rates * np.append(self.earliest, self.problem.earliest[-1])
        return least

    def limit_of(self, cost: int) -> int | None:
        """Return the reduced cost of tours of this cost, or None if wrapped values would prove nothing about it."""
        limit = self.scale * cost + self.shift
        return limit if self.sound and limit < NO_PATH else None

    def fix(self, limit: int) -> int:
        """Remove arcs and ends of windows that no relaxed tour of reduced cost `limit` or less has.

        The bounds must be those of the last `solve`, and are undefined until the next one. Where times have prices, a
        beginning has those of the earliest times: a search back in time does not know when service begins.

        Returns
        -------
        int
            How many arcs between cities are left.
        """
        m, own, device = self.problem.cities, self.buffers, self.device
        until = np.where(self.scaled[m, :m] == NO_SCALED_ARC, -1, self.end - self.problem.time[m, :m])
        past = Direction(device, self.end - self.latest, self.end - self.earliest, self.arcs.T, self.time.T, until,
                         *self.steps, None, np.zeros(m, np.int64), 0)
        table = device.empty(past.rows << self._count, np.uint32)
        reduced, lift = self.reduced, self._least_of_times()[:m]
        starts = np.where(reduced[m, :m] == NO_SCALED_ARC, NO_SCALED_ARC, reduced[m, :m] - BIAS + lift)
        if self._relax(past, reduced[past.head, past.tail] + lift[past.tail], starts, own["barred_past"], table):
            forth, turn = self.completions, self.end // self.step
            through = device.upload(np.full(len(forth.tail), NO_PATH, np.uint32))
            ends = [device.upload(np.full(m, NO_PATH, np.uint32)) for _ in range(2)]
            device.kernel(FILE, "timed_through")(
                forth.rows, THREADS, limit=limit, turn=turn, memory=self._memory(own["barred"]), own=own["own"],
                table=own["bounds"], past_row=past.buffers["row"], past=table, through=through,
                first=ends[0], last=ends[1], **forth.arguments)
            gone = through.download() > limit
            self.scaled[forth.tail[gone], forth.head[gone]] = NO_SCALED_ARC
            first, last = (end.download().astype(np.int64) for end in ends)
            seen = first < NO_PATH
            ends_of_steps = (turn - last + 1) * self.step - 1
            self.windows[:, seen] = [np.maximum(self.earliest, first * self.step)[seen],
                                     np.minimum(self.latest, ends_of_steps)[seen]]
            for buffer in (through, *ends):
                buffer.free()
        past.close()
        table.free()
        assert self.slots is not None
        self.remember(self.slots)
        return int((self.scaled[:m, :m] != NO_SCALED_ARC).sum())

    def open_arcs(self) -> NDArray[np.bool_]:
        """Return which arcs there are at each place, shape (m + 1, m, m), or at all of them, shape (1, m, m)."""
        stands = self.problem.stands
        arcs: NDArray[np.bool_] = self.arcs[None]
        return arcs if stands.all() else arcs & np.roll(stands, -1, axis=0)[:, None]

    def completion(self) -> Completion:
        """Return the function of an order's reduced cost, as `Completing` has it."""
        schedule, depot, reduced = self.problem.schedule, self.problem.cities, self.reduced.tolist()
        rates = [0] * (depot + 1) if self.rates is None else self.rates.tolist()

        def cost(label: int, path: Sequence[int]) -> int:
            whole = [*path, depot]
            begins = schedule(whole, label >> 32)
            if begins is None:
                return NO_PATH
            of_times = sum(rates[city] * begin for city, begin in zip(whole[1:], begins[1:], strict=True))
            longer = self.problem.longer(whole, begins) if self.slope else 0
            legs = sum(int(reduced[tail][head]) for tail, head in pairwise(whole))
            return (label & COST) + of_times + legs + self.slope * longer

        return cost

    def first_values(self, limit: int) -> NDArray[np.uint64]:
        """Return the label of each city alone, the largest number where it cannot be the first one."""
        time, cost = self.problem.time[-1, :-1], self.reduced[-1, :-1]
        possible = (cost != NO_SCALED_ARC) & (time <= self.latest) & self.problem.stands[1]
        begins = np.maximum(time, self.earliest)
        if self.problem.hours is not None:  # before a window that is left no tour that matters begins
            begins = np.maximum(time, self.problem.earliest[:-1])
            possible &= begins >= self.earliest
        whole = np.where(possible, cost + (0 if self.rates is None else self.rates[:-1] * begins), 0)
        labels = begins.astype(np.uint64) << np.uint64(32) | whole.astype(np.uint64)
        return np.where(possible, labels, np.uint64(2**64 - 1))

    def layer_tables(self) -> dict[str, NDArray[Any]]:
        """Return the tables that layers need beside those on the device."""
        tables = {name: np.where(self.arcs, table, 0).astype(np.uint32)
                  for name, table in (("cost", self.reduced[:-1, :-1]), ("time", self.time))}
        if (hours := self.problem.hours) is None:
            return tables
        return {**tables, **hours.layer_tables(), "opens": self.problem.earliest[:-1].astype(np.uint32)}

    def due_times(self) -> NDArray[np.int64]:
        """Return by when service must begin at each city, as `Bounds` has it."""
        return due_times(self.latest, shortest_times(self.problem))

    def tables_of(self, place: int, bounds_place: int) -> dict[str, Argument]:
        """Return the windows and bounds as the kernels of layers have them, which are those of all places."""
        own, hours = self.completions.buffers, self.problem.hours
        none: dict[str, Argument] = dict.fromkeys(("departures", "travel", "leave", "opens"))
        return {"step": self.step, "bounds": self.buffers["bounds"], "rate": self.completions.rate,
                "slope": self.slope, **none, "hours": 0 if hours is None else len(hours.departures),
                **{name: own[name] for name in ("earliest", "latest", "row")}}

    def close(self) -> None:
        """Free the memory on the device."""
        if self.buffers:
            self.completions.close()
        for buffer in self.buffers.values():
            buffer.free()
        self.buffers.clear()

    def _step(self) -> tuple[int, int, int]:
        """Return the length of a step, the time of the shortest arc, and the sum of the windows' lengths."""
        time = self.problem.time[:-1, :-1]
        shortest = int(time[self.scaled[:-1, :-1] != NO_SCALED_ARC].min(initial=NO_PATH))
        length = int((self.latest - self.earliest + 1).sum())
        return max(1, length // MOST_ROWS, min(shortest, length // ROWS)), shortest, length

    @property
    def _count(self) -> int:
        assert self.slots is not None
        return self.slots.count

    def _memory(self, barred: Buffer) -> dict[str, Argument]:
        own = self.buffers
        return {"cities": self.problem.cities, "slots": self._count, "keep": own["keep"], "put": own["put"],
                "barred": barred, "floors": own["floors"]}

    def _relax(self, direction: Direction, costs: NDArray[np.int64], ends: NDArray[np.int64], barred: Buffer,
               table: Buffer) -> bool:
        """Compute all rows of a direction from reduced costs. Return whether none has a value that may have wrapped."""
        least = self.buffers["least"]
        least.upload(np.array([NO_PATH], np.uint32))
        ends = np.where(ends == NO_SCALED_ARC, NO_PATH, ends + BIAS)
        parts = 1 if self.device.info.kind == "cpu" else max(1, (1 << self._count) // (THREADS * TILE))
        direction.relax(costs, ends, self.small, self.passes, parts, memory=self._memory(barred),
                        tables={"table": table, "spare": self.buffers["spare"], "least": least})
        return int(least.download()[0]) >= LARGEST_ARC


def timed_scale(problem: TimedOrders, upper: int) -> int:
    """Return the scale that leaves reduced costs far from where sums wrap, at least 1."""
    largest = int(np.abs(problem.cost[problem.time != NO_ARC]).max(initial=1))
    if problem.rates is not None:
        largest += int((problem.rates * np.minimum(problem.latest, problem.horizon())).max())
    return max(1, min(4096, LARGEST_VALUE // max(1, upper), LARGEST_VALUE // max(1, largest)))


def _connected(linked: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for each city the first one that links of either direction connect it with. linked has shape (m, m).

    scipy has this too, but its import takes as long as all the rest of a short run.
    """
    linked = linked | linked.T | np.eye(len(linked), dtype=bool)
    group = np.arange(len(linked))
    while not np.array_equal(group, least := np.where(linked, group, len(linked)).min(axis=1, initial=len(linked))):
        group = least
    return group
