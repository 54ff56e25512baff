"""What colonies keep in a checkpoint (one row per colony), and how they go on from it on any rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.algorithms.ant_colony.colonies import MOST_ROWS, NO_TOUR, ColonyStop, History, Incumbents, Search
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved
from hpcsolve.checkpoint.state import Part, State, part
from hpcsolve.device.base import Buffer
from hpcsolve.wording import counted

MOST_ITERATIONS = 2**32 - 1
"""The random numbers of the kernels count iterations in 32 bits."""


def kept_bytes(search: Search | None) -> int:
    """Return the approximate bytes of a rank's share of a checkpoint."""
    return sum(search.buffers[name].nbytes for name in search.kept) if search else 0


def state_of(
    search: Search | None, incumbents: Incumbents, history: History, stop: ColonyStop, iterations: int
) -> State:
    """Return this rank's share of the state after so many iterations, with their pheromone updates. Collective."""
    numbers = {"iterations": iterations, "seconds": stop.seconds(), "best": stop.best, "improved": stop.improved,
               "step": history.step}
    parts = _history_parts(stop.comm.gather(history))
    if search:
        first = int(incumbents.numbers[0])
        better = np.array(incumbents.improvements, np.int64).reshape(-1, 3)
        parts.append(part("improvements", 0, better))
        parts += [part(name, first, values) for name, values in _rows(search, incumbents).items()]
        parts += [_buffer_part(name, first, search.buffers[name]) for name in search.kept]
    return State(numbers, parts, f"after {counted(iterations, 'iteration')}")


def resume(saved: Saved, search: Search | None, incumbents: Incumbents, history: History, stop: ColonyStop) -> int:
    """Set colonies, history and stop criteria to those of a checkpoint, and return the iterations done so far."""
    iterations, any_length = saved.integer("iterations", 1, MOST_ITERATIONS), range(2**63)
    stop.started -= saved.seconds()
    stop.best, stop.improved = saved.integer("best", most=NO_TOUR), saved.integer("improved", most=iterations)
    history.step = saved.integer("step", 1)
    table = saved.gathered("history", (3,), np.int64, range(MOST_ROWS + 2)).tolist()
    times = saved.gathered("seconds", (), np.float64, range(len(table), len(table) + 1)).tolist()
    mine = stop.comm.rank == 0  # the rows of all ranks are merged there
    history.rows = [(iteration, at, best if mine else NO_TOUR, total if mine else 0)
                    for (iteration, best, total), at in zip(table, times) if iteration % history.step == 0]
    if search:
        first = int(incumbents.numbers[0])
        wanted = range(first, first + len(incumbents.numbers))
        better = saved.gathered("improvements", (3,), np.int64, ANY_COUNT, any_length).tolist()
        incumbents.improvements = [(colony, at, length) for colony, at, length in better if colony in wanted]
        for name, values in _rows(search, incumbents).items():
            values[...] = saved.rows(name, wanted, values.shape[1:], values.dtype, any_length)
        for name, lengths in (("tour", "length"), ("since_tour", "since_length")):
            if name in (rows := _rows(search, incumbents)):
                saved.require(_are_tours(rows[name], rows[lengths], search.instance.cost), f"a tour of {name}")
        for name in search.kept:
            buffer = search.buffers[name]
            buffer.upload(saved.rows(name, wanted, buffer.shape[1:], buffer.dtype))
        saved.require(search.remade(incumbents), "its pheromone")
    return iterations


def _are_tours(tours: NDArray[Any], lengths: NDArray[np.int64], cost: NDArray[np.int32]) -> bool:
    """Return whether each row is a tour of its length, or has the length `NO_TOUR`."""
    if tours.max(initial=0) >= len(cost):
        return False
    each = (np.sort(tours, axis=1) == np.arange(len(cost))).all(axis=1)
    added = cost[tours, np.roll(tours, -1, axis=1)].sum(axis=1, dtype=np.int64)
    return bool((each & (added == lengths) | (lengths == NO_TOUR)).all())


def _rows(search: Search, incumbents: Incumbents) -> Mapping[str, NDArray[Any]]:
    """Return the arrays on the host that have a row for each colony."""
    return {"length": incumbents.length, "tour": incumbents.tour, "found": incumbents.iteration, **search.rows()}


def _buffer_part(name: str, first: int, buffer: Buffer) -> Part:
    return Part(name, first, buffer.shape, buffer.dtype, buffer.download)


def _history_parts(histories: list[History] | None) -> list[Part]:
    """Return the history of all colonies together, on rank 0."""
    if histories is None:
        return []
    merged = [(at[0][0], min(row[2] for row in at), sum(row[3] for row in at))
              for at in zip(*(history.rows for history in histories))]
    seconds = np.array([row[1] for row in histories[0].rows], np.float64)
    return [part("history", 0, np.array(merged, np.int64).reshape(-1, 3)), part("seconds", 0, seconds)]
