"""Random instances from a seed: the generators by the names and the keys that job files give them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from hpcsolve.errors import InputError
from hpcsolve.problems.generate import graph, plane, tsp
from hpcsolve.wording import did_you_mean

Makers = Mapping[str, Callable[..., Any]]
_MAKERS: Mapping[str, Makers] = {
    "tsp": {
        "uniform-tsp": tsp.uniform_tsp, "clustered-tsp": tsp.clustered_tsp, "random-matrix": tsp.random_matrix,
    },
    "graph": {
        "road-graph": plane.road_graph,
        "road-network": plane.road_network,
        "grid-graph": graph.grid_graph,
        "rmat-graph": graph.rmat_graph,
        "geometric-graph": plane.geometric_graph,
        "path-graph": graph.path_graph,
        "star-graph": graph.star_graph,
        "hub-graph": graph.hub_graph,
        "random-graph": graph.random_graph,
    },
    "steiner": {"road-steiner": graph.road_steiner, "power-law-steiner": graph.power_law_steiner},
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
