"""Reads the meanings of keys from docstrings."""

from __future__ import annotations

import inspect
import re


def described(docstring: str, section: str) -> dict[str, str]:
    """Return name -> meaning from a section of a numpydoc docstring, where `a, b` share one meaning."""
    found = re.search(rf"{section}\n-+\n(.*?)(?:\n\n|\Z)", docstring, re.S)
    meanings: dict[str, str] = {}
    for names, text in re.findall(r"(?m)^(\w[\w, ]*)\n((?:[ ]+.*(?:\n|\Z))+)", found[1] if found else ""):
        meanings |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return meanings


def in_short(struct: type, name: str) -> str:
    """Return the first sentence of an attribute's meaning, without parentheses and what follows a semicolon."""
    meaning = described(inspect.getdoc(struct) or "", "Attributes").get(name, "")
    return re.split(r"[.;](?: |$)", re.sub(r" \([^)]*\)", "", meaning))[0]
