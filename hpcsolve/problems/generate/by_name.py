"""Generators called by the names and the keys that job files give them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hpcsolve.errors import InputError
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
