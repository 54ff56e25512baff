"""The kernel files that are built ahead of a Held-Karp job are those that it loads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hpcsolve.algorithms import held_karp
from hpcsolve.algorithms.base import NO_STOP
from hpcsolve.device.host import HostDevice
from hpcsolve.job import load_job
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.problems.generate.tsp import random_matrix
from tests.order_oracle import a_day

PLANES, ORDERS, BATCH = "held_karp/held_karp", "held_karp/orders", "held_karp/batch"
BOUNDED = ["held_karp/bounds", "held_karp/descent", "held_karp/layers", "host/assignment", "host/edge_assembly",
           "host/first_tour", "host/near_cities", "host/near_clusters", "host/one_tree", "tours/k_opt"]
PLAIN = 'instance = { generate = "random-matrix", n = 20, seed = 1 }\n[held-karp]\n'
MANY = PLAIN.replace("20", "32")
WINDOWS = 'windows = "windows.csv"\n'
FILE = 'instance = "a.tsp"\n[held-karp]\n'


@pytest.mark.parametrize(("job", "files"), [
    (PLAIN, [PLANES]), (PLAIN.replace("20", "28"), [PLANES]), (MANY, [*BOUNDED, PLANES]),
    (PLAIN + 'method = "lattice"\nlayout = "compact"\n', [PLANES]), (MANY + 'method = "lattice"\n', [PLANES]),
    (PLAIN + 'objective = "latency"\n', [ORDERS]), (PLAIN + "count = true\n", [ORDERS]),
    (PLAIN.replace("20", "24") + 'objective = "latency"\n', [*BOUNDED, ORDERS]),
    (MANY + 'objective = "bottleneck"\n', [ORDERS]), (PLAIN + 'method = "bounded"\n', BOUNDED),
    (PLAIN.replace("20", "9") + 'method = "bounded"\n', [*BOUNDED, PLANES]),
    (PLAIN + "[stop]\nseconds = 5\n", [*BOUNDED, PLANES]), (FILE + 'method = "lattice"\n', [PLANES, ORDERS]),
    (PLAIN + WINDOWS, ["held_karp/layers", "held_karp/timed_bounds"]),
    (MANY + WINDOWS + 'objective = "finish"\n', [
        ORDERS, "held_karp/bounds", "held_karp/layers", "held_karp/timed_bounds"]),
    (FILE, [*BOUNDED, PLANES, ORDERS]), ('instance = { batch = "costs.npz" }\n', [BATCH]),
])
def test_files_follow_from_the_job(job: str, files: list[str], tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('algorithm = "held-karp"\n' + job)
    loaded = load_job(str(tmp_path / "job.toml"))
    found = held_karp.ALGORITHM.kernels_of(loaded.parameters, loaded.settings.instance, loaded.settings.stop)
    assert sorted(found) == sorted(files) and set(found) <= set(held_karp.ALGORITHM.kernel_files)


@pytest.mark.parametrize(("keys", "n"), [
    ({}, 3), ({}, 13), ({"path": "open"}, 10), ({"layout": "compact"}, 10), ({"objective": "latency"}, 11),
    ({"arcs": True}, 9), ({"objective": "lexicographic"}, 9), ({"method": "bounded"}, 24),
])
def test_a_run_loads_no_other_files(keys: dict[str, object], n: int) -> None:
    parameters = held_karp.Parameters(**keys)
    files = held_karp.ALGORITHM.kernels_of(parameters, {"generate": "random-matrix", "n": n}, NO_STOP)
    with HostDevice(threads=1) as device:
        held_karp.ALGORITHM.solve(random_matrix(n), device, SerialComm(), parameters)
        assert {file for file, _ in device.kernels} <= set(files)


def test_an_end_that_is_proven_as_a_sum_loads_no_other_files() -> None:
    """Windows that only close need no waiting."""
    tsp, question = a_day(14, 0, 60)
    assert question.windows is not None
    closing = replace(question.windows, earliest=np.zeros(14, np.int64))
    parameters = held_karp.Parameters(objective="finish", method="bounded")
    files = held_karp.ALGORITHM.kernels_of(parameters, "day.txt", NO_STOP)
    with HostDevice(threads=1) as device:
        held_karp.ALGORITHM.solve(replace(tsp, windows=closing), device, SerialComm(), parameters)
        loaded = {file for file, _ in device.kernels}
    assert "held_karp/timed_bounds" in loaded and loaded <= set(files)
