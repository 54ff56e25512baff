"""Reads the declarations of kernels and of functions of the host from their source text.

So they are not repeated in Python. This module understands the little C++ that declarations need: `KERNEL name(type
name, ...)` and `FUNCTION name(...)`, structs of plain fields (templates with one type, too) that are taken by value,
macros that stamp out kernels for several types, NULLABLE before a pointer that may be missing, and `result<type> &name`
at the end, for arrays that a function of the host returns. Anything else in a declaration is refused. A library
compiled for the CPU states its own types too, and loading it compares the two.
"""

from __future__ import annotations

import functools
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hpcsolve.device.declaration import Declaration, Struct, Value
from hpcsolve.errors import LaunchError

CODES = {
    "int": "i4", "int32_t": "i4", "uint32_t": "u4", "int64_t": "i8", "uint64_t": "u8", "int16_t": "i2",
    "uint16_t": "u2", "uint8_t": "u1", "float": "f4", "double": "f8", "size_t": "u8",
}
_INCLUDE = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)
_MACRO = re.compile(r"^#define (\w+)\(([\w, ]*)\)(.*)$", re.MULTILINE)
_CALL = re.compile(r"^\s*(\w+)\((.*)\)\s*$", re.MULTILINE)
_STRUCT = re.compile(r"(?:template <class (\w+)>\s*)?struct (\w+) \{([^{}]*)\};")
_KERNEL = re.compile(r"\b(?:KERNEL|FUNCTION)\s+(?:REGISTERS\(\d+\)\s+|ANY_REGISTERS\s+)?(\w+)\(([^()]*)\)")
_RESULT = re.compile(r"result<(\w+)> &(\w+)")
_TYPED = re.compile(r"(NULLABLE )?(const )?(\w+)(?:<(\w+)>)? (\*?)(?:__restrict__ )?(\w+)")


def source_name(file: str) -> str:
    """Return the name of a source file in cuda_src: `paths/tile.cu` for a GPU and CPUs, `host/ruin.cpp` for CPUs."""
    return f"{file}.cpp" if for_host(file) else f"{file}.cu"


def for_host(file: str) -> bool:
    """Return whether a source file (without suffix) has functions of the host, which run on the CPU's cores alone."""
    return file.startswith("host/")


@dataclass(frozen=True)
class _StructText:
    """A struct's fields as text. `parameter` is the name of its type parameter, empty if it is no template."""

    parameter: str
    fields: tuple[str, ...]


def declaration(folder: Path, file: str, name: str) -> Declaration:
    """Return the declaration of a kernel, or function of the host, of a file.

    Raises
    ------
    LaunchError
        The file has none of that name, or it is declared in a way that is not understood.
    """
    found = declarations(folder, file)
    if name not in found:
        raise LaunchError(f"{source_name(file)} has no {'function' if for_host(file) else 'kernel'} {name}")
    return found[name]


@functools.cache
def declarations(folder: Path, file: str) -> Mapping[str, Declaration]:
    """Return the kernels, or functions of the host, of a file by name.

    Raises
    ------
    LaunchError
        A declaration is not understood.
    """
    text = _with_includes(folder, source_name(file), set())
    structs = {name: _StructText(parameter, _fields(body)) for parameter, name, body in _STRUCT.findall(text)}
    macros = {name: (_split(names), body) for name, names, body in _MACRO.findall(text)}
    lines = _expanded(_MACRO.sub("", text), macros)
    return {name: _declaration(name, parameters, structs) for name, parameters in _KERNEL.findall(lines)}


def _with_includes(folder: Path, name: str, seen: set[str]) -> str:
    """Return a file behind the headers that it includes, each once, without comments or line continuations."""
    if name in seen:
        return ""
    seen.add(name)
    text = (folder / name).read_text(encoding="utf-8")
    text = re.sub(r"\s*\\\n\s*", " ", re.sub(r"//.*|/\*.*?\*/", "", text))
    return "".join(_with_includes(folder, other, seen) for other in _INCLUDE.findall(text)) + text + "\n"


def _expanded(text: str, macros: Mapping[str, tuple[tuple[str, ...], str]]) -> str:
    """Return the text with the macro calls that stand on lines of their own replaced by what they make."""

    def made(call: re.Match[str]) -> str:
        if call[1] not in macros:
            return call[0]
        names, body = macros[call[1]]
        values = dict(zip(names, _split(call[2]), strict=True))
        filled = re.sub(r"\w+", lambda word: values.get(word[0], word[0]), body).replace("##", "")
        return _expanded(re.sub(r"(?<=\)) (?=\w+\()", "\n", filled), macros)

    return _CALL.sub(made, text)


def _declaration(name: str, parameters: str, structs: Mapping[str, _StructText]) -> Declaration:
    texts = _split(parameters)
    found = [_RESULT.fullmatch(text) for text in texts]
    taken = tuple(_parameter(text, structs, name) for text in texts[: len(texts) - sum(map(bool, found))])
    results = tuple(Value(one[2], CODES[one[1]]) for one in found[len(taken) :] if one and one[1] in CODES)
    if len(taken) + len(results) < len(texts):
        raise LaunchError(f"{name}: cannot read the declaration of its results, which come last")
    return Declaration(name, taken, results)


def _parameter(text: str, structs: Mapping[str, _StructText], place: str) -> Value | Struct:
    found = _TYPED.fullmatch(text)
    if found is None or keyword.iskeyword(found[6]):
        raise LaunchError(f"{place}: cannot read the declaration of {text!r}")
    nullable, constant, kind, argument, star, name = found.groups()
    if kind in CODES and not argument and not (nullable and not star):
        return Value(name, CODES[kind], bool(star), bool(constant), bool(nullable))
    if kind not in structs or star or nullable or bool(argument) != bool(structs[kind].parameter):
        raise LaunchError(f"{place}: {text!r} has a type that a launch cannot pass")
    own = structs[kind]
    fields = (re.sub(rf"\b{own.parameter}\b", argument, field) if argument else field for field in own.fields)
    return Struct(name, tuple(_field(field, f"{place}, {kind}") for field in fields))


def _field(text: str, place: str) -> Value:
    value = _parameter(text, {}, place)
    assert isinstance(value, Value)
    return value


def _fields(body: str) -> tuple[str, ...]:
    """Return the fields of a struct, one declaration each: `T *a, b;` is `T *a` and `T b`."""
    return tuple(field for line in body.split(";") if line.strip() for field in _separate(" ".join(line.split())))


def _separate(line: str) -> Iterator[str]:
    first, *others = _split(line)
    yield first
    kind = re.sub(r"\s*\*?\s*\w+$", "", first)
    yield from (f"{kind} {other}" for other in others)


def _split(text: str) -> tuple[str, ...]:
    """Return the parts between commas, but for those within brackets."""
    return tuple(" ".join(part.split()) for part in re.findall(r"(?:[^,<(]|<[^>]*>|\([^)]*\))+", text))
