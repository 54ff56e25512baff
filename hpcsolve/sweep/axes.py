"""Finds the keys of a sweep file that have several values.

The type that a job declares for a key decides. A value of that type is one value, even if it is a list:
`sources = [1, 5]`, `instance.terminals = [17, 4]`. Any other list holds the values to try, and a text such as "1..20"
stands for the integers from 1 to 20. So every job that `hpcsolve run` accepts means the same to `hpcsolve sweep`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import msgspec

from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.errors import InputError
from hpcsolve.job import Settings
from hpcsolve.job.convert import JobText, keys_of
from hpcsolve.job.load import read_table

RANGE = re.compile(r"\s*([+-]?\d{1,18})\s*\.\.\s*([+-]?\d{1,18})\s*")
MOST_VALUES = 100_000
"""Most values of a range."""
GENERATOR_VALUE = int | bool | float
"""Type of the keys of a table `instance = { generate = ... }`, except `generate` itself."""
INSTANCE_TYPES: Mapping[str, Any] = {
    "generate": str, "file": str, "coordinates": str, "directed": bool, "terminals": str | list[int | float | str],
}
"""Types of the keys of a table `instance = { file = ... }`, and of `generate`."""

Axes = dict[str, list[Any]]
"""Dotted key -> its values, in the order of the file."""


def axes_of(table: Mapping[str, Any], text: JobText) -> Axes:
    """Return the keys of a table that have several values.

    Raises
    ------
    InputError
        A list or a range is empty, or a range is too long.
    """
    axes = {}
    for keys, value in _leaves(table):
        kind = _type_of(keys, table)
        half = isinstance(value, str) and ".." in value and not _is_range(value)
        if half and kind is not None and not _fits(value, kind):
            raise text.error(".".join(keys), f'"{value}" is not a range; give both ends as whole numbers: "1..20"')
        if kind is not None and not _fits(value, kind) and _is_several(value, kind):
            key = ".".join(keys)
            axes[key] = _values(value, kind, key, text)
    return axes


def _leaves(table: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield path and value of all keys, those of inner tables included."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*prefix, key))
        else:
            yield (*prefix, key), value


def _type_of(keys: tuple[str, ...], table: Mapping[str, Any]) -> Any:
    """Return the type of a key's value in a job, or None if a job has no such key, which `job_of_table` reports."""
    if keys[0] == "instance" and len(keys) > 1:
        generated = "generate" in table["instance"] and keys[1] != "generate"
        return GENERATOR_VALUE if generated else INSTANCE_TYPES.get(keys[1])
    if keys[0] in NAMES:
        return _field_type(algorithm(keys[0]).parameters, keys[1:])
    return _field_type(Settings, keys)


def _field_type(struct: type[msgspec.Struct], keys: tuple[str, ...]) -> Any:
    """Return the type of a key of a struct, or of a nested struct, or None if there is no such key."""
    field = keys_of(struct).get(keys[0]) if keys else None
    if field is None:
        return None
    if len(keys) == 1:
        return field.type
    inside = [kind for kind in (field.type, *get_args(field.type)) if inspect.isclass(kind)]
    return next((_field_type(kind, keys[1:]) for kind in inside if issubclass(kind, msgspec.Struct)), None)


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _is_several(value: Any, kind: Any) -> bool:
    """Return whether a value that does not fit the type is a range, or a list with a range or a value that fits.

    Any other list is a mistake in a single value, and the check of the job has a better message for it.
    """
    if isinstance(value, list):
        return not value or any(_fits(item, kind) or _is_range(item) for item in value)
    return _is_range(value)


def _is_range(value: Any) -> bool:
    return isinstance(value, str) and RANGE.fullmatch(value) is not None


def _values(value: Any, kind: Any, key: str, text: JobText) -> list[Any]:
    """Return the values of a range, or of a list, in which ranges are replaced by their integers."""
    if isinstance(value, list):
        values = [one for item in value for one in ([item] if _fits(item, kind) else _range(item, key, text))]
        if not values:
            raise text.error(key, "the list has no values")
        return values
    return _range(value, key, text)


def _range(value: Any, key: str, text: JobText) -> list[Any]:
    """Return the integers of a range, or the value alone if it is not a range."""
    found = RANGE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return [value]
    first, last = int(found[1]), int(found[2])
    if not 0 <= last - first < MOST_VALUES:
        raise text.error(key, _wrong_range(value, first, last))
    return list(range(first, last + 1))


def _wrong_range(value: str, first: int, last: int) -> str:
    if last < first:
        return f'the range "{value}" is empty; write "{last}..{first}"'
    return f'the range "{value}" has {last - first + 1} values; at most {MOST_VALUES} are allowed'


def require_axes(axes: Axes, file: str) -> None:
    """Raise an `InputError` if no key of a sweep file has several values."""
    if not axes:
        what = "no key has several values, so it is one job"
        raise InputError(f'{what}: solve it with `hpcsolve run`, or give a key values, as in seed = "1..5"', file, 1)


def require_one_job(
    path: str, overrides: Sequence[str] = (), way_out: str = "`hpcsolve sweep` runs every combination"
) -> None:
    """Raise an `InputError`, with a way out, if a key of a job file has several values. Raises as `load_job` too."""
    table, text = read_table(path, overrides)
    for key in axes_of(table, text):
        raise text.error(key, f"there are several values; {way_out}")
