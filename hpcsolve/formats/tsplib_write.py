"""Writing TSPLIB files: instances and tours. Names of cities, for which TSPLIB has no place, stand in the comment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.formats.files import write_text
from hpcsolve.formats.tables import decimal, shortest
from hpcsolve.problems.distances import FUNCTIONS
from hpcsolve.problems.rounding import LARGEST_SUM
from hpcsolve.problems.tsp import NO_ARC, Tsp


def write_tsplib(tsp: Tsp, path: str) -> None:
    """Write an instance, completely or not at all, so that `read` returns the same costs.

    Costs that are one of TSPLIB's distances are written as coordinates, others as EXPLICIT FULL_MATRIX.
    Cities of a matrix without coordinates are numbered from 1. Names of cities stand in the comment. Decimal costs are
    written as decimals, which TSPLIB itself does not have.

    Parameters
    ----------
    path
        "-" is standard output.

    Raises
    ------
    InputError
        Arcs are forbidden, which TSPLIB cannot express.
    EnvironmentFault
        The file cannot be written.
    """
    write_text(tsplib_text(tsp), path)


def tsplib_text(tsp: Tsp) -> str:
    """Return the text that `write_tsplib` writes."""
    from_coordinates = tsp.metric in FUNCTIONS and not tsp.precedences and bool(tsp.labels.min() >= 0)
    first, second = np.array(tsp.precedences, dtype=np.int64).reshape(-1, 2).T
    if not tsp.metric:
        _require_arcs(tsp, first, second)
    labels = tsp.labels if from_coordinates or _is_drawable(tsp) else np.arange(1, tsp.n + 1)
    names = [f"CITY {label} {_one_line(name)}" for label, name in zip(labels.tolist(), tsp.city_names)]
    head = [f"NAME : {_one_line(tsp.name)}", *_comments("\n".join([*names, tsp.comment]))]
    head += [f"TYPE : {'TSP' if tsp.symmetric else 'ATSP'}", f"DIMENSION : {tsp.n}"]
    if tsp.windows is not None:
        head[-2] = "TYPE : TSPTW"
    if tsp.precedences:
        if tsp.windows is not None:
            raise InputError(f"{tsp.name} has precedences beside time windows, which no type of TSPLIB has")
        if (tsp.cost < 0).any():  # they could be taken for precedences: -1 where the column's city comes first
            raise InputError(f"{tsp.name} has negative costs, which a SOP file cannot express beside precedences")
        head[-2], cost = "TYPE : SOP", tsp.cost.copy()
        cost[second, first] = -tsp.scale
        tsp = tsp.with_costs(cost)
    body: Iterable[str] = _matrix_lines(tsp)
    if from_coordinates and tsp.coordinates is not None:
        body = [f"EDGE_WEIGHT_TYPE : {tsp.metric}", "NODE_COORD_SECTION", *_points(tsp.labels, tsp.coordinates)]
    return "\n".join([*head, *body, *_window_lines(tsp, labels), "EOF", ""])


def _require_arcs(tsp: Tsp, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
    """Refuse a matrix without an arc, unless it leads from a city of `second` to one of `first` that comes before."""
    forbidden = tsp.cost == NO_ARC
    np.fill_diagonal(forbidden, False)
    forbidden[second, first] = False
    if forbidden.any():
        row, column = np.argwhere(forbidden)[0]
        what = f"{tsp.name} has no arc from city {tsp.labels[row]} to {tsp.labels[column]}"
        raise InputError(f"{what}, which TSPLIB cannot express; write it as {tsp.name}.npy")


def _matrix_lines(tsp: Tsp) -> Iterator[str]:
    yield "EDGE_WEIGHT_TYPE : EXPLICIT"
    yield "EDGE_WEIGHT_FORMAT : FULL_MATRIX"
    if _is_drawable(tsp):
        yield "DISPLAY_DATA_TYPE : TWOD_DISPLAY"
    yield "EDGE_WEIGHT_SECTION"
    for row in range(tsp.n):
        costs = tsp.cost[row].tolist()
        costs[row] = 0
        yield " ".join(decimal(cost, tsp.scale) for cost in costs)
    if _is_drawable(tsp) and tsp.coordinates is not None:
        yield "DISPLAY_DATA_SECTION"
        yield from _points(tsp.labels, tsp.coordinates)


def _window_lines(tsp: Tsp, labels: NDArray[np.int64]) -> Iterator[str]:
    """Yield the lines of the windows and services, as LKH-3 reads them."""
    if tsp.windows is None:
        return
    yield "TIME_WINDOW_SECTION"
    for label, begin, end in zip(labels.tolist(), tsp.windows.earliest.tolist(), tsp.windows.latest.tolist()):
        last = "inf" if end == LARGEST_SUM else decimal(end, tsp.scale)
        yield f"{label} {decimal(begin, tsp.scale)} {last}"
    yield "-1"
    if tsp.windows.service.any():
        yield "SERVICE_TIME_SECTION"
        for label, stay in zip(labels.tolist(), tsp.windows.service.tolist()):
            yield f"{label} {decimal(stay, tsp.scale)}"
        yield "-1"
    yield from ("DEPOT_SECTION", str(labels[0]), "-1")


def _is_drawable(tsp: Tsp) -> bool:
    """Return whether a matrix is written with coordinates to draw it, which also keep the labels."""
    plane = tsp.coordinates is not None and tsp.coordinates.shape[1] == 2 and not tsp.coordinates_kind
    return plane and bool(tsp.labels[0] >= 0 and (np.diff(tsp.labels) > 0).all())


def _points(labels: NDArray[np.int64], points: NDArray[np.float64]) -> Iterator[str]:
    """Yield a line for each city, with the shortest decimals that are read as the same floats."""
    for label, point in zip(labels.tolist(), points.tolist(), strict=True):
        yield f"{label} " + " ".join(map(shortest, point))


def write_tour(labels: ArrayLike, path: str, *, name: str = "tour", comment: str = "") -> None:
    """Write a TOUR file: the labels of the cities in their order, one on each line.

    Raises
    ------
    EnvironmentFault
        The file cannot be written.
    """
    write_text("".join(tour_lines(labels, name=name, comment=comment)), path)


def tour_lines(labels: ArrayLike, *, name: str = "tour", comment: str = "") -> Iterator[str]:
    """Yield the lines that `write_tour` writes."""
    cities = np.asarray(labels, dtype=np.int64)
    head = [f"NAME : {_one_line(name)}", *_comments(comment), "TYPE : TOUR", f"DIMENSION : {len(cities)}"]
    yield from (f"{line}\n" for line in [*head, "TOUR_SECTION", *map(str, cities.tolist()), "-1", "EOF"])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _comments(text: str) -> list[str]:
    return [f"COMMENT : {_one_line(line)}" for line in text.splitlines() if line.strip()]
