"""Claims that the answer contradicts fail the check: costs of tours, bounds of trees."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

import hpcsolve
from hpcsolve.algorithms import held_karp, steiner_kmb
from hpcsolve.algorithms.base import Outcome
from hpcsolve.answers.tour import Tour
from hpcsolve.answers.tree import Tree, tree_from_edges
from hpcsolve.formats import write_graph
from hpcsolve.problems.graph import from_edges
from hpcsolve.problems.tsp import from_matrix
from hpcsolve.runner.verify import verify_file

TSP = from_matrix([[0, 1, 9], [9, 0, 2], [3, 9, 0]])


@pytest.mark.parametrize(("answer", "said"), [
    (Tour(6, [0, 1, 2], False, lower_bound=6), "every city once, the cost added up from the instance"),
    (Tour(6, [0, 1, 2], False, lower_bound=7), "the lower bound 7 is above the tour's cost 6"),
    (Tour(5, [0, 1, 2], False), "the tour costs 6, not 5"),
    (Tour(6, [0, 1, 2], False, dearest=2), "the dearest leg of the tour does not cost 2"),
])
def test_claims_are_compared_with_the_instance(answer, said):
    verdict = answer.check(TSP, None)
    assert verdict.reason == said and verdict.passed == said.startswith("every city")


@pytest.mark.parametrize(("answer", "claim"), [
    (Tour(6, [0, 1, 2], True), "that it is optimal"), (Tour(6, [0, 1, 2], False, lower_bound=5), "the lower bound"),
    (Tour(6, [0, 1, 2], False), "")])
def test_verify_says_that_a_search_is_not_repeated(answer, claim, monkeypatch, tmp_path):
    """A run does not say it of itself: it has just searched."""
    monkeypatch.setattr(held_karp.ALGORITHM, "run", lambda *_: Outcome(answer))
    (tmp_path / "costs.csv").write_text("0,1,9\n9,0,2\n3,9,0\n")
    hpcsolve.solve(tmp_path / "costs.csv", "held-karp", device="cpu", output=tmp_path / "out.h5")
    _, verdict = verify_file(str(tmp_path / "out.h5"))
    said = f"; {claim} was not checked, since its proof is the search itself" if claim else ""
    assert verdict.passed and verdict.reason == f"every city once, the cost added up from the instance{said}"


STAR = from_edges([0, 0, 0, 1, 2, 1], [1, 2, 3, 2, 3, 3], [2, 2, 2, 3, 3, 3], terminals=[1, 2, 3])
SPOKES = np.array([0, 0, 0]), np.array([1, 2, 3]), np.array([2, 2, 2])


def exact(edges=SPOKES, lower_bound=6, **changes):
    """What an exact method would return for the star: its three spokes, less than the sides."""
    proven = tree_from_edges(edges, lower_bound, closure_mst=6, closure_bottleneck=3, proof="branch and cut")
    return replace(proven, **changes)


@pytest.fixture
def solve(monkeypatch, tmp_path):
    """Solve the star with an algorithm that returns this answer, and return the file of its result."""

    def run(answer: Tree) -> str:
        monkeypatch.setattr(steiner_kmb.ALGORITHM, "run", lambda *_: Outcome(answer))
        write_graph(STAR, str(tmp_path / "star.stp"))
        hpcsolve.solve(tmp_path / "star.stp", "steiner-kmb", device="cpu", output=tmp_path / "out.h5")
        return str(tmp_path / "out.h5")

    return run


def test_a_proof_takes_the_place_of_prices(solve):
    path = solve(exact())
    result = hpcsolve.load(path)
    assert result.verified and result.optimal and result.lower_bound == result.cost == 6
    assert repr(result) == "<steiner-kmb: cost 6, optimal; 4 vertices>"
    _, verdict = verify_file(path)
    assert verdict.passed and "the lower bound was not checked, branch and cut proves it" in verdict.reason
    with h5py.File(path, "r+") as file:
        del file["solution/proof"]
    _, verdict = verify_file(path)
    assert verdict.passed is False and "nothing proves the lower bound" in verdict.reason


@pytest.mark.parametrize(("wrong", "message"), [
    (exact(lower_bound=7), "lower_bound is 7; closure_mst proves 5, and the tree weighs 6"),
    (exact(lower_bound=4), "lower_bound is 4; closure_mst proves 5, and the tree weighs 6"),
    (exact(cost=5), "cost is 5, not 6"),
    (exact((SPOKES[0][:2], SPOKES[1][:2], SPOKES[2][:2]), 4), "no path leads"),
])
def test_a_proof_does_not_excuse_a_wrong_tree(wrong, message, solve):
    path = solve(wrong)
    assert not hpcsolve.load(path).verified
    _, verdict = verify_file(path)
    assert verdict.passed is False and message in verdict.reason
