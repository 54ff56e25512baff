"""Converts TOML tables to structs. The error for a mistake is one line with file, line and key, and says what is meant.

The meaning of a key is read from the docstring of its struct.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from hpcsolve.errors import InputError
from hpcsolve.wording import did_you_mean, nearest, not_solved

KEY_SECTIONS = "Attributes", "For study"
"""The sections of a struct's docstring that explain keys: of the main way, and of what only repeats a source."""
LONGEST_VALUE = 60
"""Characters of a wrong value that a message shows."""


@dataclass(frozen=True)
class JobText:
    """The text of a job, which finds the line of a mistake.

    Attributes
    ----------
    overridden
        Keys whose value does not come from the file -> the option that gave it, such as `--set`.
    """

    file: str
    text: str
    overridden: Mapping[str, str]

    def error(self, key: str, message: str) -> InputError:
        """Return the error for a mistake in `key`, a dotted path."""
        named = re.sub(r"\[.*", "", key)
        if named in self.overridden:
            return InputError(f"{key}: {message}", self.overridden[named])
        return InputError(f"{key}: {message}", self.file, _line_of(self.text, named))

    def missing(self, key: str, example: str = "") -> InputError:
        """Return the error for a missing key, a dotted path, on the line of its table or above all tables."""
        line = (_line_of(self.text, key.rpartition(".")[0]) or 1) if self.text else None
        return InputError(f"the key {key} is missing{example}", self.file, line)


def _line_of(text: str, key: str) -> int | None:
    """Return the line of a dotted key, or that of its table, or None if the text has neither on a line of its own."""
    *tables, last = key.split(".")
    table, quoted = ".".join(tables), f"[\"']?{re.escape(last)}[\"']?"
    current = ""
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[([^\]]+)\]", line)
        current = header[1].strip().strip("\"'") if header else current
        named = re.match(rf"\s*{quoted}\s*[=.]", line) if current == table else None
        dotted = current == "" and re.match(rf"\s*{re.escape(key)}\s*=", line)
        if named or dotted or (header and f"{current}.".startswith(f"{key}.")):
            return number
    return _line_of(text, table) if tables else None


def leaves(table: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield path and value of all keys, those of inner tables included."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from leaves(value, (*prefix, key))
        else:
            yield (*prefix, key), value


@functools.cache  # a job has 60 of them to look at, and each takes 2 ms
def keys_of(struct: type[msgspec.Struct]) -> Mapping[str, msgspec.structs.FieldInfo]:
    """Return the keys of a struct as a job file spells them."""
    return MappingProxyType({field.encode_name: field for field in msgspec.structs.fields(struct)})


def convert(
    table: Any, struct: type[msgspec.Struct], path: str, job_text: JobText, known: Mapping[str, list[str]]
) -> Any:
    """Return the struct that a table stands for.

    Parameters
    ----------
    path
        Dotted path of the table in the job, "" for the keys above all tables.
    known
        The keys of all tables, by their paths, which the error for an unknown key may suggest.

    Raises
    ------
    InputError
        A key is unknown, missing, or has a value of a wrong type.
    """
    prefix = f"{path}." if path else ""
    if not isinstance(table, dict):
        raise job_text.error(path, f"expected a table: [{path}]")
    fields = keys_of(struct)
    for key in table:
        if key not in fields:
            raise job_text.error(f"{prefix}{key}", f"unknown key{_meant(key, path, known)}")
    for key, field in fields.items():
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct) and key in table:
            convert(table[key], field.type, f"{prefix}{key}", job_text, known)
        if field.required and key not in table:
            raise job_text.missing(f"{prefix}{key}")
    try:
        return msgspec.convert(table, struct)
    except msgspec.ValidationError as error:
        message, _, at = str(error).partition(" - at `$.")
        key = at.rstrip("`") or path
        raise job_text.error(f"{prefix}{key}", _explained(message, struct, key, _value_at(table, key))) from None


def _meant(key: str, path: str, known: Mapping[str, list[str]]) -> str:
    """Return the end of the message about an unknown key: what may be meant, in this table or in another one."""
    others = {name: f"in the table [{table}]" if table else "above the tables"
              for table, keys in known.items() if table != path for name in keys}
    near = [key] if key in others else nearest(key, [*known[path], *others])
    if near and not not_solved(key) and near[0] not in known[path]:
        return f"; did you mean {near[0]} {others[near[0]]}?"
    return did_you_mean(key, known[path], f"; the keys are {', '.join(known[path])}")


def _explained(message: str, struct: type[msgspec.Struct], key: str, value: Any) -> str:
    """Return msgspec's message in the words of job files, or the choices if the key has a fixed set of them."""
    kind = get_type_hints(struct).get(key.replace("-", "_"))
    alternatives = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    choices = [choice for part in alternatives if get_origin(part) is Literal for choice in get_args(part)]
    if choices and (len(alternatives) == 1 or isinstance(value, str)):
        lists = [f"a list, such as {json.dumps([value])}" for part in alternatives if get_origin(part) is list]
        expected = " or ".join([*map(json.dumps, choices), *lists])
        return f"{value!r} is not {expected}{did_you_mean(str(value), choices)}"
    message = message.replace("Object contains unknown field", "Unknown key")
    plain = re.sub("`([^`]*)`", lambda quoted: in_words(quoted[1]), message)
    got = f", got {value}" if ">" in plain or "<" in plain else ""
    shown = f" {json.dumps(value, ensure_ascii=False)}" if type(value) in (str, float) and not got else ""
    if type(value) in (int, float, str) and any(get_origin(part) is list or part is list for part in alternatives):
        got += f"; a list has brackets: [{json.dumps(value, ensure_ascii=False)}]"
    docstring, name = inspect.getdoc(struct) or "", re.sub(r"\[.*", "", key).replace("-", "_")
    meaning = next((found[name] for section in KEY_SECTIONS if name in (found := described(docstring, section))), "")
    meaning = re.split(r"[.;](?: |$)", re.sub(r" \([^)]*\)", "", meaning))[0]  # the first sentence
    return f"{plain[:1].lower()}{plain[1:]}{got}{shown[:LONGEST_VALUE]}{f'; meaning: {meaning}' if meaning else ''}"


def _value_at(table: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key such as `position[0][1]`, or None if the table has none."""
    value = table.get(re.sub(r"\[.*", "", key))
    for index in re.findall(r"\[(\d+)\]", key):
        value = value[int(index)] if isinstance(value, list) else None
    return value


def in_words(types: str) -> str:
    """Return types in words: `int >= 1 | null` becomes `integer >= 1`, since TOML has no null."""
    names = {"str": "text", "int": "integer", "float": "number", "bool": "true or false"}
    names |= {"object": "table", "array": "list"}
    alternatives = [part for part in types.split(" | ") if part != "null"]
    return " or ".join(re.sub(r"^\w+", lambda word: names.get(word[0], word[0]), part) for part in alternatives)


def described(docstring: str, section: str) -> dict[str, str]:
    """Return name -> meaning from a section of a numpydoc docstring, where `a, b` share one meaning."""
    found = re.search(rf"{section}\n-+\n(.*?)(?:\n\n|\Z)", docstring, re.S)
    meanings: dict[str, str] = {}
    for names, text in re.findall(r"(?m)^(\w[\w, ]*)\n((?:[ ]+.*(?:\n|\Z))+)", found[1] if found else ""):
        meanings |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return meanings
