"""The record of a kind of answer, `AnswerType`, the result of a check, `Verdict`, and what only some results have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.dataset import Column, Group, datasets, required
from hpcsolve.answers.edges import Edges, Rows
from hpcsolve.answers.table import DistanceTable
from hpcsolve.problems.verify.distances import unreached_of
from hpcsolve.wording import counted

if TYPE_CHECKING:
    from hpcsolve.output.contents import Contents
    from hpcsolve.parallel.comm import Comm


@dataclass(frozen=True)
class Verdict:
    """The result of a check.

    Attributes
    ----------
    passed
        None where nothing can be checked, since the statement that no tour exists has no short certificate.
    reason
        What was checked, or what is wrong, in words.
    """

    passed: bool | None
    reason: str

    def __str__(self) -> str:
        """Return `PASS (...)`, `FAIL (...)` or `NOT CHECKED (...)`, with the reason in brackets."""
        return f"{'NOT CHECKED' if self.passed is None else 'PASS' if self.passed else 'FAIL'} ({self.reason})"


RowBlocks = Callable[[Sequence[str]], Iterator[tuple[int, list[NDArray[Any]]]]]
"""A function that takes names of tables and yields their rows, one block of rows after the other: the number of the
block's first row, and the block of each table."""


@dataclass(frozen=True)
class AnswerType:
    """A kind of answer, with the functions that depend on it.

    Attributes
    ----------
    name
        As in the documentation.
    records
        The dataclasses, one for each form of this answer, whose fields are the datasets of `/solution`.
    check
        Checks the answer at the end of a run, given (problem, question, record of this rank, communicator). Collective,
        with the same verdict on every rank. The question is what `Algorithm.asked` returns.
    verify
        Checks a result file in plain numpy, given (contents, problem, question, rows of its tables).
    lines
        The lines that are printed of the answer, given the contents of the result.
    summary
        The answer in a few words, given the contents of the result.
    rows
        The answer as a table for people, in the instance's own unit and with names, given the contents of the
        result: yields blocks of rows, each a mapping from column name to values.
    edges
        The edges of the answer, given the contents of the result and the number of a search or query, or None if there
        is only one.
    groups
        The groups of the result file that belong to this kind of answer: group name -> its datasets.
    beside
        Makes the content of these groups on rank 0, given (problem, question, record).
    """

    name: str
    records: tuple[type, ...]
    check: Callable[[Any, Any, Any, Comm], Verdict]
    verify: Callable[[Contents, Any, Any, RowBlocks], Verdict]
    lines: Callable[[Contents], Iterator[str]]
    summary: Callable[[Contents], str]
    rows: Callable[[Contents], Iterator[Rows]]
    edges: Callable[[Contents, int | None], Edges]
    groups: Mapping[str, Group] = field(default_factory=dict, hash=False)
    beside: Callable[[Any, Any, Any], Mapping[str, Mapping[str, Column]]] = lambda problem, question, answer: {}


def wrong_beside(contents: Contents, groups: Mapping[str, Group],
                 right: Mapping[str, Mapping[str, Column]]) -> str | None:
    """Return which dataset of the groups beside a verified answer is not as `AnswerType.beside` makes it, or None.

    A whole group may be missing, since older versions did not write it.
    """
    for group, members in groups.items():
        for name in members if group in contents.groups else ():
            one, other = contents.value(group, name), right.get(group, {}).get(name)
            if one is None and other is None:
                continue
            if one is None or other is None or not np.array_equal(np.asarray(one), np.asarray(other.values)):
                return f"/{group}/{name} does not follow from answer and instance"
    return None


def record_of_names(records: Sequence[type], names: set[str]) -> type | None:
    """Return the record whose required datasets are all among the names, and that has all names which any record has.

    None if not exactly one record is like that.

    Parameters
    ----------
    names
        Names of datasets in `/solution`. Names that no record has are dimension scales and do not count.
    """
    known = {name for record in records for name in datasets(record)}
    found = [record for record in records if required(record) <= names and names & known <= datasets(record).keys()]
    return found[0] if len(found) == 1 else None


def columns_of(answer: Any) -> dict[str, Column]:
    """Return the datasets of a record with their values, except distance tables and values that are None."""
    record: type = type(answer)
    group, found = datasets(record), {}
    for name, values in vars(answer).items():
        if name in group and values is not None and not isinstance(values, DistanceTable):
            none = unreached_of(values.dtype) if group[name].none else None
            found[name] = group[name].column(values, none)
    return found


def distance_tables_of(answer: Any) -> dict[str, DistanceTable]:
    """Return the distance tables of a record, by dataset name."""
    return {name: table for name, table in vars(answer).items() if isinstance(table, DistanceTable)}


def first_failure(comm: Comm, wrong: str | None) -> Verdict | None:
    """Return the verdict that the check failed, with the first rank's reason, or None if it failed nowhere. Collective.

    Parameters
    ----------
    wrong
        What this rank found wrong, or None.
    """
    first, *more = [f"rank {rank}: {text}" for rank, text in enumerate(comm.allgather(wrong)) if text] or [""]
    if not first:
        return None
    return Verdict(False, first + (f", and on {counted(len(more), 'more rank')}" if more else ""))


def require(right: bool, message: str) -> None:
    """Raise a `ValueError` with this message unless the condition `right` holds."""
    if not right:
        raise ValueError(message)


ANSWERS_IN_WORDS = {"tour": "a tour", "tree": "a Steiner tree", "distances": "distances", "paths": "shortest paths",
                    "reductions": "reductions of distances", "tours of a batch": "the tours of a batch"}
"""The kinds of answers, by name."""


class AnswerMixin:
    """What the parts of `hpcsolve.Result` have in common."""

    contents: Contents

    def _kind_of_answer(self) -> str:
        """Return the name of the kind of answer, a key of `ANSWERS_IN_WORDS`, or "" if there is no whole answer."""
        from hpcsolve.answers import answer_type_of_names  # which imports the modules that import this one

        found = answer_type_of_names({*self.contents.groups.get("solution", {}), *self.contents.tables})
        return "" if found is None else found.name


Getter = TypeVar("Getter", bound=Callable[..., Any])

_KINDS: dict[Callable[..., Any], tuple[str, ...]] = {}
"""Getter of a property that `only_of` decorates -> the kinds of answers that have it."""


def only_of(*kinds: str) -> Callable[[Getter], Getter]:
    """Return a decorator for a property of `hpcsolve.Result` that only some kinds of answers have.

    Of other kinds the property raises an `AttributeError`, which says what there is instead, and `hasattr` is false.
    """

    def decorator(getter: Getter) -> Getter:
        @wraps(getter)
        def checked(result: AnswerMixin) -> Any:
            kind = result._kind_of_answer()
            if kind and kind not in kinds:
                own = ", ".join([*_properties_of(kind, type(result)), "to_pandas()"])
                raise AttributeError(f"this result has {ANSWERS_IN_WORDS[kind]} and no {getter.__name__}; it has {own}")
            return getter(result)

        _KINDS[checked] = kinds
        return checked  # type: ignore[return-value]

    return decorator


def _properties_of(kind: str, result: type) -> list[str]:
    """Return the names of the properties that a kind of answer has and not every kind."""
    members = {name: member for base in result.__mro__ for name, member in vars(base).items()}
    return sorted(name for name, member in members.items()
                  if isinstance(member, property) and member.fget and kind in _KINDS.get(member.fget, ()))
