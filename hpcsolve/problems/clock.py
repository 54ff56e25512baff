"""Times of day, such as 08:00, and how many units of the costs they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

UNITS: Mapping[str, int] = {"second": 1, "minute": 60, "hour": 3600}
"""Units of costs -> seconds."""
SYMBOLS: Mapping[str, str] = {"second": "s", "minute": "min", "hour": "h"}
"""Units of costs -> what is written behind a number."""
_CLOCK = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d))?", re.ASCII)


def clock_seconds(text: str) -> int | None:
    """Return the seconds from midnight of a time such as 8:00, 08:00:30 or, on the next day, 25:15, or None."""
    found = _CLOCK.fullmatch(text)
    return None if found is None else int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0)


def clock_text(scaled: int, unit: str, scale: int) -> str:
    """Return a time over the scale, in units of the costs, as a time of day, to the second: 08:00, 17:05:30."""
    minutes, seconds = divmod(round(Fraction(scaled * UNITS[unit], scale)), 60)
    whole = f"{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{whole}:{seconds:02d}" if seconds else whole
