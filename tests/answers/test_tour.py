"""Claims about a tour that its cost contradicts fail the check."""

import pytest

from hpcsolve.answers.tour import Tour, check_answer
from hpcsolve.problems.tsp import from_matrix

TSP = from_matrix([[0, 1, 9], [9, 0, 2], [3, 9, 0]])


@pytest.mark.parametrize(("answer", "said"), [
    (Tour(6, [0, 1, 2], False, lower_bound=6), "every city once, the cost added up from the instance"),
    (Tour(6, [0, 1, 2], False, lower_bound=7), "the lower bound 7 is above the tour's cost 6"),
    (Tour(5, [0, 1, 2], False), "the tour costs 6, not 5"),
    (Tour(6, [0, 1, 2], False, dearest=2), "the dearest leg of the tour does not cost 2"),
])
def test_claims_are_compared_with_the_instance(answer, said):
    verdict = check_answer(TSP, None, answer)
    assert verdict.reason == said and verdict.passed == said.startswith("every city")
