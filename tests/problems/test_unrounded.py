"""What is claimed of rounded answers: against brute force in exact fractions, and cases by hand."""

import pickle
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import hpcsolve
from hpcsolve.answers.rounding import at_most, exact_text, upward
from hpcsolve.formats import read
from hpcsolve.output.schema import answer_lines
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.rounding import Precision
from hpcsolve.problems.tsp import from_matrix
from hpcsolve.problems.unrounded import most_edges, times_counted, unrounded_paths, unrounded_tour, unrounded_tree
from tests.rounding_study import FAMILIES, HERE, table

EACH = 7
"""Instances of each family; `python -m tests.rounding_study 1000` has more."""
TENTHS = Precision("held-karp", lambda n, edges: 2**40, lambda problem: False, decimals=1)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_claim_is_broken(family):
    cases = [FAMILIES[family](1000 + number) for number in range(EACH)]
    assert [case.broken for case in cases] == [()] * EACH
    assert all(case.loss <= case.claim for case in cases)


def test_the_study_prints_its_table_and_finds_a_broken_claim(monkeypatch):
    """With errors of legs counted once, as before, the claim of latencies is false."""
    monkeypatch.setattr("hpcsolve.problems.unrounded.times_counted", lambda n, question: 1)
    cases = [FAMILIES["latency"](seed) for seed in range(12)]
    assert any(case.broken for case in cases)
    assert next(line for line in table(cases) if "latency" in line).endswith(f"{sum(bool(c.broken) for c in cases)} |")


@pytest.mark.parametrize(("question", "count"), [
    (TourQuestion(), 4), (TourQuestion("open"), 3), (TourQuestion(objective="bottleneck"), 1),
    (TourQuestion(objective="lexicographic"), 4), (TourQuestion(objective="latency"), 1 + 2 + 3 + 4),
    (TourQuestion("open", objective="latency"), 1 + 2 + 3),
    (TourQuestion("open", objective="latency", weights=np.array([5, 0, 2, 9])), 1 * 2 + 2 * 5 + 3 * 9),
    (TourQuestion("open", 3, objective="latency", weights=np.array([5, 0, 2, 9])), 1 * 0 + 2 * 2 + 3 * 5),
    (TourQuestion("open", 3, 1, objective="latency", weights=np.array([5, 0, 2, 9])), 1 * 2 + 2 * 5 + 3 * 0),
    (TourQuestion("cycle", 3, objective="latency", weights=np.array([5, 0, 2, 9])), 1 * 0 + 2 * 2 + 3 * 5 + 4 * 9),
    (TourQuestion(objective="position", weights=np.array([5, 0, 2, 9])), 16),
])
def test_how_often_the_errors_of_four_cities_count(question, count):
    assert times_counted(4, question) == count
    assert times_counted(1, question) == 0 or question.objective == "position"


def test_every_digit_of_a_text_counts(tmp_path):
    """The exact cost of a triangle in TSPLIB's order, whose entries have more digits than floats."""
    words = ["1.12345678901234567890", "1.2", "2.00000000000000000001", "1.5", "2.25", "1.75"]
    head = "NAME: t\nTYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\n"
    path = tmp_path / "t.tsp"
    path.write_text(f"{head}EDGE_WEIGHT_SECTION\n{words[0]} {words[1]} {words[2]}\n{words[3]} {words[4]}\n{words[5]}\n")
    tsp = read(path, TENTHS).problem
    found = unrounded_tour(tsp, TourQuestion(), np.array([0, 1, 3, 2]))
    assert found.cost == sum(map(Decimal, (words[0], words[4], words[5], words[1]))) == Decimal("6.3234567890123456789")
    assert found.error == Decimal("0.2") and tsp.cost[3, 1] == 22


def test_given_numbers_stay_on_the_rank_that_has_read_them():
    tsp = from_matrix(np.array([[0, 4 / 3], [2 / 3, 0]])).fitted(TENTHS)
    assert tsp.rounding.exact(1) == Decimal(repr(4 / 3))
    sent = pickle.loads(pickle.dumps(tsp))
    assert sent.rounding.exact is None and sent.rounding.error == tsp.rounding.error


def graph_of(*edges, directed=True, n=None):
    ends = list(zip(*edges))
    return from_edges(*ends, directed=directed, n=n).fitted(TENTHS, whole=True)


def test_a_path_of_many_short_arcs_is_not_hidden_behind_one_arc():
    """The path that is found has one arc of 10.4 tenths, the one that is hidden ten of 0.6: 4 tenths less than told."""
    short = [(k, k + 1, 0.06000001) for k in range(10)]
    graph = graph_of((0, 10, 1.04000001), *short)
    found = unrounded_paths(graph, [np.array([0])], None, None)
    assert graph.weights.tolist().count(1) == 10 and graph.weights.max() == 10
    assert found.error == Decimal("0.5") >= Decimal("1") - Decimal("0.6000001"), "ten arcs"
    assert unrounded_paths(graph, [np.array([0])], [np.array([3])], None).error == Decimal("0.15")
    assert unrounded_paths(graph, [np.array([4])], None, None).error == Decimal("0.3")
    assert unrounded_paths(graph, [np.array([0])], None, 2).error == Decimal("0.2"), "four arcs"


def test_paths_claim_their_own_arcs_and_not_all_vertices():
    """A star of 2000 vertices: two arcs, where all vertices in a row would have been claimed."""
    graph = graph_of(*((0, k, 1.03) for k in range(1, 2000)), directed=False)
    assert unrounded_paths(graph, [np.array([5])], None, None).error == Decimal("0.1")


def test_many_searches_claim_a_part_of_each_distance(monkeypatch):
    graph = graph_of((0, 1, 0.31), (1, 2, 5.04), (2, 0, 0.04))
    assert unrounded_paths(graph, [np.array([0])], None, None).part is None
    monkeypatch.setattr("hpcsolve.problems.unrounded.MOST_STEPS", 5)
    found = unrounded_paths(graph, [np.array([0])], None, None)
    assert found.error is None and Fraction(1, 6) <= Fraction(found.part) <= Fraction(167, 1000), "half of 3 tenths"


def test_the_most_edges_of_a_tree():
    """Of edges of 0, 1, 1, 2 and 5 units, those of 0.5, 0.5, 1.5 and 4.5 or more weigh 2.5 together as three."""
    weights = np.array([5, 1, 0, 2, 1], np.uint32)
    assert [most_edges(weights, 9, twice) for twice in (0, 1, 2, 4, 5, 13, 14, 2**70)] == [0, 1, 2, 2, 3, 3, 4, 4]
    assert most_edges(weights, 2, 100) == 2
    heavy = np.full(4, 2**60, np.uint64)
    assert most_edges(heavy, 4, 2**63 - 4) == 4 and most_edges(heavy, 4, 2**63 - 5) == 3


def test_the_weight_of_a_tree_is_that_of_its_decimals():
    """Python's fractions add up a thousand floats to the same sum."""
    n = 1000
    lengths = np.random.default_rng(1).random(n - 1) + 1e-3
    graph = graph_of(*((k, k + 1, x) for k, x in enumerate(lengths)), (0, n - 1, 3.0), directed=False)
    found = unrounded_tree(graph, np.arange(n - 1), np.arange(1, n))
    assert Fraction(found.cost) == sum(Fraction(repr(x)) for x in lengths.tolist())
    assert found.error <= (n - 1) * Decimal("0.05")


def lines(problem, algorithm, **keys):
    return answer_lines(hpcsolve.solve(problem, algorithm, **HERE | keys).contents)


TABLE = [[0, 1.04, 1.13], [1.04, 0, 1.21], [1.13, 1.21, 0]]


def test_lines():
    """By hand: 1.04 + 1.13 + 1.21 = 3.38, by tenths 1.0 + 1.1 + 1.2 = 3.3, and three legs of 0.05 make 0.15."""
    assert lines(TABLE, "held-karp", count=True, best=2, arcs=True)[1:] == [
        "cost:   3.3 (exactly 3.38), proven optimal for costs rounded to 0.1",
        "bound:  no tour is below 3.15, so this tour is at most 7.31 % above the optimum",
        "number: 2 optimal tours for costs rounded to 0.1",
        "best:   2 tours of cost 3.3 to 3.3 (exactly 3.38 to 3.38; no other tour is below 3.15), "
        "/solution/best_tours in the file",
        "arcs:   costs of the best tours through 6 arcs, each at most 0.15 away from its value before rounding, "
        "/solution/arc_costs in the file",
    ]
    assert lines(TABLE, "held-karp", objective="lexicographic")[1:] == [
        "cost:   3.3 (exactly 3.38), dearest leg 1.2 (exactly 1.21), proven optimal for costs rounded to 0.1",
        "bound:  no tour with a dearest leg of up to 1.21 is below 3.15, so this tour is at most 7.31 % above the "
        "optimum, and no tour has a dearest leg below 1.15",
    ]
    ants = lines(np.pad(np.array(TABLE), (0, 2), constant_values=1.04), "ant-colony", stop={"iterations": 2})
    assert ants[1].startswith("cost:   ") and "(exactly " in ants[1] and "bound" not in "".join(ants)


def test_windows_that_rounding_decides(tmp_path):
    """The traveller is at city 1 after 1.04, four hundredths late, but not by tenths, and a tour may be lost so."""
    (tmp_path / "late.csv").write_text("city,earliest,latest\n1,0,1\n")
    keys = {"objective": "finish", "windows": tmp_path / "late.csv", "path": "open", "start": 0}
    assert lines([[0, 1.04], [1.04, 0]], "held-karp", **keys)[1:] == [
        "cost:   1.0 (exactly 1.04) (time of the end), proven optimal for costs rounded to 0.1; in the costs before "
        "rounding it is 0.04 late for a window",
        "bound:  no tour that keeps all windows with 0.05 to spare is below 0.95",
    ]
    assert lines([[0, 1.06], [1.06, 0]], "held-karp", **keys) == [
        "tour:   there is none, proven for costs rounded to 0.1: there is no tour that keeps all windows with 0.05 to "
        "spare"]


def test_lines_of_trees_and_paths():
    """By hand: edges of 0.34 and 1.13, by tenths 0.3 and 1.1, each of which may have been rounded up by 0.05."""
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 0.34), (1, 2, 1.13)])
    tree = lines(graph, "steiner-kmb", terminals=[0, 2], mode="exact")
    assert tree[2] == ("cost:   1.4 (exactly 1.47), proven optimal for costs rounded to 0.1, at most 13.1 % above the "
                       "optimum: lower bound 1.3")
    graph.add_edge(2, 3, weight=20)
    assert lines(graph, "steiner-kmb", terminals=[0, 1], mode="exact", round=1)[2] == (
        "cost:   0 (exactly 0.34), proven optimal for costs rounded to 1: lower bound 0")
    graph.remove_edge(2, 3)
    assert lines(graph, "shortest-paths", queries=[[0, 2], [0, 1]]) == [
        "query:  0 -> 2: 1.4 (exactly 1.47), 3 vertices", "query:  0 -> 1: 0.3 (exactly 0.34), 2 vertices",
        "bound:  before rounding, each distance is at most 0.1 smaller"]
    assert lines(graph, "shortest-paths", sources=[0])[-1].endswith("each distance is at most 0.1 smaller")


def test_a_batch_of_files_says_how_it_was_rounded(tmp_path):
    """Each file has a unit of its own, and the coarsest is named. That they were exact was claimed before."""
    for name, scale in (("a", 1.0), ("b", 30.0)):
        np.savetxt(tmp_path / f"{name}.csv", np.sqrt(np.arange(2, 11).reshape(3, 3)) * scale, "%.17g", ",")
    job = f'algorithm = "held-karp"\ninstance = {{ batch = "{tmp_path}" }}\noutput = "{tmp_path}/out.h5"\n'
    (tmp_path.parent / "batch.toml").write_text(job)
    from hpcsolve.cli import main

    assert main(["run", str(tmp_path.parent / "batch.toml"), "--device", "cpu", "--quiet"]) == 0
    found = hpcsolve.load(tmp_path / "out.h5").contents
    assert found.value("instance", "rounded_to") == 1e-6 and found.value("rounding", "error") == 1.5e-6
    exact = [sum(Decimal(f"{scale * x**0.5:.17g}") for x in (3, 7, 8)) for scale in (1.0, 30.0)]
    assert [Decimal(text) for text in found.value("rounding", "costs")] == exact


def test_texts():
    assert [exact_text(Decimal(x)) for x in ("1e-7", "1.500", "1E+3", "0")] == ["0.0000001", "1.5", "1000", "0"]
    assert upward(Decimal("0.1")) == 0.1 and upward(Decimal("0.10000000000000000001")) == np.nextafter(0.1, 1)
    assert [at_most(Fraction(x, 3), 3) for x in (1, 3, -1, 10**9)] == ["0.334", "1", "-0.333", "3.34e+08"]
