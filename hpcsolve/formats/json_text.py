"""Reads JSON, with the line of a mistake."""

from __future__ import annotations

import json
from typing import Any

from hpcsolve.formats.files import InputFile, decode


def json_of(file: InputFile) -> Any:
    """Return the content of a JSON file. Raises `InputError` with file and line."""
    try:
        return json.loads(decode(file.content), parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        raise file.error(f"is not JSON: {problem.msg}", problem.lineno) from None
    except (ValueError, RecursionError) as problem:  # NaN, thousands of digits, thousands of brackets
        what = "it is nested too deep" if isinstance(problem, RecursionError) else str(problem).split(";")[0]
        raise file.error(f"is not JSON that can be read: {what}", file.first_line) from None


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")
