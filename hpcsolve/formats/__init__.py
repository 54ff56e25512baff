"""Readers and writers of instances: what a format is, and how files are read and written by the records of `known.py`.

Each format has a file here. `known.py` imports all of them. So functions here import it only when a file is read or
written, as most ranks never do.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.dimacs import with_coordinates, write_coordinates
from hpcsolve.formats.files import InputFile, memory_checked, open_file
from hpcsolve.formats.tables import listed
from hpcsolve.formats.tsplib import read_tour_text
from hpcsolve.memory import require_free
from hpcsolve.problems.geographic import at_speed
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import Tsp
from hpcsolve.wording import shown

Problem = TypeVar("Problem")
_UNREADABLE = {
    b"BZh": "compressed with bzip2; hpcsolve reads gz and xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; hpcsolve reads gz and xz",
    b"\x89HDF": "an HDF5 file, perhaps a result, not an instance",
}


class OtherKindError(InputError):
    """A file has an instance of another kind of problem than the one that was asked for."""


@dataclass(frozen=True, eq=False)
class InstanceOf(Generic[Problem]):
    """A problem and where it came from.

    Attributes
    ----------
    path
        As given; "-" is standard input.
    sha256
        SHA-256 of the file's own bytes (compressed, if it is).
    format
        The name of the format that the file was read as, or "generated".
    """

    problem: Problem
    path: str
    sha256: str
    format: str


Instance = InstanceOf[Tsp]
"""A travelling salesman problem and where it came from."""


GraphInstance = InstanceOf[Graph]
"""A graph, perhaps with terminals, and where it came from."""


@dataclass(frozen=True)
class Format(Generic[Problem]):
    """A file format: what its files look like, and how they are read and written.

    The format of a file is the first one whose `signature` accepts its content. If there is none, it is the first one
    with the file's suffix, and then the first one whose `resembles` accepts the content.

    Attributes
    ----------
    name
        The name in `InstanceOf.format`, and in `/instance/format` of a result.
    title
        The name in messages and in the documentation.
    suffixes
        In lower case, the usual one first.
    description
        What a file looks like, in a few words, for the documentation.
    directed
        Whether lines are arcs or edges, costs one way or both, in a few words, for the documentation.
    read
        Function that returns the problem in an `InputFile`. Readers of graphs also take `directed` (see
        `formats.read_graph`), readers of travelling salesman problems `precision` (see `formats.read`).
    signature
        Function that returns whether content is certainly of this format. None: no content is certain.
    resembles
        Function that returns whether content may be of this format. None: the format is never guessed from content.
    write
        Function that writes a problem to a path ("-" is standard output). None: the format is only read.
    binary
        Whether the files are not text.
    accepts
        What else `read` takes. "weight": the name of one of several attributes, columns or tables that may have the
        weights. "speed": a speed, with which the file may have time windows.
    growth
        Bytes that reading takes for each byte of the content beside it, at least; what a cost matrix takes beside that
        is compared when the number of cities is known.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    description: str
    directed: str
    read: Callable[..., Problem]
    signature: Callable[[bytes], bool] | None = None
    resembles: Callable[[bytes], bool] | None = None
    write: Callable[[Problem, str], None] | None = None
    binary: bool = False
    accepts: tuple[str, ...] = ()
    growth: float = 11

    def accepted(self, **named: Any) -> dict[str, Any]:
        """Return those of the named options that `read` accepts and that have a value."""
        return {name: value for name, value in named.items() if value is not None and name in self.accepts}


def read(
    path: str | os.PathLike[str], precision: Precision | None = None, weight: str | None = None,
    speed: float | None = None,
) -> Instance:
    """Read a travelling salesman problem in any of `known.TSP_FORMATS`, perhaps compressed with gz or xz.

    Parameters
    ----------
    path
        "-" is standard input.
    precision
        How to round decimals that are too many for exact integers; by default they are refused.
    weight
        Which table has the costs, in formats that may have several: "durations" or "distances".
    speed
        In km/h: costs are travel times in place of metres (`geographic.at_speed`), and places may have time windows.

    Raises
    ------
    InputError
        The file is missing, damaged or not a travelling salesman problem. The message names file and line.
    ResourceError
        The cost matrix would not fit this machine.
    """
    from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS

    wrong_kind = "a graph ({}), not a travelling salesman problem, which needs the distances between all cities"
    found = read_instance(path, TSP_FORMATS, GRAPH_FORMATS, wrong_kind, precision, weight=weight, speed=speed)
    known = next(format for format in TSP_FORMATS if format.name == found.format)
    return replace(found, problem=_at_speed(found.problem, known, speed))


def read_object(
    content: Mapping[str, Any], precision: Precision | None = None, weight: str | None = None,
    speed: float | None = None,
) -> Tsp:
    """Return the travelling salesman problem in an object of JSON, as Python's `json` reads it.

    Parameters
    ----------
    precision, weight, speed
        As in `read`.

    Raises
    ------
    InputError
        It is none of the formats of `known.TSP_FORMATS` that are JSON, or as `read`.
    """
    from hpcsolve.formats.known import TSP_FORMATS

    try:
        text = json.dumps(content, ensure_ascii=False)
    except (TypeError, ValueError) as problem:
        raise InputError(f"the dict is not JSON: {problem}") from None
    file = InputFile("dict", text.encode(), "")
    found = next((one for one in TSP_FORMATS if ".json" in one.suffixes and one.signature and
                  one.signature(file.content)), None)
    if found is None:
        known = ", ".join(format.title for format in TSP_FORMATS if ".json" in format.suffixes)
        raise InputError(f"a dict with the keys {listed(map(str, content))} is no problem; of JSON there are {known}")
    if weight is not None and "weight" not in found.accepts:
        raise InputError(f"{found.title}: costs are distances; remove weight={weight!r}")
    return _at_speed(found.read(file, precision, **found.accepted(weight=weight, speed=speed)), found, speed)


def _at_speed(tsp: Tsp, format: Format[Tsp], speed: float | None) -> Tsp:
    """Return an instance with travel times in place of metres, if there is a speed that its reader did not take."""
    return tsp if speed is None or "speed" in format.accepts else at_speed(tsp, speed)


def weight_is_of_cities(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a travelling salesman problem in a format that takes a weight. Raises as `opened`."""
    from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS

    _, found = opened(os.fspath(path), (*TSP_FORMATS, *GRAPH_FORMATS))
    return found is not None and "weight" in found.accepts and any(found is format for format in TSP_FORMATS)


def read_graph(
    path: str | os.PathLike[str],
    coordinates: str | os.PathLike[str] | None = None,
    *,
    directed: bool | None = None,
    weight: str | None = None,
) -> GraphInstance:
    """Read a graph in any of `known.GRAPH_FORMATS`, perhaps compressed with gz or xz.

    Parameters
    ----------
    path
        "-" is standard input.
    coordinates
        A DIMACS `.co` file.
    directed
        Whether an entry of the file is an arc (True), or an edge (False), whose weight is the lighter one of two
        directions. By default the file says it. One that does not (edge lists, GeoJSON) has edges, and is refused if
        two of them lead opposite ways with different weights.
    weight
        The attribute or column with the weights, in formats that may have several.

    Raises
    ------
    InputError
        A file is missing, damaged or not a graph. The message names file and line.
    """
    from hpcsolve.formats.known import GRAPH_FORMATS, TSP_FORMATS

    wrong_kind = "a travelling salesman problem ({}), not a graph; save a matrix as a graph with scipy.sparse.save_npz"
    found = read_instance(path, GRAPH_FORMATS, TSP_FORMATS, wrong_kind, directed, weight=weight)
    if coordinates is None:
        return found
    graph = with_coordinates(found.problem, open_file(os.fspath(coordinates)).as_text())
    return GraphInstance(graph, found.path, found.sha256, found.format)


def read_instance(
    path: str | os.PathLike[str],
    formats: Sequence[Format[Problem]],
    others: Sequence[Format[Any]],
    wrong_kind: str,
    *options: Any,
    weight: str | None = None,
    speed: float | None = None,
) -> InstanceOf[Problem]:
    """Return the instance in a file of one of the formats.

    Parameters
    ----------
    path
        "-" is standard input.
    others, wrong_kind
        The formats of the other kind of problem, and the message for a file in one of them, with {} for its title.
    options
        Positional arguments of `Format.read` after the file.
    weight
        The attribute or column with the weights, for a format that `accepts` it.
    speed
        As in `read`, for a format that `accepts` it.

    Raises
    ------
    InputError
        The file is missing, damaged or of none of the formats. The message names file and line.
    OtherKindError
        The file is in one of `others`.
    ResourceError
        Reading it takes more memory than is free.
    """
    path = os.fspath(path)
    file, found = opened(path, (*formats, *others))
    if found is None:
        known = ", ".join(f"{format.title} ({', '.join(format.suffixes)})" for format in formats)
        raise file.error(f"the format is not known; hpcsolve reads {known}", file.first_line)
    if not any(found is format for format in formats):
        message = f"is {wrong_kind.format(found.title)}"
        raise OtherKindError(message, file.name, None if found.binary else file.first_line)
    if weight is not None and "weight" not in found.accepts:
        raise file.error(f"there is one weight or cost in this format ({found.title}); remove weight = {shown(weight)}")
    require_free(int(found.growth * len(file.content)), f"reading {file.name}")
    with memory_checked(file.name):
        problem = found.read(file, *options, **found.accepted(weight=weight, speed=speed))
        return InstanceOf(problem, path, file.sha256, found.name)


def opened(path: str, formats: Sequence[Format[Any]]) -> tuple[InputFile, Format[Any] | None]:
    """Return a file (as text unless its format is binary) and its format, None if none of these formats fits.

    Raises
    ------
    InputError
        The file is missing, damaged, or of a kind that hpcsolve cannot read.
    """
    file = open_file(path)
    for format in formats:
        if format.binary and format.signature is not None and format.signature(file.content):
            return file, format
    for magic, what in _UNREADABLE.items():
        if file.content.startswith(magic):
            raise InputError(f"is {what}", file.name)
    with memory_checked(file.name):
        file = file.as_text()
    return file, recognised(file, [format for format in formats if not format.binary])


def recognised(file: InputFile, formats: Sequence[Format[Any]]) -> Format[Any] | None:
    """Return the format of a file, or None if none of these formats fits."""
    by_content = (format for format in formats if format.signature is not None and format.signature(file.content))
    by_suffix = (format for format in formats if file.suffix in format.suffixes)
    by_look = (format for format in formats if format.resembles is not None and format.resembles(file.content))
    return next(by_content, None) or next(by_suffix, None) or next(by_look, None)


def read_tour(path: str | os.PathLike[str]) -> NDArray[np.int64]:
    """Return the labels of the cities of a TSPLIB tour in their order.

    `problems.tsp.positions` returns the positions that belong to labels.

    Raises
    ------
    InputError
        The file is missing, damaged or not a tour. The message names file and line.
    """
    return read_tour_text(open_file(os.fspath(path)).as_text())


def write(tsp: Tsp, path: str) -> None:
    """Write a travelling salesman problem in the format of the path's suffix, by default TSPLIB.

    Raises
    ------
    InputError
        The format cannot express the problem.
    EnvironmentFault
        The file cannot be written.
    """
    from hpcsolve.formats.known import TSP_FORMATS

    _, *others = TSP_FORMATS
    other = path.lower().endswith(tuple(suffix for format in others for suffix in format.suffixes))
    if tsp.precedences and other:
        raise InputError(f"{tsp.name} says which cities come before others, which only TSPLIB has; write a .sop file")
    if tsp.windows is not None and other:
        raise InputError(f"{tsp.name} has time windows, which only TSPLIB is written with; write a .tsp file")
    write_instance(tsp, path, TSP_FORMATS)


def write_graph(graph: Graph, path: str) -> None:
    """Write a graph in the format of the path's suffix, by default DIMACS. With `.co` write its coordinates alone.

    Raises
    ------
    InputError
        The format cannot express the graph, or the graph has no coordinates.
    EnvironmentFault
        The file cannot be written.
    """
    from hpcsolve.formats.known import GRAPH_FORMATS

    if path.lower().endswith(".co"):
        write_coordinates(graph, path)
    else:
        write_instance(graph, path, GRAPH_FORMATS)


def write_instance(problem: Problem, path: str, formats: Sequence[Format[Problem]]) -> None:
    """Write a problem in the format that the path's suffix selects, by default the first format that is written.

    Where several formats have the suffix, the first one that can express the problem is written. Those with a
    `signature` are tried first, since they keep more of the problem (places keep their coordinates, a matrix does not).

    Raises
    ------
    InputError, EnvironmentFault
        As the `write` of the format.
    """
    writers = [format for format in formats if format.write is not None]
    fitting = [format for format in writers if path.lower().endswith(format.suffixes)] or writers[:1]
    *chosen, last = sorted(fitting, key=lambda format: format.signature is None)
    for format in chosen:
        assert format.write is not None
        try:
            return format.write(problem, path)
        except InputError:  # the error of the last format is the one that is raised
            continue
    assert last.write is not None
    last.write(problem, path)
