"""What all kinds of answers have in common.

`AnswerType` is a kind of answer, and `Verdict` the result of a check. `Edges` are the edges of an answer
as arrays, for graph libraries and drawings. `ResultPart` is what the parts of `hpcsolve.Result` inherit from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.contents import Column, Contents, DistanceTable, Group, datasets
from hpcsolve.errors import InputError
from hpcsolve.parallel.comm import Comm
from hpcsolve.problems.check_distances import no_path_of
from hpcsolve.wording import counted

P = ParamSpec("P")
_KINDS: dict[Callable[..., Any], tuple[str, ...]] = {}
"""Getter of a property that `only_of` decorates -> the kinds of answers that have it."""


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


class AnswerType(ABC):
    """A kind of answer, with all that depends on it. There is one object of each kind.

    `Contents` are those of a result that has an answer of this kind.

    Attributes
    ----------
    name, in_words
        As in the documentation, and with its article: `tour` and `a tour`.
    records
        The dataclasses, one for each form of this answer, whose fields are the datasets of `/solution`.
    groups
        The groups of the result file that belong to this kind of answer: group name -> its datasets.
    row_values
        The dataset of `/solution` that has a value for each row of `rows`.
    """

    name: str
    in_words: str
    records: tuple[type, ...]
    groups: Mapping[str, Group]
    row_values: str

    @abstractmethod
    def check(self, problem: Any, question: Any, answer: Any, comm: Comm) -> Verdict:
        """Check the answer at the end of a run. Collective, with the same verdict on every rank.

        Parameters
        ----------
        question
            What `Algorithm.asked` returns.
        answer
            The record of this rank.
        """

    @abstractmethod
    def verify(self, contents: Contents, answer: Any, problem: Any, question: Any, rows: RowBlocks) -> Verdict:
        """Check the answer in a result file in plain numpy, given its record and the rows of its tables."""

    @abstractmethod
    def lines(self, contents: Contents) -> Iterator[str]:
        """Yield the lines that are printed of the answer."""

    @abstractmethod
    def summary(self, contents: Contents) -> str:
        """Return the answer in a few words."""

    @abstractmethod
    def rows(self, contents: Contents) -> Iterator[Rows]:
        """Yield the answer as a table for people, in the instance's own unit and with names, in blocks of rows."""

    def row_count(self, contents: Contents) -> int:
        """Return the number of rows of that table."""
        return int(np.size(contents.value("solution", self.row_values)))

    @abstractmethod
    def edges(self, contents: Contents, number: int | None = None) -> Edges:
        """Return the edges of the answer, of one search or query if there are several."""

    @abstractmethod
    def beside(self, problem: Any, question: Any, answer: Any) -> Mapping[str, Mapping[str, Column]]:
        """Return the content of `groups`, on rank 0."""

    def verified(self, contents: Contents, problem: Any, question: Any, rows: RowBlocks) -> Verdict:
        """Check the answer in a result file, then the groups beside it, which must be as `beside` makes them.

        A whole group may be missing, since older versions did not write it.
        """
        record = record_of_names(self.records, contents.names)
        assert record is not None  # the reader has checked it
        values: dict[str, Any] = {}  # tables have no rows, since their values are in the file
        for name in contents.names & datasets(record).keys():
            kind = bool if datasets(record)[name].types == "bool" else None
            column = np.asarray(contents.value("solution", name), kind)
            values[name] = contents.tables.get(name, column if column.ndim else column.item())
        answer = record(**values)
        verdict = self.verify(contents, answer, problem, question, rows)
        if not verdict.passed:
            return verdict
        right = self.beside(problem, question, answer)
        for group, members in self.groups.items():
            for name in members if group in contents.groups else ():
                one, other = contents.value(group, name), right.get(group, {}).get(name)
                same = one is not None and other is not None and np.array_equal(np.asarray(one), other.values)
                if not same and (one is not None or other is not None):
                    return Verdict(False, f"/{group}/{name} does not follow from answer and instance")
        return verdict


def record_of_names(records: Sequence[type], names: set[str]) -> type | None:
    """Return the record whose required datasets are all among the names, and that has all names which any record has.

    None if not exactly one record is like that.

    Parameters
    ----------
    names
        Names of datasets in `/solution`. Names that no record has are dimension scales and do not count.
    """
    known = {name for record in records for name in datasets(record)}
    found = [record for record in records if names & known <= datasets(record).keys()
             and all(name in names or dataset.optional for name, dataset in datasets(record).items())]
    return found[0] if len(found) == 1 else None


def columns_of(answer: Any) -> dict[str, Column]:
    """Return the datasets of a record with their values, except distance tables and values that are None."""
    record: type = type(answer)
    group, found = datasets(record), {}
    for name, values in vars(answer).items():
        if name in group and values is not None and not isinstance(values, DistanceTable):
            none = no_path_of(values.dtype) if group[name].none else None
            found[name] = group[name].column(values, none)
    return found


def distance_tables_of(answer: Any) -> dict[str, DistanceTable]:
    """Return the distance tables of a record, by dataset name."""
    return {name: table for name, table in vars(answer).items() if isinstance(table, DistanceTable)}


def judged(check: Callable[P, Verdict]) -> Callable[P, Verdict]:
    """Return a check whose `ValueError` becomes a verdict that it failed, with the text of the error."""

    @wraps(check)
    def verdict(*arguments: P.args, **options: P.kwargs) -> Verdict:
        try:
            return check(*arguments, **options)
        except ValueError as error:
            return Verdict(False, str(error))

    return verdict


def message_of(check: Callable[P, object], *arguments: P.args, **options: P.kwargs) -> str | None:
    """Return what a check finds wrong, which is the text of its `ValueError`, or None."""
    try:
        check(*arguments, **options)
    except ValueError as error:
        return str(error)
    return None


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


Rows = Mapping[str, NDArray[Any]]
"""Rows of a table: column name -> values, all of one length."""


@dataclass(frozen=True)
class Edges:
    """The edges of a tour or tree, or the arcs of a shortest-path tree.

    Attributes
    ----------
    tails, heads
        Shape (edges,): positions of the ends. A tour's are in the order of travel.
    weights
        Shape (edges,), in the instance's own unit, or None if the result does not say them.
    directed
        Whether an edge leads from tail to head only.
    vertices
        Positions of the vertices that the answer has, with or without an edge.
    """

    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    weights: NDArray[Any] | None
    directed: bool
    vertices: NDArray[np.int64]


class ResultPart:
    """What the parts of `hpcsolve.Result` have in common."""

    contents: Contents

    def _answer_type(self) -> AnswerType | None:
        """Return the kind of answer, or None if there is no whole answer."""
        from hpcsolve.answers import answer_in  # which imports the modules that import this one

        return answer_in(self.contents)

    def named(self, positions: Any) -> list[Any]:
        """Return the names of the cities or vertices at these positions, or their numbers in the instance's file.

        Raises
        ------
        InputError
            A position is not a whole number from 0, or no city or vertex has it.
        """
        names = self.contents.shown_names()
        with suppress(TypeError, ValueError, OverflowError):
            wanted = np.asarray(positions)
            if not wanted.size or (wanted.dtype.kind in "iu" and 0 <= wanted.min() <= wanted.max() < len(names)):
                found: list[Any] = names[wanted.astype(np.int64)].tolist()
                return found
        what = "is not a position or a list of positions"
        raise InputError(f"{positions!r} {what}; positions are whole numbers from 0 to {len(names) - 1}")


Getter = TypeVar("Getter", bound=Callable[..., Any])


def only_of(*kinds: str) -> Callable[[Getter], Getter]:
    """Return a decorator for a property of `hpcsolve.Result` that only some kinds of answers have.

    Of other kinds the property raises an `AttributeError`, which says what there is instead, and `hasattr` is false.
    """

    def decorator(getter: Getter) -> Getter:
        @wraps(getter)
        def checked(result: ResultPart) -> Any:
            found = result._answer_type()
            if found is not None and found.name not in kinds:
                own = ", ".join([*_properties_of(found.name, type(result)), "to_pandas()"])
                raise AttributeError(f"this result has {found.in_words} and no {getter.__name__}; it has {own}")
            return getter(result)

        _KINDS[checked] = kinds
        return checked  # type: ignore[return-value]

    return decorator


def _properties_of(kind: str, result: type) -> list[str]:
    """Return the names of the properties that a kind of answer has and not every kind."""
    members = {name: member for base in result.__mro__ for name, member in vars(base).items()}
    return sorted(name for name, member in members.items()
                  if isinstance(member, property) and member.fget and kind in _KINDS.get(member.fget, ()))
