"""Functions of cuda_src/host: plain C++ on the host's cores, called with numpy's arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device.declaration import Declaration, Struct, Value
from hpcsolve.errors import LaunchError, ResourceError

if TYPE_CHECKING:
    from hpcsolve.device.base import Argument
    from hpcsolve.device.host import HostDevice

Given: TypeAlias = "int | NDArray[Any] | Mapping[str, Given] | None"
"""An argument: a number, an array, which the function fills in unless it is declared `const`, None where the source
says NULLABLE, or a group of these."""
NO_MEMORY = 1
"""What a call returns if it could not have its memory (`outcome` in cuda_src/host/function.hpp)."""


class HostFunction:
    """A function of a compiled library.

    Parameters
    ----------
    declaration
        As its source declares it.
    library
        The library that has it.

    Attributes
    ----------
    most_held
        The most bytes that vectors of its library held at a time during the last call.
    """

    def __init__(self, declaration: Declaration, library: ctypes.CDLL) -> None:
        self.declaration, self.most_held = declaration, 0
        self._call = library[f"{declaration.kernel}_call"]
        self._call.argtypes = (ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))
        self._bytes, self._take, self._most_held = (
            library[f"hpcsolve_{name}"] for name in ("bytes", "take", "most_held"))
        self._bytes.argtypes, self._bytes.restype = (ctypes.c_void_p,), ctypes.c_size_t
        self._take.argtypes, self._take.restype = (ctypes.c_void_p, ctypes.c_void_p), None
        self._most_held.restype = ctypes.c_size_t

    def __call__(self, device: HostDevice, arguments: Mapping[str, Given]) -> dict[str, NDArray[Any]]:
        """Call the function, and return its results. See `HostDevice.call`."""
        buffers = _buffers(self.declaration.parameters, arguments, device)  # they keep copies of strided arrays alive
        made = (ctypes.c_void_p * len(self.declaration.results))()
        outcome = self._call(self.declaration.packed(buffers, device), made)
        self.most_held = int(self._most_held())
        device.memory_peak = max(device.memory_peak, device.allocated + self.most_held)
        if outcome == NO_MEMORY:
            raise ResourceError(f"{self.declaration.kernel}: its memory does not fit ({device.memory_free()} bytes are "
                                "free)")
        if outcome:
            raise LaunchError(f"{self.declaration.kernel} failed: an exception that is not a lack of memory (a bug in "
                              "hpcsolve)")
        return {result.name: self._taken(one, result.dtype) for result, one in zip(self.declaration.results, made)}

    def _taken(self, one: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return a copy of a result, whose own memory is freed."""
        found = np.empty(self._bytes(one) // dtype.itemsize, dtype)
        self._take(one, found.ctypes.data)
        return found


def _buffers(
    parameters: Sequence[Value | Struct], given: Mapping[str, Given], device: HostDevice
) -> dict[str, Argument]:
    """Return the arguments with a buffer in place of each array. Wrong ones stay, for the declaration to refuse."""
    declared = {parameter.name: parameter for parameter in parameters}
    return {name: _buffer(declared.get(name), value, device) for name, value in given.items()}


def _buffer(parameter: Value | Struct | None, given: Given, device: HostDevice) -> Argument:
    if isinstance(parameter, Struct) and isinstance(given, Mapping):
        return _buffers(parameter.fields, given, device)
    if isinstance(parameter, Value) and isinstance(given, np.ndarray):
        written = not parameter.constant and given.flags.writeable
        return device.output(given) if written else device.constant(np.ascontiguousarray(given))
    return given  # type: ignore[return-value]
