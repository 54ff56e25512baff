"""Benchmarks that ask several programs for proofs: what they launch, and that a wrong optimum is found."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from jobs.benchmarks.held_karp.proofs import cell, differ
from tests.markdown import tables

POINTS = [(0, 0), (30, 5), (9, 40), (33, 37), (12, 18), (25, 21)]
LEGS = np.hypot(*(np.array(POINTS)[:, None] - POINTS).transpose(2, 0, 1)).round().astype(int)
SHORTEST = min(sum(LEGS[leg] for leg in pairwise((0, *order, 0))) for order in permutations(range(1, len(POINTS))))


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the instances of both benchmarks, and `known(optimum)`, which writes tables of optima."""
    for name in ("tsplib", "tsptw", "ml4co_kit"):
        (tmp_path / name).mkdir()
    (tmp_path / "ml4co_kit" / "__init__.py").write_text("")  # without Concorde
    rows = "\n".join(f"{k} {x} {y}" for k, (x, y) in enumerate(POINTS, 1))
    head = f"TYPE: TSP\nDIMENSION: {len(POINTS)}\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION"
    for name in ("gr24", "ch150", "six"):
        (tmp_path / "tsplib" / f"{name}.tsp").write_text(f"NAME: {name}\n{head}\n{rows}\nEOF\n")
    lines = [str(len(POINTS)), *(" ".join(map(str, row)) for row in LEGS.tolist()), *["0 400"] * len(POINTS)]
    (tmp_path / "tsptw" / "six.txt").write_text("\n".join(lines) + "\n")

    def known(optimum):
        (tmp_path / "tsplib" / "optima.csv").write_text(f"name,optimum,type\nsix,{optimum},TSP EUC_2D\n")
        (tmp_path / "tsptw" / "best-known.csv").write_text(
            f"file,cost_of_published_tour,makespan_optimum\nsix.txt,{optimum},{optimum}\n")
        return tmp_path

    return known


@pytest.mark.parametrize(("name", "file", "columns"), [
    ("held_karp.windows", "six.txt", ["file", "published", "hpcsolve"]),
    ("held_karp.concorde", "six", ["file", "optimum", "hpcsolve"]),
])
def test_an_optimum_is_proven_and_a_wrong_one_is_found(name, file, columns, folder, program):
    options = ["--solvers", "hpcsolve"] if name.endswith("windows") else []
    for optimum, code in ((SHORTEST, 0), (SHORTEST - 1, 1)):
        data = folder(optimum)
        done = program(name, "--files", file, "--seconds", "30", *options, packages=[data], data=data)
        assert done.returncode == code, done.stderr
        assert ("optima differ" in done.stderr) == bool(code)
        row = tables(done.stdout)[0][0]
        assert list(row) == columns and row["hpcsolve"].startswith(f"**{SHORTEST}** ")


def test_cells_and_differences():
    proven = {"value": 125, "bound": 125, "proven": True, "scale": 10, "seconds": 1.234}
    assert cell(proven) == "**12.5** 1.2 s"
    assert cell({**proven, "proven": False, "bound": None}) == "[none, 12.5] 1.2 s"
    assert cell({"ended": "no memory"}) == "no memory"
    assert differ("x", {"a": proven, "b": {"ended": "no memory"}}, "12.5") == 0
    assert differ("x", {"a": proven, "b": {**proven, "value": 126}}, "") == 1
    assert differ("x", {"a": {**proven, "value": 126, "proven": False}}, "12.5") == 0
