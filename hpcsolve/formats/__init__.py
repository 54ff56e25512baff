"""Reading instances: the format is found by content, then by suffix; one file a format."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from hpcsolve.formats.base import GraphInstance, Instance, Source, open_source, suffix_of, text_source
from hpcsolve.formats.graph import graph_format, read_graph
from hpcsolve.formats.matrix import NPY_MAGIC, looks_like_text_matrix, read_npy, read_text_matrix
from hpcsolve.formats.tsplib import read_tour_text, read_tsplib
from hpcsolve.formats.tsplib_sections import looks_like_tsplib
from hpcsolve.formats.write import write_tour, write_tsplib
from hpcsolve.formats.write_graph import write_coordinates, write_dimacs, write_steinlib

__all__ = [
    "GraphInstance",
    "Instance",
    "read",
    "read_graph",
    "read_tour",
    "write_coordinates",
    "write_dimacs",
    "write_steinlib",
    "write_tour",
    "write_tsplib",
]


def read(path: str | os.PathLike[str]) -> Instance:
    """Read an instance of the TSP: TSPLIB (TSP, ATSP), a numpy or text matrix (.npy; CSV, blanks); gz and xz too.

    Parameters
    ----------
    path
        "-" is standard input.

    Raises
    ------
    InputError
        One line, with file and line: what is wrong and what to do.
    ResourceError
        The cost matrix would not fit this machine.
    """
    path = os.fspath(path)
    source = open_source(path)
    if source.content.startswith(NPY_MAGIC):
        return Instance(read_npy(source), path, source.sha256, "npy")
    _refuse_binary(source)
    source = text_source(source)
    kind = _text_format(source, path)
    problem = read_tsplib(source) if kind == "tsplib" else read_text_matrix(source)
    return Instance(problem, path, source.sha256, kind)


def read_tour(path: str | os.PathLike[str]) -> NDArray[np.int64]:
    """Read a TSPLIB tour: the labels of its cities in order, int64; `problems.tsp.positions` finds them.

    Raises
    ------
    InputError
        One line, with file and line.
    """
    return read_tour_text(text_source(open_source(os.fspath(path))))


def _refuse_binary(source: Source) -> None:
    known = {
        b"PK\x03\x04": "a zip file; unpack it (.npz: save one array with numpy.save)",
        b"BZh": "compressed with bzip2; hpcsolve reads gz and xz",
        b"\x28\xb5\x2f\xfd": "compressed with zstd; hpcsolve reads gz and xz",
        b"\x89HDF": "an HDF5 file, perhaps a result, not an instance",
    }
    for magic, what in known.items():
        if source.content.startswith(magic):
            raise source.error(f"is {what}")


def _text_format(source: Source, path: str) -> str:
    suffix = suffix_of(path)
    if looks_like_tsplib(source.content):
        return "tsplib"
    graph = graph_format(source.content, suffix)
    if graph not in ("", "edge list"):
        what = f"is a graph ({graph}), not a travelling salesman problem, which needs all distances"
        raise source.error(what, source.first_line)
    if suffix not in (".tsp", ".atsp", ".tour") and looks_like_text_matrix(source.content):
        return "text matrix"
    if suffix in (".tsp", ".atsp", ".tour", ".sop", ".hcp", ".vrp"):
        return "tsplib"
    if suffix in (".csv", ".tsv"):
        return "text matrix"
    known = "TSPLIB (.tsp, .atsp), numpy (.npy) and CSV matrices"
    raise source.error(f"no known format; hpcsolve reads {known}", source.first_line)
