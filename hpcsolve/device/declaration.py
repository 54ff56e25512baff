"""Kernels and functions of the host as their sources declare them: the names and types of their parameters.

Each is declared once, in its own file of cuda_src, and a launch names its arguments. The checks of arguments and the
order in which they are packed follow from the source text alone, on the CPU and on a GPU alike.

The text is read with the little C++ that declarations need: `KERNEL name(type name, ...)` and `FUNCTION name(...)`,
structs of plain fields (templates with one type, too) that are taken by value, macros that stamp out kernels for
several types, NULLABLE before a pointer that may be missing, and `result<type> &name` at the end, for arrays that a
function of the host returns. Anything else in a declaration is refused. A library compiled for the CPU states its own
types too, and loading it compares the two.
"""

from __future__ import annotations

import functools
import keyword
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hpcsolve.errors import LaunchError

if TYPE_CHECKING:
    from hpcsolve.device.base import Argument, Device

FORMATS = {"u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f4": "f", "f8": "d"}
"""The format character of Python's `struct` for each type code of numpy. `struct` aligns each as C does."""
POINTER = "P"
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
Place: TypeAlias = "tuple[str, np.dtype[Any] | None, bool, bool]"
"""A value's name, its dtype if it is a pointer, whether the target is constant, whether the pointer is nullable."""


@dataclass(frozen=True)
class Value:
    """A parameter or field that is a number, or a pointer to numbers.

    Attributes
    ----------
    code
        numpy's type code of the number.
    pointer
        Whether the kernel takes the address of a buffer.
    constant
        Whether the kernel only reads what the pointer points to.
    nullable
        Whether a launch may pass None in its place, which the kernel sees as nullptr.
    """

    name: str
    code: str
    pointer: bool = False
    constant: bool = False
    nullable: bool = False

    @property
    def format(self) -> str:
        """The format character of `struct` for this value."""
        return POINTER if self.pointer else FORMATS[self.code]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of the number."""
        return np.dtype(self.code)

    def __str__(self) -> str:
        """Return the type for messages: `u4`, `u4*`, `u4* or None`."""
        return self.code + "*" * self.pointer + " or None" * self.nullable


@dataclass(frozen=True)
class Struct:
    """A struct that a kernel takes as one argument. A launch passes a mapping with its fields' names."""

    name: str
    fields: tuple[Value, ...]

    @property
    def format(self) -> str:
        """The format of `struct` for all fields, padded at both ends as C pads a struct."""
        return f"0{self.alignment}{''.join(field.format for field in self.fields)}0{self.alignment}"

    @property
    def alignment(self) -> str:
        """The format character of the field with the largest alignment."""
        return max((field.format for field in self.fields), key=struct.calcsize)

    def __str__(self) -> str:
        """Return a description for messages."""
        return f"a mapping with {', '.join(field.name for field in self.fields)}"


@dataclass(frozen=True)
class Declaration:
    """The name and parameters of a kernel or function of the host.

    Attributes
    ----------
    results
        Names and types of the arrays that a function returns. A kernel has none.
    """

    kernel: str
    parameters: tuple[Value | Struct, ...]
    results: tuple[Value, ...] = ()

    @cached_property
    def layout(self) -> struct.Struct:
        """The layout of all arguments in one buffer, as a GPU's driver and our CPU libraries take them."""
        return struct.Struct("@" + "".join(parameter.format for parameter in self.parameters))

    @property
    def signature(self) -> str:
        """The types in order, as a compiled library states them (cuda_src/device/signature.cuh): `i4 u2* s48 u4&`."""
        sizes = (f"s{struct.calcsize('@' + p.format)}" if isinstance(p, Struct) else p.code + "*" * p.pointer
                 for p in self.parameters)
        return " ".join([*sizes, *(f"{result.code}&" for result in self.results)])

    def packed(self, arguments: Mapping[str, Argument], device: Device) -> bytes:
        """Return the arguments of a launch in one buffer.

        Raises
        ------
        LaunchError
            An argument is missing, unknown, or not what the kernel takes. The message names it and the kernel.
        """
        values = self._values(arguments, device)
        try:
            return self.layout.pack(*values)
        except struct.error:
            raise self._misfit(values) from None

    def packed_steps(self, step: str, steps: range, arguments: Mapping[str, Argument], device: Device
                     ) -> Iterator[bytes]:
        """Return the packed arguments of each step, which is the argument named `step`. All are checked in this call.

        Raises
        ------
        LaunchError
            As `packed`, or the kernel has no number of that name.
        """
        if not steps:
            return iter(())
        for end in {steps[0], steps[-1]}:
            self.packed({**arguments, step: end}, device)
        values = self._values({**arguments, step: steps[0]}, device)
        place = [name for name, _ in self._fields()].index(step)
        before, behind = values[:place], values[place + 1 :]
        return (self.layout.pack(*before, each, *behind) for each in steps)

    @cached_property
    def _plan(self) -> list[tuple[str | None, int, list[Place]]]:
        """What `_values` asks of the parameters, looked up once, since a launch must take microseconds.

        An entry for each struct, and one for each run of other parameters: the struct's name or None, the length of the
        mapping with the arguments, and the values.
        """
        plan: list[tuple[str | None, int, list[Place]]] = []
        for own in self.parameters:
            values = own.fields if isinstance(own, Struct) else (own,)
            places: list[Place] = [(v.name, v.dtype if v.pointer else None, v.constant, v.nullable) for v in values]
            if isinstance(own, Struct):
                plan.append((own.name, len(values), places))
            elif plan and plan[-1][0] is None:
                plan[-1][2].extend(places)
            else:
                plan.append((None, len(self.parameters), places))
        return plan

    def _values(self, arguments: Mapping[str, Argument], device: Device) -> list[Any]:
        """Return numbers and addresses in the order of `layout`. Whether the numbers fit is not checked here."""
        values = []
        try:
            for group, length, places in self._plan:
                own: Any = arguments if group is None else arguments[group]
                if len(own) != length:
                    raise KeyError
                for name, dtype, constant, nullable in places:
                    given = own[name]
                    if dtype is not None:
                        if given is None and nullable:
                            given = 0
                        elif given.device is device and given.dtype == dtype and (constant or not given.read_only):
                            given = given.address
                        else:
                            raise TypeError
                    values.append(given)
        except (KeyError, TypeError, AttributeError):
            self._refuse(self.parameters, arguments, "", device)
            raise
        return values

    def _refuse(self, parameters: Sequence[Value | Struct], arguments: Mapping[str, Argument], prefix: str,
                device: Device) -> None:
        """Raise the error of the first argument that is wrong. `prefix` is the name of the struct and a dot."""
        names = [parameter.name for parameter in parameters]
        missing = [prefix + name for name in names if name not in arguments]
        unknown = [prefix + name for name in arguments if name not in names]
        if missing or unknown:
            parts = [f"{word} {', '.join(them)}" for word, them in (("missing", missing), ("unknown", unknown)) if them]
            raise LaunchError(f"{self.kernel}: arguments {'; '.join(parts)}")
        for parameter in parameters:
            name, given = prefix + parameter.name, arguments[parameter.name]
            if isinstance(parameter, Struct):
                if not isinstance(given, Mapping):
                    raise self._mistyped(name, parameter, given)
                self._refuse(parameter.fields, given, f"{parameter.name}.", device)
            elif parameter.pointer and not (given is None and parameter.nullable):
                buffer: Any = given
                try:
                    right = buffer.dtype == parameter.dtype and buffer.device is device
                except AttributeError:
                    right = False
                if not right:
                    raise self._mistyped(name, parameter, given)
                if buffer.read_only and not parameter.constant:
                    raise LaunchError(f"{self.kernel}: argument {name} is written to by the kernel; it cannot be a "
                                      "constant")

    def _misfit(self, values: Sequence[Any]) -> LaunchError:
        """Return the error of the first value that is not a number, or does not fit its type."""
        for (name, field), value in zip(self._fields(), values):
            try:
                struct.pack(field.format, value)
            except struct.error:
                return self._mistyped(name, field, value)
        raise AssertionError("all values fit")

    def _fields(self) -> Iterator[tuple[str, Value]]:
        for parameter in self.parameters:
            if isinstance(parameter, Struct):
                yield from ((f"{parameter.name}.{field.name}", field) for field in parameter.fields)
            else:
                yield parameter.name, parameter

    def _mistyped(self, name: str, parameter: Value | Struct, given: Any) -> LaunchError:
        return LaunchError(f"{self.kernel}: argument {name} must be {parameter} on this device, not {given!r}")


def source_name(file: str) -> str:
    """Return the name of a source file in cuda_src: `paths/tile.cu` for a GPU and CPUs, `host/ruin.cpp` for CPUs."""
    return f"{file}.cpp" if for_host(file) else f"{file}.cu"


def for_host(file: str) -> bool:
    """Return whether a source file (without suffix) has functions of the host, which run on the CPU's cores alone."""
    return file.startswith("host/")


def declaration_of(folder: Path, file: str, name: str) -> Declaration:
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


@dataclass(frozen=True)
class _StructText:
    """A struct's fields as text. `parameter` is the name of its type parameter, empty if it is no template."""

    parameter: str
    fields: tuple[str, ...]


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
