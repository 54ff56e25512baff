"""Messages: what a misspelt word may mean, what is not solved, characters that mislead, numbers, sizes, and printing.

Printing never ends a run, even if a closed pipe or a full disk does not take the text.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import IO

_PLURALS = {"vertex": "vertices", "search": "searches", "leaf": "leaves"}

_SYNONYMS = {
    "precedence": "before", "precedences": "before", "time-windows": "windows", "depot": "start", "origin": "start",
    "destination": "end", "roundtrip": "path", "round-trip": "path", "time-limit": "seconds", "timeout": "seconds",
    "max-iterations": "iterations", "max-iter": "iterations", "n-ants": "ants", "num-ants": "ants", "cores": "threads",
    "max-distance": "cutoff", "random-state": "seed", "outfile": "output", "result": "output", "file": "instance",
    "input": "instance", "method": "algorithm", "solver": "algorithm", "pairs": "queries", "gpu": "device",
}
"""Words of other programs -> what hpcsolve calls the same."""
_MOST_FILES = 1000
"""Files of a folder that are compared with the name of one that is not there."""
_SIMILAR = 0.6
"""Least similarity, by difflib, of a word that may be meant."""
_ROUTING = "vehicle routing (several vehicles, depots, demands, capacities)"
_PRIZES = 'prize collecting, but for tours: held-karp leaves cities out by prizes (objective = "prize")'
_VERTEX_WEIGHTS = "problems with weights of vertices; put them on the edges if that means the same"
_DEGREES = "problems with bounds on degrees"
_TARDINESS = "problems with tardiness or due dates; held-karp has hard time windows (windows)"
_GROUPS = "problems that choose one city or vertex of each group"
_CYCLES = "the Hamiltonian cycle problem as such; give the edges that exist cost 0 and all others cost 1"
_UNSOLVED = {
    "vehicle": _ROUTING, "fleet": _ROUTING, "truck": _ROUTING, "salesman": _ROUTING, "salesmen": _ROUTING,
    "demand": _ROUTING, "capacity": _ROUTING, "capacities": _ROUTING, "depots": _ROUTING, "vrp": _ROUTING,
    "cvrp": _ROUTING, "vrptw": _ROUTING, "mtsp": _ROUTING,
    "prize": _PRIZES, "penalty": _PRIZES, "penalties": _PRIZES, "profit": _PRIZES, "score": _PRIZES,
    "reward": _PRIZES, "pctsp": _PRIZES, "pcst": _PRIZES, "pcspg": _PRIZES, "rootp": _PRIZES, "orienteering": _PRIZES,
    "prizecollecting": _PRIZES,
    "nodeweight": _VERTEX_WEIGHTS, "vertexweight": _VERTEX_WEIGHTS, "nodecost": _VERTEX_WEIGHTS,
    "vertexcost": _VERTEX_WEIGHTS, "nwstp": _VERTEX_WEIGHTS,
    "maximumdegree": _DEGREES, "maxdegree": _DEGREES,
    "tardiness": _TARDINESS, "due": _TARDINESS, "duedate": _TARDINESS, "duetime": _TARDINESS, "lateness": _TARDINESS,
    "cluster": _GROUPS, "group": _GROUPS, "gtsp": _GROUPS, "terminalgroup": _GROUPS,
    "hcp": _CYCLES, "hamiltonian": _CYCLES,
}
"""Words of problems that hpcsolve does not solve -> that problem, in words. The words are those of keys, columns,
sections, algorithms and kinds of files. Only the letters a to z of a word count. A plural that is the singular with an
s is left out (see `not_solved`)."""


def not_solved(word: str) -> str:
    """Return "hpcsolve does not solve ..." if a word belongs to a problem that hpcsolve does not have, or ""."""
    plain = re.sub(r"[(\[].*|[^a-z]", "", word.lower()).removesuffix("section")
    problem = _UNSOLVED.get(plain) or _UNSOLVED.get(plain.removesuffix("s"))
    return f"hpcsolve does not solve {problem}" if problem else ""


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return the end of a message about an unknown word: `; did you mean seed?`, or what hpcsolve does not solve.

    Parameters
    ----------
    known
        The words that may be meant, as `nearest` takes them.
    otherwise
        What to return if no known word is near.
    """
    if unsolved := not_solved(word):
        return f"; {unsolved}"
    near = nearest(word, known)
    return f"; did you mean {' or '.join(near)}?" if near else otherwise


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Return the known word that other programs call like this, or those that begin with it, or the most similar one.

    The first of the three that exists counts. The list is empty if none does.
    """
    plain = {name.lower().replace("_", "-"): name for name in known}
    asked = word.lower().replace("_", "-")
    if _SYNONYMS.get(asked) in plain:
        return [plain[_SYNONYMS[asked]]]
    longer = [name for name in plain if name.startswith(asked)] if len(asked) > 2 else []
    near = longer or difflib.get_close_matches(asked, plain, n=1, cutoff=_SIMILAR)
    return [plain[name] for name in near]


def unreadable(path: str, error: Exception) -> str:
    """Return why a file cannot be read, and what may have been meant: `cannot be read: ...; did you mean m.csv?`."""
    reason = f"cannot be read: {(error.strerror if isinstance(error, OSError) else '') or error}"
    folder, name = os.path.split(path)
    if re.search(r"(?:^|/)(?:https?|ftp|s3|gs):/", path):
        return f"{reason}; hpcsolve reads files of this machine: download it, and name the file"
    if isinstance(error, IsADirectoryError):
        return f"{reason}; name a file in it"
    if not isinstance(error, FileNotFoundError):
        return reason
    try:
        near = os.listdir(folder or ".")
    except OSError:
        return f"{reason}; there is no folder {folder}" if folder and not os.path.isdir(folder) else reason
    meant = nearest(name, [other for other in near[:_MOST_FILES] if _alike(name, other)])[:3]
    return f"{reason}; did you mean {' or '.join(meant)}?" if meant else reason


def _alike(name: str, other: str) -> bool:
    """Return whether a file may be meant by a name: endings such as .toml, which many files share, do not count."""
    stem, own = (os.path.splitext(each.lower())[0] for each in (name, other))
    return own.startswith(stem) or difflib.SequenceMatcher(None, stem, own).ratio() >= _SIMILAR


_UNSEEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
"""Characters that change how a terminal or a page shows others: controls (C0 but tab and newline, C1), marks and
overrides of the direction of writing, breaks of lines and paragraphs. Joiners, which some scripts need, are none."""


def visible(text: str) -> str:
    """Return a text with characters that would change how the rest is shown written as JSON does: `\\u009b`."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 city`, `27 cities`."""
    regular = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else _PLURALS.get(noun, regular)}"


def size(count: float) -> str:
    """Return a number of bytes in words: `512 bytes`, `1.5 MiB`, `20 GiB`."""
    if count >= 2**100:  # beyond any machine, perhaps beyond floating point
        return "more than 2^100 bytes"
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}" if count / scale < 1000 else f"{count / scale:.0f} {unit}"
    return f"{count:.0f} bytes"


def show(text: str, stream: IO[str] | None = None) -> None:
    """Print text on a stream and flush it.

    Parameters
    ----------
    stream
        By default standard output. Characters that its encoding lacks are escaped, and those that would command a
        terminal. Once writing fails (a closed pipe, a full disk), this text and all later text on the stream is
        discarded.
    """
    stream = sys.stdout if stream is None else stream
    if stream is None:  # started with standard output closed
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        # One write: with PYTHONUNBUFFERED, print makes two, and another rank's line may come between text and newline.
        stream.write(visible(text).encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except (OSError, ValueError):
        _silence(stream)


def warn(text: str) -> None:
    """Print text on standard error."""
    show(text, sys.stderr)


def _silence(stream: IO[str]) -> None:
    """Discard what the stream still buffers and all that follows, since Python flushes it once more at exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def shown(token: str) -> str:
    """Return a token as error messages quote it, printable and short."""
    return repr(token if len(token) <= 40 else token[:37] + "...")
