"""The content of a result file as Python has it: root attributes, and groups of columns.

The datasets of `/solution` and `/prices` are declared in `hpcsolve.answers`, those of groups that an algorithm adds in
its record, those of `/provenance` in provenance.py, all others here. `reference.py` lists them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hpcsolve.answers.dataset import Column, Dataset, Group
from hpcsolve.answers.table import DistanceTable

FORMAT = "hpcsolve"
FORMAT_VERSION = 1
GROUPS = {
    "job": "What was asked",
    "instance": "The problem that was solved",
    "solution": "The answer; depends on the job alone",
    "history": "The best answer over time",
    "layers": "Layers of the dynamic program",
    "colonies": "One row a colony",
    "searches": "One row a search",
    "prices": "What proves the lower bound: one row a price",
    "reductions": "What was taken out of the instance before",
    "ranks": "One row an MPI rank",
    "provenance": "What produced this file",
}
"""The groups that a file may have, with their meaning."""

JOB = {
    "toml": Dataset("text", "The effective job: hpcsolve run takes this file as a job"),
    "hash": Dataset("text", "SHA-256 of what the answer depends on: keys and instance, not device or output"),
}
_ANY = {
    "name": Dataset("text", "Name"),
    "kind": Dataset("text", "Kind of problem"),
    "comment": Dataset("text", "Comment of the file"),
    "path": Dataset("text", "Where it was read, empty if it was generated"),
    "format": Dataset("text", "How it was read"),
}
_AXIS = "Coordinate {}, as in the file"
CITIES = {
    **_ANY,
    "sha256": Dataset("text", "SHA-256 of the file, or of the costs if there was no file"),
    "n": Dataset("int64", "Number of cities"),
    "symmetric": Dataset("bool", "Whether every arc costs the same both ways"),
    "scale": Dataset("int64", "A cost in the instance's own unit is cost / scale"),
    "label": Dataset("int64", "Number of each city in the file", "city"),
    "city_name": Dataset("text", "Name of each city", "city", optional=True),
    **{axis: Dataset("float64", _AXIS.format(axis), "city", optional=True) for axis in "xyz"},
}
"""`/instance` of a travelling salesman."""
GRAPH = {
    **_ANY,
    "sha256": Dataset("text", "SHA-256 of the file, or of the content if there was no file"),
    "content_sha256": Dataset("text", "SHA-256 of the arcs as they were read, labels and terminals"),
    "vertices": Dataset("int64", "Number of vertices"),
    "arcs": Dataset("int64", "Number of arcs, two for each undirected edge"),
    "directed": Dataset("bool", "Whether an arc leads one way only"),
    "scale": Dataset("int64", "A weight in the instance's own unit is weight / scale"),
    "parallel_arcs": Dataset("int64", "Dropped: a lighter one is beside them"),
    "loops": Dataset("int64", "Dropped: arcs from a vertex to itself"),
    "label": Dataset("int64", "Number of each vertex in the file", "vertex"),
    "vertex_name": Dataset("text", "Name of each vertex", "vertex", optional=True),
    **{axis: Dataset("float64", _AXIS.format(axis), "vertex", optional=True) for axis in "xyz"},
}
"""`/instance` of a graph."""
STEINER = {
    **GRAPH,
    "terminal": Dataset("int32", "Positions of the terminals, from 0", "terminal_number"),
    "repeated_terminals": Dataset("int64", "Dropped: named before"),
}
"""`/instance` of a Steiner problem."""
INSTANCES: Mapping[str, Group] = {"tsp": CITIES, "graph": GRAPH, "steiner": STEINER}
"""By kind of problem."""
RANKS = {
    "host": Dataset("text", "Name of the host", "rank"),
    "device": Dataset("text", "Device and why it was chosen", "rank"),
    "uuid": Dataset("text", "UUID of the GPU, empty on a CPU", "rank"),
    "estimated_bytes": Dataset(
        "int64", "Memory foreseen: device, messages, and the process before the run", "rank", "byte"
    ),
    "peak_bytes": Dataset("int64", "Most memory allocated on the device at a time", "rank", "byte"),
    "peak_resident_bytes": Dataset(
        "int64", "Most memory of the process at a time, Python and libraries included", "rank", "byte"
    ),
    "stored_bytes": Dataset("int64", "Of the device memory: what the algorithm's own tables take", "rank", "byte"),
    "bytes_sent": Dataset("int64", "Payload of the messages to other ranks", "rank", "byte"),
    "operations": Dataset("int64", "Work done, in the algorithm's own unit", "rank"),
    "seconds_read": Dataset("float64", "Reading and checking the job and its instance", "rank", "s"),
    "seconds_build": Dataset("float64", "Compiling or loading kernels, opening the device", "rank", "s"),
    "seconds_copy": Dataset("float64", "Copies between device and host", "rank", "s"),
    "seconds_kernel": Dataset("float64", "Kernels", "rank", "s"),
    "seconds_wait": Dataset("float64", "Waiting for other ranks", "rank", "s"),
    "seconds_run": Dataset("float64", "The algorithm from start to end, the three above included", "rank", "s"),
    "seconds_write": Dataset("float64", "Making the result file, all but the disk's part", "rank", "s"),
}


@dataclass(frozen=True)
class Contents:
    """The content of a result file.

    Attributes
    ----------
    attributes
        Of the root: `format`, `format_version`, `created`, `complete`, `algorithm`, `cost`, `verified`.
    groups
        Group name -> dataset name -> column.
    tables
        The two-dimensional tables of `/solution`, by dataset name; their values need not be at hand.
    """

    attributes: Mapping[str, Any]
    groups: Mapping[str, Mapping[str, Column]]
    tables: Mapping[str, DistanceTable] = field(default_factory=dict)

    def value(self, group: str, name: str, default: Any = None) -> Any:
        """Return the values of one dataset, or the default."""
        column = self.groups.get(group, {}).get(name)
        return default if column is None else column.values
