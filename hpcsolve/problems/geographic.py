"""Places on the globe, given by latitudes and longitudes, and the columns of tables for them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.problems.distances import GREAT_CIRCLE
from hpcsolve.problems.labels import is_real
from hpcsolve.problems.rounding import largest_cost
from hpcsolve.problems.tsp import NO_ARC, Tsp, from_points

DEGREES = "degrees"
"""`coordinates_kind` of latitude and longitude, in this order, in decimal degrees."""
DEGREES_MINUTES = "degrees.minutes"
"""`coordinates_kind` of latitude and longitude as in GEO of TSPLIB: 48.30 is 48 degrees and 30 minutes."""
BOUNDS = {"latitude": 90.0, "longitude": 180.0}
"""Largest magnitudes in degrees."""


def from_places(
    latitude: ArrayLike,
    longitude: ArrayLike,
    name: str = "places",
    *,
    city_names: Sequence[str] = (),
    labels: ArrayLike | None = None,
    notes: tuple[str, ...] = (),
) -> Tsp:
    """Return the instance of places on the globe, whose costs are great-circle distances in whole metres.

    Parameters
    ----------
    latitude, longitude
        Shape (n,): decimal degrees, -90 to 90 (north is positive) and -180 to 180 (east is positive).
    labels
        Shape (n,), different integers, by default 1..n.
    notes
        As in `Tsp`.

    Raises
    ------
    InputError
        The shapes differ, there is no place, or a number is missing or out of range.
    """
    north, east = _degrees(latitude, "latitude", name), _degrees(longitude, "longitude", name)
    if len(north) != len(east):
        raise InputError(f"{len(north)} latitudes and {len(east)} longitudes; give one of each for each place", name)
    places, n = np.stack([north, east], axis=-1), len(north)
    numbers = np.arange(1, n + 1) if labels is None else np.asarray(labels, dtype=np.int64)
    if len(city_names) not in (0, n) or numbers.shape != (n,) or len(np.unique(numbers)) < n:
        raise InputError(f"{n} places need {n} city names, or none, and {n} different labels, or none", name)
    tsp = from_points(
        places, GREAT_CIRCLE, name, numbers, city_names=city_names, coordinates_kind=DEGREES, notes=notes,
    )
    return replace(tsp, unit="m")


METRES: Mapping[str, int] = {"m": 1, "km": 1000}
"""Units of distances -> metres."""


def at_speed(tsp: Tsp, speed: float) -> Tsp:
    """Return the instance with travel times at one speed, in whole seconds, halves up, in place of its distances.

    Distances that had to be rounded count as they were given.

    Parameters
    ----------
    speed
        In kilometres an hour.

    Raises
    ------
    InputError
        The speed is not 0.1 to 10,000 with at most three decimals, or the costs are not in m or km, or too large.
    """
    if not is_real(speed) or not 0.1 <= speed <= 10_000:
        raise InputError(f"instance.speed: {speed!r} is not a number of 0.1 to 10000, in kilometres an hour")
    exact = Fraction(repr(float(speed)))
    if 1000 % exact.denominator:
        raise InputError(f"instance.speed: {speed!r} has more than three decimals; round it")
    if tsp.unit not in METRES:
        found = f"are in {tsp.unit}; remove speed" if tsp.unit else \
            "have no known unit; give places with lat and lon, or travel times in place of a speed"
        raise InputError(f"instance.speed: it makes travel times of metres, but the costs of {tsp.name} {found}")
    top, bottom = 36 * METRES[tsp.unit] * exact.denominator, 10 * tsp.scale * exact.numerator  # 3.6 s/m at 1 km/h
    missing = tsp.cost == NO_ARC
    distances = np.where(missing, 0, tsp.cost)
    if (2 * int(np.abs(distances).max(initial=0)) * top + bottom) >> 63 or bottom >> 62:
        distances = distances.astype(object)  # integers of any size
    doubled = 2 * distances * top + bottom
    seconds, past = doubled // (2 * bottom), doubled % (2 * bottom)
    if tsp.rounding is not None and tsp.rounding.exact is not None:
        off = 2 * top * math.ceil(tsp.rounding.error * tsp.scale)  # so near to a tie the given distance decides
        for index in np.flatnonzero(((past < off) | (past >= 2 * bottom - off)) & ~missing).tolist():
            given = Fraction(tsp.rounding.exact(index)) * tsp.scale
            seconds.flat[index] = (2 * given * top + bottom) // (2 * bottom)
    if np.abs(seconds).max(initial=0) > largest_cost(tsp.n):
        raise InputError(f"instance.speed: the costs of {tsp.name} are too large for sums of seconds; divide them by a "
                         "power of ten, or remove speed")
    costs = np.where(missing, NO_ARC, seconds.astype(np.int64))
    return replace(tsp.with_costs(costs, scale=1, rounding=None), unit="s")


def out_of_range(value: float, what: str) -> str | None:
    """Return what is wrong with a latitude or longitude (`what`) in decimal degrees, or None."""
    bound = BOUNDS[what]
    if abs(value) <= bound:
        return None
    swapped = "; are latitude and longitude swapped?" if what == "latitude" and abs(value) <= 180 else ""
    return f"the {what} {value:g} is outside of -{bound:g} to {bound:g} decimal degrees{swapped}"


def _degrees(values: ArrayLike, what: str, name: str) -> NDArray[np.float64]:
    try:
        table = np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError):
        raise InputError(f"the {what}s are not numbers; give decimal degrees", name) from None
    if table.ndim != 1 or not len(table):
        raise InputError(f"the {what}s have shape {table.shape}; give one number for each place", name)
    for index in np.flatnonzero(~(np.abs(table) <= BOUNDS[what])):
        raise InputError(f"place {index}: {out_of_range(float(table[index]), what)}", name)
    return table


LATITUDE = ("lat", "latitude")
LONGITUDE = ("lon", "lng", "long", "longitude")
NAME = ("name", "address", "city", "place")
"""The first of these that a table has holds the names."""
LABEL = ("id",)
WINDOW_COLUMNS = ("earliest", "latest", "service")
"""Columns of time windows, which count where a speed makes travel times of distances."""


@dataclass(frozen=True)
class PlaceColumns:
    """Positions of columns, from 0. The name and the label are None where the table has none."""

    latitude: int
    longitude: int
    name: int | None
    label: int | None

    def unused(self, titles: Sequence[object], times: Mapping[str, int]) -> list[object]:
        """Return the titles of the other columns, but for those of `times`."""
        used = (self.latitude, self.longitude, self.name, self.label, *times.values())
        return [title for column, title in enumerate(titles) if column not in used]


def has_place_columns(titles: Sequence[object]) -> bool:
    """Return whether a table with these titles has latitudes and longitudes."""
    words = [word_of(title) for title in titles]
    return any(word in LATITUDE for word in words) and any(word in LONGITUDE for word in words)


def place_columns(titles: Sequence[object]) -> PlaceColumns:
    """Return the columns of a table with these titles. Case, blanks around a title and units in brackets do not count.

    Raises
    ------
    ValueError
        Two columns have titles of the same meaning, or none has latitudes or longitudes.
    """
    words = [word_of(title) for title in titles]
    latitude, longitude = _only(words, LATITUDE), _only(words, LONGITUDE)
    if latitude is None or longitude is None:
        raise ValueError("the header needs a column lat and a column lon")
    names = [_only(words, (spelling,)) for spelling in NAME]
    label = _only(words, LABEL)
    name = next((column for column in names if column is not None), None)
    return PlaceColumns(latitude, longitude, name, label)


def time_columns(titles: Sequence[object], speed: float | None) -> dict[str, int]:
    """Return the titles of those of `WINDOW_COLUMNS` that there are, with their positions, and none without a speed.

    Raises
    ------
    ValueError
        Two columns have the same title.
    """
    words = [] if speed is None else [word_of(title) for title in titles]
    found = [_only(words, (word,)) for word in WINDOW_COLUMNS]
    return {str(titles[column]): column for column in found if column is not None}


def word_of(title: object) -> str:
    """Return a title in lower case, without a unit in brackets: `lat` for `Lat [deg]`."""
    return re.sub(r"[(\[].*", "", str(title)).strip().lower()


def _only(words: Sequence[str], spellings: Sequence[str]) -> int | None:
    found = [index for index, word in enumerate(words) if word in spellings]
    if len(found) > 1:
        first, second = (words[index] for index in found[:2])
        raise ValueError(f"two columns mean the same, {first} and {second}; rename or remove one")
    return found[0] if found else None
