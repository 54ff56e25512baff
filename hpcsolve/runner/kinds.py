"""Kinds of problems: how an instance is read, named and described. An algorithm names its `kind`.

tsp       the travelling salesman: cities with a matrix of costs
graph     a graph with weights, which may have coordinates and terminals
steiner   a graph with terminals
batch     many small travelling salesman problems: `instance = { batch = ... }`
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hpcsolve import formats
from hpcsolve.algorithms.registry import algorithm
from hpcsolve.answers.contents import Column, Contents, columns
from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats import GraphInstance, Instance, InstanceOf, read_graph, read_terminals, write_graph
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.npy import batch_of_arrays, read_batch
from hpcsolve.formats.tsplib import with_names
from hpcsolve.job import Job
from hpcsolve.output.schema import INSTANCE_GROUPS
from hpcsolve.problems.geographic import DEGREES
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.libraries import from_data_frame, from_networkx, from_scipy, is_data_frame
from hpcsolve.problems.notes import notes_on
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.steiner import require_problem, with_terminals
from hpcsolve.problems.tsp import Tsp, TspBatch, from_matrix
from hpcsolve.wording import counted, did_you_mean

BATCH = "batch"
"""The key of the table `instance = { batch = ... }`, and the name of the kind of problem."""


@dataclass(frozen=True)
class ProblemKind:
    """A kind of problem, with the functions that depend on it. Kinds of answers are in `hpcsolve.answers`.

    Attributes
    ----------
    size_unit
        What the size of a problem counts, in the plural: `cities`.
    read
        Reads the instance in a file, given (path, options, precision). Options are the other keys of the job's table
        `{ file = ..., ... }`.
    given
        Returns the problem that a Python program passed to `solve` as (problem, options, precision): our own type, a
        matrix, ...
    write
        Writes a file that `read` can read, given (problem, path).
    content_hash
        Returns the SHA-256 of everything in a problem that the answer depends on. It identifies a problem without file.
    identity
        Returns the SHA-256 that stands for an instance in the job's hash.
    size
        Returns the number of cities, vertices, ...
    headline
        Returns name, size and nature of a problem in a few words.
    values
        Returns the values of the datasets of `/instance`, which `output.contents.INSTANCE_GROUPS` declares.
    """

    size_unit: str
    read: Callable[[str, Mapping[str, Any], Precision], InstanceOf[Any]]
    given: Callable[[Any, Mapping[str, Any], Precision], Any]
    write: Callable[[Any, str], None]
    content_hash: Callable[[Any], str]
    identity: Callable[[InstanceOf[Any]], str]
    size: Callable[[Any], int]
    headline: Callable[[Any], str]
    values: Callable[[InstanceOf[Any]], dict[str, Any]]


def kind(name: str) -> ProblemKind:
    """Return the kind of problem with this name."""
    return KINDS[name]


def kind_of(job: Job) -> ProblemKind:
    """Return the kind of problem that a job's algorithm solves."""
    return kind(kind_name(job))


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
    return columns(INSTANCE_GROUPS[name], {**kind(name).values(instance), "kind": name, "notes": notes or None})


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


def read_tsp_instance(path: str, options: Mapping[str, Any], precision: Precision) -> Instance:
    """Read a TSPLIB file or a matrix. Raises as `formats.read` and `Tsp.fitted`."""
    _refuse_options(options)
    found = formats.read(path, precision)
    return replace(found, problem=with_names(found.problem).fitted(precision))


def _refuse_options(options: Mapping[str, Any]) -> None:
    """Refuse any key beside `file`."""
    for key in options:
        raise InputError(f"instance: no key {key!r} beside file, for a travelling salesman problem")


def tsp_headline(problem: Tsp) -> str:
    """Return `eu-capitals, 27 cities, symmetric`, and the unit of the costs if it is known."""
    unit = ", costs in metres" if problem.coordinates_kind == DEGREES else ""
    before = f", {counted(len(problem.precedences), 'precedence')}" if problem.precedences else ""
    symmetry = "symmetric" if problem.symmetric else "asymmetric"
    return f"{problem.name}, {counted(problem.n, 'city')}, {symmetry}{before}{unit}"


def given_tsp(problem: Any, options: Mapping[str, Any], precision: Precision) -> Tsp:
    """Return the instance that a program gave, or that of a matrix or DataFrame.

    Raises as `from_matrix` and `Tsp.fitted`.
    """
    _refuse_options(options)
    if is_data_frame(problem):
        return from_data_frame(problem, precision).fitted(precision)
    if not isinstance(problem, Tsp):
        return from_matrix(problem, precision=precision).fitted(precision)
    return problem.fitted(precision)


def tsp_content_hash(problem: Tsp) -> str:
    """Return the SHA-256 of the costs and labels."""
    digest = hashlib.sha256(f"tsp {problem.n} {problem.scale}".encode())
    for array in (problem.cost, problem.labels):
        digest.update(np.ascontiguousarray(array, "<i8").data)
    if problem.precedences:
        digest.update(f"before {problem.precedences}".encode())
    return digest.hexdigest()


def tsp_values(instance: Instance) -> dict[str, Any]:
    """Return the values of `/instance`: names, sizes and cities, but not the costs."""
    tsp = instance.problem
    axes = () if tsp.coordinates is None else tsp.coordinates.T
    return {
        "name": tsp.name,
        "comment": tsp.comment,
        "path": instance.path,
        "format": instance.format,
        "sha256": instance.sha256,
        "n": tsp.n,
        "symmetric": tsp.symmetric,
        "scale": tsp.scale,
        "rounded_to": None if tsp.rounding is None else 1 / tsp.scale,
        "label": tsp.labels,
        "city_name": tsp.city_names or None,
        "coordinates_kind": tsp.coordinates_kind,
        **dict(zip("xyz", axes)),
    }


TOURS = ProblemKind(
    "cities", read_tsp_instance, given_tsp, formats.write, tsp_content_hash,
    identity=lambda instance: instance.sha256,  # a file can be read in one way only
    size=lambda tsp: tsp.n, headline=tsp_headline, values=tsp_values,
)


OPTIONS = ("coordinates", "directed", "terminals", "weight")
"""Keys of the job's table `{ file = ..., ... }`."""


def read_graph_instance(
    path: str, options: Mapping[str, Any], precision: Precision, whole: bool = False
) -> GraphInstance:
    """Read the file of a graph, with coordinates or terminals from other files if the options name them.

    Parameters
    ----------
    whole
        Whether weights must be integers, which are rounded where they must be.

    Raises
    ------
    InputError
        One line with file and line, or key.
    """
    for key in options:
        if key not in OPTIONS:
            hint = did_you_mean(key, OPTIONS, f"; the keys are {', '.join(OPTIONS)}")
            raise InputError(f"instance: no key {key!r} beside file{hint}")
    coordinates, directed, terminals, weight = (options.get(key) for key in OPTIONS)
    if not isinstance(coordinates, (str, type(None))) or not isinstance(directed, (bool, type(None))):
        raise InputError("instance: coordinates must be the name of a file, and directed true or false")
    if not isinstance(weight, (str, type(None))):
        raise InputError("instance: weight must be the name of an attribute or column")
    if not isinstance(terminals, (str, list, type(None))):
        raise InputError("instance: terminals must be a list of vertices, or the name of a file with one per line")
    found = read_graph(path, coordinates, directed=directed, weight=weight)
    found = replace(found, problem=found.problem.fitted(precision, whole))
    return found if terminals is None else replace(found, problem=_with_terminals(found.problem, terminals))


def _with_terminals(graph: Graph, asked: str | list[Any]) -> Graph:
    if isinstance(asked, str) and not os.path.exists(asked):
        listed = "--set 'instance.terminals=[\"a\", \"b\"]'"
        raise InputError(f"instance.terminals: there is no file {asked}; a list of vertices is written {listed}")
    if isinstance(asked, str):
        return graph.with_terminals_at(read_terminals(asked).positions(graph).reshape(-1))
    return with_terminals(graph, asked)


def given_graph(problem: Any, options: Mapping[str, Any], precision: Precision, whole: bool = False) -> Graph:
    """Return the graph that a program gave: a `Graph`, a sparse matrix of scipy, or a graph of networkx.

    Each entry of a matrix is an arc, but an edge if weights must be `whole` (as in `read`), for a Steiner problem.

    Raises
    ------
    InputError
        It is none of these, or has not what is among the options: `weight` is for graphs of networkx, `directed` for
        these and matrices.
    """
    directed = options.get("directed")
    if isinstance(problem, Graph):
        graph = problem
        if directed not in (None, graph.directed):
            raise InputError(f"directed={directed}: a Graph says itself whether it is directed; remove directed=")
    elif hasattr(problem, "tocoo"):
        graph = from_scipy(problem, directed=None if whole and directed is None else directed is not False)
    elif hasattr(problem, "is_directed"):
        graph = from_networkx(problem, options.get("weight", "weight"), directed=directed)
    else:
        what = "a Graph, a sparse matrix of scipy, a graph of networkx, or a file"
        how = "networkx.from_pandas_edgelist makes a graph of a table, with create_using=networkx.DiGraph one of arcs"
        raise InputError(f"{type(problem).__name__} is not a graph; give {what}; {how}")
    if "weight" in options and not hasattr(problem, "is_directed"):
        raise InputError(f"weight= names an attribute of networkx's edges, and {type(problem).__name__} has none")
    graph = graph.fitted(precision, whole)
    return with_terminals(graph, options["terminals"]) if "terminals" in options else graph


def is_graph(problem: object) -> bool:
    """Return whether a program gave a graph of one of these types."""
    return isinstance(problem, Graph) or hasattr(problem, "tocoo") or hasattr(problem, "is_directed")


def graph_content_hash(problem: Graph) -> str:
    """Return the SHA-256 of arcs, weights, labels and terminals."""
    head = f"graph {problem.n} {problem.arcs} {problem.scale} {problem.directed} {problem.weights.dtype}"
    digest = hashlib.sha256(head.encode())
    terminals = np.empty(0, dtype=np.int64) if problem.terminals is None else problem.terminals
    for array in (problem.offsets, problem.heads, problem.weights, problem.labels, terminals):
        digest.update(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def graph_headline(problem: Graph) -> str:
    """Return `NY, 264346 vertices, 730100 arcs, directed`."""
    edges = f"{counted(problem.edges, 'edge')}, undirected"
    arcs = f"{counted(problem.arcs, 'arc')}, directed" if problem.directed else edges
    return f"{problem.name}, {counted(problem.n, 'vertex')}, {arcs}"


def graph_values(instance: GraphInstance) -> dict[str, Any]:
    """Return the values of `/instance`: names, sizes and vertices, but not the arcs."""
    graph = instance.problem
    axes = () if graph.coordinates is None else graph.coordinates.T
    return {
        "name": graph.name,
        "comment": graph.comment,
        "path": instance.path,
        "format": instance.format,
        "sha256": instance.sha256,
        "content_sha256": graph_content_hash(graph),
        "vertices": graph.n,
        "arcs": graph.arcs,
        "directed": graph.directed,
        "scale": graph.scale,
        "rounded_to": None if graph.rounding is None else 1 / graph.scale,
        "parallel_arcs": graph.parallel_arcs,
        "loops": graph.loops,
        "label": graph.labels,
        "vertex_name": graph.vertex_names or None,
        "coordinates_kind": graph.coordinates_kind,
        **dict(zip("xyz", axes)),
    }


GRAPHS = ProblemKind(
    "vertices", read_graph_instance, given_graph, write_graph, graph_content_hash,
    identity=lambda instance: graph_content_hash(instance.problem),  # one file may be read as directed or not
    size=lambda graph: graph.n, headline=graph_headline, values=graph_values,
)


def read_steiner_instance(path: str, options: Mapping[str, Any], precision: Precision) -> GraphInstance:
    """Read the file of a graph with terminals. Raises as `read_graph_instance` and `require_problem`."""
    found = read_graph_instance(path, options, precision, whole=True)
    return replace(found, problem=require_problem(found.problem))


def given_steiner(problem: Any, options: Mapping[str, Any], precision: Precision) -> Graph:
    """Return the graph with terminals that a program gave. Raises as `given_graph` and `require_problem`."""
    return require_problem(given_graph(problem, options, precision, whole=True))


def steiner_headline(problem: Graph) -> str:
    """Return `alue7080, 34479 vertices, 55494 edges, 2344 terminals`."""
    assert problem.terminals is not None
    terminals = counted(len(problem.terminals), "terminal")
    return f"{problem.name}, {counted(problem.n, 'vertex')}, {counted(problem.edges, 'edge')}, {terminals}"


def steiner_values(instance: GraphInstance) -> dict[str, Any]:
    """Return the values of `/instance`: those of a graph, and the terminals."""
    terminals = instance.problem.terminals
    assert terminals is not None
    own = {"terminal": terminals.astype(np.int32), "repeated_terminals": instance.problem.repeated_terminals}
    return {**graph_values(instance), **own}


STEINER = replace(
    GRAPHS, read=read_steiner_instance, given=given_steiner, headline=steiner_headline, values=steiner_values
)


def read_batch_source(source: Any, precision: Precision) -> InstanceOf[TspBatch]:
    """Return the batch of a file, a folder or a list of files. Raises as `read_batch`."""
    if not (isinstance(source, str) or (isinstance(source, list) and all(isinstance(file, str) for file in source))):
        raise InputError('instance.batch: name a .npz or .npy file, a folder, or a list of files: batch = "costs.npz"')

    def read_one(file: str) -> InstanceOf[Tsp]:
        found = formats.read(file, precision)
        return replace(found, problem=found.problem.fitted(precision))

    batch, digest = read_batch(source, read_one, precision)
    path = os.path.abspath(source) if isinstance(source, str) else ""
    return InstanceOf(batch.fitted(precision), path, digest, "batch")


def given_batch(problem: Any, options: Mapping[str, Any], precision: Precision) -> TspBatch:
    """Return the batch of an array of shape (instances, n, n). Raises as `batch_of_arrays`."""
    return batch_of_arrays(InputFile("batch", b"", ""), [np.asarray(problem)], precision).fitted(precision)


def write_batch(problem: TspBatch, path: str) -> None:
    """Raise `InputError`: hpcsolve writes no batches."""
    raise InputError("hpcsolve cannot write a batch; write it with numpy.savez")


def batch_headline(problem: TspBatch) -> str:
    """Return `costs, 100000 instances of 12 cities`."""
    few, most = int(problem.cities.min()), int(problem.cities.max())
    cities = counted(most, "city") if few == most else f"{few} to {most} cities"
    return f"{problem.name}, {counted(problem.count, 'instance')} of {cities}"


def batch_content_hash(problem: TspBatch) -> str:
    """Return the SHA-256 of the costs."""
    digest = hashlib.sha256(f"batch {problem.count} {problem.scale}".encode())
    for costs in problem.costs:
        digest.update(str(costs.shape).encode())
        digest.update(np.ascontiguousarray(costs, "<i8").data)
    return digest.hexdigest()


def batch_values(instance: InstanceOf[TspBatch]) -> dict[str, Any]:
    """Return the values of `/instance`: names and sizes, but not the costs."""
    batch = instance.problem
    return {
        "name": batch.name, "comment": "", "path": instance.path, "format": instance.format, "sha256": instance.sha256,
        "instances": batch.count, "label": np.arange(batch.count), "cities": batch.cities, "scale": batch.scale,
        "coordinates_kind": "", "rounded_to": _coarsest_unit(batch),
    }


def _coarsest_unit(batch: TspBatch) -> float | None:
    """Return the coarsest unit that an instance was rounded to, which may be coarser than the common scale, or None."""
    errors = [rounding.error for rounding in batch.roundings if rounding is not None]
    return float(f"1e{(2 * max(errors)).adjusted()}") if errors else None


BATCHES = ProblemKind(
    "cities", lambda path, options, precision: read_batch_source(path, precision), given_batch, write_batch,
    batch_content_hash, identity=lambda instance: instance.sha256, size=lambda batch: int(batch.cities.max()),
    headline=batch_headline, values=batch_values,
)


KINDS = {"tsp": TOURS, "graph": GRAPHS, "steiner": STEINER, BATCH: BATCHES}
"""The kinds of problems by their names, those of `INSTANCE_GROUPS`."""
