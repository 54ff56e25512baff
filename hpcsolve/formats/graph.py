"""Reading graphs: the format is found by content, then by suffix; one file a format."""

from __future__ import annotations

import os
import re

from hpcsolve.formats.base import GraphInstance, Source, open_source, suffix_of, text_source
from hpcsolve.formats.dimacs import read_dimacs, with_coordinates
from hpcsolve.formats.edge_list import looks_like_edge_list, read_edge_list
from hpcsolve.formats.matrix import NPY_MAGIC
from hpcsolve.formats.matrix_market import BANNER, read_matrix_market
from hpcsolve.formats.metis import read_metis
from hpcsolve.formats.pace import read_pace
from hpcsolve.formats.sparse_npz import ZIP_MAGIC, read_sparse_npz
from hpcsolve.formats.steinlib import has_magic, looks_like_steinlib, read_steinlib
from hpcsolve.formats.tsplib_sections import looks_like_tsplib
from hpcsolve.problems.graph import Graph

_KNOWN = "DIMACS (.gr), SteinLib (.stp), PACE (.gr), Matrix Market (.mtx), METIS (.graph), edge lists, scipy's .npz"


def read_graph(
    path: str | os.PathLike[str], coordinates: str | os.PathLike[str] | None = None, *, directed: bool | None = None
) -> GraphInstance:
    """Read a graph: DIMACS, SteinLib, PACE, Matrix Market, METIS, an edge list, scipy's .npz; gz and xz too.

    Parameters
    ----------
    path
        "-" is standard input.
    coordinates
        A DIMACS `.co` file.
    directed
        For formats that leave it open (DIMACS, Matrix Market, edge lists, .npz): whether a line is an arc, or an
        edge of both directions. Default: as the format says; edge lists are undirected.

    Raises
    ------
    InputError
        One line, with file and line: what is wrong and what to do.
    """
    path = os.fspath(path)
    source = open_source(path)
    kind = "npz" if source.content.startswith(ZIP_MAGIC) else ""
    if not kind:
        _refuse_binary(source)
        source = text_source(source)
        kind = graph_format(source.content, suffix_of(path))
    graph = _read(source, kind, directed)
    if coordinates is not None:
        graph = with_coordinates(graph, text_source(open_source(os.fspath(coordinates))))
    return GraphInstance(graph, path, source.sha256, kind)


def graph_format(content: bytes, suffix: str) -> str:
    """The format's name as `GraphInstance.format` has it, or nothing if it is none of a graph."""
    if content[:20].lower().startswith(BANNER):
        return "matrix market"
    if looks_like_steinlib(content):
        return "steinlib" if has_magic(content) else "pace"
    problem = re.search(rb"(?m)\A(?:[ \t]*(?:c(?:[ \t][^\n]*)?)?\n)*[ \t]*p[ \t]+(\w+)", content)
    if problem is not None:
        return {b"tw": "pace"}.get(problem[1], "dimacs")
    by_suffix = {".gr": "dimacs", ".stp": "steinlib", ".mtx": "matrix market", ".graph": "metis", ".metis": "metis"}
    if suffix in by_suffix:
        return by_suffix[suffix]
    return "edge list" if looks_like_edge_list(content) else ""


def _read(source: Source, kind: str, directed: bool | None) -> Graph:
    open_to_choice = {
        "dimacs": read_dimacs, "matrix market": read_matrix_market, "edge list": read_edge_list, "npz": read_sparse_npz,
    }  # fmt: skip
    if kind in open_to_choice:
        return open_to_choice[kind](source, directed)
    if looks_like_tsplib(source.content):
        raise source.error("is an instance of the TSP (TSPLIB), not a graph", source.first_line)
    if not kind:
        raise source.error(f"no known format of graphs; hpcsolve reads {_KNOWN}", source.first_line)
    if directed:
        raise source.error(f"a graph in this format ({kind}) is undirected")
    if kind == "metis":
        return read_metis(source)
    return read_steinlib(source) if looks_like_steinlib(source.content) or kind == "steinlib" else read_pace(source)


def _refuse_binary(source: Source) -> None:
    known = {
        NPY_MAGIC: "a dense array; save a sparse matrix with scipy.sparse.save_npz",
        b"BZh": "compressed with bzip2; hpcsolve reads gz and xz",
        b"\x28\xb5\x2f\xfd": "compressed with zstd; hpcsolve reads gz and xz",
        b"\x89HDF": "an HDF5 file, perhaps a result, not an instance",
    }
    for magic, what in known.items():
        if source.content.startswith(magic):
            raise source.error(f"is {what}")
