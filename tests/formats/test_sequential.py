"""Sequential ordering problems: TSPLIB's files are read and written, and their orders are those of brute force."""


import numpy as np
import pytest

import hpcsolve
from hpcsolve import formats
from hpcsolve.errors import InputError
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import NO_ARC
from tests.order_oracle import best_order

SOP = """\
NAME: small.sop
TYPE: SOP
DIMENSION: 5
EDGE_WEIGHT_TYPE: EXPLICIT
EDGE_WEIGHT_FORMAT: FULL_MATRIX
EDGE_WEIGHT_SECTION
5
0 3 9 4 1000000
-1 0 6 2 5
-1 7 0 8 1
-1 4 -1 0 3
-1 -1 -1 -1 0
EOF
"""


@pytest.fixture
def file(tmp_path):
    """Return a file of five cities, of which the third comes before the fourth."""
    path = tmp_path / "small.sop"
    path.write_text(SOP)
    return path


def test_the_matrix_says_what_comes_before(file):
    tsp = formats.read(file).problem
    assert set(tsp.precedences) == {(0, 1), (0, 2), (0, 3), (2, 3), (0, 4), (1, 4), (2, 4), (3, 4)}
    assert tsp.cost[3, 2] == NO_ARC and tsp.cost[1, 2] == 6
    file.write_text(SOP.replace("\n5\n", "\n"))
    assert formats.read(file).problem.precedences == tsp.precedences


def test_the_order_is_that_of_brute_force(file):
    tsp = formats.read(file).problem
    result = hpcsolve.solve(str(file), path="open", device="cpu", threads=1)
    best = best_order(tsp, TourQuestion("open", precedences=tsp.precedences))
    assert best == (result.cost, result.tour.tolist()) and result.tour.tolist()[::4] == [0, 4]
    assert hpcsolve.solve(tsp, path="open", device="cpu", threads=1).cost == result.cost
    assert hpcsolve.solve(str(file), device="cpu", threads=1).tour.tolist() == result.tour.tolist()


def test_a_written_file_is_read_again(file, tmp_path):
    tsp = formats.read(file).problem
    formats.write(tsp, str(tmp_path / "again.sop"))
    again = formats.read(tmp_path / "again.sop").problem
    assert np.array_equal(again.cost, tsp.cost) and set(again.precedences) == set(tsp.precedences)
    for name in ("lost.npy", "lost.csv"):
        with pytest.raises(InputError, match=r"which only TSPLIB has; write a \.sop file"):
            formats.write(tsp, str(tmp_path / name))


def test_what_cannot_be(file):
    with pytest.raises(InputError, match=r'held-karp\.path: the instance says .*set start, or path = "open"'):
        hpcsolve.solve(str(file), "held-karp", device="cpu")
    with pytest.raises(InputError, match='solve it with algorithm = "held-karp"'):
        hpcsolve.solve(str(file), "ant-colony", device="cpu")
    file.write_text(SOP.replace("FULL_MATRIX", "UPPER_ROW"))
    with pytest.raises(InputError, match="5: EDGE_WEIGHT_FORMAT of a SOP must be FULL_MATRIX"):
        formats.read(file)
