"""The trial that says how long a Held-Karp job takes does all that a rank does but wait for the others."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.base import NO_STOP
from hpcsolve.algorithms.held_karp import ALGORITHM, Parameters
from hpcsolve.device.base import Device
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.tsp import random_matrix
from tests.solvers import plan_of


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_it_sends_and_receives_what_a_rank_does(
    ranks: int, symmetric: bool, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    tsp = random_matrix(16, symmetric=symmetric)
    bytes_of: dict[str, int] = {"send": 0, "receive": 0}

    class Arrived:
        def wait(self) -> None:
            pass

    def counted(way: str) -> Any:
        def message(comm: SerialComm, array: np.ndarray, peer: int) -> Arrived:
            assert comm.size == ranks and 0 < peer < ranks
            bytes_of[way] += array.nbytes
            return Arrived()
        return message

    module = importlib.import_module("hpcsolve.algorithms.held_karp.solve")  # the package has a function of this name
    for way in bytes_of:
        monkeypatch.setattr(module._Undelivered, way, counted(way))
    before = device.allocated  # by tests that share the device
    trial = ALGORITHM.trial(ALGORITHM.statement(tsp, Parameters()), NO_STOP, ranks, device, 1)
    assert bytes_of["send"] == plan_of(held_karp.ALGORITHM, tsp, Parameters(), ranks).bytes_sent[0]
    assert (bytes_of["receive"] > 0) == (ranks > 1)
    assert trial.work is not None and trial.work > 0 and trial.outcome.cost is not None
    assert device.allocated == before
