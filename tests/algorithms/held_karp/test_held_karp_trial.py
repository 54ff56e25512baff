"""The trial that says how long a Held-Karp job takes does all that a rank does but wait for the others."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
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
    bytes_of = {"send": 0, "receive": 0}

    @dataclass
    class Counted:
        way: str
        nbytes: int

        def start(self) -> None:
            bytes_of[self.way] += self.nbytes

        def done(self) -> bool:
            return True

        def free(self) -> None:
            pass

    def message(comm: SerialComm, memory: Any, peer: int, sends: bool, tag: int) -> Counted:
        assert comm.size == ranks and 0 < peer < ranks
        nbytes = memory.nbytes if isinstance(memory, np.ndarray) else memory[1]
        return Counted("send" if sends else "receive", nbytes)

    module = importlib.import_module("hpcsolve.algorithms.held_karp.solve")  # the package has a function of this name
    monkeypatch.setattr(module._Undelivered, "message", message)
    before = device.allocated  # by tests that share the device
    trial = ALGORITHM.trial(ALGORITHM.statement(tsp, Parameters()), NO_STOP, ranks, device, 1)
    assert bytes_of["send"] == plan_of(held_karp.ALGORITHM, tsp, Parameters(), ranks).bytes_sent[0]
    assert (bytes_of["receive"] > 0) == (ranks > 1)
    assert trial.work is not None and trial.work > 0 and trial.outcome.cost is not None
    assert device.allocated == before
