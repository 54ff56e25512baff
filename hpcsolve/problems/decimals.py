"""Decimal costs as exact integers that share one power of ten as their scale. Nothing is ever rounded.

The value of a float is its shortest decimal form that reads back as the same float (`repr`). So 0.1 is a tenth and not
0.1000000000000000055.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FORBIDDEN = np.iinfo(np.int64).max
"""The cost of an arc that does not exist, and the value on the diagonal of a cost matrix."""

MAXIMUM_DECIMALS = 18
"""10 ** 18 is the largest power of ten below 2 ** 62, the bound of all sums of costs."""

_NUMBER = re.compile(r"([+-]?)(?=\.?\d)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,5}))?", re.ASCII)
_INFINITY = frozenset(("", "inf", "+inf", "infinity", "+infinity"))
_LONGEST_TOKEN = 400
_PROBE = 4096


class BadNumber(ValueError):
    """Raised for an entry that cannot be a cost or a weight.

    Attributes
    ----------
    index
        Position of the entry in the flattened input.
    reason
        The end of a sentence that begins with the entry: "is NaN; give a number".
    """

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason


class TooManyDigits(BadNumber):
    """Raised for a number whose decimals do not fit, so that rounding would help."""


class ExactDecimal(NamedTuple):
    """The decimal number `mantissa * 10 ** exponent`, whose mantissa has no trailing zeros."""

    mantissa: int
    exponent: int


def is_number(token: str) -> bool:
    """Return whether a text is a finite decimal number, an infinity or NaN. The last two may be refused later."""
    word = token.lower()
    return _NUMBER.fullmatch(token) is not None or (word in _INFINITY and word != "") or word in ("nan", "-inf")


def shown(token: str) -> str:
    """Return a token as error messages quote it, printable and short."""
    return repr(token if len(token) <= 40 else token[:37] + "...")


def exact_from_texts(tokens: Sequence[str], limit: int) -> tuple[NDArray[np.int64], int]:
    """Turn decimal texts into integers with one common scale.

    Parameters
    ----------
    tokens
        Decimal numbers. `inf` or an empty text is a forbidden arc.
    limit
        Largest magnitude allowed after scaling.

    Returns
    -------
    values, scale
        int64, one for each token, `FORBIDDEN` where there is no arc, and a power of ten. The value of a token is
        `values / scale`.

    Raises
    ------
    BadNumber
        For the first token that is not a number, or that has too many digits.
    """
    known: dict[str, ExactDecimal | None] = {}
    decimals = 0
    for index, token in enumerate(tokens):
        if token in known:
            continue
        value = known[token] = parsed(token, index)
        if value is not None:
            decimals = max(decimals, -value.exponent)
            # Checked at once, not after millions of numbers, since more decimals never make a value fit.
            _scaled(value, token, decimals, limit, index)
    scaled = {token: _final(token, value, decimals, limit, tokens) for token, value in known.items()}
    return np.fromiter((scaled[token] for token in tokens), dtype=np.int64, count=len(tokens)), 10**decimals


def exact_from_floats(values: NDArray[np.floating[Any]], limit: int) -> tuple[NDArray[np.int64], int]:
    """Turn floats into integers with one common scale, by their shortest decimal form.

    `inf` is a forbidden arc. Parameters, results and errors are those of `exact_from_texts`.
    """
    finite = np.isfinite(values)
    for index in np.flatnonzero(~finite):
        if not values[index] > 0:
            raise BadNumber(int(index), _not_a_cost(str(values[index])))
    if values.dtype == np.float64:
        quick = few_decimals(values[finite], limit)
        if quick is not None:
            result = np.full(len(values), FORBIDDEN, dtype=np.int64)
            result[finite] = quick[0]
            return result, quick[1]
    for part in (values[:_PROBE], values):  # usually the first numbers show that the decimals do not fit
        texts = [repr(x) for x in part.tolist()] if values.dtype == np.float64 else [str(x) for x in part]
        found = exact_from_texts(texts, limit)
    return found


def few_decimals(values: NDArray[np.float64], limit: int) -> tuple[NDArray[np.int64], int] | None:
    """Turn finite floats with at most nine decimals into integers with one common scale, by float arithmetic alone.

    An integer below 2 ** 53 divided by a power of ten up to 10 ** 22 is rounded once, so the quotient is the float
    nearest to that decimal. Equality with a value therefore proves that this decimal is the value's shortest form.

    Returns
    -------
    (values, scale) or None
        As of `exact_from_texts`, or None if a value has more decimals or is too large for exact arithmetic.
    """
    bound = min(float(limit), 2.0**50)
    for decimals in range(10):
        power = float(10**decimals)
        if values.size and np.abs(values).max() >= bound / power:
            return None
        scaled = np.rint(values * power)
        if np.array_equal(scaled / power, values):
            return scaled.astype(np.int64), 10**decimals
    return None


def _not_a_cost(text: str) -> str:
    """Return why a text cannot be a cost."""
    word = text.lower()
    if word in ("nan", "+nan", "-nan"):
        return "is NaN; give a number, or inf if the arc does not exist"
    if word in ("-inf", "-infinity"):
        return "is -inf; a forbidden arc has the cost inf"
    return f"is not a number: {shown(text)}"


def parsed(token: str, index: int) -> ExactDecimal | None:
    """Return the exact value of a token, or None for a forbidden arc. Raises `BadNumber` if it is not a number."""
    if token.lower() in _INFINITY:
        return None
    if len(token) > _LONGEST_TOKEN:
        raise BadNumber(index, f"has too many digits: {shown(token)}")
    found = _NUMBER.fullmatch(token)
    if found is None:
        raise BadNumber(index, _not_a_cost(token))
    sign, whole, part, exponent = found.groups(default="")
    digits = (whole + part).rstrip("0")
    if not digits.strip("0"):
        return ExactDecimal(0, 0)
    zeros = len(whole) + len(part) - len(digits)
    return ExactDecimal(int(sign + digits), int(exponent or "0") - len(part) + zeros)


def _final(token: str, value: ExactDecimal | None, decimals: int, limit: int, tokens: Sequence[str]) -> int:
    if value is None:
        return FORBIDDEN
    try:
        return _scaled(value, token, decimals, limit, 0)
    except BadNumber as problem:
        raise type(problem)(tokens.index(token), problem.reason) from None


def _scaled(value: ExactDecimal, token: str, decimals: int, limit: int, index: int) -> int:
    """Return the value times 10 ** decimals, which must fit the limit and 18 decimals."""
    if decimals > MAXIMUM_DECIMALS:
        reason = f"has too many digits: {shown(token)} needs {decimals} decimals, and at most {MAXIMUM_DECIMALS} fit"
        raise TooManyDigits(index, reason + "; round the costs")
    zeros = value.exponent + decimals
    if zeros <= MAXIMUM_DECIMALS:
        result = value.mantissa * int(10**zeros)
        if abs(result) <= limit:
            return result
    if decimals == 0:
        raise BadNumber(index, too_large(token, limit))
    reason = f"has too many digits: {shown(token)} times 10^{decimals} (the decimals of the costs) exceeds {limit}"
    raise TooManyDigits(index, reason + "; round the costs to fewer decimals")


def too_large(token: str, limit: int) -> str:
    """Return why a cost is refused: sums of such costs would not fit 62 bits."""
    quoted = shown(token)[1:-1]
    return f"is too large: {quoted} exceeds {limit}, so that a tour's cost may overflow; scale the costs down"
