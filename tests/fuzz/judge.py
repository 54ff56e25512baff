"""The judge of what a reader does with a damaged file: it reads the file, or refuses it at once in one line."""

from __future__ import annotations

import codecs
import re
import resource
import time
from pathlib import Path

import numpy as np
import scipy.sparse

from hpcsolve.errors import HpcsolveError
from hpcsolve.formats import InstanceOf
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import NO_ARC, Tsp
from tests.formats.samples import Sample

SLOW = 1.0
"""Seconds of CPU time that no small file may take."""
OPTION = re.compile(r"; remove \w+ = \S+$")
"""The end of a message about an option that does not fit the file, whose lines are right."""
READ, NAMED, REFUSED = "read", "refused with a line", "refused"
"""The outcomes: the file is read, its line is named, or it is refused as a whole since it has no lines."""


def outcome(sample: Sample, folder: Path, content: bytes, slow: float = SLOW) -> str:
    """Return one of the outcomes above, or "refused: " and the message if the file has lines and none is named.

    Raises
    ------
    AssertionError
        The instance is not valid, reading took too long, or the message has several lines or does not name the file.
    """
    path = folder / sample.file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    if sample.beside:
        (folder / "beside.gr").write_bytes(sample.beside)
    begin, found = cpu_seconds(), None
    try:
        found = sample.reader(str(path))
        result = READ
    except HpcsolveError as error:
        result = refusal(error, str(path), sample.has_lines and _has_lines(content))
    seconds = cpu_seconds() - begin
    assert seconds < slow, f"{seconds:.1f} s"
    if isinstance(found, InstanceOf):
        (require_valid_tsp if isinstance(found.problem, Tsp) else require_valid_graph)(found.problem)
    return result


def refusal(error: HpcsolveError, path: str, has_lines: bool) -> str:
    """Return the outcome of a refusal, after a check of its exit code and message."""
    message = str(error)
    assert error.exit_code in (2, 3, 5), message
    assert len(message.splitlines()) == 1, repr(message)
    assert path in message, message
    if re.match(re.escape(path) + r":\d+: ", message):
        return NAMED
    has_lines = has_lines and not OPTION.search(message)
    return f"refused: {message.replace(path, 'FILE')}" if has_lines else REFUSED


def cpu_seconds() -> float:
    """Return the CPU time of this process and its children so far."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def require_valid_tsp(tsp: Tsp) -> None:
    """Fail unless an instance has the form that `Tsp` documents."""
    assert tsp.cost.shape == (tsp.n, tsp.n) and len(set(tsp.labels.tolist())) == tsp.n
    assert (tsp.cost.diagonal() == NO_ARC).all() and (tsp.cost[tsp.cost != NO_ARC] <= 2**62 // tsp.n).all()


def require_valid_graph(graph: Graph) -> None:
    """Fail unless a graph has the form that `Graph` documents."""
    assert graph.offsets[0] == 0 and graph.offsets[-1] == len(graph.heads) == len(graph.weights)
    assert (np.diff(graph.offsets) >= 0).all() and len(np.unique(graph.labels)) == graph.n == len(graph.labels)
    keys = graph.tails().astype(np.int64) * max(graph.n, 1) + graph.heads
    assert (np.diff(keys) > 0).all() and (graph.heads < max(graph.n, 1)).all()
    if graph.weights.dtype.kind == "f":
        assert np.isfinite(graph.weights).all() and not np.signbit(graph.weights).any()
    rows = scipy.sparse.csr_matrix((graph.weights, graph.heads, graph.offsets), shape=(graph.n, graph.n))
    assert graph.directed or (rows != rows.T).nnz == 0


def _has_lines(content: bytes) -> bool:
    """Return whether a file is text, and not blank."""
    if content.startswith((b"\x1f\x8b", b"\xfd7zXZ\0", b"PK\3\4", b"\x93NUMPY")):
        return False
    return bool(content.removeprefix(codecs.BOM_UTF8).strip())
