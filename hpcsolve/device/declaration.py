"""Kernels and functions of the host as their sources declare them: the names and types of their parameters.

Each is declared once, in its own file, and a launch names its arguments. The checks of arguments and the order in which
they are packed follow from the source text alone (`source.py` reads it), on the CPU and on a GPU alike.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hpcsolve.errors import LaunchError

if TYPE_CHECKING:
    from hpcsolve.device.base import Argument, Device

FORMATS = {"u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f4": "f", "f8": "d"}
"""The format character of Python's `struct` for each type code of numpy. `struct` aligns each as C does."""
POINTER = "P"
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
        except (KeyError, TypeError, AttributeError):  # an argument is wrong: find out which
            return list(self._flat(self.parameters, arguments, "", device))
        return values

    def _flat(self, parameters: Sequence[Value | Struct], arguments: Mapping[str, Argument], prefix: str, device: Device
              ) -> Iterator[Any]:
        if len(arguments) != len(parameters) or any(p.name not in arguments for p in parameters):
            raise self._wrong_names(parameters, arguments, prefix)
        for parameter in parameters:
            given: Any = arguments[parameter.name]
            if isinstance(parameter, Struct):
                if not isinstance(given, Mapping):
                    raise self._mistyped(prefix + parameter.name, parameter, given)
                yield from self._flat(parameter.fields, given, f"{parameter.name}.", device)
            elif parameter.pointer:
                yield self._address(prefix + parameter.name, parameter, given, device)
            else:
                yield given

    def _address(self, name: str, value: Value, buffer: Any, device: Device) -> int:
        if buffer is None and value.nullable:
            return 0
        try:
            right = buffer.dtype == value.dtype and buffer.device is device
        except AttributeError:
            right = False
        if not right:
            raise self._mistyped(name, value, buffer)
        if buffer.read_only and not value.constant:
            raise LaunchError(f"{self.kernel}: argument {name} is written to by the kernel; it cannot be a constant")
        address: int = buffer.address
        return address

    def _wrong_names(self, parameters: Sequence[Value | Struct], arguments: Mapping[str, Argument], prefix: str
                     ) -> LaunchError:
        names = [parameter.name for parameter in parameters]
        missing = [prefix + name for name in names if name not in arguments]
        unknown = [prefix + name for name in arguments if name not in names]
        parts = [f"{word} {', '.join(them)}" for word, them in (("missing", missing), ("unknown", unknown)) if them]
        return LaunchError(f"{self.kernel}: arguments {'; '.join(parts)}")

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
