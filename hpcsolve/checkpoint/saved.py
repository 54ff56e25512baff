"""A generation from which a run goes on, whatever ranks wrote it.

A generation is one checkpoint: a manifest and its data files (store.py). The SHA-256 shows that the files are as they
were written, not that hpcsolve wrote them: anybody can make one. Therefore an algorithm that takes rows from a
checkpoint states how many there may be, and the range of their integers, both from the job. Other rows are refused
before a kernel takes them for an index, a size or a count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hpcsolve.checkpoint.store import DataFile, Manifest, Number, Piece, check_data, generations, read_manifest
from hpcsolve.errors import DamagedFileError, LaunchError, ResourceError
from hpcsolve.memory import available_memory
from hpcsolve.replacing import open_regular

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm


ANY_COUNT = range(2**62)
"""Of rows whose number does not follow from the job. They must still fit in memory."""
MOST_SECONDS = 1e12
"""More seconds than any run takes."""


@dataclass(frozen=True)
class Saved:
    """A generation whose files are whole."""

    folder: Path
    manifest: Manifest

    @property
    def numbers(self) -> Mapping[str, Number]:
        """The named numbers and texts of the state."""
        return self.manifest.numbers

    def require(self, holds: bool, what: str) -> None:
        """Raise a `DamagedFileError` unless something holds that `what` says of this checkpoint."""
        if not holds:
            raise self.damaged(f"{what} does not fit this job")

    def damaged(self, what: str) -> DamagedFileError:
        """Return the error for something that a run of this job does not write."""
        return DamagedFileError(f"{self.folder}: {what}; remove the folder to begin anew")

    def integer(self, name: str, least: int = 0, most: int = 2**62) -> int:
        """Return one of the numbers, an integer in a range. Raises `DamagedFileError` if it is none."""
        value = self.numbers.get(name)
        if not isinstance(value, int) or not least <= value <= most:
            raise self.damaged(f"{name} = {str(value)[:30]} is no integer from {least} to {most}")
        return value

    def text(self, name: str, known: Container[str]) -> str:
        """Return the value of this name, a text, one of those known. Raises `DamagedFileError` if it is none."""
        value = self.numbers.get(name)
        if not isinstance(value, str) or value not in known:
            raise self.damaged(f"{name} = {str(value)[:30]!r} is not known")
        return value

    def seconds(self) -> float:
        """Return the seconds that the run took before. Raises `DamagedFileError` if they are none."""
        value = self.numbers.get("seconds")
        if not isinstance(value, (int, float)) or not 0 <= value < MOST_SECONDS:
            raise self.damaged(f"seconds = {str(value)[:30]} is no time")
        return float(value)

    def ranges(self, name: str, within: range) -> list[range]:
        """Return the ranges of a table's rows that are stored and lie within a range, in ascending order."""
        found = (range(max(within.start, piece.first), min(within.stop, piece.first + piece.shape[0]))
                 for _, piece in self._pieces(name))
        return sorted((one for one in found if one), key=lambda one: one.start)

    def rows(
        self, name: str, wanted: range, shape: tuple[int, ...], dtype: DTypeLike, within: range | None = None
    ) -> NDArray[Any]:
        """Return rows of a table, an array of shape (rows, *shape).

        Parameters
        ----------
        within
            The values that they may have; None: any.

        Raises
        ------
        DamagedFileError
            Rows are missing, or have another shape, type or value.
        """
        values, filled = np.empty((len(wanted), *shape), dtype), 0
        for one in self.ranges(name, wanted):
            filled += len(one) if one.start == wanted.start + filled else 0
        if filled != len(wanted):
            rows = f"rows {wanted.start} to {wanted.stop - 1}"
            raise self.damaged(f"the stored rows of {name} do not fill {rows} once each")
        for file, piece in self._pieces(name):
            start, stop = max(wanted.start, piece.first), min(wanted.stop, piece.first + piece.shape[0])
            if start < stop:
                values[start - wanted.start : stop - wanted.start] = self._read(
                    file, piece, start - piece.first, stop - start, values)
        return self._bounded(name, values, within)

    def gathered(
        self, name: str, shape: tuple[int, ...], dtype: DTypeLike, count: range, within: range | None = None
    ) -> NDArray[Any]:
        """Return the rows of all ranks, one rank after the other, for tables whose rows have no numbers.

        Parameters
        ----------
        count
            How many rows there may be.
        within
            The values that they may have; None: any.

        Raises
        ------
        DamagedFileError
            The number of rows, their shape, type or values are others.
        ResourceError
            They take more memory than is free.
        """
        rows = sum(piece.shape[0] for _, piece in self._pieces(name))
        if rows not in count:  # before memory is taken for them
            raise self.damaged(f"{name} has {rows} rows, which does not fit this job")
        like = np.empty((0, *shape), dtype)
        if rows * math.prod(shape) * like.itemsize > available_memory():
            raise ResourceError(f"{self.folder}: {name} has {rows} rows, which take more memory than is free")
        found = [self._read(file, piece, 0, piece.shape[0], like) for file, piece in self._pieces(name)]
        return self._bounded(name, np.concatenate([like, *found]), within)

    def _bounded(self, name: str, values: NDArray[Any], within: range | None) -> NDArray[Any]:
        if within is not None and values.size:
            least, most = int(values.min()), int(values.max())
            if least < within.start or most >= within.stop:
                raise self.damaged(f"{name} has values from {least} to {most}, which do not fit this job")
        return values

    def _pieces(self, name: str) -> Iterator[tuple[DataFile, Piece]]:
        return ((file, piece) for file in self.manifest.files for piece in file.pieces if piece.name == name)

    def _read(self, file: DataFile, piece: Piece, first: int, count: int, like: NDArray[Any]) -> NDArray[Any]:
        """Return rows of a piece, which must have the shape and the type of the rows of `like`."""
        if piece.shape[1:] != like.shape[1:] or np.dtype(piece.dtype) != like.dtype:
            raise DamagedFileError(f"{self.folder}: rows of {piece.name} are stored as {piece.dtype} "
                                   f"{piece.shape[1:]}, not as {like.dtype.str} {like.shape[1:]}; remove the folder to "
                                   "begin anew")
        width = int(np.prod(piece.shape[1:]))
        try:
            with open_regular(self.folder / file.name) as stream:
                stream.seek(piece.offset + first * width * like.itemsize)
                values = np.fromfile(stream, like.dtype, count * width)
        except OSError as error:
            raise self.damaged(f"{file.name}: {error.strerror}") from None
        if len(values) < count * width:
            raise self.damaged(f"{file.name} has become shorter")
        return values.reshape(count, *like.shape[1:])


@contextmanager
def contradictions_refused(saved: Saved | None) -> Iterator[None]:
    """Raise a `DamagedFileError` where a run that goes on from a checkpoint contradicts itself.

    Each value of the checkpoint was possible then, but not all of them together. What devices, disks and memory raise
    does not come from a checkpoint, and is not touched.
    """
    try:
        yield
    except (ArithmeticError, AssertionError, LaunchError, LookupError, StopIteration, ValueError) as error:
        if saved is None:
            raise
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise saved.damaged(f"the run that went on from here contradicts itself ({reason})") from error


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
