"""The choice of the search by a job's parameters: its memory, what rank 0 computes for all ranks, and its start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony import ant_system, local_search, max_min
from hpcsolve.algorithms.ant_colony.ant_system import AntSystem, Strategy
from hpcsolve.algorithms.ant_colony.buffers import nbytes
from hpcsolve.algorithms.ant_colony.fixed_point import unit_of
from hpcsolve.algorithms.ant_colony.instance import (
    ROWS_AT_ONCE,
    AntInstance,
    candidate_heuristic,
    heuristic_table,
    list_width,
)
from hpcsolve.algorithms.ant_colony.max_min import Improver, MaxMin, Rules, rules
from hpcsolve.algorithms.ant_colony.parameters import Parameters, ants_of, local_search_of, rho_of
from hpcsolve.device.base import Buffer, Device

BREADTH = 8
"""Neighbours of a city that local search tries."""
KERNEL_FILES = ("ants/head_tail", "ants/roulette", "ants/ant_system", "ants/max_min", local_search.FILE)


def device_bytes(parameters: Parameters, n: int, symmetric: bool, colonies: int) -> int:
    """Return the bytes of device memory of a rank with so many colonies, exactly."""
    if colonies == 0:
        return 0
    ants = ants_of(parameters, n)
    if parameters.variant == "ant-system":
        return nbytes(ant_system.shapes(n, colonies, ants, parameters.strategy))
    kind = local_search_of(parameters, symmetric)
    scratch = 0 if kind == "none" else local_search.scratch_bytes(colonies * ants, n, BREADTH)
    return nbytes(max_min.shapes(n, colonies, ants)) + scratch


def host_bytes(parameters: Parameters, n: int, colonies: int, device_kind: str) -> int:
    """Return the bytes of host memory: the instance, its tables while they are uploaded, and incumbents.

    The instance is renumbered first, in stripes of rows with 64-bit numbers. On a CPU, the bytes that `device_bytes`
    counts are free then, since they are allocated later.
    """
    if colonies == 0:
        return 0
    tables = 4 * n * n + 1024 * n + colonies * n * (256 + 8)
    if parameters.variant == "ant-system":
        tables = 16 * n * n + colonies * n * (8 * n + 4 * ant_system.RECORD + 2)
    stripes = 4 * n * n + 2 * n * list_width(n) + 8 * min(n, ROWS_AT_ONCE) * (2 * n + list_width(n))
    return max(tables, stripes - (device_bytes(parameters, n, True, colonies) if device_kind == "cpu" else 0))


@dataclass(frozen=True)
class Powers:
    """Numbers from powers of floats, whose last bits differ between machines, so that rank 0 computes them for all.

    Attributes
    ----------
    heuristic
        See `instance.heuristic_table` (ant-system) or `instance.candidate_heuristic` (mmas).
    """

    heuristic: NDArray[np.uint32]
    rules: Rules


def powers(instance: AntInstance, parameters: Parameters) -> Powers:
    """Return the heuristic and the rules of a job. Called on rank 0 alone."""
    local = local_search_of(parameters, instance.symmetric) != "none"
    bounds = rules(instance.n, parameters.candidates, local)
    if parameters.variant == "ant-system":
        return Powers(heuristic_table(instance, parameters.beta), bounds)
    return Powers(candidate_heuristic(instance, parameters.beta, parameters.candidates), bounds)


def open_search(
    device: Device, instance: AntInstance, parameters: Parameters, made: Powers, keys: NDArray[np.uint32]
) -> AntSystem | MaxMin:
    """Return the search of some colonies, whose random numbers have these keys."""
    ants, rho = ants_of(parameters, instance.n), rho_of(parameters)
    if parameters.variant == "ant-system":
        unit = unit_of(instance.greedy_length, instance.bound, instance.n, ants, rho)
        names = ("launch", "tour_list", "tiled", "block_threads")
        strategy = Strategy(parameters.strategy, *(getattr(parameters, name) for name in names))
        return AntSystem(device, instance, unit, ants, keys, made.heuristic, strategy)
    unit = unit_of(instance.greedy_length, instance.bound, instance.n, 1, rho)
    kind = local_search_of(parameters, instance.symmetric)
    improver = None if kind == "none" else partial(_improver, device, kind)
    return MaxMin(device, instance, unit, made.rules, ants, keys, made.heuristic, improver)


def _improver(device: Device, kind: str, own: dict[str, Buffer]) -> Improver:
    return local_search.LocalSearch(device, own["cost"], own["nearest"], own["tours"], own["lengths"], kind, BREADTH)
