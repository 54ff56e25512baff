"""The statement of every objective and constraint has the values of the instance's own tours."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from hpcsolve.algorithms.held_karp.problem import OrderProblem, order_problem, question_without_dearer
from hpcsolve.problems.order import TourQuestion, check_order
from hpcsolve.problems.tsp import Tsp
from tests.order_oracle import MISSING, OBJECTIVES, best_order, random_question, tours_of, values_of

CONSTRAINTS = ((), ("before",), ("position",), ("not-position", "forbidden"), ("ends",), ("open", "before"),
               ("ends", "before", "not-position"), ("open", "forbidden"))


def best_of_statement(tsp: Tsp, question: TourQuestion) -> tuple[int, list[int]] | None:
    """Return the best of all orders by the statement, in the tour's own cities."""
    problem = order_problem(tsp, question)
    found = _best(problem)
    if question.objective == "lexicographic" and found is not None:
        question = question_without_dearer(tsp, question, found[0])
        problem = order_problem(tsp, question)
        found = _best(problem)
    return None if found is None else (found[0], problem.core.tour(found[1]).tolist())


def _best(problem: OrderProblem) -> tuple[int, list[int]] | None:
    values = [(value, order[::-1]) for order in permutations(range(problem.m))
              if (value := problem.value(order)) is not None]
    return None if not values else (min(values)[0], list(min(values)[1])[::-1])


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_statement_equals_brute_force(objective: str, constraints: tuple[str, ...]) -> None:
    for seed in range(8):
        tsp, question = random_question(1 + seed % 6, seed, objective, constraints, top=9)
        assert best_of_statement(tsp, question) == best_order(tsp, question)


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_check_gives_every_tour_its_value(objective: str, constraints: tuple[str, ...]) -> None:
    """A tour that breaks a constraint is refused, any other has its value by the definition."""
    for seed in range(4):
        tsp, question = random_question(2 + seed, seed, objective, constraints)
        tours = tours_of(tsp.n, question)
        plain = replace(question, objective="sum") if objective == "lexicographic" else question
        for tour, value in zip(tours, values_of(tsp, plain, tours).tolist()):
            if value == MISSING:
                with pytest.raises(ValueError, match=r"forbid|before|window|no arc"):
                    check_order(tsp, tour, question)
            else:
                assert check_order(tsp, tour, question) == value
