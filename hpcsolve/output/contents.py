"""The content of a result file in memory, `Contents`, and the datasets of the groups that every result has.

`/job`, `/instance` and `/ranks` are declared here, `/provenance` in provenance.py, `/solution` and `/prices` in
`hpcsolve.answers`, and other groups in the record of the algorithm that adds them. reference.py lists all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.dataset import Column, Dataset, Group
from hpcsolve.answers.table import DistanceTable

FORMAT = "hpcsolve"
GROUPS = {
    "job": "What was asked",
    "instance": "The problem that was solved",
    "solution": "The answer; depends on the job alone",
    "history": "The best answer over time",
    "legs": "The legs of the tour: one row per leg",
    "rounding": "The answer in the numbers before rounding; missing if nothing was rounded",
    "layers": "Layers of the dynamic program",
    "colonies": "One row per colony",
    "improvements": "One row per tour that was better than all before in its colony",
    "searches": "One row per search",
    "prices": "A dual solution that proves the lower bound: one row per price",
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
_ROUNDING = {
    "rounded_to": Dataset("float64", "Unit that costs were rounded to; missing if they are exact", optional=True),
}
_AXIS = "Coordinate {}, as in the file"
TSP_GROUP = {
    **_EVERY_KIND,
    "sha256": Dataset("text", "SHA-256 of the file, or of the costs if there was no file"),
    "n": Dataset("int64", "Number of cities"),
    "symmetric": Dataset("bool", "Whether every arc costs the same both ways"),
    "scale": Dataset("int64", "A cost in the instance's own unit is cost / scale"),
    **_ROUNDING,
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
    **_ROUNDING,
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
    "cities": Dataset("int32", "Number of cities of each instance", "instance"),
    "scale": Dataset("int64", "A cost in the instances' own unit is cost / scale"),
    **_ROUNDING,
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
    "seconds_kernel": Dataset("float64", "Kernels", "rank", "s"),
    "seconds_wait": Dataset("float64", "Waiting for other ranks", "rank", "s"),
    "seconds_run": Dataset("float64", "The algorithm with its copies, kernels and waiting", "rank", "s"),
    "seconds_check": Dataset("float64", "Checking the answer", "rank", "s", optional=True),
    "seconds_write": Dataset("float64", "Making the result file, without the disk's part", "rank", "s"),
}


def scale_of(dimension: str) -> Dataset:
    """Return the declaration of the dimension scale that is written where no dataset has the dimension's name."""
    return Dataset("int32", "Number, from 0", dimension)


@dataclass(frozen=True)
class Contents:
    """The content of a result file: root attributes, and datasets by group.

    Attributes
    ----------
    attributes
        Of the root: `format`, `format_version`, `created`, `complete`, `algorithm`, `cost`, `verified`.
    groups
        Group name -> dataset name -> column.
    tables
        The two-dimensional tables of `/solution`, by dataset name. Their values may still be in the file.
    """

    attributes: Mapping[str, Any]
    groups: Mapping[str, Mapping[str, Column]]
    tables: Mapping[str, DistanceTable] = field(default_factory=dict)

    @property
    def scale(self) -> int:
        """The scale of all scaled integers, `/instance/scale`, or 1 if there is no instance."""
        return int(self.value("instance", "scale", 1))

    def own(self, group: str, name: str) -> Any:
        """Return the values of one dataset in the instance's own unit, or None if there is no such dataset."""
        column = self.groups.get(group, {}).get(name)
        if column is None:
            return None
        return self.in_own_unit(np.asarray(column.values)) if column.scaled else column.values

    def in_own_unit(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return scaled integers in the instance's own unit, as they are if the scale is 1."""
        return values if self.scale == 1 else values / self.scale

    def value(self, group: str, name: str, default: Any = None) -> Any:
        """Return the values of one dataset, or the default."""
        column = self.groups.get(group, {}).get(name)
        return default if column is None else column.values
