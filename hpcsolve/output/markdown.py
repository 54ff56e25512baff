"""Replaces the generated part of a Markdown document, which stands between two marker lines."""

from __future__ import annotations

from hpcsolve.errors import InputError


def with_generated(text: str, begin: str, end: str, content: str) -> str:
    """Return the text of a document with this content between its marker lines.

    Raises
    ------
    InputError
        The text has no such lines.
    """
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise InputError(f"there is no line {begin!r}, or none {end!r} after it")
    return f"{before}{begin}\n\n{content}\n{end}{after}"
