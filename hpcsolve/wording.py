"""English of messages: what a misspelt word may mean, and nouns with their numbers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_PLURALS = {"vertex": "vertices", "search": "searches", "leaf": "leaves"}


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return the end of a message about an unknown word: `; did you mean seed?`.

    Parameters
    ----------
    known
        The words that may be meant, as `nearest` takes them.
    otherwise
        What to return if no known word is near.
    """
    near = nearest(word, known)
    return f"; did you mean {' or '.join(near)}?" if near else otherwise


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return the known words that begin with a word, or else the one that is spelt nearly like it, or none."""
    plain = {name.lower().replace("_", "-"): name for name in known}
    asked = word.lower().replace("_", "-")
    longer = [name for name in plain if name.startswith(asked)] if len(asked) > 2 else []
    near = longer or difflib.get_close_matches(asked, plain, n=1, cutoff=0.5)
    return [plain[name] for name in near]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 city`, `27 cities`."""
    regular = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else _PLURALS.get(noun, regular)}"
