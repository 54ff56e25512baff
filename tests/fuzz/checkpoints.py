"""Checkpoints that real runs have left, and what a run does with one whose bytes have changed."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from hpcsolve import cli
from hpcsolve.checkpoint import checkpoints, store
from hpcsolve.checkpoint.saved import ANY_COUNT, Saved, newest
from hpcsolve.checkpoint.store import LEASE, Lease, LeaseLost
from hpcsolve.errors import DamagedFileError
from hpcsolve.formats.steinlib import write_steinlib
from hpcsolve.parallel.comm import SerialComm
from tests.formats.samples import Sample
from tests.steiner_oracle import hypercube

JOBS = {
    "layers": 'algorithm = "held-karp"\ninstance = { generate = "random-matrix", n = 10 }\n',
    "colonies": 'algorithm = "ant-colony"\ninstance = { generate = "uniform-tsp", n = 5 }\n[ant-colony]\ncolonies = 1\n'
                "ants = 1\nbound = false\n[stop]\niterations = 60\n",
    "rows": 'algorithm = "steiner-kmb"\ninstance = { generate = "road-steiner", n = 12, terminals = 4 }\n'
            '[steiner-kmb]\nmode = "kmb"\n',
    "rounds": 'algorithm = "steiner-kmb"\ninstance = "cube.stp"\n[steiner-kmb]\nmode = "best"\nshakes = 1\n',
}
TABLES = ('algorithm = "held-karp"\ninstance = { generate = "uniform-tsp", n = 8 }\n[held-karp]\n'
          'method = "lattice"\n')
WINDOWS = "city,earliest,latest\n" + "".join(f"{city},{(city * 5 % 14) * 2000},{(city * 5 % 14) * 2000 + 20000}\n"
                                               for city in range(2, 13))
IN_TIME = ('algorithm = "held-karp"\ninstance = { generate = "uniform-tsp", n = 12 }\n[held-karp]\n'
           'method = "bounded"\nwindows = "windows.csv"\n')
FORGED = {
    "layers": JOBS["layers"].replace("n = 10", "n = 14"),
    "half layers": JOBS["layers"].replace("random-matrix", "uniform-tsp").replace("n = 10", "n = 14"),
    "tables": TABLES + 'objective = "latency"\narcs = true\n',
    "two tables": TABLES + 'objective = "lexicographic"\n',
    "bounds": 'algorithm = "held-karp"\ninstance = { generate = "uniform-tsp", n = 16 }\n[held-karp]\n'
              'method = "bounded"\n',
    "deadlines": IN_TIME + 'objective = "finish"\n',
    "labels": IN_TIME,
    "colonies": JOBS["colonies"].replace("n = 5", "n = 12").replace("= 60", "= 5"),
    "ant system": JOBS["colonies"].replace("n = 5", "n = 12").replace("ants = 1", "ants = 2\nvariant = 'ant-system'")
                  .replace("= 60", "= 5"),
    "tours": 'algorithm = "edge-assembly"\ninstance = { generate = "uniform-tsp", n = 200 }\n[edge-assembly]\n'
             "population = 8\nbound = false\n[stop]\niterations = 5\n",
    "distances": 'algorithm = "shortest-paths"\ninstance = { generate = "road-graph", n = 55 }\n[shortest-paths]\n'
                 'sources = "all"\npredecessors = true\n',
    "paths": 'algorithm = "shortest-paths"\ninstance = { generate = "road-graph", n = 55 }\n[shortest-paths]\n'
             "queries = [[1, 5], [7, 2], [2, 50], [3, 40]]\n",
    "reductions": 'algorithm = "shortest-paths"\ninstance = { generate = "road-graph", n = 55 }\n[shortest-paths]\n'
                  'sources = "all"\nreduce = ["count", "nearest", "sum", "farthest"]\ncutoffs = [900]\nk = 2\n',
    "rows": JOBS["rows"],
    "matrix": JOBS["rows"] + "matrix = true\n",
    "rounds": JOBS["rounds"],
    "families": JOBS["rounds"].replace("best", "exact").replace("shakes = 1", "shakes = 0"),
}
"""A job for each kind of state that an algorithm keeps."""
FOLDER = "out.h5.checkpoint"


def write_instances(folder: Path) -> None:
    """Write the files that the jobs name."""
    write_steinlib(hypercube(6, 14, high=102), str(folder / "cube.stp"))
    (folder / "windows.csv").write_text(WINDOWS)


def checkpoint_files(folder: Path, text: str) -> dict[str, bytes]:
    """Run a job that saves as often as it can, and return the files that it would remove at the end, by name."""
    (folder / "job.toml").write_text(text)
    write_instances(folder)
    words = ["run", str(folder / "job.toml"), "--device", "cpu", "--set", "threads=1", "--overwrite", "--quiet"]
    with mock.patch("hpcsolve.runner.conclude.remove_checkpoints"), contextlib.redirect_stdout(io.StringIO()):
        assert cli.main([*words, "--checkpoint-interval", "0", "--output", str(folder / "out.h5")]) == 0
    found = {path.name: path.read_bytes() for path in (folder / FOLDER).iterdir()}
    assert len([name for name in found if name.endswith(".manifest")]) == store.KEPT
    return found


def states_of(folder: Path, text: str) -> list[dict[str, bytes]]:
    """Run a job that saves after each piece of work, and return the files of a checkpoint of each kind.

    Kinds differ in their parts, in the names of their numbers, or in the phase, table or half run that is not over.
    """
    (folder / "job.toml").write_text(text)
    write_instances(folder)
    place, found = folder / FOLDER, dict[Any, list[dict[str, bytes]]]()
    with mock.patch("hpcsolve.runner.conclude.remove_checkpoints"), mock.patch.object(store, "forget"), \
            mock.patch.object(checkpoints, "SECONDS_BETWEEN", 0.0):
        assert resumed(folder, "0") == 0
    for number in sorted(store.generations(place)):
        manifest = store.read_manifest(place, number)
        parts = {piece.name.rstrip("0123456789") for file in manifest.files for piece in file.pieces}
        phase = [manifest.numbers.get(name) for name in ("phase", "run", "half")]
        kind = tuple(sorted(manifest.numbers)), tuple(sorted(parts)), *phase
        names = [f"{number:08d}.manifest", *(file.name for file in manifest.files)]
        found.setdefault(kind, []).append({name: (place / name).read_bytes() for name in names})
    return [files[len(files) // 2] for files in found.values()]


def resumed(folder: Path, interval: str = "1000") -> int:
    """Run the job in a folder from the checkpoint there, and return the exit code."""
    (folder / "out.h5").unlink(missing_ok=True)
    words = ["run", str(folder / "job.toml"), "--device", "cpu", "--set", "threads=1", "--quiet"]
    with contextlib.redirect_stdout(io.StringIO()):
        return cli.main([*words, "--checkpoint-interval", interval, "--output", str(folder / "out.h5")])


def forge(files: Mapping[str, bytes], change: Callable[[str, bytes], bytes], numbers: Mapping[str, Any],
          folder: Path) -> None:
    """Write a checkpoint with other parts and numbers, whose hashes are right.

    Parameters
    ----------
    change
        Returns the bytes of a part, given its name and its bytes.
    """
    place = folder / FOLDER
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    name = next(name for name in files if name.endswith(".manifest"))
    manifest = json.loads(files[name][:-66])
    for file in manifest["files"]:
        content, ends = files[file["name"]], [piece["offset"] for piece in file["pieces"]] + [file["size"]]
        pieces = zip(file["pieces"], ends, ends[1:])
        made = b"".join(change(piece["name"], content[begin:end]) for piece, begin, end in pieces)
        assert len(made) == len(content)
        file["sha256"] = hashlib.sha256(made).hexdigest()
        (place / file["name"]).write_bytes(made)
    manifest["numbers"] |= numbers
    text = json.dumps(manifest).encode()
    (place / name).write_bytes(text + store.sealed_by(text))


def samples_of(name: str, files: Mapping[str, bytes]) -> list[Sample]:
    """Return the files of the last generation, each with the function that looks for a checkpoint beside it."""
    last = max(name for name in files if name.endswith(".manifest"))
    data = max(name for name in files if name.endswith(".data"))
    place = f"{name}.h5.checkpoint"
    return [
        Sample("checkpoint", f"{place}/{last}", files[last], detecting(files, last), has_lines=False),
        Sample("checkpoint", f"{place}/{data}", files[data], detecting(files, data), has_lines=False),
        Sample("manifest", f"{place}/{last}", files[last][:-66], lying(files, last), has_lines=False),
        Sample("lease", f"{place}/{LEASE}", files[LEASE], leased(files[LEASE]), has_lines=False),
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
        Path(path).write_bytes(text + store.sealed_by(text))
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
    for name, number in saved.numbers.items():
        if name == "seconds":
            saved.seconds()
        elif isinstance(number, str):
            saved.text(name, number)
        else:
            saved.integer(name, least=-(2**62))
    for piece in (piece for file in saved.manifest.files for piece in file.pieces):
        rows = range(piece.first, piece.first + piece.shape[0])
        saved.ranges(piece.name, rows)
        saved.rows(piece.name, rows, piece.shape[1:], piece.dtype)
        saved.gathered(piece.name, piece.shape[1:], piece.dtype, ANY_COUNT)


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
