"""Ant System in Python's integers, step by step as the kernels' essays say. Kernels equal this model bit for bit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate

import numpy as np

LEAST_PHEROMONE = 2**16
ENOUGH = 2**18
MASK = 2**32 - 1


def philox(counter, key):
    """Philox4x32-10 (Salmon and others 2011)."""
    x, k = list(counter), list(key)
    for _ in range(10):
        a, b = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
        x = [b >> 32 ^ x[1] ^ k[0], b & MASK, a >> 32 ^ x[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return x


def shift_to_30_bits(x):
    """Return the shift to the right that leaves 30 bits of x."""
    return max(0, x.bit_length() - 30)


@dataclass
class Row:
    """The tables of one city: exact weights of the candidate list (head), coarse ones of the other cities (tail)."""

    weight: list[int]
    head: list[int]
    coarse: list[int] = field(init=False)

    def __post_init__(self):
        """Make the tables as cuda_src/ants/ant_system.cu does."""
        near = set(self.head)
        tail = [0 if j in near else w for j, w in enumerate(self.weight)]
        self.shift = shift_to_30_bits(sum(tail))
        self.coarse = [w + (1 << self.shift >> 1) >> self.shift for w in tail]
        self.tail_exact, self.tail_sum = tail, sum(self.coarse)
        self.tail = self.tail_sum << self.shift
        whole = sum(self.weight[j] for j in self.head) + self.tail
        unit = shift_to_30_bits(whole)
        self.sums = [s >> unit for s in accumulate(self.weight[j] for j in self.head)]
        self.total = whole >> unit


def at(cities, weights, x):
    """Return the first of the cities where the running sum of their weights passes x."""
    return next(j for j, s in zip(cities, accumulate(weights[j] for j in cities)) if s > x)


@dataclass
class Model:
    """One colony.

    Attributes
    ----------
    pheromone
        n lists of n integers.
    seen
        How often each way to choose the next city was taken.
    """

    cost: np.ndarray
    heuristic: np.ndarray
    unit: object
    ants: int
    key: tuple[int, int]
    symmetric: bool
    seen: Counter = field(default_factory=Counter)

    def __post_init__(self):
        """Set the first pheromone and the candidate lists."""
        self.n = len(self.cost)
        self.pheromone = [[self.unit.first_pheromone] * self.n for _ in range(self.n)]
        self.heads = [sorted((j for j in range(self.n) if j != c), key=lambda j, c=c: (self.cost[c, j], j))[:32]
                      for c in range(self.n)]

    def tables(self):
        """Return every city's row."""
        return [Row([-(-t * int(h) >> 32) for t, h in zip(self.pheromone[c], self.heuristic[c])], self.heads[c])
                for c in range(self.n)]

    def construct(self, iteration):
        """Return all ants' tours."""
        rows = self.tables()
        return [self.tour(rows, iteration, ant) for ant in range(self.ants)]

    def tour(self, rows, iteration, ant):
        """Return one ant's tour."""
        def number(step, attempt):
            return philox((step, ant, iteration, attempt), self.key)

        tour = [number(0, 0)[0] * self.n >> 32]
        open_ = set(range(self.n)) - set(tour)
        while open_:
            tour.append(self.choose(rows[tour[-1]], open_, partial(number, len(tour))))
            open_.remove(tour[-1])
        return tour

    def choose(self, row, open_, number):
        """Return the next city. `number(attempt)` gives four 32-bit numbers."""
        def word(attempt):
            low, high, *_ = number(attempt)
            return high << 32 | low

        tail = range(self.n)
        for x in number(0):
            at_most = x * row.total >> 32
            if at_most >= (row.sums[-1] if row.sums else 0):
                city = at(tail, row.coarse, word(1) * row.tail_sum >> 64)
                self.seen["the tail's own draw" if city in open_ else "the tail's draw in vain"] += 1
                if city in open_:
                    return city
                break
            city = next(j for j, s in zip(row.head, row.sums) if s > at_most)
            if city in open_:
                self.seen["proposal"] += 1
                return city
        free = [j for j in row.head if j in open_]
        near = sum(row.weight[j] for j in free)
        for attempt in (2, 3, 4) if free else ():
            r = word(attempt) * (near + row.tail) >> 64
            if r < near:
                self.seen["head"] += 1
                return at(free, row.weight, r)
            city = at(tail, row.coarse, r - near >> row.shift)
            if city in open_:
                self.seen["tail"] += 1
                return city
        return self.scan(row, open_, free, near, word)

    def scan(self, row, open_, free, near, word):
        """Return the next city from the sums of all open cities, when nothing else has worked."""
        order = sorted(open_, key=lambda j: (j % 32, j // 32))
        far = sum(row.coarse[j] for j in order) << row.shift
        exact = near + far >> row.shift < ENOUGH
        if exact:
            far = sum(row.tail_exact[j] for j in order)
        r = word(9 if exact else 8) * (near + far) >> 64
        self.seen["exact scan" if exact else "coarse scan"] += 1
        if r < near:
            return at(free, row.weight, r)
        return at(order, row.tail_exact, r - near) if exact else at(order, row.coarse, r - near >> row.shift)

    def length(self, tour):
        """Return the length of a closed tour."""
        return sum(int(self.cost[a, b]) for a, b in zip(tour, [*tour[1:], tour[0]]))

    def learn(self, tours):
        """Apply evaporation, then every ant's deposit."""
        keep = self.unit.keep
        self.pheromone = [[max(t * keep >> 32, LEAST_PHEROMONE) for t in row] for row in self.pheromone]
        for tour in tours:
            length = max(self.length(tour), self.unit.shortest)
            spare = max(0, self.unit.bits + self.unit.reference.bit_length() - 63)
            amount = (self.unit.reference << self.unit.bits - spare) // length << spare
            for a, b in zip(tour, [*tour[1:], tour[0]]):
                self.pheromone[a][b] += amount
                if self.symmetric:
                    self.pheromone[b][a] += amount
