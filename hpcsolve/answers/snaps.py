"""The group `/places`: which places stand for which vertices, the nearest ones, and how far these are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.contents import Column, Contents, Dataset, columns
from hpcsolve.problems.geographic import DEGREES
from hpcsolve.problems.snapping import Snapped
from hpcsolve.wording import counted, shown

PLACES = {
    "role": Dataset("text", "What the place is in the problem: terminal, source, target or stop", "place"),
    "name": Dataset("text", "Name of the place, or its number in its file", "place"),
    "vertex": Dataset("int32", "Position of the nearest vertex, from 0, of several the first; of stops in the network",
                      "place"),
    "distance": Dataset("float64", "How far the vertex is: in metres if coordinates are degrees, else in their unit",
                        "place"),
}
"""The group `/places`."""
SHOWN = 12
"""Most places of a role that are printed one by one."""


def places_group(*found: Sequence[Snapped]) -> dict[str, dict[str, Column]]:
    """Return `/places`, or no group if nothing was given by places."""
    each = [one for several in found for one in several]
    if not each:
        return {}
    return {"places": columns(PLACES, {
        "role": [one.role for one in each for _ in one.names], "name": [name for one in each for name in one.names],
        "vertex": np.concatenate([one.vertices for one in each]).astype(np.int32),
        "distance": np.concatenate([one.distances for one in each]),
    })}


def named_by_places(contents: Contents, role: str, vertices: NDArray[Any]) -> list[Any]:
    """Return for each vertex the names of the places of a role that it stands for, or without places its own name."""
    roles, names, at = (np.asarray(contents.value("places", key, ())).tolist() for key in ("role", "name", "vertex"))
    places: dict[int, list[str]] = {}
    for one, name, vertex in zip(roles, names, at):
        if one == role:
            places.setdefault(vertex, []).append(str(name))
    own = contents.shown_names()[vertices].tolist()
    return [", ".join(places.get(vertex, [])) or name for vertex, name in zip(vertices.tolist(), own)]


def place_lines(contents: Contents) -> Iterator[str]:
    """Yield a line for each place, or one for all of a role if they are many."""
    role, name, vertex, distance = (np.asarray(contents.value("places", key, ())) for key in PLACES)
    labels, unit = contents.shown_names(), " m" if contents.value("instance", "coordinates_kind") == DEGREES else ""
    for one in dict.fromkeys(role.tolist()):
        rows = np.flatnonzero(role == one).tolist()
        far = max(rows, key=lambda row: float(distance[row]))
        if len(rows) <= SHOWN:
            for row in rows:  # of a tour the vertices of the network are not in the result
                which = "is at a vertex" if one == "stop" else f"is vertex {labels[vertex[row]]},"
                yield f"place:  {one} {shown(str(name[row]))} {which} {distance[row]:.1f}{unit} away"
            continue
        distinct, mean = len(set(vertex[rows].tolist())), np.mean(distance[rows])
        yield (f"place:  {len(rows)} {one}s are {counted(distinct, 'vertex')}, {mean:.1f}{unit} away on average, "
               f"at most {distance[far]:.1f}{unit} ({shown(str(name[far]))})")
