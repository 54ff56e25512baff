"""Random instances from a seed: the generators by the names and the keys that job files give them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from hpcsolve.errors import InputError
from hpcsolve.problems.generate.graph import (
    grid_graph,
    hub_graph,
    path_graph,
    power_law_steiner,
    random_graph,
    rmat_graph,
    road_steiner,
    star_graph,
)
from hpcsolve.problems.generate.plane import geometric_graph, road_graph, road_network
from hpcsolve.problems.generate.tsp import clustered_tsp, random_matrix, uniform_tsp
from hpcsolve.wording import did_you_mean

Makers = Mapping[str, Callable[..., Any]]
_MAKERS: Mapping[str, Makers] = {
    "tsp": {"uniform-tsp": uniform_tsp, "clustered-tsp": clustered_tsp, "random-matrix": random_matrix},
    "graph": {
        "road-graph": road_graph,
        "road-network": road_network,
        "grid-graph": grid_graph,
        "rmat-graph": rmat_graph,
        "geometric-graph": geometric_graph,
        "path-graph": path_graph,
        "star-graph": star_graph,
        "hub-graph": hub_graph,
        "random-graph": random_graph,
    },
    "steiner": {"road-steiner": road_steiner, "power-law-steiner": power_law_steiner},
}


def makers(kind: str) -> Makers:
    """Return the generators of a kind of problem by their names in job files, none for a kind that has none.

    Their parameters are the other keys of the table `instance = { generate = ..., ... }`.
    """
    return _MAKERS.get(kind, {})


def generate(kind: str, name: str, /, **keys: Any) -> Any:
    """Generate the instance that a job file's `{ generate = "uniform-tsp", n = 24, seed = 1 }` describes.

    Parameters
    ----------
    kind
        The kind of problem: "tsp", "graph" or "steiner".
    name, keys
        The value of `generate`, and the other keys of the table.

    Raises
    ------
    InputError
        If there is no such generator or key (with the nearest name), a key is missing, or the generator refuses a
        value.
    """
    generators = makers(kind)
    if name not in generators:
        hint = did_you_mean(name, generators, f"; the generators are {', '.join(generators)}")
        raise InputError(f"unknown generator {name!r}{hint}")
    parameters = inspect.signature(generators[name]).parameters
    for key in keys:
        if key not in parameters:
            hint = did_you_mean(key, parameters, f"; its keys are {', '.join(parameters)}")
            raise InputError(f"{name} has no key {key!r}{hint}")
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in keys:
            raise InputError(f"{name} needs the key {key}")
    return generators[name](**keys)
