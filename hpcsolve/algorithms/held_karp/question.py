"""The `[held-karp]` table of a job file, and the question about a tour that it states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Table
from hpcsolve.errors import InputError
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.order_files import read_leg_costs, read_windows
from hpcsolve.problems.questions import Objective, TourQuestion, Windows, legs
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.tsp import NO_ARC, Tsp, TspBatch

City = int | str
"""A city by its label or name."""
Place = Annotated[int, msgspec.Meta(ge=1)]
LARGEST_WEIGHT = 10**9
MOST_BEST = 10**4
"""The most tours that `best` may ask for."""


class Parameters(Table, frozen=True):
    """The `[held-karp]` table of a job file.

    Attributes
    ----------
    path
        "cycle": the tour returns to its first city; "open": it does not.
    start
        Label or name (as in the instance's file) of the first city; by default that of a cycle is the instance's first,
        and that of an open path is free.
    end
        Label or name of the last city of an open path, which is free by default. A cycle has no `end`.
    objective
        What is minimised. "sum": the sum of the legs' costs; "latency": the sum over the cities of weight times time of
        arrival, in a cycle with the return to the first city; "position": the sum of the legs' costs, which depend on
        their place in the tour (`weights` or `costs`); "bottleneck": the dearest leg; "lexicographic": the dearest leg,
        then the sum; "finish": the end of a tour with time windows (`windows`).
    weights
        Integers of at least 0. For "latency" one for each city in the order of the instance, by default 1; for
        "position" one for each leg in the order of the tour, by which its cost is multiplied.
    costs
        For "position": a `.npy` file of shape (legs, n, n) with the costs of each leg, in place of the instance's.
    windows
        For "finish": a CSV table with the columns city, earliest, latest and optionally service. A traveller who
        arrives before `earliest` waits; service must begin by `latest`. The return to the first city must be by its
        `latest`.
    before
        Pairs [[a, b], ...] of cities: a comes before b.
    position
        Pairs [[city, k], ...]: the city stands at place k of the tour; the first place is 1.
    not_position
        Pairs [[city, k], ...]: the city does not stand at place k of the tour; the first place is 1.
    forbidden
        Pairs [[a, b], ...]: no leg leads from a to b.
    count
        Whether to count the optimal tours, up to 2^64 - 1. A symmetric cycle counts in both directions.
    best
        How many of the best tours to keep, in the order of their values.
    arcs
        Whether to compute for each arc the value of the best tour through it. Not with "finish".
    method
        "lattice": the table of all states, whose memory doubles with each city; "bounded": states that a lower bound
        proves useless are dropped, for sums of costs by place alone; "auto": the lattice for up to 28 cities (20 with
        other objectives and constraints) and where "bounded" is not possible, else "bounded". If one of them does not
        fit in the memory, the other one takes over. The answer is the same.
    costs_sha256
        SHA-256 of the file of `costs`. hpcsolve writes it into the result's job, so that a file that has changed is
        refused when the job is run again.
    windows_sha256
        SHA-256 of the file of `windows`, for the same purpose.

    For study
    ---------
    layout
        How the lattice stores its states. "planes": split over ranks, any size; "compact": one table of all states on
        one rank, as an oracle, for plain sums without `before`, `position`, `not-position`, `count`,
        `best` and `arcs` alone.
    """

    STOPS: ClassVar[tuple[str, ...]] = ("memory", "seconds", "target")

    path: Literal["cycle", "open"] = "cycle"
    start: City | None = None
    end: City | None = None
    objective: Objective = "sum"
    weights: list[Annotated[int, msgspec.Meta(ge=0, le=LARGEST_WEIGHT)]] | None = None
    costs: str | None = None
    windows: str | None = None
    before: list[tuple[City, City]] = msgspec.field(default_factory=list)
    position: list[tuple[City, Place]] = msgspec.field(default_factory=list)
    not_position: list[tuple[City, Place]] = msgspec.field(default_factory=list)
    forbidden: list[tuple[City, City]] = msgspec.field(default_factory=list)
    count: bool = False
    best: Annotated[int, msgspec.Meta(ge=1, le=MOST_BEST)] = 1
    arcs: bool = False
    method: Literal["auto", "lattice", "bounded"] = "auto"
    layout: Literal["planes", "compact"] = "planes"
    costs_sha256: str | None = None
    windows_sha256: str | None = None

    def stops(self) -> tuple[str, ...]:
        """Return the keys of `[stop]`, which the lattice cannot honour."""
        return () if self.method == "lattice" else self.STOPS

    def can_resume(self) -> bool:
        """Return whether a run writes checkpoints."""
        return self.layout == "planes"


@dataclass(frozen=True)
class ExtraAnswers:
    """What is asked for beside an optimal tour, by default nothing.

    Attributes
    ----------
    count
        Whether the number of optimal tours is asked for.
    best
        How many of the best tours are asked for.
    arcs
        Whether the value of the best tour through each arc is asked for.
    """

    count: bool = False
    best: int = 1
    arcs: bool = False


NO_EXTRA_ANSWERS = ExtraAnswers()
"""The optimal tour alone."""


def asked(tsp: Tsp | TspBatch, parameters: Parameters, files: Mapping[str, InputFile] = MappingProxyType({})
          ) -> TourQuestion:
    """Return the question that the parameters put to an instance, or to each of a batch.

    Parameters
    ----------
    files
        The files that the parameters name, by key.

    Raises
    ------
    InputError
        By key: a city is not one of the instance's, keys contradict each other, or a file does not fit.
    """
    if isinstance(tsp, TspBatch):
        return _asked_of_batch(parameters)
    start, end = ends(tsp, parameters)
    _refuse_combinations(parameters)
    _refuse_compact(tsp, parameters)
    count = legs(tsp.n, parameters.path)
    return TourQuestion(
        parameters.path, start, end, parameters.objective, _weights(tsp, parameters, count),
        read_leg_costs(files["costs"], tsp, count) if "costs" in files else None,
        _windows(tsp, files.get("windows")), _precedences(tsp, parameters), _places(tsp, parameters),
        _pairs(tsp, "forbidden", parameters.forbidden),
    )


def _asked_of_batch(parameters: Parameters) -> TourQuestion:
    """Return the question of a plain tour of each instance. Raises `InputError` by key for anything else."""
    defaults = msgspec.structs.asdict(Parameters())
    for key, value in msgspec.structs.asdict(parameters).items():
        if key not in ("path", "method") and value != defaults[key]:
            raise InputError(f"held-karp.{key.replace('_', '-')}: a batch takes plain tours alone; remove this key")
    return TourQuestion(parameters.path)


def ends(tsp: Tsp, parameters: Parameters) -> tuple[int | None, int | None]:
    """Return the positions of the start and the end, None where they are free. Raises as `asked`."""
    start = None if parameters.start is None else _index(tsp, parameters.start, "start")
    end = None if parameters.end is None else _index(tsp, parameters.end, "end")
    if parameters.path == "cycle" and end is not None:
        raise InputError('held-karp.end: a cycle ends where it starts; remove it or set path = "open"')
    if start is not None and start == end:
        if tsp.n > 1:
            raise InputError("held-karp.end: an open path cannot end in the city where it starts")
        end = None  # one city is both ends
    return start, end


def _index(tsp: Tsp, city: City, key: str) -> int:
    """Return the position of a city in the instance, from 0. Raises `InputError` by key."""
    try:
        return int(tsp.positions([city])[0])
    except InputError as error:
        raise InputError(f"held-karp.{key}: {error}") from None


def _refuse_combinations(parameters: Parameters) -> None:
    """Refuse keys that do not go with the objective, and an objective without the keys that it needs."""
    objective = parameters.objective
    needs = {"weights": ("latency", "position"), "costs": ("position",), "windows": ("finish",)}
    for key, objectives in needs.items():
        if getattr(parameters, key) is not None and objective not in objectives:
            wanted = " or ".join(f'"{name}"' for name in objectives)
            raise InputError(f'held-karp.{key}: only objective = {wanted} takes it; this job has "{objective}"')
    if objective == "position" and (parameters.weights is None) == (parameters.costs is None):
        raise InputError('held-karp.objective: "position" needs one of weights (one for each leg) and costs (a file)')
    if objective == "finish" and parameters.windows is None:
        raise InputError('held-karp.objective: "finish" needs windows, a CSV table of time windows')
    if objective == "finish" and parameters.arcs:
        raise InputError('held-karp.arcs: objective = "finish" does not take it, since the rest of a tour depends on '
                         "the time; remove arcs")


def _refuse_compact(tsp: Tsp, parameters: Parameters) -> None:
    """Refuse the layout "compact" for anything but a plain sum, which alone has that layout."""
    if parameters.layout != "compact":
        return
    others = {
        f'objective = "{parameters.objective}"': parameters.objective != "sum", "before": parameters.before,
        "position": parameters.position, "not-position": parameters.not_position, "count": parameters.count,
        "best": parameters.best > 1, "arcs": parameters.arcs, "the precedences of the instance": tsp.precedences,
    }
    for other, given in others.items():
        if given:
            raise InputError(f'held-karp.layout: "compact" does not go with {other}; remove layout')


def _weights(tsp: Tsp, parameters: Parameters, count: int) -> NDArray[np.int64] | None:
    if parameters.weights is None:
        return None
    wanted, of = (tsp.n, "cities") if parameters.objective == "latency" else (count, "legs of the tour")
    if len(parameters.weights) != wanted:
        raise InputError(f"held-karp.weights: {len(parameters.weights)} weights for {wanted} {of}; give one for each")
    return np.array(parameters.weights, np.int64)


def _windows(tsp: Tsp, file: InputFile | None) -> Windows | None:
    if file is None:
        return None
    allowed = tsp.cost != NO_ARC
    if (tsp.cost[allowed] < 0).any():
        raise InputError("held-karp.windows: a cost is negative; travelling times must be at least 0")
    windows = read_windows(file, tsp)
    total = sum(map(int, windows.service)) + max(map(int, windows.earliest))
    if total + int(tsp.cost[allowed].max(initial=0)) * tsp.n > LARGEST_SUM:
        raise InputError("held-karp.windows: the times are so large that their sum may overflow 62 bits")
    return windows


def _pairs(tsp: Tsp, key: str, pairs: Sequence[tuple[City, City]]) -> tuple[tuple[int, int], ...]:
    found = tuple((_index(tsp, a, key), _index(tsp, b, key)) for a, b in pairs)
    for (a, b), given in zip(found, pairs):
        if a == b:
            raise InputError(f"held-karp.{key}: {list(given)} names one city twice")
    return found


def _precedences(tsp: Tsp, parameters: Parameters) -> tuple[tuple[int, int], ...]:
    if tsp.precedences and parameters.path == "cycle" and parameters.start is None:
        raise InputError('held-karp.path: the instance says which cities come before others, so a cycle needs a first '
                         'city; set start, or path = "open"')
    return tuple(dict.fromkeys((*tsp.precedences, *_pairs(tsp, "before", parameters.before))))


def _places(tsp: Tsp, parameters: Parameters) -> NDArray[np.bool_] | None:
    """Return at which places each city may stand, shape (n, n), or None if at all places."""
    if not parameters.position and not parameters.not_position:
        return None
    allowed = np.ones((tsp.n, tsp.n), bool)
    for key, pairs in (("position", parameters.position), ("not-position", parameters.not_position)):
        for city, place in pairs:
            if place > tsp.n:
                raise InputError(f"held-karp.{key}: place {place} of a tour of {tsp.n} cities; places are 1 to {tsp.n}")
            at = _index(tsp, city, key)
            allowed[at] &= (np.arange(1, tsp.n + 1) == place) == (key == "position")
    return allowed
