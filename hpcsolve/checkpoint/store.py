"""What an algorithm hands over at a boundary of its work, and the files of a checkpoint folder that keep it.

    lease                        the run that may write here: the last that began; an older one must end
    00000007-<token>.<rank>.data what a rank handed over: the bytes of its parts, one part after the other
    00000007.manifest            what lies where in the data files, and the SHA-256 of each; then its own SHA-256

All ranks write their data files side by side. When these are on the disk, the manifest is written and renamed. With
that the generation exists. So a kill at any moment leaves the generations before. The last two are kept. Nothing in
them can lead to another file, as a link in HDF5 could: a manifest is JSON of a fixed schema, its files lie beside it,
and none of them is a symbolic link.

A scheduler may start a job again while the first one lives on, on a host that the network no longer reaches. Each run
writes a random token into the folder when it begins, and reads it again before it writes anything else.
"""

from __future__ import annotations

import errno
import hashlib
import math
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hpcsolve.errors import DamagedFileError, EnvironmentFault
from hpcsolve.replacing import PART, open_regular, write_bytes

KEPT = 2
"""Number of generations that are kept."""
MANIFEST = re.compile(r"(\d{8,18})\.manifest")
DATA = re.compile(r"(\d{8,18})-[0-9a-f]{16}\.\d{1,9}\.data")
OURS = re.compile(rf"{MANIFEST.pattern}|{DATA.pattern}|(lease|{MANIFEST.pattern}){PART.pattern}|lease")
LARGEST_MANIFEST = 1 << 28
"""Most bytes of a manifest, in which each piece of each rank has about a hundred."""
BLOCK = 1 << 22
"""Bytes that are hashed at a time."""
LEASE = "lease"
LARGEST_LEASE = 1 << 16
"""Most bytes of a lease."""
SLURM_VARIABLES = ("SLURM_JOB_ID", "SLURM_RESTART_COUNT")
Number = int | float | str
Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


@dataclass(frozen=True)
class Part:
    """Consecutive rows of a table. Each rank hands over those that it has.

    Attributes
    ----------
    name
        Name of the table.
    first
        Number of the first of these rows in the table, or 0 if the rows of the table have no numbers.
    shape, dtype
        Shape (rows, ...) and type of the rows.
    values
        Returns the rows. Called only when they are written, so that a rank holds one part at a time.
    """

    name: str
    first: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    values: Callable[[], NDArray[Any]]

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


def part(name: str, first: int, values: NDArray[Any]) -> Part:
    """Return a part with the rows of an array."""
    return Part(name, first, values.shape, values.dtype, lambda: values)


@dataclass(frozen=True)
class State:
    """This rank's share of what a run must know to go on.

    Attributes
    ----------
    numbers
        Numbers and names that all ranks need. Those of rank 0 are kept.
    parts
        Rows of tables.
    words
        How far the run has come, for messages: "after 12 iterations".
    """

    numbers: Mapping[str, Number]
    parts: Sequence[Part]
    words: str

    @property
    def nbytes(self) -> int:
        """Size of this rank's parts in bytes."""
        return sum(one.nbytes for one in self.parts)


class Piece(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part in a data file, where it begins at byte `offset`."""

    name: str
    first: Count
    shape: tuple[Count, ...]
    dtype: str
    offset: Count

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


class DataFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A data file, its size in bytes, its SHA-256 (in hexadecimal digits) and its content."""

    name: str
    size: Count
    sha256: str
    pieces: tuple[Piece, ...]

    def is_sound(self) -> bool:
        """Return whether the pieces fill a file of a valid name, one after the other."""
        end = 0
        for piece in self.pieces:
            if piece.offset != end or not re.fullmatch(r"[<|][iuf][1248]", piece.dtype) or not piece.shape:
                return False
            end += piece.nbytes
        return end == self.size and DATA.fullmatch(self.name) is not None


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A generation.

    Attributes
    ----------
    job
        The hash of the job and its instance.
    version
        The version of hpcsolve that wrote it.
    numbers
        The named numbers and texts of rank 0 (`State.numbers`).
    words
        How far the run had come, for messages (`State.words`).
    files
        The data file of each rank.
    """

    job: str
    version: str
    generation: Count
    numbers: dict[str, Number]
    words: str
    files: tuple[DataFile, ...]


def write_data(folder: Path, name: str, parts: Iterable[Part]) -> DataFile:
    """Write parts into a new file, sync it, and return what it holds. Raises `OSError`."""
    digest, offset, pieces = hashlib.sha256(), 0, []
    with open(folder / name, "xb") as file:
        for one in parts:
            values = np.ascontiguousarray(one.values())
            if values.shape != one.shape or values.dtype != one.dtype:
                raise AssertionError(f"{one.name}: {values.dtype} {values.shape} is not {one.dtype} {one.shape}")
            content = memoryview(values.reshape(-1).view(np.uint8).data)
            pieces.append(Piece(one.name, one.first, one.shape, one.dtype.str, offset))
            file.write(content)
            digest.update(content)
            offset += len(content)
        file.flush()
        os.fsync(file.fileno())
    return DataFile(name, offset, digest.hexdigest(), tuple(pieces))


def data_name(generation: int, token: str, rank: int) -> str:
    """Return the name of a rank's data file, which no other run uses."""
    return f"{generation:08d}-{token}.{rank}.data"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest that turns data files on the disk into a generation. Raises as `replacing`."""
    content = msgspec.json.encode(manifest)
    write_bytes(folder / f"{manifest.generation:08d}.manifest", content + sealed_by(content))


def sealed_by(content: bytes) -> bytes:
    """Return the end of a manifest, the SHA-256 of all before it."""
    return b"\n" + hashlib.sha256(content).hexdigest().encode() + b"\n"


def generations(folder: Path) -> list[int]:
    """Return the numbers of the generations in a folder, the last one first. A folder that does not exist has none."""
    return sorted((int(match[1]) for name in _names(folder) if (match := MANIFEST.fullmatch(name))), reverse=True)


def read_manifest(folder: Path, generation: int) -> Manifest:
    """Return a manifest. Raises `DamagedFileError` unless it is as it was written."""
    path = folder / f"{generation:08d}.manifest"
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST_MANIFEST + 1)
    except OSError as error:
        raise DamagedFileError(f"{path}: {_reason(error)}") from None
    if len(content) > LARGEST_MANIFEST:
        raise DamagedFileError(f"{path}: damaged: larger than any manifest")
    text, seal = content[:-66], content[-66:]
    if seal != sealed_by(text):
        raise DamagedFileError(f"{path}: damaged")
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:  # the last: nested too deep
        reason = " ".join(str(error).split())  # which may quote a name from the file
        raise DamagedFileError(f"{path}: not a manifest of this version: {reason}") from None
    if manifest.generation != generation or not all(file.is_sound() for file in manifest.files):
        raise DamagedFileError(f"{path}: damaged: its entries contradict each other")
    return manifest


def _reason(error: OSError) -> str:
    """Return why a file of a checkpoint cannot be read."""
    return "is a link, which no run writes" if error.errno == errno.ELOOP else str(error.strerror)


def check_data(folder: Path, file: DataFile) -> None:
    """Raise `DamagedFileError` unless a data file is as it was written."""
    path = folder / file.name
    try:
        with open_regular(path) as stream:
            if os.fstat(stream.fileno()).st_size != file.size:
                raise DamagedFileError(f"{path}: damaged: its size is not the {file.size} bytes that were written")
            digest = hashlib.sha256()
            while block := stream.read(BLOCK):
                digest.update(block)
    except OSError as error:
        raise DamagedFileError(f"{path}: {_reason(error)}") from None
    if digest.hexdigest() != file.sha256:
        raise DamagedFileError(f"{path}: damaged: its bytes are not those that were written (SHA-256)")


def forget(folder: Path, keep: Sequence[Manifest]) -> None:
    """Remove the files of all generations except those to keep. Raises `OSError`."""
    kept = {"lease"}
    for manifest in keep:
        kept |= {f"{manifest.generation:08d}.manifest", *(file.name for file in manifest.files)}
    for name in _ours(folder):
        if name not in kept:
            (folder / name).unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Remove all checkpoint files, and the folder if nothing else is in it. Raises `OSError`."""
    forget(folder, ())
    (folder / LEASE).unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _ours(folder: Path) -> list[str]:
    """Return the names of all checkpoint files, manifests first: removed in this order, no generation lacks a file."""
    names = [name for name in _names(folder) if OURS.fullmatch(name)]
    return sorted(names, key=lambda name: MANIFEST.fullmatch(name) is None)


def _names(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.is_dir() else []


class LeaseLost(EnvironmentFault):
    """A later run of the same job has taken over the checkpoint folder."""


class LeaseGone(LeaseLost):
    """The checkpoint folder has no lease: another run has ended and removed it, or somebody else did."""


class Owner(msgspec.Struct, frozen=True):
    """The run that has the lease.

    Attributes
    ----------
    slurm
        The variables `SLURM_VARIABLES` of its Slurm job, if it is part of one.
    """

    token: str
    host: str
    process: int
    slurm: dict[str, str]

    def __str__(self) -> str:
        """Return one line for messages: "process 12 on node7 (Slurm job 34, restart 1)"."""
        job, restart = (self.slurm.get(name, "") for name in SLURM_VARIABLES)
        where = f" (Slurm job {job}{f', restart {restart}' if restart else ''})" if job else ""
        return " ".join(f"process {self.process} on {self.host}{where}".split())


@dataclass(frozen=True)
class Lease:
    """A lease that this run has taken."""

    folder: Path
    token: str

    def require(self) -> None:
        """Raise `LeaseLost` unless this run still has the lease, `LeaseGone` if no run has it."""
        owner = _owner(self.folder / LEASE)
        if owner is None:
            raise LeaseGone(f"{self.folder}: the lease of this run is gone: another run of this job has ended, or the "
                            "folder was removed")
        if owner.token != self.token:
            raise LeaseLost(f"{self.folder}: another run of this job, {owner}, has taken over; this one ends")


def take_lease(folder: Path) -> Lease:
    """Take the lease of a folder, which is made if need be, from any run that has it. Raises `EnvironmentFault`."""
    token = secrets.token_hex(8)
    slurm = {name: os.environ[name] for name in SLURM_VARIABLES if name in os.environ}
    owner = Owner(token, socket.gethostname(), os.getpid(), slurm)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / LEASE, msgspec.json.encode(owner))
    except OSError as error:
        raise EnvironmentFault(f"{folder}: no checkpoint can be written: {error.strerror}; choose another "
                               "--checkpoint-dir, or --checkpoint-interval never") from None
    return Lease(folder, token)


def _owner(path: Path) -> Owner | None:
    try:
        with open_regular(path) as file:
            return msgspec.json.decode(file.read(LARGEST_LEASE), type=Owner)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the last: nested too deep
        return None
