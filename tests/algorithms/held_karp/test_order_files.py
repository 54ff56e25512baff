"""Files of a job's questions are read on rank 0 alone: other hosts need not have them."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.held_karp import statement
from hpcsolve.device.host import HostDevice
from tests.order_oracle import random_question
from tests.thread_comm import on_ranks


@pytest.mark.parametrize(("objective", "method"), [("finish", "auto"), ("position", "auto"), ("position", "bounded")])
def test_other_ranks_read_no_files(objective: str, method: str, tmp_path: Path,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    tsp = random_question(11, 2, "sum")[0]
    file = tmp_path / "file"
    if objective == "finish":
        file.write_text("city,earliest,latest\n3,100,90000\n")
    else:
        with file.open("wb") as out:
            np.save(out, np.random.default_rng(1).integers(1, 100, (11, 11, 11)))
    key = "windows" if objective == "finish" else "costs"
    parameters = held_karp.Parameters(objective=objective, method=method, **{key: str(file)})
    own, readings = threading.local(), []
    for name in ("read_windows", "read_leg_costs"):
        def reading(*given: object, original: object = getattr(statement, name)) -> object:
            assert own.rank == 0, "another rank reads a file"
            readings.append(own.rank)
            return original(*given)

        monkeypatch.setattr(statement, name, reading)

    def work(comm):
        own.rank = comm.rank
        with HostDevice(1) as device:
            outcome = held_karp.ALGORITHM.solve(tsp, device, comm, parameters)
        return outcome.answer.cost, outcome.answer.tour.tolist()

    found = on_ranks(3, work)
    assert found[1:] == found[:2] and len(readings) == 1
