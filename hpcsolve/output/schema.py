"""The layout of the result file: its format versions, the datasets of its groups, and whether a content complies.

`/job`, `/instance` and `/ranks` are declared here, `/provenance` in provenance.py, `/solution`, `/prices` and
`/multipliers` in `hpcsolve.answers`, and other groups in the record of the algorithm that adds them.
`hpcsolve.reference` lists all of them. The checks of types, dimensions and completeness follow from these declarations,
which are used for writing.

Version 2 follows the CF conventions (cfconventions.org, section 8.1 and 2.5.1): the attribute `scale_factor` of a
dataset of scaled integers, and `_FillValue` where a value stands for "none". xarray and netCDF tools therefore show
own units and NaN. Version 1 had `none` in place of `_FillValue`, and left the scale to the reader.

In version 3 the rows of tables of distances have the dimension `source` where each row has one source, so that xarray
selects them by it. Scaled integers have the unit of `/instance/unit`, and the attribute `cost` of the root is missing
where version 2 has NaN.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np

from hpcsolve.answers import ANSWERS, answer_in
from hpcsolve.answers.base import AnswerType
from hpcsolve.answers.contents import Contents, Dataset, Group, datasets
from hpcsolve.answers.tree import Prices
from hpcsolve.errors import DamagedFileError
from hpcsolve.output.toml import too_deep

FORMAT_VERSION = 3
"""The version that is written."""
FILL_VALUE = {1: "none", 2: "_FillValue", FORMAT_VERSION: "_FillValue"}
"""Readable version -> the attribute with the value that stands for "none"."""
SCALE_FACTOR = "scale_factor"
"""The attribute with 1 / scale of a dataset of scaled integers, since version 2. There is none where the scale is 1."""
COST_MAY_BE_MISSING = 3
"""The first version without the attribute `cost` where an answer has none."""

SCALED_IN_VERSION_1 = frozenset((
    "/colonies/cost", "/prices/price", "/solution/closure_bottleneck", "/solution/closure_mst", "/solution/cost",
    "/solution/distance", "/solution/lower_bound", "/solution/matrix", "/solution/weight",
))
"""The datasets of scaled integers in files of version 1."""


FORMAT = "hpcsolve"
GROUPS = {
    "job": "What was asked",
    "instance": "The problem that was solved",
    "solution": "The answer; depends on the job alone",
    "history": "The best answer over time",
    "legs": "The legs of the tour: one row per leg",
    "tour_legs": "The legs of all tours where a job asks for several, one tour after the other: one row per leg",
    "windows": "When the cities of a tour may be served: one row per city; missing without time windows",
    "rounding": "The answer in the numbers before rounding; missing if nothing was rounded",
    "layers": "Layers of the dynamic program",
    "colonies": "One row per colony",
    "improvements": "One row per tour that was better than all before in its colony",
    "searches": "One row per search",
    "edges": "The edges of paths or of a tree, with what the instance says of them: one row per edge",
    "cities": "The cities of a batch of files: one row per city, one instance after the other",
    "places": "The places that stand for vertices, the nearest ones: one row per place",
    "prices": "A dual solution that proves the lower bound: one row per price",
    "multipliers": "Multipliers of the cities, which prove the lower bound of tours",
    "reductions": "What was removed from the graph before the search",
    "ranks": "One row per MPI rank",
    "provenance": "Versions, sources, compiler and launch that produced this file",
}
"""The groups that a file may have, with their meaning."""

JOB_GROUP = {
    "toml": Dataset("text", "The effective job; hpcsolve run accepts this file in place of a job file"),
    "hash": Dataset("text", "SHA-256 of all that the answer depends on: keys and instance, but not device or output"),
}
_COORDINATES_KIND = (
    '"degrees": x is the latitude and y the longitude in decimal degrees; "degrees.minutes": the same as in TSPLIB\'s '
    "GEO, where 48.30 is 48 degrees and 30 minutes; empty: a plane or space"
)
_EVERY_KIND = {
    "name": Dataset("text", "Name of the instance"),
    "kind": Dataset("text", "Kind of problem"),
    "comment": Dataset("text", "Comment in the instance's file"),
    "path": Dataset("text", "Path of the instance's file, empty if it was generated"),
    "format": Dataset("text", "Format that the instance was read in"),
    "coordinates_kind": Dataset("text", _COORDINATES_KIND),
    "notes": Dataset("text", "Lines of the log: how the input was taken, and what may be a mistake", optional=True),
}
_UNIT_AND_ROUNDING = {
    "unit": Dataset("text", "Unit of costs and weights, such as m or s; missing if it is not known", optional=True),
    "rounded_to": Dataset("float64", "Unit that costs were rounded to; missing if they are exact", optional=True),
}
_AXIS = "Coordinate {}, as in the file"
TSP_GROUP = {
    **_EVERY_KIND,
    "sha256": Dataset("text", "SHA-256 of the file, or of the costs if there was no file, or one of several tables"),
    "n": Dataset("int64", "Number of cities"),
    "network": Dataset("text", "Name of the graph whose shortest distances the costs are; missing if they are not",
                       optional=True),
    "symmetric": Dataset("bool", "Whether every arc costs the same both ways"),
    "scale": Dataset("int64", "A cost in the instance's own unit is cost / scale"),
    **_UNIT_AND_ROUNDING,
    "label": Dataset("int64", "Number of each city in the instance's file", "city"),
    "city_name": Dataset("text", "Name of each city", "city", optional=True),
    **{axis: Dataset("float64", _AXIS.format(axis), "city", optional=True) for axis in "xyz"},
}
"""`/instance` of a travelling salesman problem."""
GRAPH_GROUP = {
    **_EVERY_KIND,
    "sha256": Dataset("text", "SHA-256 of the file, or of the content if there was no file"),
    "content_sha256": Dataset("text", "SHA-256 of the arcs, weights, labels and terminals"),
    "vertices": Dataset("int64", "Number of vertices"),
    "arcs": Dataset("int64", "Number of arcs, two for each undirected edge"),
    "directed": Dataset("bool", "Whether an arc leads one way only"),
    "scale": Dataset("int64", "A weight in the instance's own unit is weight / scale"),
    **_UNIT_AND_ROUNDING,
    "parallel_arcs": Dataset("int64", "Arcs that were dropped, since another one with the same ends is not heavier"),
    "loops": Dataset("int64", "Number of arcs from a vertex to itself, which were dropped"),
    "label": Dataset("int64", "Number of each vertex in the instance's file", "vertex"),
    "vertex_name": Dataset("text", "Name of each vertex", "vertex", optional=True),
    **{axis: Dataset("float64", _AXIS.format(axis), "vertex", optional=True) for axis in "xyz"},
}
"""`/instance` of a graph."""
STEINER_GROUP = {
    **GRAPH_GROUP,
    "terminal": Dataset("int32", "Positions of the terminals, from 0", "terminal_number"),
    "repeated_terminals": Dataset("int64", "Number of terminals that were dropped, since the file names them twice"),
}
"""`/instance` of a Steiner problem."""
BATCH_GROUP = {
    **_EVERY_KIND,
    "sha256": Dataset("text", "SHA-256 of the file, or of all files"),
    "instances": Dataset("int64", "Number of instances"),
    "label": Dataset("int64", "Number of each instance, from 0", "instance"),
    "instance_name": Dataset("text", "Name of each instance's file; missing if they are of one file", "instance",
                             optional=True),
    "cities": Dataset("int32", "Number of cities of each instance", "instance"),
    "scale": Dataset("int64", "A cost in the instances' own unit is cost / scale"),
    **_UNIT_AND_ROUNDING,
}
"""`/instance` of a batch of travelling salesman problems."""
INSTANCE_GROUPS: Mapping[str, Group] = {
    "tsp": TSP_GROUP, "batch": BATCH_GROUP, "graph": GRAPH_GROUP, "steiner": STEINER_GROUP,
}
"""Kind of problem -> the datasets of its `/instance`."""
RANKS_GROUP = {
    "host": Dataset("text", "Name of the host", "rank"),
    "device": Dataset("text", "Device and why it was chosen", "rank"),
    "uuid": Dataset("text", "UUID of the GPU, empty on a CPU", "rank"),
    "estimated_bytes": Dataset(
        "int64", "Estimated memory: device, messages, and the process before the run", "rank", "byte"
    ),
    "peak_bytes": Dataset("int64", "Most memory allocated on the device at a time", "rank", "byte"),
    "peak_resident_bytes": Dataset(
        "int64", "Most memory of the process at a time, Python and libraries included", "rank", "byte"
    ),
    "stored_bytes": Dataset("int64", "Part of the device memory that the algorithm's own tables take", "rank", "byte"),
    "bytes_sent": Dataset("int64", "Payload of the messages to other ranks", "rank", "byte"),
    "operations": Dataset("int64", "Work done, in the algorithm's own unit", "rank"),
    "seconds_read": Dataset("float64", "Reading and checking the job and its instance", "rank", "s"),
    "seconds_build": Dataset("float64", "Compiling or loading kernels, opening the device", "rank", "s"),
    "seconds_copy": Dataset("float64", "Copies between device and host that the rank waited for", "rank", "s"),
    "seconds_kernel": Dataset(
        "float64", "Kernels on the rank's device, and on a CPU functions of the host", "rank", "s"),
    "seconds_wait": Dataset("float64", "Waiting for other ranks", "rank", "s"),
    "seconds_run": Dataset("float64", "The algorithm with its copies, kernels and waiting", "rank", "s"),
    "seconds_check": Dataset("float64", "Checking the answer", "rank", "s", optional=True),
    "seconds_write": Dataset("float64", "Making the result file, without the disk's part", "rank", "s"),
}
TEXT, INTEGER, NUMBER = "a text", "an integer", "a number"
ATTRIBUTES = {
    "format": TEXT, "format_version": INTEGER, "created": TEXT, "complete": INTEGER, "algorithm": TEXT, "cost": NUMBER,
    "verified": INTEGER,
}
"""The attributes of the root. All must be there, but for `cost` since version 3."""
REQUIRED = {"job": JOB_GROUP.keys(), "instance": ("name", "kind", "sha256", "scale", "label")}
PER_LABEL = [name for name, dataset in {**TSP_GROUP, **GRAPH_GROUP}.items() if dataset.dimension in ("city", "vertex")]
"""Columns of `/instance` with one value per city or vertex, as many as there are labels."""


def scale_of(dimension: str) -> Dataset:
    """Return the declaration of the dimension scale that is written where no dataset has the dimension's name."""
    return Dataset("int32", "Number, from 0", dimension)


def known_datasets() -> dict[str, list[tuple[str, Dataset]]]:
    """Return name and declaration of the datasets that are checked, by group.

    A name may stand there several times, since several kinds of answers (or problems) declare it.
    """
    solution = [datasets(record) for answer in ANSWERS for record in answer.records]
    groups: dict[str, list[Group]] = {
        "job": [JOB_GROUP], "instance": [*INSTANCE_GROUPS.values()], "solution": solution, "prices": [datasets(Prices)],
        "ranks": [RANKS_GROUP],
    }
    for answer in ANSWERS:
        for name, group in answer.groups.items():
            groups.setdefault(name, []).append(group)
    return {group: [pair for part in parts for pair in part.items()] for group, parts in groups.items()}


def check_attributes(attributes: Mapping[str, Any]) -> None:
    """Raise a `ValueError` if a root attribute is missing or of another type."""
    for name, kind in ATTRIBUTES.items():
        if name not in attributes:
            if name == "cost" and attributes["format_version"] >= COST_MAY_BE_MISSING:
                continue
            raise ValueError(f"the attribute {name} is missing")
        _require(np.asarray(attributes[name]), kind, 0, f"the attribute {name}")


def check_types(contents: Contents) -> None:
    """Raise a `ValueError` if a dataset has another type or number of dimensions than declared, or the job is too deep.

    Many functions read the job later, and its reader may take all memory for a text that `too_deep` finds.
    """
    if too_deep(str(contents.value("job", "toml", ""))):
        raise ValueError("/job/toml is nested too deep")
    for group, known in known_datasets().items():
        for name, column in contents.groups.get(group, {}).items():
            forms = [dataset for key, dataset in known if key == name and len(dataset.dimensions) < 2]
            if forms and not (group == "solution" and name in contents.tables):
                expected, dimensions = _type_in_words(forms[0]), len(forms[0].dimensions)
                _require(np.asarray(column.values), expected, dimensions, f"/{group}/{name}")
    labels = contents.value("instance", "label")
    for name in PER_LABEL:
        values = contents.value("instance", name)
        if labels is not None and values is not None and len(values) != len(labels):
            raise ValueError(f"/instance/{name} has {len(values)} values, /instance/label {len(labels)}")
    tables = {key: dataset for key, dataset in known_datasets()["solution"] if len(dataset.dimensions) == 2}
    for name, table in contents.tables.items():
        if name not in tables or not _is(table.dtype, _type_in_words(tables[name])):
            raise ValueError(f"/solution/{name[:40]} is a table of {table.dtype}, which the format does not have")


def require_whole(contents: Contents, file: str = "the result") -> AnswerType:
    """Return the kind of answer in a result, which must have job, instance and a complete answer.

    Raises
    ------
    DamagedFileError
        A dataset or the cost of the root is missing, or the job is not TOML; the message names it.
    """
    for group, names in REQUIRED.items():
        for name in names:
            if contents.value(group, name) is None:
                raise DamagedFileError(f"{file}: damaged: /{group}/{name} is missing")
    if "cost" not in contents.attributes and contents.value("solution", "cost") is not None:
        raise DamagedFileError(f"{file}: damaged: the attribute cost is missing")
    try:
        msgspec.toml.decode(str(contents.value("job", "toml")))
    except (msgspec.DecodeError, ValueError):  # as job/load.py has it
        raise DamagedFileError(f"{file}: damaged: /job/toml is not valid TOML") from None
    answer = answer_in(contents)
    if answer is None:
        names = ", ".join(sorted(contents.names))
        raise DamagedFileError(f"{file}: damaged: /solution is not a complete answer; it has {names}")
    return answer


def answer_lines(contents: Contents, file: str = "the result") -> list[str]:
    """Return the lines that are printed of the answer in a result. Raises as `require_whole`."""
    with contradictions_refused(file):
        return list(require_whole(contents, file).lines(contents))


def answer_values(contents: Contents, file: str = "the result") -> dict[str, str]:
    """Return the lines of an answer by their first words. Raises as `require_whole`."""
    values: dict[str, str] = {}
    whole = re.sub(r"\n +", " ", "\n".join(answer_lines(contents, file)))  # long lines go on in indented ones
    for word, _, text in (line.partition(":") for line in whole.split("\n")):
        values[word] = f"{values[word]}\n{text.strip()}" if word in values else text.strip()
    return values


@contextmanager
def contradictions_refused(file: str) -> Iterator[None]:
    """Raise a `DamagedFileError` where computing with a result fails, since its datasets do not fit together."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DamagedFileError(f"{file}: damaged: its datasets contradict each other: {reason}") from None


def _type_in_words(dataset: Dataset) -> str:
    """Return the type of a dataset's values in words, without the width."""
    if dataset.types == "text":
        return TEXT
    return NUMBER if "float64" in dataset.types else INTEGER


def _require(values: Any, kind: str, dimensions: int, what: str) -> None:
    if values.ndim != dimensions or not _is(values.dtype, kind):
        expected = kind if dimensions == 0 else f"a column, each value {kind}"
        raise ValueError(f"{what} is not {expected}")


def _is(dtype: np.dtype[Any], kind: str) -> bool:
    return dtype.kind in {TEXT: "UO", INTEGER: "biu", NUMBER: "biuf"}[kind]
