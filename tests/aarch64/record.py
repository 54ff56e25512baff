"""Records calls of kernels and host functions, with all memory before and after, for replay.cpp.

    python -m tests.aarch64.record FILE

The calls are those of the cases of tests/races/program.py, by one thread: of each kernel the first, second, fourth,
eighth and so on. FILE.last gets the last one alone.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device.declaration import Declaration
from hpcsolve.device.host import HostBuffer, HostFunction, HostKernel, _buffers
from tests.races.program import CASES, WatchedDevice

BOUNDARY = 64
"""Memory stands as far behind such a boundary as it did when it was recorded."""


@dataclass
class Call:
    """A call under way: what is known before it, and how to end its record.

    Attributes
    ----------
    memories
        The arrays that its arguments point into, whole.
    before
        Their bytes before the call.
    """

    head: bytes
    memories: list[NDArray[Any]]
    before: list[bytes]

    def write(self, file: IO[bytes], results: list[NDArray[Any]]) -> None:
        """Write the record, after the call."""
        file.write(self.head)
        for memory, before in zip(self.memories, self.before):
            file.write(struct.pack("<QQ", memory.nbytes, memory.ctypes.data % BOUNDARY) + before + memory.tobytes())
        for result in results:
            file.write(struct.pack("<Q", result.nbytes) + result.tobytes())


@dataclass(eq=False)
class RecordingDevice(WatchedDevice):
    """The CPU with one thread, which writes a part of its calls to a file."""

    file: IO[bytes] | None = None
    calls: Counter[str] = field(default_factory=Counter)
    last: int = 0  # where the last record begins

    def kernel(self, file: str, name: str) -> HostKernel:
        """Return a kernel whose launches are recorded."""
        kernel = super().kernel(file, name)
        return RecordingKernel(kernel.declaration, kernel.function, self, file)

    def call(self, file: str, name: str, /, **arguments: Any) -> dict[str, NDArray[Any]]:
        """Call a function of the host, and record it."""
        declaration: Declaration = HostFunction(*self._declared(file, name)).declaration
        buffers = _buffers(declaration.parameters, arguments, self)
        call = self.begin(file, declaration, declaration.packed(buffers, self), buffers)
        made = super().call(file, name, **arguments)
        self.end(call, [made[result.name] for result in declaration.results])
        return made

    def begin(self, file: str, declaration: Declaration, packed: bytes, arguments: Mapping[str, Any], grid: int = 0,
              block: int = 0) -> Call | None:
        """Return the call that is about to be made, or None if it is not to be recorded."""
        self.calls[declaration.kernel] += 1
        if self.calls[declaration.kernel].bit_count() > 1:
            return None
        memories: dict[int, NDArray[Any]] = {}
        pointers: list[bytes] = []
        for buffer in _all_buffers(arguments):
            origin = _whole(buffer.array)
            begin = origin.ctypes.data
            memories.setdefault(begin, origin)
            number, offset = list(memories).index(begin), buffer.address - begin
            own = struct.pack("<Q", buffer.address)
            places = [at for at in range(0, len(packed) - 7, 8) if packed[at : at + 8] == own]
            assert places, f"{declaration.kernel}: a buffer is not among its arguments"
            pointers += [struct.pack("<IIQ", place, number, offset) for place in places]
        names, numbers = (file.replace("/", "-").encode(), declaration.kernel.encode()), (not grid, grid, block)
        head = struct.pack("<64s64s8I", *names, *numbers, len(packed), len(pointers), len(memories),
                           len(declaration.results), 0)
        whole = list(memories.values())
        return Call(head + packed + b"".join(pointers), whole, [each.tobytes() for each in whole])

    def end(self, call: Call | None, results: list[NDArray[Any]]) -> None:
        """Write a call that has been made."""
        if call is not None and self.file is not None:
            self.last = self.file.tell()
            call.write(self.file, results)


@dataclass(frozen=True)
class RecordingKernel(HostKernel):
    """A kernel whose launches are recorded."""

    file: str = ""

    def __call__(self, grid: int, block: int, /, **arguments: Any) -> None:
        """Run all blocks."""
        device: Any = self.device
        packed = self.declaration.packed(arguments, device)
        call = device.begin(self.file, self.declaration, packed, arguments, grid, block) if grid > 0 else None
        super().__call__(grid, block, **arguments)
        device.end(call, [])

    def each(self, step: str, steps: range, grid: int, block: int, /, **arguments: Any) -> None:
        """Run all blocks once for every step."""
        for one in steps:
            self(grid, block, **{**arguments, step: one})


def _all_buffers(arguments: Mapping[str, Any]) -> Iterator[HostBuffer]:
    """Yield the buffers among arguments that have memory."""
    for value in arguments.values():
        if isinstance(value, HostBuffer) and value.array.size:
            yield value
        elif isinstance(value, Mapping):
            yield from _all_buffers(value)


def _whole(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array whose memory a view shares."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def main() -> None:
    """Record all cases, and print the names of the kernels and functions."""
    with open(sys.argv[1], "w+b") as file, open(f"{sys.argv[1]}.last", "wb") as last:
        device = RecordingDevice(threads=1, file=file)
        for case in CASES.values():
            case(device)
        file.seek(device.last)
        last.write(file.read())
    print("\n".join(sorted(device.names)))


if __name__ == "__main__":
    main()
