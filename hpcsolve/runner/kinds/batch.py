"""Batches of small travelling salesman problems as a kind of problem: `instance = { batch = ... }`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hpcsolve import formats
from hpcsolve.errors import InputError
from hpcsolve.formats import InstanceOf
from hpcsolve.formats.files import InputFile
from hpcsolve.formats.npy import batch_of_arrays, read_batch
from hpcsolve.problems import tsp
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import Tsp, TspBatch, fitted_batch
from hpcsolve.runner.kinds import ProblemKind
from hpcsolve.wording import counted


def read_source(source: Any, precision: Precision) -> InstanceOf[TspBatch]:
    """Return the batch of a file, a folder or a list of files. Raises as `read_batch`."""
    if not (isinstance(source, str) or (isinstance(source, list) and all(isinstance(file, str) for file in source))):
        raise InputError('instance.batch: name a .npz or .npy file, a folder, or a list of files: batch = "costs.npz"')

    def read_one(file: str) -> InstanceOf[Tsp]:
        found = formats.read(file, precision)
        return replace(found, problem=tsp.fitted_tsp(found.problem, precision))

    batch, digest = read_batch(source, read_one, precision)
    path = os.path.abspath(source) if isinstance(source, str) else ""
    return InstanceOf(fitted_batch(batch, precision), path, digest, "batch")


def read(path: str, options: Mapping[str, Any], precision: Precision) -> InstanceOf[TspBatch]:
    """Return the batch of a file or a folder."""
    return read_source(path, precision)


def given(problem: Any, options: Mapping[str, Any], precision: Precision) -> TspBatch:
    """Return the batch of an array of shape (instances, n, n). Raises as `batch_of_arrays`."""
    return fitted_batch(batch_of_arrays(InputFile("batch", b"", ""), [np.asarray(problem)], precision), precision)


def write(problem: TspBatch, path: str) -> None:
    """Raise `InputError`: hpcsolve writes no batches."""
    raise InputError("hpcsolve cannot write a batch; write it with numpy.savez")


def size(problem: TspBatch) -> int:
    """Return the number of cities of the largest instance."""
    return int(problem.cities.max())


def headline(problem: TspBatch) -> str:
    """Return `costs, 100000 instances of 12 cities`."""
    few, most = int(problem.cities.min()), size(problem)
    cities = counted(most, "city") if few == most else f"{few} to {most} cities"
    return f"{problem.name}, {counted(problem.count, 'instance')} of {cities}"


def content_hash(problem: TspBatch) -> str:
    """Return the SHA-256 of the costs."""
    digest = hashlib.sha256(f"batch {problem.count} {problem.scale}".encode())
    for costs in problem.costs:
        digest.update(str(costs.shape).encode())
        digest.update(np.ascontiguousarray(costs, "<i8").data)
    return digest.hexdigest()


def identity(instance: InstanceOf[TspBatch]) -> str:
    """Return the hash of the files."""
    return instance.sha256


def values(instance: InstanceOf[TspBatch]) -> dict[str, Any]:
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


KIND = ProblemKind("cities", read, given, write, content_hash, identity, size, headline, values)
