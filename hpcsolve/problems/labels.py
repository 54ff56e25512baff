"""Labels are the numbers of vertices or cities in the input, names are their texts.

A number always means a label, a text always means a name. A number is refused if it is the label of one city and the
name of another.
"""

from __future__ import annotations

import numbers
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcsolve.errors import InputError
from hpcsolve.wording import nearest, shown

MOST_COMPARED = 10_000
"""Number of names that are searched for a similar one, at most: each takes some 10 microseconds."""
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})", re.ASCII)


@dataclass(frozen=True)
class Labels:
    """The cities or vertices of an instance, by label or name.

    Attributes
    ----------
    labels
        Shape (n,): the label of each position.
    names
        n names, or none.
    owner, one, many
        Words for messages, such as "gr17", "city" and "cities". An instance may have no name.
    """

    labels: NDArray[np.int64]
    names: Sequence[str]
    owner: str
    one: str
    many: str

    def positions(self, searched: ArrayLike | Iterable[Any]) -> NDArray[np.int64]:
        """Return the positions (from 0) of cities or vertices. This is the inverse of `labels[...]` and `names[...]`.

        Parameters
        ----------
        searched
            Integers (labels), of any shape, which is that of the result; or a list that may have texts (names) too. Any
            other object, such as a node of networkx, stands for its text.

        Raises
        ------
        InputError
            For the first label or name that no position has, for a name that two have, and for a number that is the
            label of one and the name of another.
        """
        asked = _whole_numbers(searched)
        if asked is not None:
            return self._by_label(asked)
        assert isinstance(searched, Iterable)
        items = list(searched)
        whole = [_as_integer(item) for item in items]
        is_number = np.array([number is not None for number in whole], dtype=bool)
        found = np.empty(len(items), dtype=np.int64)
        found[is_number] = self._by_label(np.array([number for number in whole if number is not None], np.int64))
        known: dict[str, list[int]] = {}
        for position, name in enumerate(self.names):
            known.setdefault(_composed(name), []).append(position)
        found[~is_number] = [self._by_name(str(item), known) for item, number in zip(items, whole) if number is None]
        return found

    def _by_label(self, asked: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of labels. Raises `InputError` for no label, or one that is another's name."""
        labels, owner = self.labels, self.owner or "the instance"
        if not len(labels) and asked.size:
            raise InputError(f"{owner} has no {self.many}")
        order = np.argsort(labels, kind="stable")
        found: NDArray[np.int64] = order[np.minimum(np.searchsorted(labels[order], asked), len(labels) - 1)]
        missing = asked[labels[found] != asked]
        if missing.size:
            numbered = f"its {self.many} are numbered {labels.min()} to {labels.max()}"
            raise InputError(f"{owner} has no {self.one} {missing.flat[0]}; {numbered}")
        conflicts = [int(name) for label, name in zip(labels.tolist(), self.names)
                     if _NUMBER.fullmatch(name) and int(name) != label]
        wrong = np.isin(asked, conflicts) if conflicts else np.zeros(0, dtype=bool)
        if wrong.any():
            number, meant = asked[wrong][0], self.names[int(found[wrong][0])]
            what = f"{number} is the number of {meant!r} in {owner}, and another {self.one} has {str(number)!r}"
            raise InputError(f"{what} as its name; write the name that you mean, in quotes")
        return found

    def _by_name(self, text: str, known: dict[str, list[int]]) -> int:
        found, owner = known.get(_composed(text), []), self.owner or "the instance"
        if len(found) > 1:
            which = f"{self.labels[found[0]]} and {self.labels[found[1]]}"
            raise InputError(f"{owner} has {len(found)} {self.many} named {text!r}, such as {which}; give the number")
        if not found:
            raise InputError(f"{owner} has no {self.one} {shown(text)}{self._hint(text, known)}")
        return found[0]

    def _hint(self, text: str, known: dict[str, list[int]]) -> str:
        """Return the end of the message about an unknown name: what to write in its place."""
        labels, many = self.labels, self.many
        if _NUMBER.fullmatch(text) and int(text) in labels:
            return f" by name; {text} is a label of its {many}, to be given as a number"
        if not known:
            return f"; its {many} have numbers, {labels.min()} to {labels.max()}, and no names" if len(labels) else ""
        near = [name for name in known if name[:1].lower() == text[:1].lower()] if len(known) > MOST_COMPARED else known
        close = nearest(text, list(near)[:MOST_COMPARED])
        return f"; did you mean {close[0]!r}?" if close else f"; its {many} have names such as {next(iter(known))!r}"


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


def _as_integer(item: Any) -> int | None:
    """Return a label, or None if the item is not a whole number of 64 bits."""
    whole = is_integer(item) or (isinstance(item, (float, np.floating)) and float(item).is_integer())
    return int(item) if whole and -(2**63) <= item < 2**63 else None


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or numpy, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Return whether a value is a number, and no truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _composed(name: str) -> str:
    """Return a name in the one of Unicode's ways of writing it (NFC) in which it is compared."""
    return unicodedata.normalize("NFC", name)
