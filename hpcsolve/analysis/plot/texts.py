"""Texts and numbers as pictures show them."""

from __future__ import annotations

from hpcsolve.wording import visible

LONGEST_NAME = 28
"""Characters of a name that are drawn."""


def clean(text: object) -> str:
    """Return a text in one line that is not too long."""
    line = " ".join(visible(str(text)).split())
    return line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…"


def number(value: float) -> str:
    """Return a number as `13918` or, with at most nine digits, `0.25`, and `inf` and `nan` as they are."""
    return str(int(value)) if float(value).is_integer() else f"{value:.9g}"
