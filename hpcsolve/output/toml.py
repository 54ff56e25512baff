"""Writes the TOML text of an effective job, since Python and msgspec can only read TOML.

Python's reader takes time and memory that grow with the square of the number of parts of a key: 24 GB for a key of
100,000 parts. So `too_deep` looks at a text before it is read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from hpcsolve.errors import InputError
from hpcsolve.wording import visible

DEEPEST = 32
"""Most brackets that are open at a time, and most dots of a key."""
LARGEST_JOB = 1 << 20
"""Most bytes of a job."""
_MARKS = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)' r"|'''.*?(?:'''|\Z)" r'|"(?:\\.|[^"\\\n])*"?' r"|'[^'\n]*'?"
    r"|#[^\n]*|[\[\]{}.,=\n]",
    re.DOTALL,
)
"""Texts and comments, whole, and the marks that matter outside of them."""

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def too_deep(text: str) -> int | None:
    """Return the line of a TOML text where lists, tables or a key are nested too deep to be read, or None."""
    if max(map(text.count, "[{.")) <= DEEPEST // 2:  # then [ and { together are at most DEEPEST
        return None
    depth = dots = 0
    for found in _MARKS.finditer(text):
        mark = found[0]
        if mark in ("[", "{"):
            depth += 1
        elif mark in ("]", "}"):
            depth = max(0, depth - 1)
        dots = dots + 1 if mark == "." else 0 if len(mark) == 1 else dots
        if depth > DEEPEST or dots > DEEPEST:
            return text.count("\n", 0, found.start()) + 1
    return None


def toml_text(table: Mapping[str, Any], inline: tuple[str, ...] = ()) -> str:
    """Return a table as TOML text, with its plain keys before its tables.

    Parameters
    ----------
    inline
        Tables that are written as `KEY = { ... }`, as are all tables inside of tables.

    Raises
    ------
    InputError
        A value has a type that job files do not have, or a text is not UTF-8.
    """
    plain = {key: value for key, value in table.items() if not isinstance(value, dict) or key in inline}
    lines = [_line(key, value) for key, value in plain.items()]
    for key, inner in table.items():
        if key not in plain:
            lines += ["", f"[{_key(key)}]", *(_line(name, value) for name, value in inner.items())]
    return "\n".join(lines) + "\n"


def _line(key: str, value: Any) -> str:
    return f"{_key(key)} = {value_text(value, key)}"


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _quoted(key)


def value_text(value: Any, name: str = "") -> str:
    """Return a value as TOML text, a table as `{ ... }`. Raises as `toml_text`, with the name of the value if given."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"{value:+}".replace("+nan", "nan")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(_line(key, inner) for key, inner in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(value_text(one, name) for one in value) + "]"
    raise InputError(f"{name}{name and ': '}{value!r} is not a text, number, true, false, list or table")


def _quoted(text: str) -> str:
    """Return a basic string. JSON's escapes are TOML's too, and `visible` writes DEL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{text!r} is not valid UTF-8; rename it") from None
    return visible(json.dumps(text, ensure_ascii=False))
