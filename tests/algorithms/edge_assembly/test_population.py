"""How many tours there are, which the time limit and the number of cities decide where the job says nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.algorithms.edge_assembly.parameters import (
    FEWEST_TOURS,
    MOST_ASYMMETRIC,
    MOST_IN_AREA,
    MOST_TOURS,
    MOST_WHOLE,
    SECONDS,
    SECONDS_OF_START,
    Assembly,
    Parameters,
    statement,
)
from hpcsolve.problems.generate.tsp import random_matrix, uniform_tsp


def stated(n: int, symmetric: bool = True, **keys: int) -> Assembly:
    problem = uniform_tsp(n, extent=10_000) if symmetric else random_matrix(n)
    return statement(problem, Parameters(**keys), to_check=True)


def tours(assembly: Assembly, seconds: float | None) -> int:
    return assembly.population(StopCriteria(seconds=seconds))


@pytest.mark.parametrize("n", [500, 2392, MOST_WHOLE])
def test_twice_the_time_is_for_twice_as_many_tours(n):
    assembly, seconds = stated(n), 0.01
    while tours(assembly, seconds) < 3 * FEWEST_TOURS:
        seconds *= 1.5
    once, twice = tours(assembly, seconds), tours(assembly, 2 * seconds)
    assert 2 * once <= twice <= 2 * once + 1
    assert tours(assembly, 0.001) == FEWEST_TOURS
    assert tours(assembly, 1e9) == MOST_TOURS


def test_more_cities_have_fewer_tours_and_more_of_the_time_is_for_generations():
    few, many = stated(1000), stated(10_000)
    assert 10 * tours(many, 2.0) < tours(few, 2.0), "generations take longer for each city as well"
    assert 0 < many.part_of_first_tours < few.part_of_first_tours < 1


def test_asymmetric_costs():
    assembly = stated(300, symmetric=False)
    assert tours(assembly, 1e9) == MOST_ASYMMETRIC
    assert assembly.part_of_first_tours > stated(300).part_of_first_tours, "each is patched from an assignment"


def test_without_a_limit_and_with_a_number_that_is_given():
    assert tours(stated(2000), None) == tours(stated(2000), SECONDS)
    assert tours(stated(2000, population=7), 1e9) == 7


def test_a_large_instance():
    """Its tours are those of an area. Four times the time after the first tour gives twice as many."""
    assembly = stated(MOST_WHOLE + 1)
    assert assembly.is_large and not stated(MOST_WHOLE).is_large
    assert tours(assembly, None) == tours(assembly, 1e9) == MOST_IN_AREA
    assert tours(assembly, 0.001) == FEWEST_TOURS
    counts = [tours(assembly, 0.05 * step) for step in range(1, 400)]
    assert all(before <= after <= before + 1 for before, after in pairwise(counts)) and counts[-1] == MOST_IN_AREA
    first = SECONDS_OF_START * assembly.problem.n
    assert [tours(assembly, first + seconds) for seconds in (1.0, 4.0)] == [12, 25]
