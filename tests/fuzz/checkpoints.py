"""Checkpoints that real runs have left, and what a run does with one whose bytes have changed."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from unittest import mock

from hpcsolve import cli
from hpcsolve.checkpoint import store
from hpcsolve.checkpoint.lease import NAME, Lease, LeaseLost
from hpcsolve.checkpoint.saved import Saved, newest
from hpcsolve.errors import DamagedFileError
from hpcsolve.parallel.comm import SerialComm
from tests.formats.samples import Sample

JOBS = {
    "layers": 'algorithm = "held-karp"\ninstance = { generate = "random-matrix", n = 10 }\n',
    "colonies": 'algorithm = "ant-colony"\ninstance = { generate = "uniform-tsp", n = 5 }\n[ant-colony]\ncolonies = 1\n'
                "ants = 1\n[stop]\niterations = 60\n",
    "rows": 'algorithm = "steiner-kmb"\ninstance = { generate = "road-steiner", n = 12, terminals = 4 }\n'
            '[steiner-kmb]\nmode = "kmb"\n',
    "rounds": 'algorithm = "steiner-kmb"\ninstance = { generate = "road-steiner", n = 60, terminals = 10 }\n',
}
FOLDER = "out.h5.checkpoint"


def checkpoint_files(folder: Path, text: str) -> dict[str, bytes]:
    """Run a job that saves as often as it can, and return the files that it would remove at the end, by name."""
    (folder / "job.toml").write_text(text)
    words = ["run", str(folder / "job.toml"), "--device", "cpu", "--set", "threads=1", "--overwrite", "--quiet"]
    with mock.patch("hpcsolve.runner.conclude.remove_checkpoints"), contextlib.redirect_stdout(io.StringIO()):
        assert cli.main([*words, "--checkpoint-interval", "0", "--output", str(folder / "out.h5")]) == 0
    found = {path.name: path.read_bytes() for path in (folder / FOLDER).iterdir()}
    assert len([name for name in found if name.endswith(".manifest")]) == store.KEPT
    return found


def samples_of(name: str, files: Mapping[str, bytes]) -> list[Sample]:
    """Return the files of the last generation, each with the function that looks for a checkpoint beside it."""
    last = max(name for name in files if name.endswith(".manifest"))
    data = max(name for name in files if name.endswith(".data"))
    place = f"{name}.h5.checkpoint"
    return [
        Sample("checkpoint", f"{place}/{last}", files[last], detecting(files, last), has_lines=False),
        Sample("checkpoint", f"{place}/{data}", files[data], detecting(files, data), has_lines=False),
        Sample("manifest", f"{place}/{last}", files[last][:-66], lying(files, last), has_lines=False),
        Sample("lease", f"{place}/{NAME}", files[NAME], leased(files[NAME]), has_lines=False),
    ]


def found_in(folder: Path) -> tuple[Saved | None, list[str]]:
    """Return the generation from which a run would go on, and what it would say."""
    said: list[str] = []
    return newest(folder, SerialComm(), said.append), said


def detecting(files: Mapping[str, bytes], name: str) -> Callable[[str], Saved]:
    """Return a function that fails unless every change of a file is detected, said, and the generation before used."""
    last = max(int(match[1]) for name in files if (match := store.MANIFEST.fullmatch(name)))

    def read(path: str) -> Saved:
        changed = _filled(path, files) != files[name]
        saved, said = found_in(Path(path).parent)
        assert saved is not None
        assert saved.manifest.generation == last - changed, "the generation before is used if there was a change"
        assert len(said) == changed, said
        for line in said:
            assert line.endswith("; the checkpoint before is used")
            raise DamagedFileError(line)
        return saved

    return read


def lying(files: Mapping[str, bytes], name: str) -> Callable[[str], Saved]:
    """Return a function that gives a manifest a right SHA-256, whatever it says, and reads all that it names."""

    def read(path: str) -> Saved:
        text = _filled(path, files)
        Path(path).write_bytes(text + store._seal(text))
        saved, said = found_in(Path(path).parent)
        assert saved is not None
        try:
            _read_all(saved)
        except DamagedFileError as error:
            assert str(error).startswith(f"{saved.folder}: "), "two manifests may disagree, so the folder is named"
            raise DamagedFileError(f"{path}: {error}") from error
        for line in said:
            raise DamagedFileError(f"{path}: {line}")  # which names the manifest, or a data file
        return saved

    return read


def _read_all(saved: Saved) -> None:
    for number in saved.numbers:
        saved.integer(number)
    for piece in (piece for file in saved.manifest.files for piece in file.pieces):
        rows = range(piece.first, piece.first + piece.shape[0])
        saved.ranges(piece.name, rows)
        saved.rows(piece.name, rows, piece.shape[1:], piece.dtype)
        saved.gathered(piece.name, piece.shape[1:], piece.dtype)


def leased(content: bytes) -> Callable[[str], None]:
    """Return a function that fails unless a run with a changed lease ends, or nothing of its token has changed."""
    token = content.split(b'"token":"')[1].split(b'"')[0].decode()

    def read(path: str) -> None:
        try:
            Lease(Path(path).parent, token).require()
        except LeaseLost as error:
            raise DamagedFileError(f"{path}: {error}") from None  # the message itself names the folder
        assert token in Path(path).read_text(errors="replace")

    return read


def _filled(path: str, files: Mapping[str, bytes]) -> bytes:
    """Write all other files beside one, and return its bytes."""
    for other, content in files.items():
        if other != Path(path).name:
            (Path(path).parent / other).write_bytes(content)
    return Path(path).read_bytes()
