"""Random integers from a seed: the same on every platform and with every version of numpy.

numpy promises the raw 64-bit words of PCG64 for a seed for ever, but not what `Generator.integers` or `normal` make of
them. So the integers here are made from raw words by integer arithmetic alone; no libm either.
"""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import InputError, ResourceError

WIDEST = 2**31
"""Ranges of random integers are at most so wide: the product with 32 random bits must fit 63."""

Made = TypeVar("Made")


def words(seed: int, count: int) -> NDArray[np.uint64]:
    """The first raw words of PCG64 for a seed."""
    return next_words(np.random.PCG64(seed), count)


def next_words(stream: np.random.PCG64, count: int) -> NDArray[np.uint64]:
    """The next raw words of a stream."""
    result: NDArray[np.uint64] = stream.random_raw(count)
    return result


def below(raw: NDArray[np.uint64], bound: int) -> NDArray[np.int64]:
    """One integer in 0..bound-1 a word, from its high 32 bits; no value's chance is off by more than 2 ** -32.

    Raises
    ------
    InputError
        The bound is beyond 2 ** 31.
    """
    if bound > WIDEST:
        raise InputError(f"a range of {bound} integers is too wide; at most {WIDEST}")
    return ((raw >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32)).astype(np.int64)


def sorted_once(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different keys in ascending order: as `numpy.unique`, which hashes and is far slower on millions."""
    keys = np.sort(keys)
    first = np.ones(len(keys), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    result: NDArray[np.int64] = keys[first]
    return result


def require_integers(**values: tuple[object, int]) -> None:
    """Each value must be an integer, at least its bound and below 2 ** 31 (a seed: 2 ** 63).

    Raises
    ------
    InputError
        Naming the first that is not.
    """
    for key, (value, least) in values.items():
        most = 2**63 - 1 if key == "seed" else WIDEST - 1
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
            raise InputError(f"{key} is {value!r}; it must be an integer")
        if not least <= value <= most:
            raise InputError(f"{key} is {value}; it must be {least} to {most}")


def require_memory_of(size: int, what: str) -> None:
    """Refuse to make what takes more bytes than this machine has.

    Raises
    ------
    ResourceError
        Naming both.
    """
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > memory:
        need, have = size / 2**30, memory / 2**30
        message = f"{what}, to be made, takes some {need:.3g} GiB, this machine has {have:.3g} GiB"
        raise ResourceError(f"{message}; make it smaller")


def made(makers: Mapping[str, Callable[..., Made]], kind: str, keys: Mapping[str, Any]) -> Made:
    """What the maker of that kind makes of the keys.

    Raises
    ------
    InputError
        Unknown kind or key (naming the nearest), a key that is missing; or as the maker.
    """
    if kind not in makers:
        raise InputError(f"unknown generator {kind!r}{_nearest(kind, makers)}; there are {', '.join(makers)}")
    parameters = inspect.signature(makers[kind]).parameters
    for key in keys:
        if key not in parameters:
            raise InputError(f"{kind} has no key {key!r}{_nearest(key, parameters)}; it has {', '.join(parameters)}")
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in keys:
            raise InputError(f"{kind} needs {key}")
    return makers[kind](**keys)


def _nearest(word: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f", did you mean {close[0]!r}?" if close else ""
