"""What is asked of a graph: the `[shortest-paths]` table of a job file, and the searches that it asks for."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Statement, Table
from hpcsolve.algorithms.shortest_paths.engines import TableEngineName, described
from hpcsolve.algorithms.shortest_paths.searches import Want
from hpcsolve.errors import InputError
from hpcsolve.formats.place_lists import PlaceList
from hpcsolve.formats.vertex_lists import read_vertices
from hpcsolve.problems.access import LARGEST_LENGTH, ONE, Access, Steps, by_formula, opportunities_of
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion, Reduction
from hpcsolve.problems.rounding import LARGEST_WEIGHT, BadNumber, Costs, floor_at_scale
from hpcsolve.problems.snapping import Snapped
from hpcsolve.wording import counted, did_you_mean, shown

Vertex = int | str
"""A vertex by its label or name."""
ALL = "all"
"""The value of the key `sources` that stands for all vertices, in the order of the file."""
WORDS = ("terminals", ALL)
"""Values of `sources` that are keywords, not names of files."""
LARGEST = 1e290
"""The largest cutoff and delta. Times the scale of any graph they are finite floats still."""
MOST_NEAREST = 4096
"""The largest `k`."""


class RandomSources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number of different vertices, chosen at random.

    Attributes
    ----------
    random
        Number of vertices; at most as many as the graph has.
    seed
        Seed of the random numbers.
    """

    random: Annotated[int, msgspec.Meta(ge=1)]
    seed: int = 1


class Decay(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the share of opportunities falls with the distance d, one of these. Distances are in the unit of the file.

    Attributes
    ----------
    steps
        Pairs [distance, share]: the share, from 0 to 1, up to that distance; beyond the last one it is 0.
    linear
        The share is 1 - d / linear.
    exponential
        The share is exp(-d / exponential).
    gaussian
        The share is exp(-(d / gaussian)^2 / 2).
    """

    steps: list[tuple[float, float]] | None = None
    linear: float | None = None
    exponential: float | None = None
    gaussian: float | None = None


class Parameters(Table, frozen=True):
    """The `[shortest-paths]` table of a job file.

    Attributes
    ----------
    sources
        Where paths begin: labels or names as in the graph's file, "terminals", "all" (every vertex), { random = 10,
        seed = 1 }, or a file (as of `queries`): of vertices, one on each line, or of places, GeoJSON points or a CSV
        with the columns lat and lon, in a plane x and y. A place stands for the nearest vertex, of several the first.
    queries
        In place of `sources`: pairs between which paths are wanted, [[1, 5], [2, 7]] or a file of them (relative to the
        job file's folder, with --set to the working directory) with `source target` on each line, or in DIMACS' format.
    targets
        Where distances are wanted, in this order: labels, names, "terminals" or a file as of `sources`; by default at
        every vertex.
    voronoi
        Whether to make one search from all sources together, and keep the nearest source of each vertex as `nearest`.
    predecessors
        Whether to keep, for each source and vertex, the vertex before it on a shortest path.
    cutoff
        Vertices farther away than this count as unreached, in the unit of the file.
    reduce
        What to keep of the distances from each source in place of the table, made while searching. "count": the number
        of targets within each of `cutoffs`. "nearest": the `k` nearest targets. "sum": the sum of the distances, and
        closeness, the number of other targets reached over that sum. "farthest": the farthest target; with all vertices
        as sources and targets also radius, diameter and centre of the graph. "access": by each of `decays` the sum of
        the targets' `opportunities`, each times the share that its distance leaves.
    cutoffs
        The distances of "count", in the unit of the file, such as travel times of isochrones.
    k
        Number of targets of "nearest". A source that is a target itself is its own nearest.
    decays
        How the share of opportunities of "access" falls with the distance d: a number, the distance within which the
        share is 1; or { steps = [[300, 1], [600, 0.5]] }, shares up to distances, { linear = 900 } (1 - d / 900),
        { exponential = 600 } (exp(-d / 600)), { gaussian = 600 } (exp(-(d / 600)^2 / 2)). All are in the unit of the
        file; beyond the last step the share is 0. Shares are rounded to millionths.
    opportunities
        What targets offer, such as jobs or beds, for "access": a column of the table of places that `targets` names, or
        a property of its GeoJSON points, where those of places with the same vertex are added up; or a list of numbers,
        one for each target (a vertex that several places stand for is one) or, without targets, each vertex. By default
        each target has 1.
    engine
        How to search; the answer does not depend on it. "auto": phast for tables without `cutoff` if the weights are
        integers and an earlier run has kept a hierarchy of the graph with these weights, or if there are enough sources
        to pay for a new one: 32 for each core of all ranks with at most 3.5 arcs per vertex, 64 with more (up to 4);
        else near-far. "phast": makes a contraction hierarchy, and sweeps over it for up to 64 sources at a
        time, however few they are. The job is refused if contraction is foreseen to take more than 16384 steps (of
        about a nanosecond) for each vertex and arc, or if its lists of neighbours come to more than 12 entries for
        each. "near-far" chooses "near-far-block" or "near-far-grid", as suits graph and device. (ENGINES).
    delta
        Width of Near-Far's buckets, in the unit of the file; by default it follows from weights and degrees, and
        grows during a search.
    queries_sha256
        SHA-256 of the pairs in the file of `queries`. hpcsolve writes it into the result's job, so that a file that has
        changed is refused when the job is run again.
    sources_sha256, targets_sha256
        SHA-256 of the vertices in the files of `sources` and `targets`; of a file of places that of the whole file.

    For study
    ---------
    engine
        (STUDIES).
    batch
        Launches of "near-far-grid" between two checks whether the search has ended; by default their number grows.
    """

    sources: list[Vertex] | str | RandomSources | None = None
    queries: list[tuple[Vertex, Vertex]] | str | None = None
    targets: list[Vertex] | str | None = None
    voronoi: bool = False
    predecessors: bool = False
    cutoff: Annotated[float, msgspec.Meta(ge=0, le=LARGEST)] | None = None
    reduce: list[Literal["count", "nearest", "sum", "farthest", "access"]] | None = None
    cutoffs: list[Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]] | None = None
    k: Annotated[int, msgspec.Meta(ge=1, le=MOST_NEAREST)] | None = None
    decays: list[Annotated[float, msgspec.Meta(ge=0, le=LARGEST)] | Decay] | None = None
    opportunities: list[float] | str | None = None
    engine: TableEngineName = "auto"
    delta: Annotated[float, msgspec.Meta(gt=0, le=LARGEST)] | None = None
    batch: Annotated[int, msgspec.Meta(ge=1, le=65536)] | None = None
    queries_sha256: str | None = None
    sources_sha256: str | None = None
    targets_sha256: str | None = None

    def can_resume(self) -> bool:
        """Return True: finished rows and paths are kept."""
        return True


Parameters.__doc__ = described(Parameters.__doc__, Want.CHECKED)


@dataclass(frozen=True, eq=False)
class PathStatement(Statement):
    """What is asked of a graph."""

    question: PathQuestion

    @property
    def searches(self) -> int:
        """The number of searches that it takes."""
        pairs = self.question.pairs
        return len(self.question.seeds) if pairs is None else len(np.unique(pairs[:, 0]))


def question_with_files(graph: Graph, parameters: Parameters) -> tuple[PathQuestion, dict[str, str]]:
    """Return the searches that the parameters ask for, and the SHA-256 of the files that name sources and targets.

    Raises
    ------
    InputError
        As `question` and `read_vertices`.
    """
    read: dict[str, NDArray[np.int64]] = {}
    digests: dict[str, str] = {}
    places: tuple[Snapped, ...] = ()
    column = parameters.opportunities if isinstance(parameters.opportunities, str) else None
    opportunities: Costs | None = None
    for key in ("sources", "targets"):
        path = getattr(parameters, key)
        if not isinstance(path, str) or path in WORDS:
            continue
        if not os.path.exists(path):
            if getattr(parameters, f"{key}_sha256") is not None:  # the job of a result
                raise InputError(f"shortest-paths.{key}: there is no file {path}, which the run had; put it back")
            name, words = os.path.basename(path), WORDS if key == "sources" else WORDS[:1]
            listed = f'a list of vertices is written ["{name}"]'
            hint = did_you_mean(name, words, f"; or write {' or '.join(words)}")
            raise InputError(f"shortest-paths.{key}: there is no file {path}; {listed}{hint}")
        digest, title = getattr(parameters, f"{key}_sha256"), column if key == "targets" else None
        found = read_vertices(path, key.removesuffix("s"), digest, title)
        try:
            read[key], more = found.placed(graph, key.removesuffix("s"))
        except InputError as error:
            raise InputError(f"shortest-paths.{key}: {error}") from None
        digests[key], places = found.sha256, places + more
        if isinstance(found, PlaceList) and found.opportunities is not None:
            (snapped,), given = more, found.opportunities
            opportunities = given._replace(values=snapped.added_up(given.values))
    return replace(question(graph, parameters, read=read, opportunities=opportunities), places=places), digests


def question(
    graph: Graph, parameters: Parameters, pairs: NDArray[np.int64] | None = None, *,
    read: Mapping[str, NDArray[np.int64]] | None = None, opportunities: Costs | None = None,
) -> PathQuestion:
    """Return the searches that the parameters ask for.

    Parameters
    ----------
    pairs
        Shape (queries, 2): the positions of the pairs in the file of queries, if there is one.
    read
        The positions of the vertices in the files that name sources or targets, by key.
    opportunities
        The opportunities of the targets, if their file has them.

    Raises
    ------
    InputError
        A source is no vertex or stands twice, there is none, the graph has no terminals, keys contradict each other, or
        weights are so large that distances may be infinite.
    """
    with np.errstate(over="ignore"):  # a path longer than the largest float would seem not to exist
        if graph.weights.dtype.kind == "f" and not np.isfinite(graph.weights.sum()):
            what = f"weights are as large as {graph.weights.max():.3g}, so that distances may exceed 1.8e308"
            raise InputError(f"{what}, the largest float; divide the weights by a power of ten", graph.name)
    cutoff = None if parameters.cutoff is None else scaled(graph, parameters.cutoff)
    if parameters.queries is not None:
        for key in ("sources", "targets", "voronoi", "predecessors", "reduce", "decays", "opportunities"):
            if getattr(parameters, key):
                what = "queries already name all sources and targets; remove one of the two keys"
                raise InputError(f"shortest-paths.{key}: {what}")
        if not parameters.queries:
            raise InputError("shortest-paths.queries: the list is empty; name at least one pair, [source, target]")
        if pairs is None:
            vertices = [vertex for pair in parameters.queries for vertex in pair]
            pairs = _positions(graph, "queries", vertices).reshape(-1, 2)
        return PathQuestion(pairs[:, 0], (), None, pairs, cutoff=cutoff)
    if parameters.sources is None:
        raise InputError("the key shortest-paths.sources is missing; or ask for paths between pairs with queries")
    if parameters.targets is not None and (parameters.predecessors or parameters.voronoi):
        raise InputError("shortest-paths.targets: predecessors and voronoi need every vertex; remove one of them")
    if parameters.targets == ALL:
        raise InputError('shortest-paths.targets: remove "all": without targets distances are found at all vertices')
    known = read or {}
    sources, targets = (known[key] if key in known else None if asked is None else _positions(graph, key, asked)
                        for key, asked in (("sources", parameters.sources), ("targets", parameters.targets)))
    assert sources is not None
    if not len(sources):
        raise InputError("shortest-paths.sources: the list is empty; name at least one vertex")
    repeated = np.flatnonzero(np.bincount(sources, minlength=graph.n) > 1)
    if len(repeated):
        raise InputError(f"shortest-paths.sources: vertex {graph.labels[repeated[0]]} is listed twice; list it once")
    seeds = (np.sort(sources),) if parameters.voronoi else tuple(sources[i : i + 1] for i in range(len(sources)))
    reduction = _reduction(graph, parameters, graph.n if targets is None else len(targets), opportunities)
    return PathQuestion(sources, seeds, targets, cutoff=cutoff, reduction=reduction)


def scaled(graph: Graph, cutoff: float) -> int | float:
    """Return a cutoff in the unit of `graph.weights`. Among integers it is the largest distance that counts.

    The product is that of the decimals that stand in the job: 0.29 * 100 in floats would be 28.999999999999996.
    """
    if graph.weights.dtype.kind == "f":
        return cutoff * graph.scale
    return min(floor_at_scale(cutoff, graph.scale), LARGEST_WEIGHT)


def _reduction(graph: Graph, parameters: Parameters, targets: int, opportunities: Costs | None) -> Reduction | None:
    """Return what is kept of each row in place of it, or None. Raises `InputError` if keys contradict each other."""
    wanted = parameters.reduce
    for key, needed in (("cutoffs", "count"), ("k", "nearest"), ("decays", "access"), ("opportunities", "access")):
        given, asked = getattr(parameters, key), needed in (wanted or ())
        if given and not asked:
            advice = f'add "{needed}" to reduce, or remove {key}'
            raise InputError(f'shortest-paths.{key}: only reduce = ["{needed}"] uses it; {advice}')
        if asked and given == []:
            raise InputError(f"shortest-paths.{key}: the list is empty; name at least one")
        if asked and not given and key != "opportunities":
            raise InputError(f'shortest-paths.reduce: "{needed}" needs the key {key}; add it')
    if wanted is None:
        return None
    if not wanted:
        raise InputError('shortest-paths.reduce: the list is empty; name at least one of "count", "nearest", "sum", '
                         '"farthest" and "access"')
    for key in ("voronoi", "predecessors"):
        if getattr(parameters, key):
            raise InputError(f"shortest-paths.{key}: reductions keep no rows to add it to; remove {key} or reduce")
    if "sum" in wanted and graph.weights.dtype.kind == "f":
        raise InputError('shortest-paths.reduce: "sum": the weights are floats, whose sum would depend on the order of '
                         'addition; leave "sum" out, or give weights with a fixed number of decimals', graph.name)
    cutoffs = tuple(scaled(graph, cutoff) for cutoff in parameters.cutoffs or ())
    whole = parameters.sources == ALL and parameters.targets is None
    access = _access(graph, parameters, targets, opportunities) if "access" in wanted else None
    return Reduction(cutoffs, parameters.k or 0, "sum" in wanted, "farthest" in wanted, whole, access)


def _access(graph: Graph, parameters: Parameters, targets: int, opportunities: Costs | None) -> Access:
    """Return decays and opportunities. Raises `InputError`."""
    found = [_decay(graph, decay, f"shortest-paths.decays[{i}]") for i, decay in enumerate(parameters.decays or ())]
    names = [name for name, _ in found]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise InputError(f"shortest-paths.decays[{i}]: {name} is listed twice; list it once")
    given = parameters.opportunities
    if isinstance(given, str) and opportunities is None:
        what = f"{shown(given)} is a column of the file of targets, but targets names no file"
        raise InputError(f"shortest-paths.opportunities: {what}; set targets to a table of places, or give a list of "
                         "numbers")
    if isinstance(given, list):
        if len(given) != targets:
            of = counted(targets, "vertex" if parameters.targets is None else "target")
            raise InputError(f"shortest-paths.opportunities: {counted(len(given), 'number')} for {of}; give one for "
                             "each")
        try:
            opportunities = opportunities_of(np.array(given, np.float64))
        except BadNumber as error:
            what = f"{given[error.index]:.17g} {error.reason}"
            raise InputError(f"shortest-paths.opportunities: number {error.index + 1}, {what}") from None
    values, scale, _ = opportunities or Costs(np.ones(targets, np.int64), 1)
    return Access(tuple(names), tuple(steps for _, steps in found), values.astype(np.uint64), scale)


def _decay(graph: Graph, decay: float | Decay, key: str) -> tuple[str, Steps]:
    """Return a decay in words, and its steps. Raises `InputError`, which names its place in the job, `key`."""
    if not isinstance(decay, Decay):
        return f"within {decay:.10g}", _steps(graph, [(decay, 1)], key)
    given = {kind: value for kind, value in msgspec.structs.asdict(decay).items() if value is not None}
    if len(given) != 1:
        raise InputError(f"{key}: a table needs one key, steps, linear, exponential or gaussian, not {len(given)}")
    ((kind, value),) = given.items()
    if kind == "steps":
        return "steps " + " ".join(f"{limit:.10g}:{share:.10g}" for limit, share in value), _steps(graph, value, key)
    length = value * graph.scale
    if not 0 < length <= LARGEST_LENGTH:
        most = f"{LARGEST_LENGTH / graph.scale:.3g}"
        raise InputError(f"{key}: {kind} = {value:.10g} is not a distance above 0, at most {most}")
    return f"{kind} {value:.10g}", by_formula(kind, length, graph.weights.dtype.kind != "f")


def _steps(graph: Graph, pairs: Sequence[tuple[float, float]], key: str) -> Steps:
    """Return steps by pairs of a distance and the share up to it. Raises `InputError`, which names `key`."""
    limits = [limit for limit, _ in pairs]
    shares = [Decimal(repr(share)) * ONE if math.isfinite(share) else Decimal(-1) for _, share in pairs]
    wrong = ""
    if not pairs:
        wrong = "the list is empty; write [[distance, share], ...]"
    elif not (all(0 <= limit <= LARGEST for limit in limits) and all(a < b for a, b in pairwise(limits))):
        wrong = "distances must be at least 0, and ascend"
    elif not all(0 <= share <= ONE and share == int(share) for share in shares):
        wrong = "a share must be from 0 to 1, with at most 6 decimals"
    if wrong:
        raise InputError(f"{key}: steps: {wrong}")
    kind = np.float64 if graph.weights.dtype.kind == "f" else np.uint64
    return Steps(np.array([scaled(graph, limit) for limit in limits], kind), np.array(shares, np.uint32))


def _positions(graph: Graph, key: str, asked: list[Vertex] | str | RandomSources) -> NDArray[np.int64]:
    if isinstance(asked, RandomSources):
        if asked.random > graph.n:
            raise InputError(f"shortest-paths.{key}: {asked.random} random sources, but only {graph.n} vertices")
        words = np.random.PCG64(asked.seed).random_raw(graph.n)  # raw words are the same in every numpy
        among = np.flatnonzero(words <= np.partition(words, asked.random - 1)[asked.random - 1])
        return among[np.argsort(words[among], kind="stable")][: asked.random].astype(np.int64)
    if asked == ALL:
        return np.arange(graph.n)
    if isinstance(asked, str):
        if graph.terminals is None or not len(graph.terminals):
            raise InputError(f"shortest-paths.{key}: {graph.name} has no terminals; name vertices instead")
        return np.asarray(graph.terminals, np.int64)
    try:
        return graph.positions(asked)
    except InputError as error:
        raise InputError(f"shortest-paths.{key}: {error}") from None
