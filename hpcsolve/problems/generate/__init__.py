"""Random instances from a seed: the generators by the names and the keys that job files give them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

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
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import Tsp
from hpcsolve.wording import did_you_mean

Problem = TypeVar("Problem")


def call_generator(generators: Mapping[str, Callable[..., Problem]], name: str, keys: Mapping[str, Any]) -> Problem:
    """Generate the instance that a job file's `{ generate = "uniform-tsp", n = 24, seed = 1 }` describes.

    Parameters
    ----------
    generators
        Functions by their names in job files.
    name, keys
        The value of `generate`, and the other keys of the table.

    Raises
    ------
    InputError
        If there is no such generator or key (with the nearest name), a key is missing, or the generator refuses a
        value.
    """
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


Makers = Mapping[str, Callable[..., Any]]


def makers(kind: str) -> Makers:
    """Return the generators of a kind of problem by name.

    Their parameters are the other keys of the table `instance = { generate = ..., ... }`.
    """
    found = {"tsp": tsp_generators, "graph": graph_generators, "steiner": steiner_generators}
    return found[kind]() if kind in found else {}


def generate_graph(name: str, **keys: object) -> Graph:
    """Generate a graph by the name of a generator and the keys that it has in job files.

    Parameters
    ----------
    name
        A key of `graph_generators()`.
    keys
        The arguments of that generator.

    Raises
    ------
    InputError
        If there is no such generator or key (with the nearest name), a key is missing, or a value has the wrong type or
        is out of range.
    """
    return call_generator(graph_generators(), name, keys)


def graph_generators() -> Mapping[str, Callable[..., Graph]]:
    """Return the generators of graphs by their names in job files."""
    return {
        "road-graph": road_graph,
        "road-network": road_network,
        "grid-graph": grid_graph,
        "rmat-graph": rmat_graph,
        "geometric-graph": geometric_graph,
        "path-graph": path_graph,
        "star-graph": star_graph,
        "hub-graph": hub_graph,
        "random-graph": random_graph,
    }


def steiner_generators() -> Mapping[str, Callable[..., Graph]]:
    """Return the generators of Steiner problems by their names in job files."""
    return {"road-steiner": road_steiner, "power-law-steiner": power_law_steiner}


def generate_tsp(name: str, **keys: object) -> Tsp:
    """Generate an instance by the name of a generator and the keys that it has in job files.

    Parameters
    ----------
    name
        A key of `tsp_generators()`.
    keys
        The arguments of that generator.

    Raises
    ------
    InputError
        If there is no such generator or key (with the nearest name), n is missing, or a value has the wrong type or is
        out of range.
    """
    if name in graph_generators():
        raise InputError(f"{name} generates a graph, not a travelling salesman problem")
    return call_generator(tsp_generators(), name, keys)


def tsp_generators() -> Mapping[str, Callable[..., Tsp]]:
    """Return the generators of travelling salesman problems by their names in job files."""
    return {"uniform-tsp": uniform_tsp, "clustered-tsp": clustered_tsp, "random-matrix": random_matrix}
