"""The interpreter called from Python, without a driver: PTX text in, numpy arrays as its global memory.

    module = Interpreter().load(text)
    assert module.launch("twice", 2, 64, array, 7) == ""      # or a line that says what is wrong
"""

from __future__ import annotations

import ctypes
import struct
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.device import build
from hpcsolve.device.compiler import cuda_compiler
from tests.ptx.build import interpreter
from tests.stub_driver.nvcc import PTX

MESSAGE = 2000


class NotUnderstood(Exception):
    """The text is not PTX, or has an instruction that the interpreter does not know."""


class Region(ctypes.Structure):
    """`ptx_region` of interface.hpp."""

    _fields_ = [("start", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class Settings(ctypes.Structure):
    """`ptx_settings` of interface.hpp."""

    _fields_ = [("seed", ctypes.c_uint64), ("steps", ctypes.c_uint64), ("blocks", ctypes.c_uint32),
                ("races", ctypes.c_uint32), ("counter", ctypes.c_void_p)]


@dataclass(frozen=True)
class Interpreter:
    """libptx.so."""

    libptx: ctypes.CDLL = field(default_factory=lambda: ctypes.CDLL(str(interpreter())))

    def load(self, text: str) -> Module:
        """Return the module of a PTX text. Raises `NotUnderstood`."""
        message = ctypes.create_string_buffer(MESSAGE)
        self.libptx.ptx_load.restype = ctypes.c_void_p
        handle = self.libptx.ptx_load(text.encode(), message, MESSAGE)
        if not handle:
            raise NotUnderstood(message.value.decode())
        return Module(self.libptx, ctypes.c_void_p(handle))


    def counter(self, clocks: Iterable[int], l2: int) -> ctypes.c_void_p:
        """Return a counter of launches (count.hpp): the clocks by kind of `Wait`, and the bytes of the L2 cache."""
        self.libptx.ptx_counter.restype = ctypes.c_void_p
        given = list(clocks)
        return ctypes.c_void_p(self.libptx.ptx_counter((ctypes.c_uint32 * len(given))(*given), ctypes.c_size_t(l2)))

    def write(self, counter: ctypes.c_void_p, path: Path) -> None:
        """Write the counts into a file."""
        self.libptx.ptx_write(counter, str(path).encode())


@dataclass(frozen=True)
class Module:
    """A loaded text."""

    libptx: ctypes.CDLL
    handle: ctypes.c_void_p

    def launch(
        self, name: str, grid: int, block: int, *arguments: NDArray[Any] | np.generic | int, seed: int = 1,
        blocks: int = 2, races: bool = True, steps: int = 10**7, counter: ctypes.c_void_p | None = None,
    ) -> str:
        """Run a kernel and return what is wrong, or an empty string.

        Parameters
        ----------
        arguments
            Arrays, which are the global memory that it may use, numpy scalars, and Python integers for 32-bit ones.
        counter
            What `Interpreter.counter` returned: then warps run in lockstep, and are counted.
        """
        self.libptx.ptx_kernel.restype = ctypes.c_void_p
        kernel = self.libptx.ptx_kernel(self.handle, name.encode())
        assert kernel, f"there is no kernel {name}"
        arrays = [one for one in arguments if isinstance(one, np.ndarray)]
        regions = sorted((one.ctypes.data, one.nbytes) for one in arrays)
        given, message = packed(arguments), ctypes.create_string_buffer(MESSAGE)
        counts = (ctypes.c_uint64 * 3)()
        self.libptx.ptx_launch(
            self.handle, ctypes.c_void_p(kernel), grid, block, given, ctypes.c_size_t(len(given)),
            (Region * len(regions))(*regions), ctypes.c_size_t(len(regions)),
            ctypes.byref(Settings(seed, steps, blocks, races, counter)), counts, message, ctypes.c_size_t(MESSAGE),
        )
        return message.value.decode()


def packed(arguments: tuple[NDArray[Any] | np.generic | int, ...]) -> bytes:
    """Return the arguments in one buffer, each aligned to its size, as a kernel reads them."""
    buffer = b""
    for one in arguments:
        if isinstance(one, np.ndarray):
            piece = struct.pack("<Q", one.ctypes.data)
        else:
            piece = one.tobytes() if isinstance(one, np.generic) else struct.pack("<i", one)
        buffer += bytes(-len(buffer) % len(piece)) + piece
    return buffer


def compiled(source: Path, include: Path | None = None) -> str:
    """Return the PTX that nvcc makes of a .cu file, with the headers of cuda_src or of another folder."""
    with tempfile.NamedTemporaryFile(suffix=".ptx") as made:
        folder = include or build.source_folder()
        command = [cuda_compiler(), *PTX.split(), "-arch=sm_90", "-I", str(folder), str(source), "-o", made.name]
        subprocess.run(command, check=True, capture_output=True)
        return Path(made.name).read_text()
