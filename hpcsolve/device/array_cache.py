"""Caches arrays that take long to make, each set of them in a file of the user's cache folder (build.py).

The name of a file is a hash of everything that its arrays follow from. A file begins with the SHA-256 of the rest,
which repeats the name. A file that is truncated, damaged, renamed or somebody else's is therefore not loaded, and its
arrays are made again.
Files are written in a folder of their own and renamed, so processes that make the same arrays at the same time do no
harm. Those that have not been used for longest are removed when all together take more than `MOST_BYTES`. A cache that
cannot be read or written is no error: the arrays are then made each time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.device.build import cache_folder
from hpcsolve.errors import EnvironmentFault
from hpcsolve.replacing import open_regular, private_folder

FOLDER = "hierarchies"
SUFFIX = ".arrays"
MOST_BYTES = 1 << 30
"""The most bytes that all files together may take."""
ALIGNMENT = 64
"""Each array begins at a multiple of this number of bytes in its file."""
DIGEST_BYTES = 32
LENGTH_BYTES = 8
MOST_HEAD = 1 << 16
"""The most bytes that `shapes` takes for a head."""


class _Head(msgspec.Struct, frozen=True):
    """What stands before the arrays of a file: its name, and the type and shape of each array."""

    key: str
    arrays: dict[str, tuple[str, tuple[int, ...]]]


def key_of(texts: Iterable[str], arrays: Iterable[NDArray[Any]]) -> str:
    """Return a hash of texts and of arrays with their types and shapes."""
    digest = hashlib.sha256("\0".join(texts).encode())
    for array in arrays:
        digest.update(f"\0{array.dtype.str}{array.shape}\0".encode())
        digest.update(_bytes_of(array))
    return digest.hexdigest()


def shapes(key: str) -> dict[str, tuple[int, ...]] | None:
    """Return the shapes of the arrays that were saved under a key, or None if there are none.

    It reads only the beginning of the file, so `load` may yet find it damaged.
    """
    try:
        with open_regular(_folder() / f"{key}{SUFFIX}", own=True) as file:
            begin = file.read(DIGEST_BYTES + LENGTH_BYTES)[DIGEST_BYTES:]
            head = msgspec.json.decode(file.read(min(int.from_bytes(begin, "little"), MOST_HEAD)), type=_Head)
    except (OSError, EnvironmentFault, msgspec.DecodeError):
        return None
    return {name: shape for name, (_, shape) in head.arrays.items()} if head.key == key else None


def has_any(beginning: str) -> bool:
    """Return whether anything was saved under a key that begins with this text."""
    try:
        return next(_folder().glob(f"{beginning}*{SUFFIX}"), None) is not None
    except (OSError, EnvironmentFault):
        return False


def load(key: str) -> dict[str, NDArray[Any]] | None:
    """Return the arrays that were saved under a key, read-only, or None if there are none that can be trusted."""
    try:
        path = _folder() / f"{key}{SUFFIX}"
        with open_regular(path, own=True) as file:
            content = file.read()
    except (OSError, EnvironmentFault):
        return None
    if hashlib.sha256(memoryview(content)[DIGEST_BYTES:]).digest() != content[:DIGEST_BYTES]:
        return None
    begin = DIGEST_BYTES + LENGTH_BYTES
    end = begin + int.from_bytes(content[DIGEST_BYTES:begin], "little")
    head = msgspec.json.decode(content[begin:end], type=_Head)
    if head.key != key:
        return None
    with suppress(OSError):
        os.utime(path)  # it was used now
    found = {}
    for name, (kind, shape) in head.arrays.items():
        end += -end % ALIGNMENT
        found[name] = np.frombuffer(content, kind, int(np.prod(shape)), end).reshape(shape)
        end += found[name].nbytes
    return found


def save(key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Save arrays under a key, if the cache can be written and they are not too large for it."""
    if sum(array.nbytes for array in arrays.values()) > MOST_BYTES // 2:
        return
    with suppress(OSError, EnvironmentFault):
        folder = _folder()
        with private_folder(folder / "saving") as own:
            part = own / f"{key}{SUFFIX}"
            write_arrays(part, key, arrays)
            os.replace(part, folder / part.name)
        _shrink()


def files() -> list[Path]:
    """Return the paths of all files. Raises as `build.cache_folder`."""
    return list(_folder().glob(f"*{SUFFIX}"))


def nbytes(paths: Iterable[Path]) -> int:
    """Return the bytes of files together. One that is gone counts as empty."""
    total = 0
    for path in paths:
        with suppress(OSError):
            total += path.stat().st_size
    return total


def clear() -> int:
    """Remove all files, and return how many there were. Raises as `build.cache_folder`."""
    found = files()
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def _folder() -> Path:
    """Return the folder of the files, closed to other users, which is made if need be. Raises as `cache_folder`."""
    folder = cache_folder() / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def write_arrays(path: Path, key: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a new file."""
    head = msgspec.json.encode(_Head(key, {name: (array.dtype.str, array.shape) for name, array in arrays.items()}))
    digest, length = hashlib.sha256(), DIGEST_BYTES
    with open(path, "xb") as file:
        file.write(bytes(DIGEST_BYTES))

        def add(piece: bytes | memoryview) -> int:
            digest.update(piece)
            return file.write(piece)

        length += add(len(head).to_bytes(LENGTH_BYTES, "little")) + add(head)
        for array in arrays.values():
            length += add(bytes(-length % ALIGNMENT))
            length += add(_bytes_of(array))
        file.seek(0)
        file.write(digest.digest())


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _shrink() -> None:
    """Remove the files that were used longest ago until the others take at most `MOST_BYTES`."""
    used = sorted((status.st_mtime, status.st_size, path) for path, status in ((path, path.stat()) for path in files()))
    total = sum(size for _, size, _ in used)
    for _, size, path in used:
        if total <= MOST_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size
