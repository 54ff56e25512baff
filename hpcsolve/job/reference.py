"""The reference of all keys, from the structs and their docstrings: `python -m hpcsolve.job.reference docs/jobs.md`.

A file that has the two marker lines gets the tables between them (`make docs`). A test checks that it is up to date.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.algorithms.registry import NAMES, algorithm
from hpcsolve.job import Settings
from hpcsolve.job.convert import described, in_words, keys_of
from hpcsolve.output.reference import with_generated
from hpcsolve.problems.generate import makers

BEGIN = "<!-- keys: made by `make docs` -->"
END = "<!-- end of keys -->"
HEADER = ["| key | type | default | meaning |", "|---|---|---|---|"]


def reference() -> str:
    """Return all keys of a job file as Markdown tables."""
    lines = ["### Above the tables", "", *_struct_rows(Settings)]
    for name in NAMES:
        lines += ["", f"### `[{name}]`", "", *_struct_rows(algorithm(name).parameters)]
    honoured = {name: ", ".join(algorithm(name).stops) for name in NAMES}
    stopping = " and ".join(f"`{name}` ({keys})" for name, keys in honoured.items() if keys)
    lines += ["", "### `[stop]`", "", f"For {stopping}. Algorithms and modes without a partial answer refuse it.", ""]
    lines += _struct_rows(StopCriteria)
    for kind in ("tsp", "graph", "steiner"):
        meanings: dict[str, str] = {}
        for maker in makers(kind).values():  # one docstring may explain a parameter for all
            meanings |= {**described(inspect.getdoc(maker) or "", "Parameters"), **meanings}
        for name, maker in makers(kind).items():
            lines += ["", f"### `instance = {{ generate = \"{name}\", ... }}`", "", _first_sentence(maker), ""]
            lines += _generator_rows(maker, meanings)
    return "\n".join(lines) + "\n"


def updated(text: str) -> str:
    """Return the text of a document with the reference between its markers. Raises as `with_generated`."""
    return with_generated(text, BEGIN, END, reference())


def _struct_rows(struct: type[msgspec.Struct]) -> Iterator[str]:
    yield from HEADER
    meanings = described(inspect.getdoc(struct) or "", "Attributes")
    hints = get_type_hints(struct, include_extras=True)
    for key, field in keys_of(struct).items():
        default = "required" if field.required else _shown(field.default)
        if key == "output":
            default = "`results/NAME.h5`"
        yield f"| `{key}` | {_type(hints[field.name])} | {default} | {meanings[field.name]} |"


def _generator_rows(maker: Callable[..., Any], known: Mapping[str, str]) -> Iterator[str]:
    yield from HEADER
    meanings = dict(known) | described(inspect.getdoc(maker) or "", "Parameters")
    for name, parameter in inspect.signature(maker).parameters.items():
        required = parameter.default is inspect.Parameter.empty
        kind = str(parameter.annotation).removesuffix(" | None")
        row = [f"`{name}`", in_words(kind), "required" if required else _shown(parameter.default), meanings[name]]
        yield f"| {' | '.join(row)} |"


def _type(hint: Any) -> str:
    if get_origin(hint) is list:
        return f"list of {' or '.join(map(_plural, _type(get_args(hint)[0]).split(' or ')))}"
    if get_origin(hint) is tuple:
        return "pair"
    if get_origin(hint) is Literal:
        return " or ".join(f"`{json.dumps(choice)}`" for choice in get_args(hint))
    base = getattr(hint, "__origin__", hint)
    if isinstance(base, type) and issubclass(base, msgspec.Struct):
        return "table"
    alternatives = [_type(part) for part in get_args(hint) if part is not type(None)]
    if alternatives and hasattr(hint, "__args__") and not hasattr(hint, "__metadata__") and base is not dict:
        return " or ".join(alternatives)
    limits = "".join(f", at least {meta.ge}" for meta in getattr(hint, "__metadata__", ()) if meta.ge is not None)
    name: str = base.__name__ if isinstance(base, type) else str(base)
    return in_words(name.replace("dict", "object")) + limits


def _plural(kind: str) -> str:
    """Return the plural of a type in words. Literal texts stay."""
    noun, comma, limits = kind.partition(",")
    return kind if kind.startswith("`") else f"{noun}s{comma}{limits}"


def _shown(default: Any) -> str:
    if default is None or isinstance(default, msgspec.Struct) or default is msgspec.NODEFAULT:
        return "none"
    return f"`{json.dumps(default)}`"


def _first_sentence(maker: Callable[..., Any]) -> str:
    return " ".join((inspect.getdoc(maker) or "").split("\n\n")[0].split())


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(updated(target.read_text(encoding="utf-8")), encoding="utf-8")
