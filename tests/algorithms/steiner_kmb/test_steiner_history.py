"""The history of mode best: the weight of every tree that was the best for a time."""

from dataclasses import replace

import numpy as np

from hpcsolve.algorithms.base import StopCriteria
from hpcsolve.problems.generate.graph import road_steiner
from tests.algorithms.steiner_kmb.test_steiner_best import SHRUNK, run_within, solved
from tests.steiner_oracle import hardly_shrunk


def test_the_history_has_every_better_tree(device, monkeypatch):
    """A run that ends as soon as its tree weighs as much as a row says has the rows up to it, and that tree."""
    graph = road_steiner(3000, 300, seed=3)
    monkeypatch.setattr(SHRUNK, hardly_shrunk)
    tenths = replace(graph, scale=10)
    history = {name: column.values.tolist() for name, column in solved(tenths, device).groups["history"].items()}
    better = np.diff(history["best"], prepend=np.inf) < 0
    assert better.sum() > 2 and better[:-1].all() and np.all(np.diff(history["seconds"]) > 0)
    assert history["step"][0] == 0 and np.all(np.diff(history["step"]) > 0)
    for row in np.flatnonzero(better):
        stopped = run_within(tenths, device, StopCriteria(target=history["best"][row]))
        assert stopped.cost == round(10 * history["best"][row])
        rows = stopped.groups["history"]
        assert [rows[name].values.tolist() for name in ("step", "best")] == [
            history["step"][: row + 1], history["best"][: row + 1]]
    assert "history" not in solved(graph, device, mode="fast").groups
