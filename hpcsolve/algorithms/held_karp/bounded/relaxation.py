"""The relaxation on a device: lower bounds of completions for all places, and the arcs that they rule out.

Its kernels and the meaning of a bound are in cuda_src/held_karp/bounds.cu. Each city remembers some cities, by colours,
slots and masks; all is chosen in integers, so that every machine chooses the same.

What is proven rests on three facts: a tour of cost c has the reduced cost scale * c + shift, no value is negative, and
values saturate at `NO_PATH`. So a bound proves something about tours of at most some cost only while their reduced
cost is below `NO_PATH`, and every call that proves anything checks that (`limit_of`).

The rows of large tables, one for each city, are dealt to ranks. The ranks of a group compute some cities' rows each and
send them to one another, so that each has the whole table, from which the next place's rows are computed. Groups are
small, since every rank sends to every other one of its group. All groups compute the same tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.held_karp.bounded.devices import Devices
from hpcsolve.algorithms.held_karp.bounded.places import PlaceCosts
from hpcsolve.algorithms.held_karp.problem import NO_PATH as NO_PATHS
from hpcsolve.algorithms.held_karp.problem import SetLoads
from hpcsolve.device.base import Argument, Buffer, Device
from hpcsolve.parallel.comm import Comm, Request, SerialComm, even_shares
from hpcsolve.problems.tsp import NO_ARC

WISH = 1 << 20
"""The unit of wishes, which say how useful it is that a city is remembered at another one."""
SWEEPS = 20
"""The most rounds over all cities in which colours are improved."""
GROUP = 8
"""The most ranks that share the rows of a table."""
WORK = 1 << 23
"""The fewest min-adds (an addition and a minimum) for which a table is dealt, per unit of a device.

A unit is a CPU's thread or a GPU's multiprocessor. A thread takes about 1 ms for so many. The rows of a smaller table
take longer to send than to compute.
"""
FILE = "held_karp/bounds"
NO_PATH = NO_PATHS[4]
"""The value at which reduced costs and bounds saturate."""
NO_SCALED_ARC = np.int64(2**61)
"""`NO_ARC` among scaled costs, so small that no sum with it overflows."""
THREADS = 128
TILE = 4
FEWEST_SLOTS = 5
"""A row of 2^5 bounds fills the 32 lanes of a warp, or two registers of a CPU."""
MOST_BOUNDS = 1 << 24
"""The most bounds of a table with time windows, for which a problem of many cities has fewer slots."""
FLOORS = np.where(np.arange(33)[:, None] & (32 + np.arange(32)), NO_PATH, 0).astype(np.uint32)
"""`NO_PATH` where row and column share a bit and in all of row 32, which stands for a high bit, and 0 elsewhere."""


@dataclass(frozen=True)
class Slots:
    """The memory of every city, as the kernels have it.

    Attributes
    ----------
    memory
        Shape (m, slots), uint8: the city that each city remembers in each slot; m where there is none.
    keep, put
        Shape (m, m), uint32: the masks of each arc.
    barred, barred_past
        Shape (m,), uint32: for completions and for beginnings, the slots of the city itself and of the cities that
        precedence excludes from the visited part.
    own
        Shape (m,), uint32: the slot of the city itself.
    """

    memory: NDArray[np.uint8]
    keep: NDArray[np.uint32]
    put: NDArray[np.uint32]
    barred: NDArray[np.uint32]
    barred_past: NDArray[np.uint32]
    own: NDArray[np.uint32]

    @property
    def count(self) -> int:
        """Number of slots."""
        return len(self.memory[0])


def first_wishes(problem: PlaceCosts) -> NDArray[np.int64]:
    """Return the wish of each city to remember each other one, shape (m, m): the nearest ones most."""
    middle = problem.cost[problem.cities // 2]
    return wishes_for(np.minimum(middle, middle.T))


def wishes_for(distance: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the wish of each city to remember each other one: the least distant ones most. Shapes (m, m)."""
    near = distance.copy()
    np.fill_diagonal(near, NO_ARC)
    rank = np.argsort(np.argsort(near, axis=1, kind="stable"), axis=1, kind="stable")
    wishes = WISH // (2 + rank)
    np.fill_diagonal(wishes, 0)
    return wishes


def learn_wishes(wishes: NDArray[np.int64], problem: Orders, path: list[int]) -> None:
    """Raise the wishes of the cities between two visits of a relaxed tour to one city to remember that city.

    The second visit may also be one to a city that must come before it.
    """
    at = np.array(path, np.int64)
    again = np.triu((at[:, None] == at) | problem.before[np.ix_(at, at)], 1)
    for a in np.flatnonzero(again.any(axis=1)).tolist():
        b, city = int(again[a].argmax()), path[a]
        between = [c for c in path[a + 1 : b + 1] if c != city]
        np.add.at(wishes, (between, city), 3 * WISH // (10 * (b - a)))


def colours(wishes: NDArray[np.int64], count: int, old: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return a colour for each city, if possible another one than those of the cities that it should remember."""
    m = len(wishes)
    clash = wishes + wishes.T
    for row in wishes:
        clash += np.minimum(row[:, None], row[None, :])
    np.fill_diagonal(clash, 0)
    chosen = np.full(m, -1) if old is None else np.where(old < count, old, -1)
    for _ in range(SWEEPS):
        before = chosen.copy()
        for city in range(m):
            bad = np.zeros(count, np.int64)
            coloured = chosen >= 0
            np.add.at(bad, chosen[coloured], clash[city, coloured])
            best = int(bad.argmin())
            if chosen[city] < 0 or bad[best] < bad[chosen[city]]:
                chosen[city] = best
        if np.array_equal(before, chosen):
            break
    return chosen


def make_slots(problem: Orders, wishes: NDArray[np.int64], chosen: NDArray[np.int64], count: int) -> Slots:
    """Return the slots of cities with these colours. Of each colour a city remembers the one with its largest wish."""
    m = len(wishes)
    memory = np.full((m, count), m, np.uint8)
    for slot in range(count):
        members = np.flatnonzero(chosen == slot)
        if len(members):
            memory[:, slot] = members[wishes[:, members].argmax(axis=1)]
    memory[np.arange(m), chosen] = np.arange(m)
    return with_memory(problem, memory)


def with_memory(problem: Orders, memory: NDArray[np.uint8]) -> Slots:
    """Return the slots of cities with these memories (`Slots.memory`)."""
    m, count = memory.shape
    bit = np.uint32(1) << np.arange(count, dtype=np.uint32)
    city = np.arange(m)[:, None]
    same = (memory[:, None] == memory[None, :]) & (memory < m)[:, None] & (memory != city)[:, None]
    put = memory[None, :] == city[:, :, None]
    own = memory == city
    # Column m of both is a city that is never there.
    before, after = (np.pad(table, ((0, 0), (0, 1))) for table in (problem.before, problem.before.T))
    return Slots(memory, *((table * bit).sum(axis=-1, dtype=np.uint32) for table in (
        same, put, own | np.take_along_axis(after, memory.astype(np.int64), axis=1),
        own | np.take_along_axis(before, memory.astype(np.int64), axis=1), own)))


@dataclass
class Deal:
    """Which rows each rank of this rank's group computes.

    Attributes
    ----------
    cities
        Number of rows.
    units
        The most units of any rank's device.
    work
        As `WORK`.
    first
        The first rank of the group.
    shares
        The cities whose rows each rank of the group computes.
    bytes_sent
        Bytes that this rank has sent so far.
    """

    comm: Comm
    cities: int
    units: int = 1
    work: int = WORK
    first: int = field(init=False)
    shares: list[range] = field(init=False)
    bytes_sent: int = 0

    def __post_init__(self) -> None:
        """Form groups of nearly equal size."""
        size = self.comm.size
        group = next(ranks for ranks in even_shares(size, -(-size // GROUP)) if self.comm.rank in ranks)
        self.first, self.shares = group.start, even_shares(self.cities, len(group))

    def deals(self, work: int) -> bool:
        """Return whether a table of so many min-adds is dealt. The same on every rank."""
        return self.comm.size > 1 and work >= self.work * self.units

    @property
    def own(self) -> range:
        """The cities whose rows of a dealt table this rank computes."""
        return self.shares[self.comm.rank - self.first]

    def complete(self, table: Buffer, staging: NDArray[np.uint32]) -> None:
        """Fill in the rows of a dealt table that the group's other ranks have computed. Collective.

        Parameters
        ----------
        staging
            Host memory in the shape of the table, which messages pass through.
        """
        comm, length, requests = self.comm, table.shape[0] // self.cities, list[Request]()
        others: list[tuple[Buffer, NDArray[Any]]] = []
        for rank, cities in enumerate(self.shares, self.first):
            rows = staging[cities.start * length : cities.stop * length]
            part = table.view(cities.start * length, len(rows))
            if rank != comm.rank:
                requests += [comm.receive(rows, rank)] if len(rows) else []
                others.append((part, rows))
                continue
            part.download(rows)
            for other in range(self.first, self.first + len(self.shares)):
                if other != rank and len(rows):
                    requests.append(comm.send(rows, other))
                    self.bytes_sent += rows.nbytes
        for request in requests:
            request.wait()
        for part, rows in others:
            part.upload(rows)

    def all_of(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which flags are set on every rank. Collective."""
        bits = np.bitwise_and.reduce(self.comm.allgather(np.packbits(flags)))
        whole: NDArray[np.bool_] = np.unpackbits(bits, count=flags.size).astype(bool).reshape(flags.shape)
        return whole


@dataclass(frozen=True)
class Relaxed:
    """A cheapest relaxed tour.

    Attributes
    ----------
    reduced
        Its reduced cost, or `NO_PATH` if no relaxed tour has a smaller one.
    shift
        The reduced cost of a tour minus scale times its cost, which is the same for all tours.
    path
        The city at each place, empty if there is no tour.
    """

    reduced: int
    shift: int
    path: list[int]


class Orders(Protocol):
    """What tables of bounds and layers need to know of a problem."""

    @property
    def cities(self) -> int:
        """The number m of cities beside the depot."""

    @property
    def before(self) -> NDArray[np.bool_]:
        """Shape (m, m), transitive: before[i, j] where j comes before i."""

    @property
    def loads(self) -> SetLoads | None:
        """What the cities load, or None."""


Completion: TypeAlias = Callable[[int, Sequence[int]], int]
"""Function of a state's value and the rest of an order, which returns the order's value (`Completing`)."""


class Bounds(Protocol):
    """What layers need to know of the bounds of completions.

    Attributes
    ----------
    labels
        Whether the values of states are labels (layers.cu).
    slope
        What a label can lose at most, in reduced cost, for each unit of time by which it is earlier than another one.
    sooner_first
        Whether a narrow layer keeps the states of least value in place of those of least bound.
    """

    labels: bool
    slope: int
    sooner_first: bool
    device: Device
    slots: Slots | None

    @property
    def problem(self) -> Orders:
        """The problem."""

    def open_arcs(self) -> NDArray[np.bool_]:
        """Return which arcs there are at each place, shape (m + 1, m, m), or at all of them, shape (1, m, m)."""

    def first_values(self, limit: int) -> NDArray[np.unsignedinteger]:
        """Return the value of the state with each city alone, the largest number where it is on no order in the limit.

        Not all of these states must be found.
        """

    def layer_tables(self) -> dict[str, NDArray[Any]]:
        """Return the tables that layers need beside those on the device."""

    def due_times(self) -> NDArray[np.int64] | None:
        """Return by when service must begin at each city to reach each other one in time, or None without windows."""

    def tables_of(self, place: int, bounds_place: int) -> dict[str, Argument]:
        """Return what the kernels of layers need of a place beside memories: costs, windows, and bounds of one."""


class Completing(Bounds, Protocol):
    """What the search back for an order needs beside it."""

    def completion(self) -> Completion:
        """Return the function of a state's value and of the rest of an order, which gives the order's value.

        The rest is the state's city with those that follow it to the depot. The order's value is `NO_PATH` or more
        where there is no such order.
        """


class BoundTables(ABC):
    """Lower bounds of completions for all places, on the device that serves the present memories.

    Attributes
    ----------
    slots
        The present memories, or None before the first `remember`.
    device, buffers
        Where the tables are, and the tables: nowhere before the first `remember`. The problem's own are "cost", and
        "least" and "most", the ranges of values.
    cost_step, range_step
        Distance from the costs of one place to those of the next one, 0 if all are the same; of ranges likewise.
    small
        Whether one block computes the tables of all places in a launch.
    deal, dealt
        How rows are dealt to ranks, and whether they are, with the present memories.
    rows
        The cities whose rows this rank computes.
    """

    device: Device
    cost_step: int
    range_step: int
    labels = False
    """Whether the values of states are labels."""
    sooner_first = False
    """Whether a narrow layer keeps the states of least value in place of those of least bound."""
    slope = 0
    """What an earlier label may lose: nothing."""

    def __init__(self, problem: Orders, devices: Devices, deal: Deal | None = None) -> None:
        self.problem, self.cities, self.devices = problem, problem.cities, devices
        self.deal = deal or Deal(SerialComm(), self.cities)
        self.buffers: dict[str, Buffer] = {}
        self.slots: Slots | None = None
        self.small, self.dealt, self.rows, self.staging = False, False, range(self.cities), np.empty(0, np.uint32)

    @abstractmethod
    def arcs_of_a_place(self) -> int:
        """Return about how many arcs lead from one place to the next."""

    @abstractmethod
    def own_tables(self, device: Device) -> dict[str, Buffer]:
        """Return the problem's tables on a device."""

    @abstractmethod
    def first_costs(self) -> Buffer:
        """Return the costs of the arcs from the depot, shape (m,)."""

    @abstractmethod
    def earliest(self) -> Buffer:
        """Return the least value of a state at each city, shape (m,)."""

    def remember(self, slots: Slots) -> None:
        """Take these memories. The bounds are undefined until they are computed."""
        assert slots.count >= FEWEST_SLOTS
        work = self.arcs_of_a_place() << slots.count >> 1
        self.dealt = self.deal.deals(work)
        self.small = self.devices.are_small(work) and not self.dealt
        device = self._settled(self.devices.for_tables(work))
        resized = self.slots is None or slots.count != self.slots.count or "bounds" not in self.buffers
        for name in ("keep", "put", "barred", "barred_past", "own", *(("bounds",) if resized else ())):
            if name in self.buffers:
                self.buffers.pop(name).free()
        for name in ("keep", "put", "barred", "barred_past", "own"):
            self.buffers[name] = device.upload(vars(slots)[name])
        if resized:
            self.buffers["bounds"] = device.empty((self.cities + 1, self.cities << slots.count), np.uint32)
        self.slots = slots
        self.rows = self.deal.own if self.dealt else range(self.cities)
        self.staging = device.staging(self.layer if self.dealt else 0, np.uint32)

    @property
    def layer(self) -> int:
        """Number of bounds of a place."""
        assert self.slots is not None
        return self.cities << self.slots.count

    def bounds_of(self, place: int) -> Buffer:
        """Return the bounds of the cities at a place, 1 to m."""
        return self.buffers["bounds"].view(place * self.layer, self.layer)

    def open_arcs(self) -> NDArray[np.bool_]:
        """Return which arcs there are, as `Bounds` has them."""
        return self.buffers["cost"].download().reshape(-1, self.cities, self.cities) < NO_PATH

    def first_values(self, limit: int) -> NDArray[np.uint32]:
        """Return the value of the state with each city alone, the largest number where its bound exceeds the limit."""
        values = np.maximum(self.first_costs().download(), self.earliest().download())
        bounds = self.bounds_of(1).download().reshape(self.cities, -1)[:, 0]
        return np.where(values.astype(np.int64) + bounds <= limit, values, np.uint32(2**32 - 1))

    def layer_tables(self) -> dict[str, NDArray[Any]]:
        """Return the tables that layers need beside those on the device: none."""
        return {}

    def due_times(self) -> NDArray[np.int64] | None:
        """Return None: there are no windows."""
        return None

    def tables_of(self, place: int, bounds_place: int) -> dict[str, Argument]:
        """Return the costs of a place, and the bounds of one, as the kernels of layers have them."""
        cost = self.buffers["cost"].view(place * self.cost_step, self.cities**2)
        none: dict[str, Argument] = {"hours": 0, "departures": None, "travel": None, "leave": None}
        return {"cost": cost, "earliest": self.earliest(), "bounds": self.bounds_of(bounds_place), **none}

    def close(self) -> None:
        """Free the memory on the device."""
        for buffer in self.buffers.values():
            buffer.free()
        self.buffers.clear()

    def from_the_end(self, last: Buffer, step: int) -> None:
        """Compute the bounds of all places, the last one's from the costs of the arcs to the depot. Collective."""
        own, m, layer = self.buffers, self.cities, self.layer
        self._begin(m, own["barred"], last, step, self.bounds_of(m))
        self._relax(range(m - 1, 0, -1), own["barred"], self._arcs(m, 1), layer, own["bounds"].view(layer, m * layer),
                    own["bounds"])

    def _settled(self, device: Device) -> Device:
        """Return the device after tables were made on it, if there are none yet."""
        if self.buffers and self.device is device:
            return device
        self.close()
        self.device = device
        self.buffers = {**self.own_tables(device), "floors": device.upload(FLOORS)}
        return device

    def _begin(self, place: int, barred: Buffer, cost: Buffer, step: int, to: Buffer) -> None:
        kernel = self.device.kernel(FILE, "bounds_begin")
        blocks = 1 if self.small else self.cities
        kernel(blocks, THREADS, place=place, memory=self._memory(barred), ranges=self._ranges(), step=step, cost=cost,
               to=to)

    def _relax(self, places: range, barred: Buffer, arcs: dict[str, Argument], step: int, source: Buffer,
               target: Buffer) -> None:
        """Compute the tables of some places, one from the other. That of place k begins at element k * step."""
        given: dict[str, Argument] = {
            "memory": self._memory(barred), "ranges": self._ranges(), "arcs": arcs,
            "tables": {"step": step, "source": source, "target": target},
        }
        if self.small:
            relax_all = self.device.kernel(FILE, "bounds_relax_small")
            relax_all(1, THREADS, place=places.start, places=len(places), **given)
            return
        relax, parts = self.device.kernel(FILE, "bounds_relax"), self._parts()
        for some in (range(place, place + 1) for place in places) if self.dealt else (places,):
            relax.each("place", some, len(self.rows) * parts, THREADS, first=self.rows.start, parts=parts, **given)
            if self.dealt:
                self.deal.complete(target.view(some.start * step, self.layer), self.staging)

    def _memory(self, barred: Buffer) -> dict[str, Argument]:
        assert self.slots is not None
        own = self.buffers
        return {"cities": self.cities, "slots": self.slots.count, "keep": own["keep"], "put": own["put"],
                "barred": barred, "floors": own["floors"]}

    def _ranges(self) -> dict[str, Argument]:
        return {"place": self.range_step, "least": self.buffers["least"], "most": self.buffers["most"]}

    def _arcs(self, row: int, column: int) -> dict[str, Argument]:
        return {"place": self.cost_step, "row": row, "column": column, "cost": self.buffers["cost"]}

    def _parts(self) -> int:
        """Return how many blocks share a row: one on a CPU, where the rows alone keep all cores busy."""
        assert self.slots is not None
        if self.device.info.kind == "cpu":
            return 1
        return max(1, (1 << self.slots.count) // (THREADS * TILE))


class Relaxation(BoundTables):
    """The bounds of a sum of costs by place, with multipliers of the cities.

    Attributes
    ----------
    scale
        Units of reduced cost in a unit of cost.
    shift
        As in `Relaxed`, for the multipliers of the last `solve`.
    """

    problem: PlaceCosts
    range_step = 0
    returns = False
    """Whether multipliers return to the best ones where they become no better."""

    def __init__(self, problem: PlaceCosts, devices: Devices, scale: int, deal: Deal | None = None) -> None:
        super().__init__(problem, devices, deal)
        self.scale, self.shift = scale, 0
        self.cost_step = problem.cities**2
        self.scaled = np.where(problem.allowed, problem.cost, 0) * scale
        self.scaled[~problem.allowed] = NO_SCALED_ARC
        self.windows = np.empty(0, np.int64)

    def arcs_of_a_place(self) -> int:
        """Return the arcs that are left, on average of the places."""
        m = self.cities
        return int((self.scaled[1:m] != NO_SCALED_ARC).sum()) // max(1, m - 1)

    def own_tables(self, device: Device) -> dict[str, Buffer]:
        """Return costs, multipliers and what `solve` finds."""
        m = self.cities
        return {
            "scaled": device.upload(self.scaled), "cost": device.empty((m + 1, m, m), np.uint32),
            "multiplier": device.zeros(m, np.int64), "offset": device.zeros(m + 1, np.int64),
            "found": device.zeros(m + 2, np.int64), "least": device.zeros(m, np.uint32),
            "most": device.upload(np.full(m, NO_PATH, np.uint32)),
        }

    def first_costs(self) -> Buffer:
        """Return the reduced costs of the arcs from the depot."""
        return self.buffers["cost"].view(0, self.cities)

    def last_costs(self) -> NDArray[np.int64]:
        """Return the costs of the arcs to the depot."""
        m = self.cities
        return self.buffers["cost"].view(m * m * m, m * m).download().reshape(m, m)[:, 0].astype(np.int64)

    def arc_values(self) -> list[NDArray[np.int64]]:
        """Return the costs of arcs by place, shape (m, m), `NO_PATH` where there is none."""
        m = self.cities
        return list(self.buffers["cost"].download().astype(np.int64).reshape(m + 1, m, m))

    def completion(self) -> Completion:
        """Return the function of an order's reduced cost, as `Completing` has it."""
        arcs, last, m = self.arc_values(), self.last_costs().tolist(), self.cities

        def cost(value: int, path: Sequence[int]) -> int:
            first = m - len(path) + 1  # the place of the state
            legs = enumerate(pairwise(path), first)
            return value + sum(int(arcs[place][leg]) for place, leg in legs) + int(last[path[-1]])

        return cost

    def earliest(self) -> Buffer:
        """Return zeros: there are no windows."""
        return self.buffers["least"]

    def first_wishes(self) -> NDArray[np.int64]:
        """Return the first wishes: for the nearest cities."""
        return first_wishes(self.problem)

    def first_multiplier(self) -> NDArray[np.int64]:
        """Return the first multipliers: none."""
        return np.zeros(self.cities, np.int64)

    def slots_for(self, count: int) -> int:
        """Return how many slots a level of `count` slots has: all of them."""
        return count

    def solve(self, multiplier: NDArray[np.int64]) -> Relaxed:
        """Compute all bounds for these multipliers, and return a cheapest relaxed tour. Collective.

        Parameters
        ----------
        multiplier
            Shape (m,), in units of reduced cost: what is taken off the cost of every arc to a city.
        """
        own, m = self.buffers, self.cities
        own["multiplier"].upload(multiplier)
        price, walk = (self.device.kernel(FILE, f"bounds_{name}") for name in ("price", "walk"))
        price(1 if self.small else m + 1, THREADS, cities=m,
              **{name: own[name] for name in ("scaled", "multiplier", "cost", "offset")})
        self.from_the_end(own["cost"].view(m * m * m, m * m), m)
        walk(1, 32, memory=self._memory(own["barred"]), costs=own["cost"], bounds=own["bounds"], offset=own["offset"],
             found=own["found"])
        *path, reduced, offsets = own["found"].download().tolist()
        self.shift = offsets - sum(multiplier.tolist())
        return Relaxed(reduced, self.shift, path if reduced < NO_PATH else [])

    def limit_of(self, cost: int) -> int | None:
        """Return the reduced cost of tours of this cost, or None if saturated values would prove nothing about it."""
        limit = self.scale * cost + self.shift
        return limit if limit < NO_PATH else None

    def fix(self, limit: int) -> int:
        """Remove arcs that no relaxed tour of reduced cost `limit` or less has, and return how many are left.

        Collective. An arc is removed at one place of the tour. The bounds must be those of the last `solve`. They are
        valid for what is left.
        """
        own, m, layer = self.buffers, self.cities, self.layer
        past = [self.device.empty(layer, np.uint32) for _ in range(2)]
        through = self.device.upload(np.full((m + 1, m, m), NO_PATH, np.uint32))
        memory = self._memory(own["barred_past"])
        self._begin(1, own["barred_past"], self.first_costs(), 1, past[1])
        meet = self.device.kernel(FILE, "bounds_through")
        for place in range(1, m):
            here, there = past[place % 2], past[(place + 1) % 2]
            meet(len(self.rows), THREADS, place=place, first=self.rows.start, memory=memory, own=own["own"],
                 costs=own["cost"], past=here, next=self.bounds_of(place + 1), through=through)
            self._relax(range(place, place + 1), own["barred_past"], self._arcs(1, m), 0, here, there)
        gone = through.download()[1:m] > limit
        if self.dealt:
            gone = self.deal.all_of(gone)
        self.scaled[1:m][gone] = NO_SCALED_ARC
        own["scaled"].upload(self.scaled)
        for buffer in (*past, through):
            buffer.free()
        return int((self.scaled[1:m] != NO_SCALED_ARC).sum())


def scale_for(problem: PlaceCosts, upper: int) -> int:
    """Return the scale that leaves the reduced cost of a tour of this cost far below `NO_PATH`, at least 1."""
    lifts = sum(max(0, -int(costs[costs != NO_ARC].min(initial=0))) for costs in problem.cost)
    return min(4096, max(1, (NO_PATH >> 4) // max(1, upper + lifts)))
