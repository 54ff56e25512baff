"""A generation from which a run goes on, whatever ranks wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.checkpoint.state import Number
from hpcsolve.checkpoint.store import DataFile, Manifest, Piece, check_data, generations, read_manifest
from hpcsolve.errors import DamagedFileError

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm


@dataclass(frozen=True)
class Saved:
    """A generation whose files are whole."""

    folder: Path
    manifest: Manifest

    @property
    def numbers(self) -> Mapping[str, Number]:
        """The numbers of the state."""
        return self.manifest.numbers

    def integer(self, name: str) -> int:
        """Return one of the numbers as an integer."""
        return int(self.numbers[name])

    def ranges(self, name: str, within: range) -> list[range]:
        """Return the ranges of a table's rows that are stored and lie within a range, in ascending order."""
        found = (range(max(within.start, piece.first), min(within.stop, piece.first + piece.shape[0]))
                 for _, piece in self._pieces(name))
        return sorted((one for one in found if one), key=lambda one: one.start)

    def rows(self, name: str, wanted: range, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return rows of a table, an array of shape (rows, *shape).

        Raises
        ------
        DamagedFileError
            Rows are missing, or have another shape or type.
        """
        values = np.empty((len(wanted), *shape), dtype)
        filled = 0
        for file, piece in self._pieces(name):
            start, stop = max(wanted.start, piece.first), min(wanted.stop, piece.first + piece.shape[0])
            if start < stop:
                values[start - wanted.start : stop - wanted.start] = self._read(
                    file, piece, start - piece.first, stop - start, values)
                filled += stop - start
        if filled != len(wanted):
            raise DamagedFileError(f"{self.folder}: {filled} of {len(wanted)} rows of {name} are stored; remove the "
                                   "folder to begin anew")
        return values

    def gathered(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return the rows of all ranks, one rank after the other, for tables whose rows have no numbers."""
        like = np.empty((0, *shape), dtype)
        found = [self._read(file, piece, 0, piece.shape[0], like) for file, piece in self._pieces(name)]
        return np.concatenate([like, *found])

    def _pieces(self, name: str) -> Iterator[tuple[DataFile, Piece]]:
        return ((file, piece) for file in self.manifest.files for piece in file.pieces if piece.name == name)

    def _read(self, file: DataFile, piece: Piece, first: int, count: int, like: NDArray[Any]) -> NDArray[Any]:
        """Return rows of a piece, which must have the shape and the type of the rows of `like`."""
        if piece.shape[1:] != like.shape[1:] or np.dtype(piece.dtype) != like.dtype:
            raise DamagedFileError(f"{self.folder}: rows of {piece.name} are stored as {piece.dtype} "
                                   f"{piece.shape[1:]}, not as {like.dtype.str} {like.shape[1:]}; remove the folder to "
                                   "begin anew")
        width = int(np.prod(piece.shape[1:]))
        values = np.fromfile(self.folder / file.name, like.dtype, count * width,
                             offset=piece.offset + first * width * like.itemsize)
        return values.reshape(count, *like.shape[1:])


def newest(folder: Path, comm: Comm, warn: Callable[[str], None]) -> Saved | None:
    """Return the last generation that is whole, or None if the folder has no generation. Collective.

    Parameters
    ----------
    warn
        Called with a line for each damaged generation.

    Raises
    ------
    DamagedFileError
        There are generations, and all of them are damaged.
    """
    faults: list[str] = []
    for number in comm.bcast(generations(folder) if comm.rank == 0 else []):
        manifest, fault = comm.bcast(_manifest(folder, number) if comm.rank == 0 else (None, ""))
        if manifest is not None:
            fault = next(filter(None, comm.allgather(_fault(folder, manifest, comm))), "")
            if not fault:
                for line in faults:
                    warn(f"{line}; the checkpoint before is used")
                return Saved(folder, manifest)
        faults.append(fault)
    if faults:
        raise DamagedFileError(f"{'; '.join(faults)}: no checkpoint is whole; remove {folder} to begin anew")
    return None


def _manifest(folder: Path, generation: int) -> tuple[Manifest | None, str]:
    """Return a manifest, or None and what is wrong with it."""
    try:
        return read_manifest(folder, generation), ""
    except DamagedFileError as error:
        return None, str(error)


def _fault(folder: Path, manifest: Manifest, comm: Comm) -> str:
    """Return what is wrong with this rank's share of the data files, or ""."""
    try:
        for file in manifest.files[comm.rank :: comm.size]:
            check_data(folder, file)
    except DamagedFileError as error:
        return str(error)
    return ""
