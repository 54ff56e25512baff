"""Writes the TOML text of an effective job, since Python and msgspec can only read TOML."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from hpcsolve.errors import InputError

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


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
    lines = [f"{_key(key)} = {value_text(value)}" for key, value in plain.items()]
    for key, inner in table.items():
        if key not in plain:
            lines += ["", f"[{_key(key)}]", *(f"{_key(name)} = {value_text(value)}" for name, value in inner.items())]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _quoted(key)


def value_text(value: Any) -> str:
    """Return a value as TOML text, a table as `{ ... }`. Raises as `toml_text`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"{value:+}".replace("+nan", "nan")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {value_text(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(value_text, value)) + "]"
    raise InputError(f"{value!r} is neither text, number, true, false, list nor table")


def _quoted(text: str) -> str:
    """Return a basic string. JSON's escapes are TOML's too, except DEL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{text!r} is not valid UTF-8; rename it") from None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
