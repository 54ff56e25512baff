"""A job with its instance, read and checked on rank 0."""

from __future__ import annotations

import hashlib
import io
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hpcsolve.errors import DamagedFileError, InputError
from hpcsolve.formats import Instance, read, write_tsplib
from hpcsolve.job import IN_MEMORY, Job
from hpcsolve.output.contents import Contents
from hpcsolve.output.hdf5 import write_bytes
from hpcsolve.output.reader import read_result
from hpcsolve.problems.generate import generate
from hpcsolve.problems.tsp import Tsp


@dataclass(frozen=True)
class Task:
    """All that a run needs; the same on every rank.

    Attributes
    ----------
    hash
        Of the job, see `Job.hash`.
    output
        Path of the result file; None: none is written.
    finished
        The result, if `output` holds that of this very job.
    """

    job: Job
    instance: Instance
    hash: str
    output: str | None
    finished: Contents | None = None


def make_task(job: Job, overwrite: bool = False) -> Task:
    """Read the instance of a job, and look at the output.

    Raises
    ------
    InputError
        The instance is bad, or the output exists and is not the result of this job.
    """
    output = job.settings.output
    if os.path.isdir(output):
        raise InputError(f"{output}: the output is a folder; name a file, with output or --output")
    instance = read_instance(job.settings.instance)
    task = Task(job, instance, job.hash(instance.sha256), output)
    if os.path.exists(output) and not overwrite:
        return replace(task, finished=_finished(task))
    return task


def read_instance(named: str | dict[str, Any]) -> Instance:
    """The instance that a job names: a file, or a table for a generator.

    Raises
    ------
    InputError
        One line with file and line, or key.
    """
    if isinstance(named, str):
        if named == IN_MEMORY:
            raise InputError("the instance was in the memory of a Python program: name its file, --set instance=FILE")
        found = read(named)
        return replace(found, problem=_with_names(found.problem))
    keys = dict(named)
    kind = keys.pop("generate", None)
    if not isinstance(kind, str):
        raise InputError('instance: a table needs generate, for example { generate = "uniform-tsp", n = 24, seed = 1 }')
    try:
        problem = generate(kind, **keys)
    except InputError as error:
        raise InputError(f"instance: {error}") from None
    return Instance(problem, "", content_hash(problem), "generated")


def write_instance(tsp: Tsp, path: str) -> None:
    """Write an instance as TSPLIB, or as a numpy matrix if the name ends in .npy; raises as `write_tsplib`."""
    if not path.endswith(".npy"):
        write_tsplib(tsp, path)
        return
    content, cost = io.BytesIO(), tsp.cost.copy()
    np.fill_diagonal(cost, 0)
    np.save(content, cost)
    write_bytes(Path(path), content.getvalue())


def content_hash(tsp: Tsp) -> str:
    """SHA-256 of the costs and labels: names an instance that no file holds."""
    digest = hashlib.sha256(f"tsp {tsp.n} {tsp.scale}".encode())
    for array in (tsp.cost, tsp.labels):
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()


def _finished(task: Task) -> Contents:
    """The result that is there already; refused if it is of another job."""
    way_out = "choose another --output, or replace it with --overwrite"
    assert task.output is not None
    try:
        contents = read_result(task.output)
    except (InputError, DamagedFileError) as error:
        raise InputError(f"the output exists and cannot be read as a result ({error}); {way_out}") from None
    if contents.value("job", "hash") != task.hash:
        raise InputError(f"{Path(task.output)}: the output exists, of another job or instance; {way_out}")
    if not contents.attributes.get("complete"):
        raise InputError(f"{Path(task.output)}: the output exists and is not complete; {way_out}")
    return contents


def _with_names(tsp: Tsp) -> Tsp:
    """City names from the comment, where it has a line `CITY <label> <name>` for each: TSPLIB has no place for them."""
    found = {int(label): name for label, name in re.findall(r"(?m)^CITY (\d{1,18}) (.+)$", tsp.comment)}
    if tsp.city_names or set(found) != set(tsp.labels.tolist()):
        return tsp
    rest = re.sub(r"(?m)^CITY \d+ .+\n?", "", tsp.comment).strip()
    return replace(tsp, city_names=tuple(found[label].strip() for label in tsp.labels.tolist()), comment=rest)
