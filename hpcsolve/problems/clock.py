"""Times of day, such as 08:00, and how many units of the costs they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

UNITS: Mapping[str, int] = {"second": 1, "minute": 60, "hour": 3600}
"""Units of costs -> seconds."""
SYMBOLS: Mapping[str, str] = {"second": "s", "minute": "min", "hour": "h"}
"""Units of costs -> what is written behind a number."""
UNIT_OF: Mapping[str, str] = {symbol: unit for unit, symbol in SYMBOLS.items()}
"""What is written behind a number -> units of costs."""
_WORDS: Mapping[str, str] = {
    word: unit for unit, words in (("second", ("s", "sec", "secs")), ("minute", ("min", "mins")),
                                   ("hour", ("h", "hr", "hrs")))
    for word in (*words, unit, f"{unit}s")
}
"""What stands for a unit in the title of a column."""
_IN_BRACKETS = re.compile(r"[(\[]\s*([a-z]+)\.?\s*[)\]]\s*$", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d))?", re.ASCII)


def clock_seconds(text: str) -> int | None:
    """Return the seconds from midnight of a time such as 8:00, 08:00:30 or, on the next day, 25:15, or None."""
    found = _CLOCK.fullmatch(text)
    return None if found is None else int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0)


def unit_in_title(title: str) -> str | None:
    """Return the unit, one of `UNITS`, that stands in brackets behind a title, as in `service (min)`, or None."""
    found = _IN_BRACKETS.search(title)
    return None if found is None else _WORDS.get(found[1].lower())


def clock_text(scaled: int, unit: str, scale: int) -> str:
    """Return a time over the scale, in units of the costs, as a time of day, to the second: 08:00, 17:05:30."""
    minutes, seconds = divmod(round(Fraction(scaled * UNITS[unit], scale)), 60)
    whole = f"{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{whole}:{seconds:02d}" if seconds else whole
