"""Labels are the numbers of vertices or cities in the input, names are their texts.

A number always means a label, a text always means a name. A number is refused if it is the label of one city and the
name of another.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.wording import nearest, shown

MOST_COMPARED = 10_000
"""Number of names that are searched for a similar one, at most: each takes some 10 microseconds."""
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})", re.ASCII)


def positions_of(
    labels: NDArray[np.int64], searched: ArrayLike | Iterable[Any], owner: str, one: str, many: str,
    names: Sequence[str] = (),
) -> NDArray[np.int64]:
    """Return the positions (from 0) of cities or vertices. This is the inverse of `labels[...]` and of `names[...]`.

    Parameters
    ----------
    labels
        Shape (n,): the label of each position.
    searched
        Integers (labels), of any shape, which is that of the result; or a list that may have texts (names) too. Any
        other object, such as a node of networkx, stands for its text.
    owner, one, many
        Words for the message, such as "gr17", "city" and "cities". An instance may have no name.
    names
        n names, or none.

    Raises
    ------
    InputError
        For the first label or name that no position has, for a name that two have, and for a number that is the label
        of one and the name of another.
    """
    owner = owner or "the instance"
    asked = _whole_numbers(searched)
    if asked is not None:
        found = _by_label(labels, asked, owner, one, many)
        _refuse_ambiguous(labels, asked, found, owner, one, names)
        return found
    assert isinstance(searched, Iterable)
    items = list(searched)
    numbers = [_as_integer(item) for item in items]
    is_number = np.array([number is not None for number in numbers], dtype=bool)
    found = np.empty(len(items), dtype=np.int64)
    whole = [number for number in numbers if number is not None]
    found[is_number] = positions_of(labels, np.array(whole, dtype=np.int64), owner, one, many, names)
    known: dict[str, list[int]] = {}
    for position, name in enumerate(names):
        known.setdefault(_composed(name), []).append(position)
    found[~is_number] = [_by_name(labels, item, known, owner, one, many)
                         for item, number in zip(items, numbers) if number is None]
    return found


def _whole_numbers(searched: Any) -> NDArray[np.int64] | None:
    """Return an array of integers, or None if there is anything else."""
    try:
        table = np.asarray(searched)
    except (ValueError, OverflowError):  # a list of tuples and numbers
        return None
    if not table.size:
        return table.astype(np.int64)
    if table.dtype.kind not in "iu" or (table.dtype == np.uint64 and table.max() >= 2**63):
        return None
    return table.astype(np.int64)


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or numpy, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _as_integer(item: Any) -> int | None:
    """Return a label, or None if the item is not a whole number of 64 bits."""
    whole = is_integer(item) or (isinstance(item, (float, np.floating)) and float(item).is_integer())
    return int(item) if whole and -(2**63) <= item < 2**63 else None


def _by_label(
    labels: NDArray[np.int64], asked: NDArray[np.int64], owner: str, one: str, many: str
) -> NDArray[np.int64]:
    if not len(labels) and asked.size:
        raise InputError(f"{owner} has no {many}")
    order = np.argsort(labels, kind="stable")
    found = np.minimum(np.searchsorted(labels[order], asked), len(labels) - 1)
    result: NDArray[np.int64] = order[found]
    missing = asked[labels[result] != asked]
    if missing.size:
        low, high = labels.min(), labels.max()
        raise InputError(f"{owner} has no {one} {missing.flat[0]}; its {many} are numbered {low} to {high}")
    return result


def _refuse_ambiguous(
    labels: NDArray[np.int64], asked: NDArray[np.int64], found: NDArray[np.int64], owner: str, one: str,
    names: Sequence[str],
) -> None:
    """Refuse numbers that are the label of one vertex and the name of another."""
    conflicts = [int(name) for label, name in zip(labels.tolist(), names)
                 if _NUMBER.fullmatch(name) and int(name) != label]
    wrong = np.isin(asked, conflicts) if conflicts else np.zeros(0, dtype=bool)
    if wrong.any():
        number, meant = asked[wrong][0], names[int(found[wrong][0])]
        what = f"{number} is the number of {meant!r} in {owner}, and another {one} has {str(number)!r} as its name"
        raise InputError(f"{what}; write the name that you mean, in quotes")


def _composed(name: str) -> str:
    """Return a name in the one of Unicode's ways of writing it (NFC) in which it is compared."""
    return unicodedata.normalize("NFC", name)


def _by_name(
    labels: NDArray[np.int64], item: Any, known: dict[str, list[int]], owner: str, one: str, many: str
) -> int:
    found = known.get(_composed(str(item)), [])
    if len(found) > 1:
        numbers = f"{labels[found[0]]} and {labels[found[1]]}"
        raise InputError(f"{owner} has {len(found)} {many} named {str(item)!r}, such as {numbers}; give the number")
    if not found:
        raise InputError(f"{owner} has no {one} {shown(str(item))}{_hint(labels, str(item), known, many)}")
    return found[0]


def _hint(labels: NDArray[np.int64], text: str, known: dict[str, list[int]], many: str) -> str:
    """Return the end of the message about an unknown name: what to write in its place."""
    if _NUMBER.fullmatch(text) and int(text) in labels:
        return f" by name; {text} is a label of its {many}, to be given as a number"
    if not known:
        return f"; its {many} have numbers, {labels.min()} to {labels.max()}, and no names" if len(labels) else ""
    near = [name for name in known if name[:1].lower() == text[:1].lower()] if len(known) > MOST_COMPARED else known
    close = nearest(text, list(near)[:MOST_COMPARED])
    return f"; did you mean {close[0]!r}?" if close else f"; its {many} have names such as {next(iter(known))!r}"
