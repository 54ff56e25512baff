"""Checks that a result has what a picture needs. Other results raise an `InputError` of one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.answers.base import ANSWERS_IN_WORDS
from hpcsolve.errors import InputError
from hpcsolve.output.schema import answer_in

if TYPE_CHECKING:
    from hpcsolve.analysis.load import Result


def kind_of_answer(result: Result) -> str:
    """Return the kind of the answer of a result, a key of `ANSWERS_IN_WORDS`.

    Raises `InputError` if there is no answer.
    """
    answer = answer_in(result.contents)
    if answer is None:
        raise InputError("the result has no answer, so there is nothing to draw")
    return answer.name


def require_answer(result: Result, kind: str, function: str) -> None:
    """Raise an `InputError` if the answer is of another kind than the function draws.

    Raises
    ------
    InputError
        The message names both kinds, and what draws the answer.
    """
    found = kind_of_answer(result)
    if found != kind:
        own = ANSWERS_IN_WORDS[found]
        text = f"{function} draws {ANSWERS_IN_WORDS[kind]}; this result of {result.algorithm} has {own}"
        raise InputError(f"{text}, which result.plot() draws")


def column(result: Result, group: str, name: str, function: str) -> NDArray[Any]:
    """Return the values of a dataset.

    Raises
    ------
    InputError
        The result has no such dataset; the message names the function that needs it.
    """
    values = result.contents.value(group, name)
    if values is None:
        raise InputError(f"{function} needs /{group}/{name}, which this result of {result.algorithm} does not have")
    return np.asarray(values)


def positions(result: Result, group: str, name: str, function: str) -> NDArray[np.int64]:
    """Return a dataset of positions, all of which must be those of cities or vertices.

    Raises
    ------
    InputError
        There is no such dataset, or it has a position that no city or vertex has.
    """
    found = column(result, group, name, function).astype(np.int64)
    if len(found) and (found.min() < 0 or found.max() >= result.n):
        raise InputError(f"{function}: /{group}/{name} has positions that the instance does not have")
    return found
