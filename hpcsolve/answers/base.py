"""What every kind of answer has, and how a check says what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from hpcsolve.answers.dataset import Column, datasets, required
from hpcsolve.answers.table import DistanceTable
from hpcsolve.problems.verify.distances import unreached_of

if TYPE_CHECKING:
    from hpcsolve.output.contents import Contents
    from hpcsolve.parallel.comm import Comm


@dataclass(frozen=True)
class Verdict:
    """What a check found.

    Attributes
    ----------
    passed
        None where there is nothing to check: that no tour exists has no short certificate.
    reason
        In words.
    """

    passed: bool | None
    reason: str

    def __str__(self) -> str:
        """`PASS (...)`, `FAIL (...)`."""
        return f"{'NOT CHECKED' if self.passed is None else 'PASS' if self.passed else 'FAIL'} ({self.reason})"


RowBlocks = Callable[[Sequence[str]], Iterator[tuple[int, list[NDArray[Any]]]]]
"""Given names of tables, their rows some at a time: the number of the first one, and the same rows of each table."""


@dataclass(frozen=True)
class AnswerType:
    """A kind of answer, with all that depends on it.

    Attributes
    ----------
    name
        As in the documentation.
    records
        The dataclasses that an algorithm may build, each a form of this answer; their fields are the datasets of
        `/solution`.
    check
        The check at the end of a run, of (problem, question, record of this rank, communicator): collective, the
        verdict is the same on every rank. The question is what `Algorithm.asked` returns.
    verify
        The check of a result file in plain numpy, of (contents, problem, question, rows of its tables).
    lines
        The answer for people.
    summary
        The answer in a few words.
    """

    name: str
    records: tuple[type, ...]
    check: Callable[[Any, Any, Any, Comm], Verdict]
    verify: Callable[[Contents, Any, Any, RowBlocks], Verdict]
    lines: Callable[[Contents], Iterator[str]]
    summary: Callable[[Contents], str]


def record_in(records: Sequence[type], there: set[str]) -> type | None:
    """Return the record that is whole among these datasets and to which all of them belong, or None.

    Parameters
    ----------
    there
        Names in `/solution`; those that no record has are scales, and do not count.
    """
    known = {name for record in records for name in datasets(record)}
    found = [record for record in records if required(record) <= there and there & known <= datasets(record).keys()]
    return found[0] if len(found) == 1 else None


def columns_of(answer: Any) -> dict[str, Column]:
    """Return the datasets of a record with its values, except tables and those that have no value."""
    record: type = type(answer)
    group, found = datasets(record), {}
    for name, values in vars(answer).items():
        if name in group and values is not None and not isinstance(values, DistanceTable):
            none = unreached_of(values.dtype) if group[name].none else None
            found[name] = group[name].column(values, none)
    return found


def tables_of(answer: Any) -> dict[str, DistanceTable]:
    """Return the tables of a record, by name."""
    return {name: table for name, table in vars(answer).items() if isinstance(table, DistanceTable)}


def failed(comm: Comm, wrong: str | None) -> Verdict | None:
    """Return the verdict on what the ranks found wrong, or None if no rank found anything. Collective."""
    failures = [f"rank {rank}: {text}" for rank, text in enumerate(comm.allgather(wrong)) if text]
    if not failures:
        return None
    return Verdict(False, failures[0] + (f", and on {len(failures) - 1} more ranks" if len(failures) > 1 else ""))


def require(right: bool, message: str) -> None:
    """Raise a `ValueError` with this message unless something is right."""
    if not right:
        raise ValueError(message)
