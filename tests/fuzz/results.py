"""Small result files of every kind, and changes that give them another content under a right seal.

A change is a few bytes, so that any bytes are a list of changes: they can be damaged, guided and kept like a file.
"""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from hpcsolve import cli
from hpcsolve.output.hdf5 import SEAL, sealed

JOBS = {
    "tour": ('algorithm = "held-karp"\ninstance = { generate = "uniform-tsp", n = 6 }\n'),
    "infeasible": ('algorithm = "held-karp"\ninstance = "split.csv"\n'),
    "ants": ('algorithm = "ant-colony"\ninstance = { generate = "uniform-tsp", n = 9 }\n[ant-colony]\ncolonies = 2\n'
             "[stop]\niterations = 3\n"),
    "population": ('algorithm = "edge-assembly"\ninstance = { generate = "uniform-tsp", n = 9 }\n[edge-assembly]\n'
                   "population = 4\n[stop]\niterations = 3\n"),
    "tree": ('algorithm = "steiner-kmb"\ninstance = { generate = "road-steiner", n = 20, terminals = 4 }\n'
             '[steiner-kmb]\nmode = "kmb"\nmatrix = true\n'),
    "best": ('algorithm = "steiner-kmb"\ninstance = { generate = "road-steiner", n = 30, terminals = 6 }\n'),
    "distances": ('algorithm = "shortest-paths"\ninstance = { generate = "road-graph", n = 12 }\n[shortest-paths]\n'
                  "sources = [1, 5]\npredecessors = true\n"),
    "nearest": ('algorithm = "shortest-paths"\ninstance = { generate = "road-graph", n = 12 }\n[shortest-paths]\n'
                "sources = [1, 5]\nvoronoi = true\n"),
    "reductions": ('algorithm = "shortest-paths"\ninstance = { generate = "road-graph", n = 12 }\n[shortest-paths]\n'
                   'sources = "all"\nreduce = ["count", "nearest", "sum", "farthest"]\ncutoffs = [900]\nk = 2\n'),
    "queries": ('algorithm = "shortest-paths"\ninstance = { generate = "road-graph", n = 12 }\n[shortest-paths]\n'
                "queries = [[1, 5], [7, 2]]\n"),
}
"""A job for a result of each kind."""
FILES = {"split.csv": "0,1,inf\n1,0,inf\ninf,1,0\n"}
WIDTH = 6
"""Bytes of a change."""


def result_files(folder: Path, jobs: Mapping[str, str] = JOBS) -> dict[str, bytes]:
    """Solve the jobs in a folder, and return the bytes of their results by name."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for name, text in jobs.items():
        (folder / f"{name}.toml").write_text(text)
        words = ["run", str(folder / f"{name}.toml"), "--device", "cpu", "--set", "threads=1", "--overwrite"]
        with contextlib.redirect_stdout(io.StringIO()):
            assert cli.main([*words, "--quiet", "--output", str(folder / f"{name}.h5")]) == 0, name
    return {name: (folder / f"{name}.h5").read_bytes() for name in jobs}


def changed(content: bytes, changes: bytes) -> bytes:
    """Return a result file with changes in its HDF5 objects, under a new seal."""
    file_id = h5py.h5f.open_file_image(content[: -len(SEAL) - 32], h5py.h5f.FILE_IMAGE_OPEN_RW)
    with h5py.File(file_id) as file:
        for at in range(0, len(changes) - WIDTH + 1, WIDTH):
            _change(file, changes[at : at + WIDTH])
        file.flush()
        return sealed(bytes(file.id.get_file_image()))


def damaged_changes(content: bytes, chance: random.Random) -> bytes:
    """Return other changes: fewer, one more, or another byte."""
    if content and chance.random() < 0.5:
        at = chance.randrange(len(content))
        return content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]
    return content[: WIDTH * chance.randrange(3)] + chance.randbytes(WIDTH)


def _change(file: h5py.File, code: bytes) -> None:
    """Make the change that a few bytes stand for. Changes that HDF5 refuses are left out."""
    kind, group, member, value, where, more = code
    names = sorted(file)
    if not names:
        return
    parent = file[names[group % len(names)]]
    members = sorted(parent) if isinstance(parent, h5py.Group) else []
    name = members[member % len(members)] if members else "x"
    with contextlib.suppress(OSError, RuntimeError, ArithmeticError, LookupError, TypeError, ValueError, MemoryError):
        CHANGES[kind % len(CHANGES)](file, parent, name, value, where, more)


def _one_value(file: h5py.File, parent: Any, name: str, value: int, where: int, more: int) -> None:
    """Change one value of a dataset."""
    dataset = parent[name]
    values = np.array(dataset[()])
    flat = values.reshape(-1)
    if not len(flat):
        return
    flat[where % len(flat)] = VALUES[value % len(VALUES)] if flat.dtype.kind != "O" else TEXTS[value % len(TEXTS)]
    dataset[...] = values


def _other_values(file: h5py.File, parent: Any, name: str, value: int, where: int, more: int) -> None:
    """Put other values, type and shape in the place of a dataset, with its old attributes."""
    attributes = dict(parent[name].attrs) if name in parent else {}
    replaced = parent.get(name)
    length = replaced.shape[0] if isinstance(replaced, h5py.Dataset) and replaced.shape else 1
    del parent[name]
    with np.errstate(invalid="ignore", over="ignore"):
        made = np.full(SHAPES[where % len(SHAPES)](length), VALUES[value % len(VALUES)])
        made = made.astype(TYPES[more % len(TYPES)])
    parent[name] = made if made.dtype.kind != "S" else made.astype(object)
    for key, old in attributes.items():
        if key not in REFERENCES:
            parent[name].attrs[key] = old


def _swapped(file: h5py.File, parent: Any, name: str, value: int, where: int, more: int) -> None:
    """Let two names of a group change places."""
    other = sorted(parent)[value % len(parent)]
    parent.move(name, "held")
    parent.move(other, name)
    parent.move("held", other)


def _from_elsewhere(file: h5py.File, parent: Any, name: str, value: int, where: int, more: int) -> None:
    """Give a dataset, or a new one, the content of any other."""
    group = file[sorted(file)[value % len(file)]]
    source = group[sorted(group)[where % len(group)]]
    target = sorted({name for other in file.values() for name in other})[more % 97 % 40] if more % 2 else name
    if target in parent:
        del parent[target]
    file.copy(source, parent, target)


def _text(file: h5py.File, parent: Any, name: str, value: int, where: int, more: int) -> None:
    """Damage a text such as the job."""
    text = parent[name].asstr()[()]
    at = where * len(text) // 256
    parent[name][...] = text[:at] + TEXTS[value % len(TEXTS)] + text[at + more % 8 :]


def _attribute(file: h5py.File, parent: Any, name: str, value: int, where: int, more: int) -> None:
    """Change, add or remove an attribute of a dataset, a group or the file."""
    item = (parent[name], parent, file, file)[where % 4]
    names = sorted(set(item.attrs) | {"scale_factor", "_FillValue", "units"})
    key = names[value % len(names)]
    if more % 8 == 0:
        del item.attrs[key]
    else:
        choices: list[Any] = [*VALUES, *TEXTS, np.arange(more % 5), np.array(["a", "b"], object)]
        item.attrs[key] = choices[more * 7 % len(choices)]


def _removed(file: h5py.File, parent: Any, name: str, value: int, where: int, more: int) -> None:
    """Remove a dataset or a group."""
    if more % 8:
        del parent[name]
    else:
        del file[parent.name]


def _scale(file: h5py.File, parent: Any, name: str, value: int, where: int, more: int) -> None:
    """Attach or detach a dimension scale."""
    dataset, other = parent[name], parent[sorted(parent)[value % len(parent)]]
    axis = dataset.dims[where % dataset.ndim]
    if more % 2 and len(axis):
        axis.detach_scale(axis[0])
    else:
        other.make_scale(TEXTS[more % len(TEXTS)][:20])
        axis.attach_scale(other)


def _hostile(file: h5py.File, parent: Any, name: str, value: int, where: int, more: int) -> None:
    """Put a link, data in another file, a bomb or an odd type in the place of a dataset."""
    replaced = parent.get(name)
    length = replaced.shape[0] if isinstance(replaced, h5py.Dataset) and replaced.shape else 1
    del parent[name]
    layout = h5py.VirtualLayout(shape=(length,), dtype="i4")
    layout[:] = h5py.VirtualSource("other.h5", "/solution/tour", shape=(length,))
    kinds: list[Callable[[], Any]] = [
        lambda: parent.__setitem__(name, h5py.SoftLink("/solution/" + TEXTS[more % len(TEXTS)])),
        lambda: parent.__setitem__(name, h5py.ExternalLink("/etc/passwd", "/x")),
        lambda: parent.create_dataset(name, (length,), "u1", external=[("/etc/passwd", 0, length)]),
        lambda: parent.create_virtual_dataset(name, layout),
        lambda: parent.create_dataset(name, (1 << 43,), "u1", chunks=(1 << 20,), compression="gzip"),
        lambda: parent.create_dataset(name, (1 << 21, 1 << 22), "i8", chunks=(1, 1 << 12), shuffle=True),
        lambda: parent.create_dataset(name, (1 << 43,), "u1"),
        lambda: parent.create_dataset(name, (length,), "i4", compression="lzf"),
        lambda: parent.create_dataset(name, (length,), "i4", fletcher32=True),
        lambda: parent.create_dataset(name, data=np.zeros(length, "i4,f8")),
        lambda: parent.create_dataset(name, (length,), h5py.vlen_dtype("i4")),
        lambda: parent.create_dataset(name, (length,), h5py.enum_dtype({"a": 1})),
        lambda: parent.create_dataset(name, (length,), "S7"),
        lambda: parent.create_dataset(name, (length,), "f2"),
        lambda: parent.create_dataset(name, (length,), ">i8"),
        lambda: parent.create_dataset(name, data=h5py.Empty("i4")),
        lambda: parent.create_group(name),
    ]
    kinds[value % len(kinds)]()


VALUES: tuple[Any, ...] = (
    0, 1, 2, 3, -1, 5, 127, 255, 2**31 - 1, -(2**31), 2**53 + 1, 2**62, 2**63 - 1, 0.5, 1e300, 1e-300, np.nan, np.inf,
    -np.inf, -0.0,
)
TEXTS = (
    "", "x", "0", "-1", "\n", '"', "[", "= 1\n", "[stop]\n", "n = 7", "1e999", "9" * 5000, "\x7f", "\u2028", "graph",
    "tsp", "steiner", "terminals", "degrees", "tour", "held-karp", "shortest-paths", "steiner-kmb", "ant-colony",
    "a" * 70_000,
)
SHAPES: tuple[Callable[[int], tuple[int, ...]], ...] = (
    lambda n: (), lambda n: (0,), lambda n: (1,), lambda n: (n,), lambda n: (n,), lambda n: (n + 1,),
    lambda n: (max(n - 1, 0),), lambda n: (n, 1), lambda n: (n, n), lambda n: (0, 3), lambda n: (1, 1, 1),
)
TYPES = ("i4", "i8", "u1", "u8", "i2", "f8", "f4", "f2", "?", ">i4", "c16", "S3")
REFERENCES = ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME")
CHANGES = (_one_value, _one_value, _other_values, _other_values, _swapped, _from_elsewhere, _text, _attribute,
           _attribute, _removed, _scale, _hostile)
