"""Travelling salesman problems with exact integer costs, alone or in batches, and the check of their tours.

Decimal costs are kept exactly as integers with a common scale, or rounded (see `problems.rounding`). A cost in the
unit of the instance is `cost / scale`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.memory import require_free
from hpcsolve.problems.distances import METRICS, bounded_distance
from hpcsolve.problems.labels import Labels
from hpcsolve.problems.rounding import NO_ARC as NO_ARC
from hpcsolve.problems.rounding import Costs, Precision, Rounding, costs_of_table, largest_cost
from hpcsolve.problems.windows import Windows
from hpcsolve.wording import counted


@dataclass(frozen=True, eq=False)
class Tsp:
    """An instance of the (asymmetric) travelling salesman problem.

    Its costs are a matrix, or the distances between its coordinates, which take no memory until they are asked for.

    Attributes
    ----------
    matrix
        Shape (n, n), int64: costs from row to column, `NO_ARC` where there is no arc and on the diagonal. None if
        there is a metric.
    labels
        Shape (n,), int64: the numbers of the cities in the input, 1..n in TSPLIB and 0..n-1 in matrices.
    scale
        A power of ten. A cost in the unit of the instance is `cost / scale`.
    rounding
        How costs were rounded, with the given ones by their index in the flattened matrix; None if costs are exact.
    coordinates
        Shape (n, 2 or 3), float64, as in the input. None for a plain matrix.
    city_names
        One name for each city, or empty.
    coordinates_kind
        `geographic.DEGREES` or `geographic.DEGREES_MINUTES` if coordinates are latitudes and longitudes, else empty.
    precedences
        Pairs (a, b) of positions: a comes before b in every tour (sequential ordering problems).
    windows
        When each city may be served, over the same scale, or None. Travelling times are the costs.
    notes
        What the input has beside the problem, in lines for the log of a run (see `problems.notes`).
    metric
        The name of the function in `distances.METRICS` that gives costs from coordinates, "" if there is a matrix. Such
        costs are symmetric and not negative, and all arcs exist.
    network
        The name of the graph whose shortest distances the costs are, or "".
    unit
        The unit of the costs where the input says it, such as m or s, else "".
    places
        The places that stand for vertices of the network (`problems.snapping.Snapped`), a city each, or none.
    """

    name: str
    matrix: NDArray[np.int64] | None
    labels: NDArray[np.int64]
    scale: int = 1
    coordinates: NDArray[np.float64] | None = None
    comment: str = ""
    city_names: tuple[str, ...] = ()
    coordinates_kind: str = ""
    rounding: Rounding | None = None
    precedences: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()
    metric: str = ""
    windows: Windows | None = None
    network: str = ""
    unit: str = ""
    places: tuple[Any, ...] = ()

    @property
    def n(self) -> int:
        """Number of cities."""
        return len(self.labels)

    @cached_property
    def cost(self) -> NDArray[np.int64]:
        """The costs as a matrix, as `matrix` has them. It is made when it is first asked for, and kept.

        Raises
        ------
        ResourceError
            It takes more memory than is free.
        """
        if self.matrix is not None:
            return self.matrix
        require_memory(self.n)
        whole = np.empty((self.n, self.n), dtype=np.int64)
        for rows, costs in self.row_blocks():
            whole[rows] = costs
        return whole

    def between(self, tails: ArrayLike, heads: ArrayLike) -> NDArray[np.int64]:
        """Return the costs from cities to cities without making a matrix.

        Parameters
        ----------
        tails, heads
            Positions, which are broadcast.
        """
        known, begin, end = self._known(), np.asarray(tails), np.asarray(heads)
        if known is not None or self.coordinates is None:
            costs: NDArray[np.int64] = self.cost[begin, end]
            return costs
        if begin.shape != end.shape or begin.ndim != 1:
            return self._measured(begin, end)
        costs = np.empty(len(begin), np.int64)  # in parts, since computing takes many times their memory
        for first in range(0, len(begin), _PAIRS_AT_ONCE):
            some = slice(first, first + _PAIRS_AT_ONCE)
            costs[some] = self._measured(begin[some], end[some])
        return costs

    def _measured(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the costs from cities to cities by their coordinates."""
        assert self.coordinates is not None
        distances = METRICS[self.metric](self.coordinates[begin], self.coordinates[end])
        return np.where(begin == end, NO_ARC, distances.astype(np.int64))

    def row_blocks(self) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Yield the rows of `cost` in their order, some at a time, without making all of it."""
        known, cities = self._known(), np.arange(self.n)
        step = max(1, _BLOCK_ENTRIES // self.n)
        for first in range(0, self.n, step):
            rows = slice(first, min(first + step, self.n))
            yield rows, self.between(cities[rows, None], cities) if known is None else known[rows]

    def _known(self) -> NDArray[np.int64] | None:
        """Return the matrix if there is one already."""
        return self.__dict__.get("cost", self.matrix)

    @cached_property
    def symmetric(self) -> bool:
        """Whether every arc has the same cost in both directions."""
        return bool(self.metric) or bool(np.array_equal(self.cost, self.cost.T))

    def with_costs(self, cost: NDArray[np.int64], **others: Any) -> Tsp:
        """Return the instance with a matrix in place of its costs, and other values of `others`, by attribute."""
        return replace(self, matrix=cost, metric="", **others)

    def fitted(self, precision: Precision) -> Tsp:
        """Return the instance that an algorithm takes: costs are rounded where they do not fit or the job says so.

        Raises
        ------
        InputError
            The costs do not fit, and the job forbids rounding; time windows would have to be rounded; or as in
            `Precision.rounded`.
        """
        if self.rounding or not precision.rounds(self):
            return self
        costs = Costs(self.cost, self.scale).rounded(precision, self.name)
        windows = None if self.windows is None else self.windows.at(self.scale, costs.scale)
        if self.windows is not None and windows is None:
            what = f"its time windows have more decimals than the costs, which are rounded to {1 / costs.scale:g}"
            raise InputError(f"{what}; round the file's numbers", self.name)
        return self.with_costs(costs.values, scale=costs.scale, rounding=costs.rounding, windows=windows)

    def positions(self, cities: ArrayLike | Iterable[Any]) -> NDArray[np.int64]:
        """Return the positions (from 0) of cities by label or name, as `Labels.positions`."""
        return Labels(self.labels, self.city_names, self.name, "city", "cities").positions(cities)


MOST_PAIRED = 65_535
"""Cities up to which all their pairs may be gone through, to hash costs or to find one that is too large.

So many could be solved when costs were always a matrix. What was computed from all pairs then is the same now."""
_BLOCK_ENTRIES = 1 << 17
"""Costs of rows of the matrix that are computed at a time, so that temporary arrays take 1 MiB each."""
_PAIRS_AT_ONCE = 1 << 14
"""Pairs of cities whose costs are computed at a time: some 100 bytes each, which stay in a core's cache."""
BYTES_A_COST = 10
"""Bytes for each entry of the cost matrix that making an instance takes at its peak: 8 stay."""


def require_memory(n: int, bytes_a_cost: int = BYTES_A_COST) -> None:
    """Refuse a number of cities whose cost matrix cannot be made in the memory that is free.

    Raises
    ------
    ResourceError
        With the largest n that would fit.
    """
    require_free(bytes_a_cost * n * n, f"the cost matrix of {counted(n, 'city')}",
                 lambda free: counted(math.isqrt(free // bytes_a_cost), "city"))


def from_costs(
    cost: NDArray[np.int64],
    name: str,
    *,
    labels: NDArray[np.int64] | None = None,
    scale: int = 1,
    rounding: Rounding | None = None,
    coordinates: NDArray[np.float64] | None = None,
    comment: str = "",
    city_names: Sequence[str] = (),
    coordinates_kind: str = "",
) -> Tsp:
    """Return the instance of integer costs. It keeps the array and overwrites its diagonal.

    Parameters
    ----------
    cost
        Shape (n, n), int64, `NO_ARC` where there is no arc, others up to `largest_cost(n)`, as `problems.rounding`
        makes them. The diagonal is ignored.
    labels
        By default 0..n-1.
    city_names
        Dropped if all are blank.
    """
    np.fill_diagonal(cost, NO_ARC)
    names = tuple(city_names) if any(map(str.strip, city_names)) else ()
    numbers = np.arange(len(cost)) if labels is None else np.ascontiguousarray(labels, dtype=np.int64)
    return Tsp(name, cost, numbers, scale, coordinates, comment, names, coordinates_kind, rounding)


def from_points(
    points: NDArray[np.float64], metric: str, name: str, labels: NDArray[np.int64], *, comment: str = "",
    city_names: Sequence[str] = (), coordinates_kind: str = "", notes: tuple[str, ...] = (),
) -> Tsp:
    """Return the instance whose costs are the distances between points, which take no memory until they are asked for.

    Parameters
    ----------
    points
        Shape (n, 2 or 3), finite.
    metric
        As in `Tsp`.
    city_names
        Dropped if all are blank.

    Raises
    ------
    OverflowError
        A distance is above `largest_cost(n)`, as on the globe none is; or, of more than `MOST_PAIRED` points, may be.
    """
    n, limit = len(points), float(largest_cost(len(points)))
    if bounded_distance(points, metric) > limit:
        step = max(1, _BLOCK_ENTRIES // n)
        with np.errstate(over="ignore", invalid="ignore"):
            blocks = (METRICS[metric](points[first : first + step, None], points) for first in range(0, n, step))
            if n > MOST_PAIRED or not all((block <= limit).all() for block in blocks):
                raise OverflowError
    names = tuple(city_names) if any(map(str.strip, city_names)) else ()
    numbers = np.ascontiguousarray(labels, dtype=np.int64)
    return Tsp(name, None, numbers, 1, points, comment, names, coordinates_kind, notes=notes, metric=metric)


BYTES_BY_KIND = {"i": BYTES_A_COST, "u": BYTES_A_COST, "f": 40, "O": 100}
"""Bytes for each entry that an instance takes beside the matrix that it is made of, by the kind of its numbers.

Decimals are scaled and compared, and Python objects become texts before.
"""


def from_matrix(
    matrix: ArrayLike, name: str = "matrix", *, city_names: Sequence[str] = (), precision: Precision | None = None
) -> Tsp:
    """Build an instance from a square table of integers, floats or decimals.

    Parameters
    ----------
    matrix
        Shape (n, n): costs from row to column. `inf`, or `NO_ARC` among integers, is a forbidden arc. The diagonal
        is ignored. Decimals are scaled exactly by a power of ten. Cities are labelled 0..n-1.
    precision
        How to round decimals that are too many for that; by default they are refused.

    Raises
    ------
    InputError
        If the table is not square, or an entry is not a number, is NaN, is too large or has too many digits.
    """
    if isinstance(matrix, np.ma.MaskedArray):
        raise InputError("the cost matrix is a masked array; fill it with numpy.inf where there is no arc", name)
    try:
        table = np.asarray(matrix)
    except (ValueError, TypeError) as problem:
        raise InputError(f"the cost matrix is not a table of numbers: {problem}", name) from None
    if table.ndim != 2 or table.shape[0] != table.shape[1] or table.shape[0] == 0:
        raise InputError(_no_square(matrix, table.shape), name)
    if table.dtype.kind not in "iufO":
        raise InputError(f"the cost matrix holds {table.dtype}; it must hold integers or floats", name)
    n = len(table)
    require_memory(n, BYTES_BY_KIND[table.dtype.kind])
    if len(city_names) not in (0, n):
        what = f"{counted(len(city_names), 'city name')} for {counted(n, 'city')}"
        raise InputError(f"{what}; give one name for each city", name)
    cost, scale, rounding = costs_of_table(table, precision, name)
    return from_costs(cost, name, scale=scale, rounding=rounding, city_names=city_names)


def _no_square(given: Any, shape: tuple[int, ...]) -> str:
    """Return what is wrong with something that is not a square table, and what may have been meant."""
    if hasattr(given, "is_directed"):
        return "a graph of networkx has no tours; name the vertices that a tour visits, stops=[...]"
    if shape in ((), (0,)):
        shown = "an empty list" if shape else type(given).__name__
        return f"{shown} is no problem; give costs from row to column, a DataFrame with lat and lon, a graph, or a file"
    several = ", a batch a numpy array of shape (instances, n, n)" if len(shape) == 3 else ""
    if len(shape) == 2 and shape[1] in (2, 3):
        several = "; of points take scipy.spatial.distance.cdist(points, points)"
    return f"the cost matrix has shape {shape}; it must be (n, n), from row to column{several}"


@dataclass(frozen=True, eq=False)
class BatchPart:
    """Instances of a batch that differ in their costs alone.

    Attributes
    ----------
    first
        The first of them. The others have its cities, scale, and what else it has.
    tables
        Shape (instances, n, n), int64: the costs of all, as in `Tsp`. None: the first is the only one.
    """

    first: Tsp
    tables: NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        """Number of instances."""
        return 1 if self.tables is None else len(self.tables)

    def costs(self) -> NDArray[np.int64]:
        """Return the costs of all, shape (instances, n, n)."""
        return self.first.cost[None] if self.tables is None else self.tables

    def instance(self, at: int) -> Tsp:
        """Return one of the instances, by its number among these."""
        if at == 0:
            return self.first
        cost, rounding = self.costs()[at], self.first.rounding
        exact = None if rounding is None else rounding.exact
        if rounding is not None and exact is not None:
            rounding = Rounding(rounding.error, lambda index: exact(at * cost.size + index))
        return replace(self.first, matrix=cost, metric="", rounding=rounding)

    def fitted(self, precision: Precision) -> BatchPart:
        """Return the instances that an algorithm takes, as `Tsp.fitted`. One unit is for all."""
        if self.tables is None:
            return BatchPart(self.first.fitted(precision))
        name = self.first.name
        if self.first.rounding or not precision.rounds(TspBatch(name, (self,))):
            return self
        return part_of_costs(Costs(self.tables, self.first.scale).rounded(precision, name), name)


def part_of_costs(costs: Costs, name: str) -> BatchPart:
    """Return the instances of costs of shape (instances, n, n), whose cities have the labels 0..n-1."""
    labels = np.arange(costs.values.shape[-1])
    return BatchPart(Tsp(name, costs.values[0], labels, costs.scale, rounding=costs.rounding), costs.values)


@dataclass(frozen=True, eq=False)
class TspBatch:
    """Instances of the travelling salesman problem, each with its own cities and its own scale.

    Attributes
    ----------
    parts
        The instances, which are numbered through all parts.
    instance_names
        The name of each instance's file, or empty if they are of one file.
    """

    name: str
    parts: tuple[BatchPart, ...]
    instance_names: tuple[str, ...] = ()

    @cached_property
    def begins(self) -> NDArray[np.int64]:
        """Shape (parts + 1,): the number of each part's first instance, and that of all instances."""
        return np.concatenate([[0], np.cumsum([part.count for part in self.parts], dtype=np.int64)])

    @property
    def count(self) -> int:
        """Number of instances."""
        return int(self.begins[-1])

    @property
    def scale(self) -> int:
        """The power of ten over which the values of all instances are integers."""
        return max(part.first.scale for part in self.parts)

    @property
    def unit(self) -> str:
        """The unit of the costs if it is that of all instances, else ""."""
        units = {part.first.unit for part in self.parts}
        return units.pop() if len(units) == 1 else ""

    @cached_property
    def cities(self) -> NDArray[np.int32]:
        """Shape (instances,): the number of cities of each."""
        return np.repeat([part.first.n for part in self.parts], np.diff(self.begins)).astype(np.int32)

    @cached_property
    def offset(self) -> NDArray[np.int64]:
        """Shape (instances + 1,): where each tour begins in an array of all tours, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.cities, dtype=np.int64)])

    def place_of(self, number: int) -> tuple[int, int]:
        """Return the part that has an instance, and the number of the instance in it."""
        part = int(np.searchsorted(self.begins, number, "right")) - 1
        return part, number - int(self.begins[part])

    def instance(self, number: int) -> Tsp:
        """Return one of the instances."""
        part, at = self.place_of(number)
        return self.parts[part].instance(at)

    def fitted(self, precision: Precision) -> TspBatch:
        """Return the batch that an algorithm takes. Raises as `Tsp.fitted` and `require_common_scale`."""
        return require_common_scale(replace(self, parts=tuple(part.fitted(precision) for part in self.parts)))

    def named(self, number: int) -> str:
        """Return `instance 3`, with the name of its file if it has one."""
        return f"instance {number}" + (f" ({self.instance_names[number]})" if self.instance_names else "")


def batch_of(instances: Sequence[Tsp], name: str, instance_names: tuple[str, ...] = ()) -> TspBatch:
    """Return instances of any sizes as a batch. Raises as `require_common_scale`."""
    return require_common_scale(TspBatch(name, tuple(map(BatchPart, instances)), instance_names))


def require_common_scale(batch: TspBatch) -> TspBatch:
    """Return a batch whose costs and windows fit at the scale of the one with most decimals, as the result has them.

    Raises
    ------
    InputError
        They do not fit 62 bits.
    """
    scale = batch.scale
    for number, part in zip(batch.begins.tolist(), batch.parts):
        first = part.first
        if first.scale == scale:
            continue
        costs = Costs(part.costs(), first.scale)
        late = first.windows is not None and first.windows.at(first.scale, scale) is None
        if late or costs.largest * (scale // first.scale) > largest_cost(first.n):
            what = "times" if late else f"costs up to {costs.largest / costs.scale:.6g}"
            decimals = len(str(scale)) - 1
            raise InputError(f"{batch.named(number)}: {what} are too large to be kept with {decimals} decimals, as "
                             "another instance of the batch has; round the costs, or solve this instance alone")
    return batch
