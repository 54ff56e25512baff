"""Which columns of a table hold names, latitudes and longitudes of places, by the columns' titles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

LATITUDE = ("lat", "latitude")
LONGITUDE = ("lon", "lng", "long", "longitude")
NAME = ("name", "address", "city", "place")
"""The first of these that a table has holds the names."""
LABEL = ("id",)


@dataclass(frozen=True)
class PlaceColumns:
    """Positions of columns, from 0. The name and the label are None where the table has none."""

    latitude: int
    longitude: int
    name: int | None
    label: int | None

    def unused(self, titles: Sequence[object]) -> list[object]:
        """Return the titles of the other columns."""
        used = (self.latitude, self.longitude, self.name, self.label)
        return [title for column, title in enumerate(titles) if column not in used]


def has_place_columns(titles: Sequence[object]) -> bool:
    """Return whether a table with these titles has latitudes and longitudes."""
    words = [_word(title) for title in titles]
    return any(word in LATITUDE for word in words) and any(word in LONGITUDE for word in words)


def place_columns(titles: Sequence[object]) -> PlaceColumns:
    """Return the columns of a table with these titles. Case, blanks around a title and units in brackets do not count.

    Raises
    ------
    ValueError
        Two columns have titles of the same meaning, or none has latitudes or longitudes.
    """
    words = [_word(title) for title in titles]
    latitude, longitude = _only(words, LATITUDE), _only(words, LONGITUDE)
    if latitude is None or longitude is None:
        raise ValueError("the header needs a column lat and a column lon")
    names = [_only(words, (spelling,)) for spelling in NAME]
    label = _only(words, LABEL)
    name = next((column for column in names if column is not None), None)
    return PlaceColumns(latitude, longitude, name, label)


def _word(title: object) -> str:
    """Return a title in lower case, without a unit in brackets: `lat` for `Lat [deg]`."""
    return re.sub(r"[(\[].*", "", str(title)).strip().lower()


def _only(words: Sequence[str], spellings: Sequence[str]) -> int | None:
    found = [index for index, word in enumerate(words) if word in spellings]
    if len(found) > 1:
        first, second = (words[index] for index in found[:2])
        raise ValueError(f"two columns mean the same, {first} and {second}; rename or remove one")
    return found[0] if found else None
