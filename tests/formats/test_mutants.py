"""Mutants of good files: either an instance or an error of ours, never another exception, never slow."""

import gzip
import io
import random
import time

import numpy as np
import pytest

from hpcsolve.errors import InputError
from hpcsolve.formats import read, read_tour
from hpcsolve.formats.write import tsplib_text
from hpcsolve.problems.generate.tsp import uniform_tsp
from tests.mutants import mutant

FUZZED = ["burma14.tsp", "gr17.tsp", "bayg29.tsp", "br17.atsp", "eil51.tsp", "d198.tsp"]
SPLICES = [b"\0", b"-", b"nan", b"inf", b"1e999", b"99999999999999999999", b"\n", b" ", b"EOF\n", b":", b"\xff", b"-1",
           b"NODE_COORD_SECTION\n", b"EDGE_WEIGHT_SECTION\n", b"DIMENSION: 7\n", b"TYPE: ATSP\n", b"1e-30", b"0x1F"]


@pytest.mark.parametrize("name", FUZZED)
def test_mutants_of_published_files(data_dir, tmp_path, name):
    """Either an instance of valid form or an error of ours: nothing else, and at once."""
    content = (data_dir / "tsplib" / name).read_bytes()
    chance = random.Random(name)
    path, outcomes = tmp_path / name, {"read": 0, "refused": 0}
    for _ in range(120):
        damaged = mutant(content, chance, SPLICES)
        path.write_bytes(damaged)
        begin = time.process_time()
        try:
            tsp = read(path).problem
            assert tsp.cost.shape == (len(tsp.labels),) * 2
            outcomes["read"] += 1
        except InputError as problem:
            assert "\n" not in str(problem) and str(path) in str(problem)
            outcomes["refused"] += 1
        assert time.process_time() - begin < 1, damaged
    assert outcomes["refused"] > 30 and outcomes["read"] > 2, "the mutants must reach both ends"


@pytest.mark.parametrize("kind", ["npy", "csv", "tour", "gz"])
def test_mutants_of_other_formats(tmp_path, kind):
    table = np.arange(36).reshape(6, 6)
    file = io.BytesIO()
    np.save(file, table / 4)
    content = {
        "npy": file.getvalue(),
        "csv": "\n".join(",".join(map(str, row)) for row in table).encode(),
        "tour": b"TYPE: TOUR\nDIMENSION: 3\nTOUR_SECTION\n3\n1\n2\n-1\nEOF\n",
        "gz": gzip.compress(tsplib_text(uniform_tsp(5)).encode(), mtime=0),
    }[kind]
    chance, path = random.Random(kind), tmp_path / f"m.{kind}"
    for _ in range(200):
        path.write_bytes(mutant(content, chance, SPLICES))
        try:
            (read_tour if kind == "tour" else read)(path)
        except InputError as problem:
            assert "\n" not in str(problem) and str(path) in str(problem)
