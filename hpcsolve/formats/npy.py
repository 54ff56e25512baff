"""Reads arrays that `numpy.save` and `numpy.savez` wrote, without ever running code from the file."""

from __future__ import annotations

import io
import lzma
import math
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.files import InputFile, read_bounded


def is_npy(content: bytes) -> bool:
    """Return whether some content is an array that numpy wrote."""
    return content.startswith(b"\x93NUMPY")


def is_zip(content: bytes) -> bool:
    """Return whether some content is a zip file."""
    return content.startswith(b"PK\x03\x04")


class Archive:
    """The arrays in a zip file, such as `numpy.savez` writes.

    Raises
    ------
    InputError
        The file is no zip file, or damaged.
    """

    def __init__(self, file: InputFile) -> None:
        self.file, self._read = file, 0
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(file.content))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
            raise file.error(f"is a damaged zip file: {problem}") from None

    @property
    def names(self) -> list[str]:
        """The names of the members."""
        return self._zip.namelist()

    def content(self, name: str) -> bytes:
        """Return the bytes of a member.

        The limits of `read_bounded` hold for all members together that were read so far, and its errors are raised.

        Raises
        ------
        InputError
            There is no such member, or it is damaged.
        """
        try:
            with self._zip.open(name) as stream:
                content = read_bounded(stream, f"{self.file.name}: {name}", self._read)
        except KeyError:
            known = name.removesuffix(".npy")
            raise self.file.error(f"has no array {known!r}; save it with scipy.sparse.save_npz") from None
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, RuntimeError) as problem:
            raise self.file.error(f"is damaged, {name} cannot be read: {problem}") from None
        self._read += len(content)
        return content

    def array(self, name: str) -> NDArray[Any]:
        """Return the array in a member. Raises as `content` and `npy_array`."""
        return npy_array(InputFile(f"{self.file.name}: {name}", self.content(name), ""))


def npy_array(file: InputFile) -> NDArray[Any]:
    """Return the array of integers or floats in a file. Pickled objects are never loaded.

    Raises
    ------
    InputError
        The header is damaged, or its number of bytes is not that of the file, or the array holds no numbers.
    """
    stream = io.BytesIO(file.content)
    try:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"format version {version} is not for arrays of numbers")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy's advice on files of Python 2
            shape, fortran_order, dtype = read(stream)
    except (ValueError, TypeError, SyntaxError, KeyError, RecursionError, MemoryError, tokenize.TokenError) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise file.error(f"damaged .npy header: {reason}") from None
    _require_numbers(file, shape, dtype, len(file.content) - stream.tell())
    flat = np.frombuffer(file.content, dtype=dtype, offset=stream.tell())
    return flat.reshape(shape, order="F" if fortran_order else "C")


def _require_numbers(file: InputFile, shape: Sequence[int], dtype: np.dtype[Any], available: int) -> None:
    """Check a header against the bytes that there are, before anything is allocated."""
    if dtype.kind not in "iuf":
        raise file.error(f"holds {dtype}; it must hold integers or floats")
    needed = math.prod(shape) * dtype.itemsize
    if needed != available or min(shape, default=0) < 0:
        raise file.error(f"the header says {needed} bytes (shape {tuple(shape)}, {dtype}), but there are {available}")
