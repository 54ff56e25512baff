"""What the result file holds, put together on rank 0."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.base import Column, Outcome, as_column
from hpcsolve.output.contents import FORMAT, FORMAT_VERSION, Contents, TableShape
from hpcsolve.runner.kinds import kind_of
from hpcsolve.runner.task import Task

RANKS = {
    "host": ("Name of the host", "1"),
    "device": ("Device and why it was chosen", "1"),
    "uuid": ("UUID of the GPU, empty on a CPU", "1"),
    "estimated_bytes": ("Memory foreseen: device, messages, and the process before the run", "byte"),
    "peak_bytes": ("Most memory allocated on the device at a time", "byte"),
    "peak_resident_bytes": ("Most memory of the process at a time, Python and libraries included", "byte"),
    "stored_bytes": ("Of the device memory: what the algorithm's own tables take", "byte"),
    "bytes_sent": ("Payload of the messages to other ranks", "byte"),
    "operations": ("Work done, in the algorithm's own unit", "1"),
    "seconds_read": ("Reading and checking the job and its instance", "s"),
    "seconds_build": ("Compiling or loading kernels, opening the device", "s"),
    "seconds_copy": ("Copies between device and host", "s"),
    "seconds_kernel": ("Kernels", "s"),
    "seconds_wait": ("Waiting for other ranks", "s"),
    "seconds_run": ("The algorithm from start to end, the three above included", "s"),
    "seconds_write": ("Making the result file, all but the disk's part", "s"),
}
"""The columns of `/ranks`: description and unit."""


def contents_of(task: Task, outcome: Outcome, verified: bool, ranks: Sequence[Mapping[str, Any]],
                provenance: Mapping[str, Column], tables: Mapping[str, TableShape]) -> Contents:
    """The whole content of the result file."""
    attributes = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "complete": True,
        "algorithm": task.job.settings.algorithm,
        "cost": own_unit(outcome.cost, task.instance.problem.scale),
        "verified": verified,
    }
    groups = {
        "job": job_group(task),
        "instance": kind_of(task.job).columns(task.instance),
        "solution": solution_group(outcome),
        **outcome.tables,
        "ranks": rank_table(ranks),
        "provenance": provenance,
    }
    return Contents(attributes, groups, tables)


def own_unit(cost: int | None, scale: int) -> int | float:
    """A cost in the instance's own unit; not a number where there is no tour."""
    return math.nan if cost is None else cost if scale == 1 else cost / scale


def job_group(task: Task) -> dict[str, Column]:
    """The effective job and its hash."""
    return {
        "toml": Column(task.job.text(), "The effective job: hpcsolve run takes this file as a job"),
        "hash": Column(task.hash, "SHA-256 of what the answer depends on: keys and instance, not device or output"),
    }


def solution_group(outcome: Outcome) -> dict[str, Column]:
    """The answer; depends on the job alone."""
    if outcome.cost is None:
        return dict(outcome.solution)
    cost = Column(_int64(outcome.cost), "Cost in exact integers: the instance's own unit times /instance/scale")
    return {**outcome.solution, "cost": cost}


def rank_table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    """One row a rank; what an algorithm does not say is 0."""
    return {name: as_column(_values(rows, name), text, unit, "rank") for name, (text, unit) in RANKS.items()}


def _int64(number: int) -> NDArray[np.int64]:
    return np.array(number, dtype=np.int64)


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> Any:
    kind: Any = object if name in ("host", "device", "uuid") else np.float64 if name.startswith("seconds") else np.int64
    return np.array([row.get(name, 0) for row in rows], dtype=kind)
