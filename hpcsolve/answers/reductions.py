"""What is kept of the distances from each source in place of the table: counts, nearest and farthest targets, sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers import base
from hpcsolve.answers.contents import Contents, DistanceTable, datasets, stored
from hpcsolve.answers.distances import DISTANCES, LENGTH_TYPES, UNREACHED, require_columns
from hpcsolve.answers.rounding import Worth
from hpcsolve.answers.snaps import place_lines
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.parallel.launch import on_rank_0
from hpcsolve.problems.check_distances import NO_VERTEX, no_path_of, require
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.questions import PathQuestion
from hpcsolve.problems.search_again import check_reductions
from hpcsolve.wording import counted

SEARCHED_AGAIN, BY_VERIFY = 4, 100
"""Number of rows that are searched again on the host, at the end of a run and by `hpcsolve verify`."""
PER_SOURCE = ("reached", "sum", "closeness", "farthest_target", "farthest_distance")


@dataclass(frozen=True)
class Reductions:
    """What is kept of the distances from each source. Targets are all vertices if there is no column `target`."""

    source: NDArray[np.int32] = stored("int32", "Positions of the sources, from 0", "source")
    reached: NDArray[np.int64] = stored(
        "int64", "Number of targets that a path leads to; a source reaches itself", "source")
    target: NDArray[np.int32] | None = stored("int32", "Positions of the targets, from 0", "target", optional=True)
    cutoff: NDArray[Any] | None = stored(
        "uint64|float64", "Distances of `count`, times /instance/scale", "cutoff", scaled=True, optional=True)
    count: DistanceTable | None = stored(
        "uint32", "Number of targets within each cutoff", "source, cutoff", optional=True)
    nearest_target: DistanceTable | None = stored(
        "int32", "Positions of the nearest targets, of several at one distance the smallest first", "source, place",
        none="-1: fewer are reached", optional=True)
    nearest_distance: DistanceTable | None = stored(
        LENGTH_TYPES, "Distances of the nearest targets, times /instance/scale", "source, place", none=UNREACHED,
        scaled=True, optional=True)
    decay: NDArray[Any] | None = stored(
        "text", "How the share of opportunities falls with the distance", "decay", optional=True)
    opportunities: NDArray[np.float64] | None = stored(
        "float64", "Opportunities of each target; without targets the job has those of all vertices", "target",
        optional=True)
    access: DistanceTable | None = stored(
        "float64", "Sum of the targets' opportunities, each times the share that its distance leaves",
        "source, decay", optional=True)
    sum: NDArray[np.uint64] | None = stored(
        "uint64", "Sum of the distances of the targets reached, times /instance/scale", "source", scaled=True,
        optional=True)
    closeness: NDArray[np.float64] | None = stored(
        "float64", "Number of other targets reached over the sum of their distances, in the instance's unit; "
        "0 where the sum is 0", "source", optional=True)
    farthest_target: NDArray[np.int32] | None = stored(
        "int32", "Position of the farthest target reached, the smallest of several", "source",
        none="-1: no target is reached", optional=True)
    farthest_distance: NDArray[Any] | None = stored(
        LENGTH_TYPES, "Distance of the farthest target reached, the eccentricity of the source, times /instance/scale",
        "source", none=UNREACHED, scaled=True, optional=True)
    diameter: NDArray[Any] | None = stored(
        LENGTH_TYPES, "The largest eccentricity of all vertices, times /instance/scale", scaled=True, optional=True)
    radius: NDArray[Any] | None = stored(
        LENGTH_TYPES, "The smallest eccentricity of the vertices that reach most vertices, times /instance/scale",
        scaled=True, optional=True)
    centre: NDArray[np.int32] | None = stored(
        "int32", "Positions of the vertices whose eccentricity is the radius", "centre", optional=True)


def reduction_table(name: str, values: NDArray[Any], first: int, total: int) -> DistanceTable:
    """Return the table for a field of `Reductions`, made of this rank's rows, shape (own rows, columns)."""
    none = {"nearest_target": NO_VERTEX, "nearest_distance": no_path_of(values.dtype)}.get(name)
    return DistanceTable(values, first, total, datasets(Reductions)[name], none)


def closeness_of(graph: Graph, sources: NDArray[np.int64], targets: NDArray[np.int64] | None, reached: NDArray[Any],
                 sums: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return for each source the number of other targets reached over the sum of their distances."""
    own = np.ones(len(sources)) if targets is None else np.bincount(targets, minlength=graph.n)[sources]
    found: NDArray[np.float64] = np.zeros(len(sources))
    np.divide((reached - own) * graph.scale, sums, out=found, where=sums != 0)
    return found


def middle_of(eccentricity: NDArray[Any], reached: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return diameter, radius and centre of a graph. The arguments have an entry for each vertex."""
    most = reached == reached.max()
    radius = eccentricity[most].min()
    centre = np.flatnonzero(most & (eccentricity == radius)).astype(np.int32)
    return {"diameter": eccentricity.max(), "radius": radius, "centre": centre}


def access_of(contents: Contents) -> tuple[list[str], NDArray[np.float64]]:
    """Return the decays in words, and the access by each of them, shape (decays, sources)."""
    names = np.asarray(contents.value("solution", "decay", ())).tolist()
    return names, np.asarray(contents.value("solution", "access", np.empty((0, 0)))).T


class ReductionsMixin(base.ResultPart):
    """The part of `hpcsolve.Result` about reductions of distances."""

    @property
    @base.only_of("reductions")
    def closeness(self) -> NDArray[np.float64]:
        """Closeness of each source: other targets reached over the sum of their distances, in 1 / own unit."""
        return np.asarray(self.contents.value("solution", "closeness", np.empty(0)), np.float64)

    @property
    @base.only_of("reductions")
    def eccentricity(self) -> NDArray[np.float64]:
        """Distance of each source's farthest target in the instance's own unit, `inf` where it reaches none."""
        farthest = self.contents.value("solution", "farthest_distance", np.empty(0))
        return self.contents.own_distances(np.asarray(farthest))

    @property
    @base.only_of("reductions")
    def access(self) -> NDArray[np.float64]:
        """Access of each source by each decay, shape (sources, decays), in the unit of the opportunities."""
        return access_of(self.contents)[1].T

    @property
    @base.only_of("reductions")
    def centre(self) -> list[Any]:
        """The vertices of least eccentricity by name or number, empty if not all vertices are sources and targets."""
        return self.named(self.contents.value("solution", "centre", []))


class ReductionsType(base.AnswerType):
    """What is kept of distances, as an answer."""

    name, in_words, records = "reductions", "reductions of distances", (Reductions,)
    row_values = "source"
    groups = DISTANCES.groups
    beside = DISTANCES.beside

    def check(self, problem: Graph, question: PathQuestion, answer: Reductions, comm: Comm) -> base.Verdict:
        """Search again from some sources in scipy. Collective."""
        found = {name: vars(answer)[name] for name in PER_SOURCE}
        for name, table in base.distance_tables_of(answer).items():
            found[name] = table.with_row_ranges(comm).gathered(comm)
        verdict = on_rank_0(comm, lambda: self._searched_again(problem, question, found, SEARCHED_AGAIN))
        return verdict if verdict.passed else base.Verdict(False, f"rank 0: {verdict.reason}")

    @base.judged
    def _searched_again(self, graph: Graph, question: PathQuestion, found: Mapping[str, Any], most: int
                        ) -> base.Verdict:
        """Check the rows of at most so many sources, evenly spaced, the first and the last among them, on the host."""
        assert question.reduction is not None
        count = len(question.sources)
        rows = np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))
        claimed = {name: np.asarray(values) for name, values in found.items() if values is not None}
        check_reductions(graph, question.sources, question.targets, question.reduction, claimed, rows, question.cutoff)
        return base.Verdict(True, f"{len(rows)} of {counted(count, 'source')} searched again on the host")

    @base.judged
    def verify(
        self, contents: Contents, answer: Reductions, problem: Graph, question: PathQuestion, rows: base.RowBlocks
    ) -> base.Verdict:
        """Check a sample of the rows by searches on the host, and what follows from all rows."""
        found = {name: vars(answer)[name] for name in PER_SOURCE}
        for name, table in contents.tables.items():
            found[name] = np.concatenate([np.empty((0, table.shape[1]), table.dtype),
                                          *(block for _, (block,) in rows([name]))])
        self._check_shapes(contents, question, found)
        self._check_derived(contents, problem, question, found)
        return self._searched_again(problem, question, found, BY_VERIFY)

    def _check_shapes(self, contents: Contents, question: PathQuestion, found: dict[str, Any]) -> None:
        """Refuse sources, targets and cutoffs that are not those of the job, and datasets of other lengths."""
        asked = question.reduction
        require(asked is not None, "the job does not ask for reductions")
        assert asked is not None
        cutoffs, access = np.array(asked.cutoffs) if asked.cutoffs else None, asked.access
        decays = None if access is None else np.array(access.names, object)
        opportunities = None if access is None or question.targets is None else access.opportunities_in_own_unit()
        require_columns(contents, source=question.sources, target=question.targets, cutoff=cutoffs, decay=decays,
                        opportunities=opportunities)
        columns = {"access": 0 if decays is None else len(decays), "count": len(asked.cutoffs),
                   "nearest_target": asked.nearest, "nearest_distance": asked.nearest}
        wanted = {"reached": True, "sum": asked.sums, "closeness": asked.sums, "farthest_target": asked.farthest,
                  "farthest_distance": asked.farthest, **columns}
        for name, is_wanted in wanted.items():
            values = found.get(name)
            wrong = "missing" if is_wanted else "not asked for"
            require((values is not None) == bool(is_wanted), f"/solution/{name} is {wrong}")
            shape = (len(question.sources), *([columns[name]] if name in columns else []))
            same = values is None or np.shape(values) == shape
            require(same, f"/solution/{name} has another shape than {shape}")

    def _check_derived(self, contents: Contents, graph: Graph, question: PathQuestion, found: dict[str, Any]) -> None:
        """Refuse values that contradict those that they follow from."""
        assert question.reduction is not None
        if question.reduction.sums:
            close = closeness_of(graph, question.sources, question.targets, found["reached"], found["sum"])
            require(np.array_equal(found["closeness"], close), "/solution/closeness does not follow from the sums")
        whole = question.reduction.farthest and question.reduction.whole
        middle = middle_of(found["farthest_distance"], found["reached"]) if whole else {}
        for name in ("diameter", "radius", "centre"):
            stored = contents.value("solution", name)
            require((stored is not None) == whole, f"/solution/{name} is {'missing' if whole else 'not asked for'}")
            same = not whole or np.array_equal(stored, middle[name])
            require(same, f"/solution/{name} does not follow from the eccentricities")

    def ranges(self, contents: Contents) -> Iterator[tuple[str, str]]:
        """Yield name and range of each quantity, in words."""
        values = {name: contents.value("solution", name) for name in (*PER_SOURCE, "diameter", "radius", "centre")}
        reached, names = np.asarray(values["reached"]), contents.unique_names()
        yield "reached", f"{reached.min()} to {reached.max()} targets"
        for decay, access in zip(*access_of(contents)):
            best = np.asarray(contents.value("solution", "source"), np.int64)[access.argmax()]
            yield "access", f"{decay}: {access.min():.6g} to {access.max():.6g}, largest at {names[best]}"
        if values["sum"] is not None:
            close, source = np.asarray(values["closeness"]), np.asarray(contents.value("solution", "source"), np.int64)
            yield "closeness", f"{close.min():.6g} to {close.max():.6g}, largest at {names[source[close.argmax()]]}"
        if values["farthest_distance"] is not None:
            far = contents.own_distances(np.asarray(values["farthest_distance"]))
            far = far[np.isfinite(far)]
            yield "farthest", f"{far.min():.10g} to {far.max():.10g}" if len(far) else "no target is reached"
        if values["radius"] is not None:
            centre = np.asarray(values["centre"], np.int64)
            radius, diameter = contents.own_distances(np.array([values["radius"], values["diameter"]]))
            more = f" and {len(centre) - 1} more" if len(centre) > 1 else ""
            yield "radius", f"{radius:.10g}, diameter {diameter:.10g}, centre {names[centre[0]]}{more}"

    def lines(self, contents: Contents) -> Iterator[str]:
        """Yield a line for each quantity with its range."""
        source = np.asarray(contents.value("solution", "source"))
        yield f"source: {counted(len(source), 'vertex')}, whose values are in /solution of the file"
        yield from place_lines(contents)
        reached, *others = self.ranges(contents)
        for name, values in (reached, *self._shapes(contents), *others):
            yield f"{name + ':':<7} {values}"
        if bounds := Worth(contents).distance_bounds():
            yield f"bound:  {bounds}"

    def _shapes(self, contents: Contents) -> Iterator[tuple[str, str]]:
        """Yield name and shape of each table of the file, but for access whose values are here."""
        decays, every = access_of(contents)
        for name, table in contents.tables.items():
            if name != "access" or not len(every):
                meanings = f": {', '.join(decays)}" if name == "access" else ""
                yield name, f"{table.shape[0]} x {table.shape[1]}, {table.dtype}{meanings}"

    def summary(self, contents: Contents) -> str:
        """Return what is kept of how many sources: `closeness, farthest targets of 300 sources; 300 vertices`."""
        words = {"access": "access", "count": "counts", "nearest_target": "nearest targets", "sum": "closeness",
                 "farthest_target": "farthest targets"}
        there = {*contents.tables, *contents.groups["solution"]}
        stored = [text for name, text in words.items() if name in there] or ["targets reached"]
        sources = len(np.asarray(contents.value("solution", "source")))
        return f"{', '.join(stored)} of {counted(sources, 'source')}; {contents.value('instance', 'vertices')} vertices"

    def rows(self, contents: Contents) -> Iterator[base.Rows]:
        """Yield a table with a row for each source, with its coordinates if there are any.

        Distances are `inf`, and targets None, where none is reached.
        """
        names, source = contents.unique_names(), np.asarray(contents.value("solution", "source"), np.int64)
        found: dict[str, NDArray[Any]] = {"source": names[source]}
        found |= {axis: values[source] for axis, values in contents.coordinates().items()}

        def named(positions: NDArray[Any]) -> NDArray[Any]:
            found: NDArray[Any] = names.astype(object)[positions]
            found[positions == NO_VERTEX] = None
            return found

        stored = {name: contents.value("solution", name) for name in datasets(Reductions)}
        stored = {name: np.asarray(values) for name, values in stored.items() if values is not None}
        found["reached"] = stored["reached"]
        for i, cutoff in enumerate(contents.in_own_unit(stored.get("cutoff", np.empty(0)))):
            found[f"within_{cutoff:.10g}"] = stored["count"][:, i]
        for decay, access in zip(*access_of(contents)):
            found[f"access_{decay.replace(' ', '_')}"] = access
        for i in range(stored.get("nearest_target", np.empty((0, 0))).shape[1]):
            found[f"nearest_{i + 1}"] = named(stored["nearest_target"][:, i])
            found[f"distance_{i + 1}"] = contents.own_distances(stored["nearest_distance"][:, i])
        if "sum" in stored:
            found |= {"sum": contents.in_own_unit(stored["sum"]), "closeness": stored["closeness"]}
        if "farthest_target" in stored:
            found["farthest"] = named(stored["farthest_target"])
            found["farthest_distance"] = contents.own_distances(stored["farthest_distance"])
        yield found

    def edges(self, contents: Contents, number: int | None = None) -> base.Edges:
        """Refuse, since reductions have no paths."""
        raise InputError("reductions of distances have no graph of their own; export them as .csv")


REDUCTIONS = ReductionsType()
