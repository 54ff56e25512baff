"""What states have collected and may still collect equals a plain fractional knapsack, for keys of each width."""

from fractions import Fraction

import numpy as np
import pytest

from hpcsolve.algorithms.held_karp.bounded.layers import Expander, Scratch, make_keys
from hpcsolve.algorithms.held_karp.prizes.curve import Curve, selection
from hpcsolve.algorithms.held_karp.prizes.states import Judge, ToDepot, targets
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.questions import TourQuestion
from hpcsolve.problems.tsp import from_costs


def knapsack(state, prizes, tables, aims):
    """Return 1 plus the most prize at the first end at which it suffices, or 0."""
    visited, last, value = state
    left = [q for q in range(len(prizes)) if q not in visited and value < tables["until"][last, q]]
    left.sort(key=lambda q: -Fraction(int(prizes[q]), max(1, int(tables["detour"][q]))))
    for end, wanted in zip(*aims):
        most = Fraction(sum(int(prizes[q]) for q in visited))
        room = 2 * int(end) - 2 * value - int(tables["ends"][last])
        if room < 0:
            continue
        for q in left:
            part = Fraction(room, int(tables["detour"][q]))
            most += int(prizes[q]) * min(1, part)
            room -= int(tables["detour"][q])
            if part <= 1:
                break
        if int(most) >= wanted:
            return int(most) + 1
    return 0


@pytest.mark.parametrize("words", [1, 2, 4])
@pytest.mark.parametrize("whole", [True, False])
def test_promises_equal_a_knapsack(words, whole, device):
    rng, m = np.random.default_rng([words, whole]), 12
    tsp = from_costs(rng.integers(1, 50, (m + 1, m + 1)), "t")
    asked = selection(tsp, TourQuestion(objective="prize", prizes=rng.integers(0, 9, m + 1), budget=160))
    bounds = ToDepot(asked, device)
    judge, expander = Judge(asked, bounds, words), Expander(bounds, bounds.limit, SerialComm(), Scratch(device), words)
    visited = rng.random((300, m)) < 0.4
    last, values = rng.integers(0, m, 300), rng.integers(0, 160, 300).astype(np.uint32)
    visited[np.arange(300), last] = True
    layer = expander.owned(make_keys(visited, last, words), values)
    order = [next(k for k in range(300) if (make_keys(visited[k:k + 1], last[k:k + 1], words)[0] == key).all()
                  and values[k] == value) for key, value in zip(layer.keys, layer.values)]
    states = [(set(np.flatnonzero(visited[k]).tolist()), int(last[k]), int(values[k])) for k in order]
    collected = judge.collected(expander, layer)
    assert collected.tolist() == [sum(int(asked.prizes[q]) for q in cities) for cities, _, _ in states]
    curve = Curve(whole)
    curve.add(np.array([5, 20, 31]), np.array([60, 100, 140]))
    names = {"until": (m, m), "detour": (m,), "ends": (m,)}
    tables = {name: judge.buffers[name].download().reshape(shape) for name, shape in names.items()}
    found = judge.promises(expander, layer, collected, curve).tolist()
    assert found == [knapsack(state, asked.prizes, tables, targets(curve, bounds.limit)) for state in states]
    assert 0 < found.count(0) < 300
    for part in (expander, judge, bounds):
        part.close()
