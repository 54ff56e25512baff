"""The model of several GPUs counts the steps, messages and bytes of the run."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from hpcsolve.algorithms.held_karp.lattice.split import Share, split_cities
from jobs.benchmarks.gpu import ranks as model


@pytest.mark.parametrize("ranks", [2, 3, 8, 300])
def test_bytes_are_those_of_the_plan(ranks):
    split = split_cities(25)
    sent = np.zeros(ranks, np.int64)
    for backward in (False, True):
        of_ranks = model.streams(split.top, ranks, backward)
        half = model.steps_of(Share(split, ranks, 0, False, 2, "cuda"), of_ranks, 4)
        sent[list(of_ranks)] += (half.near_out + half.far_out).sum(axis=0)
        assert (half.near_out + half.far_out).sum() == (half.near_in + half.far_in).sum()
    assert sent.tolist() == [Share(split, ranks, rank, False, 2, "cuda").bytes_sent() for rank in range(ranks)]


def test_no_resource_is_faster_than_its_bytes():
    machine = model.Machine()
    total, needs = model.seconds(34, 8, machine)
    assert total >= max(needs.values()) > 0 and set(needs) == set(model.RESOURCES)
    assert model.seconds(34, 8, model.replace(machine, staged=False))[0] < total
    assert model.seconds(30, 1, machine)[1]["kernels"] >= model.seconds_alone(30)
    slower = model.replace(machine, kernels=2.0)
    assert model.seconds(34, 1, slower)[0] > 1.8 * model.seconds(34, 1, machine)[0]
    assert model.seconds(34, 8, slower)[0] >= total  # which its copies take


def test_messages_that_are_sent_are_those_that_are_planned(start_ranks):
    done = start_ranks(4, sys.executable, "-m", "jobs.benchmarks.gpu.ranks", "--measure", "16", "--repeats", "1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["bytes"] == found["planned bytes"] > 0
    assert found["messages"] == model.planned_messages(16, 4) > 0


def test_runs_of_another_version_are_told_beside_those_here(repository, monkeypatch):
    """Both are asked for the same job in turn, each from its own folder."""
    asked = []
    run = subprocess.run

    def noted(command, **rest):
        asked.append((command, rest["cwd"]))
        return run(command, **rest)

    monkeypatch.setattr(model, "subprocess", SimpleNamespace(run=noted))  # not that of h5py, which asks for the machine
    lines = model.beside(12, str(repository), 2)
    assert [line.split(" of ")[0] for line in lines] == ["n = 12, 1", "n = 12, 2"]
    assert [folder for _, folder in asked] == [str(repository), None] * 4
    assert all(command[3:8] == [sys.executable, "-m", "hpcsolve", "run", asked[0][0][7]] for command, _ in asked)
