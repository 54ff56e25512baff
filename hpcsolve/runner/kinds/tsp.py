"""Travelling salesman problems as a kind of problem: cities with a matrix of costs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hpcsolve import formats
from hpcsolve.errors import InputError
from hpcsolve.formats import Instance
from hpcsolve.formats.tsplib import with_names
from hpcsolve.problems.geographic import DEGREES
from hpcsolve.problems.libraries import from_data_frame, is_data_frame
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import Tsp, fitted_tsp, from_matrix
from hpcsolve.runner.kinds import ProblemKind
from hpcsolve.wording import counted


def read(path: str, options: Mapping[str, Any], precision: Precision) -> Instance:
    """Read a TSPLIB file or a matrix. Raises as `formats.read` and `fitted_tsp`."""
    _refuse_options(options)
    found = formats.read(path, precision)
    return replace(found, problem=fitted_tsp(with_names(found.problem), precision))


def _refuse_options(options: Mapping[str, Any]) -> None:
    """Refuse any key beside `file`."""
    for key in options:
        raise InputError(f"instance: no key {key!r} beside file, for a travelling salesman problem")


def size(problem: Tsp) -> int:
    """Return the number of cities."""
    return problem.n


def headline(problem: Tsp) -> str:
    """Return `eu-capitals, 27 cities, symmetric`, and the unit of the costs if it is known."""
    unit = ", costs in metres" if problem.coordinates_kind == DEGREES else ""
    before = f", {counted(len(problem.precedences), 'precedence')}" if problem.precedences else ""
    symmetry = "symmetric" if problem.symmetric else "asymmetric"
    return f"{problem.name}, {counted(problem.n, 'city')}, {symmetry}{before}{unit}"


def given(problem: Any, options: Mapping[str, Any], precision: Precision) -> Tsp:
    """Return the instance that a program gave, or that of a matrix or DataFrame.

    Raises as `from_matrix` and `fitted_tsp`.
    """
    _refuse_options(options)
    return fitted_tsp(_made(problem, precision), precision)


def _made(problem: Any, precision: Precision) -> Tsp:
    if isinstance(problem, Tsp):
        return problem
    if is_data_frame(problem):
        return from_data_frame(problem, precision)
    return from_matrix(problem, precision=precision)


def content_hash(problem: Tsp) -> str:
    """Return the SHA-256 of the costs and labels."""
    digest = hashlib.sha256(f"tsp {problem.n} {problem.scale}".encode())
    for array in (problem.cost, problem.labels):
        digest.update(np.ascontiguousarray(array, "<i8").data)
    if problem.precedences:
        digest.update(f"before {problem.precedences}".encode())
    return digest.hexdigest()


def identity(instance: Instance) -> str:
    """Return the file's hash, since a file can be read in one way only."""
    return instance.sha256


def values(instance: Instance) -> dict[str, Any]:
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


KIND = ProblemKind("cities", read, given, formats.write, content_hash, identity, size, headline, values)
