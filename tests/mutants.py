"""Damages files at random, to check that each is either read, or refused at once in one line.

The suite tries a few (tests/formats/test_mutants.py). By hand, with a summary of refusals that name no line:

    python -m tests.mutants --minutes 10 --processes 2 --seed 1
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse

from hpcsolve.errors import HpcsolveError
from hpcsolve.formats import InstanceOf
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import FORBIDDEN, Tsp
from tests.formats.samples import Sample, published, samples

SPLICES = [
    b"\0", b"\n", b" ", b"\t", b"\r", b"\x0b", b"\x1c", b"\x85", b"\xa0", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8",
    b"\xef\xbb\xbf", b"-", b"+", b".", b",", b";", b":", b'"', b"'", b"#", b"%", b"=", b"[", b"]", b"{", b"}",
    b"\\", b"=1\n", b"e", b"_", b"0", b"-1", b"1.5", b"0x1F", b"1e999", b"1e-30", b"nan", b"inf", b"-inf",
    b"99999999999999999999", b"9223372036854775807", b"18446744073709551615", b"4294967296", b"1000000",
    b"1048576", b"4" * 5000, b"0." + b"7" * 500, b" 1" * 300, b"1 2", b"a ", b"E ", b"c ", b"p ", b"q ", b"T ",
    b"v 1 0 0\n", b"p sp 1 1\n", b"p tw 3 2\n", b"SECTION Graph\n", b"END\n", b"EOF\n", b"NODE_COORD_SECTION\n",
    b"EDGE_WEIGHT_SECTION\n", b"DIMENSION: 7\n", b"TYPE: ATSP\n", b"[stop]\n", b"[a.b]\n", b"seed = 1\n",
    b"(" * 2000, b"[" * 2000, b"{a=" * 500,
]
SLOW = 1.0
"""Seconds of CPU time that no small file may take."""
HANGS = 30
"""Seconds after which a reader is interrupted."""


def mutant(content: bytes, chance: random.Random) -> bytes:
    """Return the content with one to three small damages."""
    for _ in range(chance.randint(1, 3)):
        content = chance.choice((_damaged_bytes, _damaged_words))(content, chance) or b"x"
    return content


def _damaged_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return the content with a splice, a piece dropped or doubled, a changed byte, or a cut."""
    at, width = chance.randrange(len(content) + 1), chance.choice((1, 1, 5, 60))
    before, piece, after = content[:at], content[at : at + width], content[at + width :]
    return chance.choice((
        before + chance.choice(SPLICES) + piece + after,
        before + after,
        before + piece + piece + after,
        before + bytes([chance.randrange(256)]) + content[at + 1 :],
        before,
    ))


def _damaged_words(content: bytes, chance: random.Random) -> bytes:
    """Return the content with a word or line replaced, dropped, doubled, or exchanged with another one."""
    parts = re.split(chance.choice((rb"(\n)", rb"(\s+)", rb"([\s:,;=]+)")), content)
    first, second = (2 * chance.randrange(len(parts) // 2 + 1) for _ in range(2))
    kind = chance.randrange(4)
    if kind == 0:
        parts[first] = chance.choice(SPLICES)
    elif kind == 1:
        del parts[first : first + 2]
    elif kind == 2:
        parts[first : first + 1] = [parts[first], b" " if first + 1 == len(parts) else parts[first + 1], parts[first]]
    else:
        parts[first], parts[second] = parts[second], parts[first]
    return b"".join(parts)


def outcome(sample: Sample, folder: Path, content: bytes) -> str:
    """Return "read", "refused with a line", "refused" (a file without lines), or "refused: " and the message.

    Raises
    ------
    AssertionError
        The instance is not valid, reading took too long, or the message has several lines or does not name the file.
    """
    path = folder / sample.file
    path.write_bytes(content)
    if sample.beside:
        (folder / "beside.gr").write_bytes(sample.beside)
    begin, found = time.process_time(), None
    try:
        found = sample.reader(str(path))
        result = "read"
    except HpcsolveError as error:
        message = str(error)
        assert error.exit_code in (2, 3), message
        assert len(message.splitlines()) == 1, repr(message)
        assert str(path) in message, message
        result = "refused" if not _has_lines(content) else f"refused: {message.replace(str(path), 'FILE')}"
        result = "refused with a line" if re.match(re.escape(str(path)) + r":\d+: ", message) else result
    seconds = time.process_time() - begin
    assert seconds < SLOW, f"{seconds:.1f} s"
    if isinstance(found, InstanceOf):
        (require_valid_tsp if isinstance(found.problem, Tsp) else require_valid_graph)(found.problem)
    return result


def require_valid_tsp(tsp: Tsp) -> None:
    """Fail unless an instance has the form that `Tsp` documents."""
    assert tsp.cost.shape == (tsp.n, tsp.n) and len(set(tsp.labels.tolist())) == tsp.n
    assert (tsp.cost.diagonal() == FORBIDDEN).all() and (tsp.cost[tsp.cost != FORBIDDEN] <= 2**62 // tsp.n).all()


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
    return bool(content.strip()) and not content.startswith((b"\x1f\x8b", b"\xfd7zXZ\0", b"PK\3\4", b"\x93NUMPY"))


def try_many(samples, folder: Path, seed: int, *, count: int = 0, seconds: float = 0.0) -> Counter[str]:
    """Return the outcomes of mutants of each sample in turn, as many as `count` or `seconds` say, with their counts.

    Files that cause a failure are kept in the folder.
    """
    chance, found, end = random.Random(seed), Counter(), time.monotonic() + seconds
    signal.signal(signal.SIGALRM, _hangs)
    tried = 0
    while tried < count or time.monotonic() < end:
        sample = samples[tried % len(samples)]
        tried += 1
        content = mutant(sample.content, chance)
        signal.alarm(HANGS)
        try:
            result = outcome(sample, folder, content)
        except Exception as error:  # noqa: BLE001 (what is not expected is what we look for)
            kept = folder / f"failed-{seed}-{tried}-{sample.file}"
            kept.write_bytes(content)
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            result = f"failed: {sample.name}: {type(error).__name__} at {where}: {str(error)[:100]!r}"
            print(f"{result}: {kept}", flush=True)
        finally:
            signal.alarm(0)
        if result.startswith("refused: "):
            words = re.sub(r"[0-9]+", "N", result[9:]).split()
            result = f"refused: {sample.format}: {' '.join(words[:6])}"
        found[result] += 1
    found["tried"] = tried
    return found


def _hangs(number, frame):
    raise TimeoutError(f"no end after {HANGS} s")


def _process(arguments) -> Counter[str]:
    folder, seed, count, minutes = arguments
    own = Path(folder) / str(seed)
    own.mkdir(exist_ok=True)
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    data = os.environ.get("HPCSOLVE_DATA")
    everything = [*samples(), *(published(Path(data)) if data else [])]
    return try_many(everything, own, seed, count=count, seconds=60 * minutes)


def main() -> int:
    """Try mutants in several processes, and print how many were read or refused, and which ones failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=0, help="mutants of each process")
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the first process; the others count on")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="mutants-")
    work = [(folder, options.seed + i, options.count, options.minutes) for i in range(options.processes)]
    with multiprocessing.Pool(options.processes) as pool:
        found = sum(pool.map(_process, work), Counter())
    without = sum(count for what, count in found.items() if what.startswith("refused: "))
    failed = sum(count for what, count in found.items() if what.startswith("failed: "))
    for what, count in found.most_common():
        print(f"{count:8d} {what}")
    print(json.dumps({"tried": found["tried"], "read": found["read"], "failed": failed,
                      "refused with a line": found["refused with a line"], "refused without a line": without,
                      "refused, a file without lines": found["refused"]}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
