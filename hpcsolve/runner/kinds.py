"""Kinds of problems: how an instance is read, named and described. An algorithm names its `kind`.

tsp       the travelling salesman: cities with a matrix of costs, or with coordinates
graph     a graph with weights, which may have coordinates and terminals
steiner   a graph with terminals
batch     many travelling salesman problems: `instance = { batch = ... }`
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve import formats
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.answers.contents import Column, Contents, columns
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats import GraphInstance, Instance, InstanceOf, read_graph, write_graph
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.known import TSP_FORMATS
from hpcsolve.formats.npy import batch_of_arrays, read_batch
from hpcsolve.formats.order_files import windows_of_frame
from hpcsolve.formats.place_lists import PlaceList
from hpcsolve.formats.tsplib import with_names
from hpcsolve.formats.vertex_lists import NamedVertices, read_vertices
from hpcsolve.job import Job
from hpcsolve.output.schema import INSTANCE_GROUPS
from hpcsolve.problems.clock import SYMBOLS
from hpcsolve.problems.geographic import at_speed
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import from_data_frame, from_networkx, from_scipy, is_data_frame
from hpcsolve.problems.notes import notes_on
from hpcsolve.problems.plane_points import from_points_in_plane, is_points
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.snapping import Snapped
from hpcsolve.problems.steiner import require_problem, with_terminals
from hpcsolve.problems.stops import tour_at, tour_at_places, tour_of_stops
from hpcsolve.problems.tsp import MOST_PAIRED, Tsp, TspBatch, from_matrix
from hpcsolve.wording import counted, did_you_mean

MOST_HASHED = 5_000
"""Cities up to which the costs between all of them are hashed, in a second, where there is no matrix of them."""
STOPS = "stops"
"""The key of the table `instance = { file = ..., stops = ... }` with the cities of a tour in a graph."""
NETWORK_OPTIONS = ("coordinates", "directed", "terminals", "weight")
"""The other keys of the table `instance = { file = ..., ... }` of a graph."""
_IN_WORDS = {"m": "metres", "km": "kilometres", **{symbol: f"{unit}s" for unit, symbol in SYMBOLS.items()}}
"""Units of costs -> words for them."""
BATCH = "batch"
"""The key of the table `instance = { batch = ... }`, and the name of the kind of problem."""


class ProblemKind(ABC):
    """A kind of problem, and what depends on it. Kinds of answers are in `hpcsolve.answers`.

    Attributes
    ----------
    size_noun
        What the size of a problem counts: `city`.
    """

    size_noun: ClassVar[str]

    @abstractmethod
    def read(self, path: str, options: Mapping[str, Any], precision: Precision) -> InstanceOf[Any]:
        """Return the instance in a file.

        Parameters
        ----------
        options
            The other keys of the job's table `{ file = ..., ... }`.

        Raises
        ------
        InputError
            One line with file and line, or key.
        """

    @abstractmethod
    def given(self, problem: Any, options: Mapping[str, Any], precision: Precision) -> Any:
        """Return the problem that a Python program passed to `solve`: our own type, a matrix, ...

        Raises
        ------
        InputError
            It is none of the types that can be solved, or does not go with the options.
        """

    @abstractmethod
    def write(self, problem: Any, path: str) -> None:
        """Write a file that `read` can read."""

    @abstractmethod
    def content_hash(self, problem: Any) -> str:
        """Return the SHA-256 of everything that the answer depends on. It identifies a problem without a file."""

    def former_hash(self, problem: Any) -> str:
        """Return what `content_hash` was in earlier versions, for the results that they wrote."""
        return self.content_hash(problem)

    def identity(self, instance: InstanceOf[Any]) -> str:
        """Return the SHA-256 that stands for an instance in the job's hash: the file's, which is read in one way."""
        return instance.sha256

    def size(self, problem: Any) -> int:
        """Return the number of cities, vertices, ..."""
        return int(problem.n)

    @abstractmethod
    def headline(self, problem: Any) -> str:
        """Return name, size and nature of a problem in a few words."""

    def values(self, instance: InstanceOf[Any]) -> dict[str, Any]:
        """Return the values of the datasets of `/instance`, which `output.schema.INSTANCE_GROUPS` declares."""
        problem = instance.problem
        axes = () if problem.coordinates is None else problem.coordinates.T
        return {
            "name": problem.name, "comment": problem.comment, "path": instance.path, "format": instance.format,
            "sha256": instance.sha256, "scale": problem.scale, "unit": problem.unit or None,
            "rounded_to": None if problem.rounding is None else 1 / problem.scale, "label": problem.labels,
            "coordinates_kind": problem.coordinates_kind, **dict(zip("xyz", axes)),
        }


class Tours(ProblemKind):
    """Cities with a matrix of costs, or with coordinates."""

    size_noun = "city"

    def read(self, path: str, options: Mapping[str, Any], precision: Precision) -> Instance:
        """Return the cities of a file, or at the stops in a graph. Raises as `formats.read` and `Tsp.fitted`."""
        if STOPS in options:
            graph = network_of_stops(path, options)
            problem = self._at_stops(graph.problem, options, precision)
            return Instance(problem, graph.path, self.content_hash(problem), graph.format)
        found = formats.read(path, precision, **self._options(options))
        problem = with_names(found.problem).fitted(precision)
        # A file that may be read in several ways is named by its costs.
        several = options or any("weight" in format.accepts for format in TSP_FORMATS if format.name == found.format)
        return replace(found, problem=problem, sha256=self.content_hash(problem) if several else found.sha256)

    def given(self, problem: Any, options: Mapping[str, Any], precision: Precision) -> Tsp:
        """Return the cities of a `Tsp`, a matrix, points, a DataFrame, a dict of JSON, or at the stops in a graph.

        Raises as `from_matrix`, `given_network` and `tour_of_stops`.
        """
        if STOPS in options:
            return self._at_stops(given_network(problem, options, edges=False), options, precision)
        own = self._options(options)
        weight, speed = own["weight"], own["speed"]
        if isinstance(problem, Mapping):
            return formats.read_object(problem, precision, weight, speed).fitted(precision)
        if weight is not None:
            raise InputError(f"weight={weight!r} names a table of a dict, and {type(problem).__name__} has none")
        framed = is_data_frame(problem)
        if framed:
            tsp = from_data_frame(problem, precision, speed=speed)
        elif is_points(problem):
            tsp = from_points_in_plane(problem, precision=precision)
        else:
            tsp = problem if isinstance(problem, Tsp) else from_matrix(problem, precision=precision)
        if speed is not None:
            tsp = at_speed(tsp, speed)
            tsp = replace(tsp, windows=windows_of_frame(problem, tsp, speed)) if framed else tsp
        return tsp.fitted(precision)

    def _at_stops(self, graph: Graph, options: Mapping[str, Any], precision: Precision) -> Tsp:
        """Return the cities at the stops in a graph: vertices, or those of a file. Raises as `tour_of_stops`."""
        stops = options[STOPS]
        if "terminals" in options:
            raise InputError("instance: stops are those of a tour, terminals those of a tree; remove one of them")
        speed = options.get("speed")
        windows = None
        if isinstance(stops, str):
            named = _named_in(STOPS, stops, speed)
            vertices, places = _placed(graph, STOPS, named)
            tsp = tour_at_places(graph, places[0], precision) if places else tour_at(graph, vertices, precision)
            if isinstance(named, PlaceList):
                windows, tsp = named.windows, replace(tsp, notes=(*tsp.notes, *named.notes))
        elif isinstance(stops, Iterable):
            tsp = tour_of_stops(graph, stops, precision)
        else:
            what = f"stops must be a list of vertices, as in [{json.dumps(stops, default=str)}]"
            raise InputError(f"{what}, or the name of a file of vertices or places")
        return (tsp if speed is None else replace(at_speed(tsp, speed), windows=windows)).fitted(precision)

    def _options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of `formats.read`: which of several tables has the costs, and a speed."""
        for key in options:
            if key not in ("weight", "speed"):
                raise InputError(f"instance: no key {key!r} beside file, for a travelling salesman problem")
        weight = options.get("weight")
        if not isinstance(weight, (str, type(None))):
            raise InputError("instance: weight must be the name of a table, durations or distances")
        return {"weight": weight, "speed": options.get("speed")}

    def write(self, problem: Tsp, path: str) -> None:
        """Write the cities in the format that the name of the file says."""
        formats.write(problem, path)

    def content_hash(self, problem: Tsp) -> str:
        """Return the SHA-256 of costs (of many cities their coordinates), labels, precedences and windows."""
        return self._hash(problem, MOST_HASHED)

    def former_hash(self, problem: Tsp) -> str:
        """Return what `content_hash` was when instances of up to `MOST_PAIRED` cities were named by their costs."""
        return self._hash(problem, MOST_PAIRED)

    def _hash(self, problem: Tsp, most: int) -> str:
        digest = hashlib.sha256(f"tsp {problem.n} {problem.scale}".encode())
        if problem.metric and problem.n > most:
            digest.update(problem.metric.encode())
            digest.update(np.ascontiguousarray(problem.coordinates, "<f8").data)
        else:
            for _, costs in problem.row_blocks():
                digest.update(np.ascontiguousarray(costs, "<i8").data)
        digest.update(np.ascontiguousarray(problem.labels, "<i8").data)
        if problem.precedences:
            digest.update(f"before {problem.precedences}".encode())
        if problem.windows is not None:
            digest.update(b"windows" + problem.windows.as_bytes())
        if problem.places:
            digest.update(f"places {problem.city_names}".encode())
        return digest.hexdigest()

    def headline(self, problem: Tsp) -> str:
        """Return `eu-capitals, 27 cities, symmetric`, and the unit of the costs if the input says it."""
        costs = _with_unit("costs", problem, f" along shortest paths in {problem.network}" if problem.network else "")
        before = f", {counted(len(problem.precedences), 'precedence')}" if problem.precedences else ""
        symmetry = "symmetric" if problem.symmetric else "asymmetric"
        windows = "" if problem.windows is None else ", with time windows"
        return f"{problem.name}, {counted(problem.n, 'city')}, {symmetry}{before}{windows}{costs}"

    def values(self, instance: InstanceOf[Any]) -> dict[str, Any]:
        """Return names, sizes and cities, but not the costs."""
        tsp = instance.problem
        own = {"n": tsp.n, "symmetric": tsp.symmetric, "city_name": tsp.city_names or None,
               "network": tsp.network or None}
        return {**super().values(instance), **own}


class Graphs(ProblemKind):
    """Vertices and arcs with weights."""

    size_noun = "vertex"
    whole: ClassVar = False
    """Whether weights must be integers, which are rounded where they must be, and entries of a matrix are edges."""

    def read(self, path: str, options: Mapping[str, Any], precision: Precision) -> GraphInstance:
        """Return the graph of a file, with coordinates or terminals from other files if the options name them."""
        found, terminals = read_network(path, options), options.get("terminals")
        if not isinstance(terminals, (str, list, type(None))):
            what = "terminals must be a list of vertices, or the name of a file of vertices or places"
            raise InputError(f"instance: {what}")
        graph = found.problem.fitted(precision, self.whole)
        return replace(found, problem=graph if terminals is None else self._joining(graph, terminals))

    def _joining(self, graph: Graph, terminals: Any) -> Graph:
        """Return the graph with these terminals: vertices, or the name of a file of vertices or places."""
        if not isinstance(terminals, str):
            return replace(with_terminals(graph, terminals), places=())
        positions, places = _placed(graph, "terminals", _named_in("terminals", terminals))
        return replace(graph.with_terminals_at(positions), places=places)

    def given(self, problem: Any, options: Mapping[str, Any], precision: Precision) -> Graph:
        """Return the graph that a program gave: a `Graph`, a sparse matrix of scipy, or a graph of networkx.

        Each entry of a matrix is an arc, but of a Steiner problem an edge.

        Raises
        ------
        InputError
            It is none of these, or has not what is among the options: `weight` is for graphs of networkx, `directed`
            for these and matrices.
        """
        graph = given_network(problem, options, self.whole).fitted(precision, self.whole)
        return self._joining(graph, options["terminals"]) if "terminals" in options else graph

    def write(self, problem: Graph, path: str) -> None:
        """Write the graph in the format that the name of the file says."""
        write_graph(problem, path)

    def content_hash(self, problem: Graph) -> str:
        """Return the SHA-256 of arcs, weights, labels and terminals."""
        head = f"graph {problem.n} {problem.arcs} {problem.scale} {problem.directed} {problem.weights.dtype}"
        digest = hashlib.sha256(head.encode())
        terminals = np.empty(0, dtype=np.int64) if problem.terminals is None else problem.terminals
        for array in (problem.offsets, problem.heads, problem.weights, problem.labels, terminals):
            digest.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
        return digest.hexdigest()

    def identity(self, instance: InstanceOf[Any]) -> str:
        """Return the SHA-256 of the content, since one file may be read as directed or not."""
        return self.content_hash(instance.problem)

    def headline(self, problem: Graph) -> str:
        """Return `NY, 264346 vertices, 730100 arcs, directed`, and the unit of the weights if the input says it."""
        edges = f"{counted(problem.edges, 'edge')}, undirected"
        arcs = f"{counted(problem.arcs, 'arc')}, directed" if problem.directed else edges
        return f"{problem.name}, {counted(problem.n, 'vertex')}, {arcs}{_with_unit('weights', problem)}"

    def values(self, instance: InstanceOf[Any]) -> dict[str, Any]:
        """Return names, sizes and vertices, but not the arcs."""
        graph = instance.problem
        own = {
            "content_sha256": self.content_hash(graph), "vertices": graph.n, "arcs": graph.arcs,
            "directed": graph.directed, "parallel_arcs": graph.parallel_arcs, "loops": graph.loops,
            "vertex_name": graph.vertex_names or None,
        }
        return {**super().values(instance), **own}


def _with_unit(what: str, problem: Tsp | Graph, more: str = "") -> str:
    """Return `, costs in metres` and what else is to be said of them, or "" if there is neither."""
    unit = f" in {_IN_WORDS.get(problem.unit, problem.unit)}" if problem.unit else ""
    return f", {what}{unit}{more}" if unit or more else ""


def network_of_stops(path: str, options: Mapping[str, Any]) -> GraphInstance:
    """Return the graph in which the options name the stops of a tour. Raises as `read_network`."""
    return read_network(path, {key: value for key, value in options.items() if key not in (STOPS, "speed")})


def read_network(path: str, options: Mapping[str, Any]) -> GraphInstance:
    """Return the graph of a file, with coordinates from another file if the options name it, as it was read.

    Raises
    ------
    InputError
        An option is unknown or of a wrong type; or as `read_graph`.
    """
    for key in options:
        if key not in NETWORK_OPTIONS:
            hint = did_you_mean(key, NETWORK_OPTIONS, f"; the keys are {', '.join(NETWORK_OPTIONS)}")
            raise InputError(f"instance: no key {key!r} beside file{hint}")
    coordinates, directed, weight = (options.get(key) for key in ("coordinates", "directed", "weight"))
    if not isinstance(coordinates, (str, type(None))) or not isinstance(directed, (bool, type(None))):
        raise InputError("instance: coordinates must be the name of a file, and directed true or false")
    if not isinstance(weight, (str, type(None))):
        raise InputError("instance: weight must be the name of an attribute or column")
    return read_graph(path, coordinates, directed=directed, weight=weight)


def given_network(problem: Any, options: Mapping[str, Any], edges: bool) -> Graph:
    """Return the graph that a program gave, as `Graphs.given` takes it.

    Parameters
    ----------
    edges
        Whether entries of a matrix are edges, where the options do not say so.

    Raises
    ------
    InputError
        As `Graphs.given`.
    """
    directed = options.get("directed")
    if isinstance(problem, Graph):
        graph = problem
        if directed not in (None, graph.directed):
            raise InputError(f"directed={directed}: a Graph says itself whether it is directed; remove directed=")
    elif hasattr(problem, "tocoo"):
        graph = from_scipy(problem, directed=None if edges and directed is None else directed is not False)
    elif hasattr(problem, "is_directed"):
        graph = from_networkx(problem, options.get("weight", "weight"), directed=directed)
    else:
        what = "a Graph, a sparse matrix of scipy, a graph of networkx, or a file"
        how = "networkx.from_pandas_edgelist makes a graph of a table"
        how = f"{how}, with create_using=networkx.DiGraph one of arcs"
        raise InputError(f"{type(problem).__name__} is not a graph; give {what}; {how}")
    if "weight" in options and not hasattr(problem, "is_directed"):
        raise InputError(f"weight= names an attribute of networkx's edges, and {type(problem).__name__} has none")
    return graph


def _named_in(key: str, path: str, speed: float | None = None) -> NamedVertices | PlaceList:
    """Return what the file of a key of the instance names.

    Raises
    ------
    InputError
        There is no such file; or as `read_vertices`.
    """
    if not os.path.exists(path):
        listed = f"--set 'instance.{key}=[\"a\", \"b\"]'"
        raise InputError(f"instance.{key}: there is no file {path}; a list of vertices is written {listed}")
    try:
        return read_vertices(path, key.removesuffix("s"), speed=speed)
    except InputError as error:
        raise InputError(f"instance.{key}: {error}") from None


def _placed(
    graph: Graph, key: str, named: NamedVertices | PlaceList
) -> tuple[NDArray[np.int64], tuple[Snapped, ...]]:
    """Return the vertices of a graph that are named, each once, and how places became these. Raises as `placed`."""
    try:
        return named.placed(graph, key.removesuffix("s"))
    except InputError as error:
        raise InputError(f"{key}: {error}") from None


class SteinerProblems(Graphs):
    """Graphs with terminals."""

    whole = True

    def read(self, path: str, options: Mapping[str, Any], precision: Precision) -> GraphInstance:
        """Return the graph of a file with its terminals. Raises as `Graphs.read` and `require_problem`."""
        found = super().read(path, options, precision)
        return replace(found, problem=require_problem(found.problem))

    def given(self, problem: Any, options: Mapping[str, Any], precision: Precision) -> Graph:
        """Return the graph with terminals that a program gave. Raises as `Graphs.given` and `require_problem`."""
        return require_problem(super().given(problem, options, precision))

    def headline(self, problem: Graph) -> str:
        """Return `alue7080, 34479 vertices, 55494 edges, 2344 terminals`, and the unit as `Graphs.headline`."""
        assert problem.terminals is not None
        sizes = [counted(problem.n, "vertex"), counted(problem.edges, "edge"),
                 counted(len(problem.terminals), "terminal")]
        return f"{', '.join([problem.name, *sizes])}{_with_unit('weights', problem)}"

    def values(self, instance: InstanceOf[Any]) -> dict[str, Any]:
        """Return the values of a graph, and the terminals."""
        graph = instance.problem
        own = {"terminal": graph.terminals.astype(np.int32), "repeated_terminals": graph.repeated_terminals}
        return {**super().values(instance), **own}


class Batches(ProblemKind):
    """Many travelling salesman problems."""

    size_noun = "city"

    def read(self, path: Any, options: Mapping[str, Any], precision: Precision) -> InstanceOf[TspBatch]:
        """Return the batch of a file, a folder or a list of files, to each of which the options belong.

        Raises
        ------
        InputError
            An option is unknown; or as `read_batch` and `Tours.read`.
        """
        for key in options:
            if key not in ("weight", "speed") or (isinstance(path, str) and not os.path.isdir(path)):
                takes = "a folder or list of files takes weight and speed, a file of arrays nothing"
                raise InputError(f"instance: no key {key!r} beside batch: {takes}; remove it")
        if not (isinstance(path, str) or (isinstance(path, list) and all(isinstance(file, str) for file in path))):
            what = 'name a .npz or .npy file, a folder, or a list of files: batch = "costs.npz"'
            raise InputError(f"instance.batch: {what}")

        batch, digest = read_batch(path, lambda file: KINDS["tsp"].read(file, options, precision), precision)
        source = os.path.abspath(path) if isinstance(path, str) else ""
        return InstanceOf(batch.fitted(precision), source, digest, "batch")

    def given(self, problem: Any, options: Mapping[str, Any], precision: Precision) -> TspBatch:
        """Return the batch of an array of shape (instances, n, n). Raises as `batch_of_arrays`."""
        return batch_of_arrays(InputFile("batch", b"", ""), [np.asarray(problem)], precision).fitted(precision)

    def write(self, problem: TspBatch, path: str) -> None:
        """Raise `InputError`: hpcsolve writes no batches."""
        raise InputError("hpcsolve cannot write a batch; write it with numpy.savez")

    def content_hash(self, problem: TspBatch) -> str:
        """Return the SHA-256 of the costs, and of files of all else that a tour depends on."""
        digest = hashlib.sha256(f"batch {problem.count} {problem.scale}".encode())
        for part in problem.parts:
            digest.update(str(part.costs().shape).encode())
            digest.update(np.ascontiguousarray(part.costs(), "<i8").data)
            if problem.instance_names:
                digest.update(KINDS["tsp"].content_hash(part.first).encode())
        return digest.hexdigest()

    def size(self, problem: TspBatch) -> int:
        """Return the cities of the largest instance."""
        return int(problem.cities.max())

    def headline(self, problem: TspBatch) -> str:
        """Return `costs, 100000 instances of 12 cities`."""
        few, most = int(problem.cities.min()), int(problem.cities.max())
        cities = counted(most, "city") if few == most else f"{few} to {most} cities"
        timed = sum(part.count for part in problem.parts if part.first.windows is not None)
        windows = "" if not timed else ", with time windows" if timed == problem.count else \
            f", {timed} of them with time windows"
        return f"{problem.name}, {counted(problem.count, 'instance')} of {cities}{windows}"

    def values(self, instance: InstanceOf[Any]) -> dict[str, Any]:
        """Return names and sizes, but not the costs. The unit is the coarsest that an instance was rounded to."""
        batch = instance.problem
        kinds = {part.first.coordinates_kind for part in batch.parts}
        errors = [part.first.rounding.error for part in batch.parts if part.first.rounding is not None]
        return {
            "name": batch.name, "comment": "", "path": instance.path, "format": instance.format,
            "sha256": instance.sha256, "instances": batch.count, "label": np.arange(batch.count),
            "instance_name": batch.instance_names or None, "cities": batch.cities, "scale": batch.scale,
            "unit": batch.unit or None, "coordinates_kind": kinds.pop() if len(kinds) == 1 else "",
            "rounded_to": float(f"1e{(2 * max(errors)).adjusted()}") if errors else None,
        }


KINDS: Mapping[str, ProblemKind] = {"tsp": Tours(), "graph": Graphs(), "steiner": SteinerProblems(), BATCH: Batches()}
"""The kinds of problems by their names, those of `INSTANCE_GROUPS`."""


def is_graph(problem: object) -> bool:
    """Return whether a program gave a graph of one of the types that `Graphs.given` takes."""
    return isinstance(problem, Graph) or hasattr(problem, "tocoo") or hasattr(problem, "is_directed")


def kind_of(job: Job) -> ProblemKind:
    """Return the kind of problem that a job's algorithm solves."""
    return KINDS[kind_name(job)]


def kind_name(job: Job) -> str:
    """Return the name of the kind of problem that a job solves: its algorithm's, or that of a batch.

    Raises
    ------
    InputError
        The algorithm takes no batches.
    """
    solver, named = algorithm(job.settings.algorithm), job.settings.instance
    if not isinstance(named, dict) or BATCH not in named:
        return solver.kind
    if not solver.batches:
        raise InputError(f"instance.batch: {solver.name} takes no batches; choose held-karp")
    return BATCH


def instance_columns(job: Job, instance: InstanceOf[Any]) -> dict[str, Column]:
    """Return the content of `/instance`."""
    name, notes = kind_name(job), "\n".join(notes_on(instance.problem))
    values = {**KINDS[name].values(instance), "kind": name, "notes": notes or None}
    if (time_unit := msgspec.structs.asdict(job.parameters).get("time_unit")) is not None:
        values["unit"] = SYMBOLS[time_unit]
    return columns(INSTANCE_GROUPS[name], values)


def require_kind(contents: Contents, job: Job, file: str) -> None:
    """Refuse a result that is of another kind of problem than the job.

    Raises
    ------
    InputError
        This version does not know the kind of the result.
    DamagedFileError
        The result is of another kind.
    """
    name = str(contents.value("instance", "kind", ""))
    if name not in KINDS:
        raise InputError(f"the result is of an unknown kind of problem, {name[:40]!r}", file)
    if name != kind_name(job):
        raise DamagedFileError(f"{file}: damaged: /instance/kind is of another kind of problem than the job")
