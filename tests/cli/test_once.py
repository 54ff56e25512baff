"""Each file of a job is read once, and what it asks is stated once, whatever follows from it."""

import os
import sys
from collections import Counter

import numpy as np
import pytest

from hpcsolve.algorithms.registry import algorithm
from tests.in_process import commands_in_process

COSTS = "0.5 3.25 4 2\n3 0 1.5 7\n4 2 0 6.75\n1 5 8 0\n"
JOBS = {
    "windows": 'algorithm = "held-karp"\ninstance = "costs.txt"\n[held-karp]\nobjective = "finish"\n'
               'windows = "windows.csv"\n',
    "costs of legs": 'algorithm = "held-karp"\ninstance = "costs.txt"\n[held-karp]\nobjective = "position"\n'
                     'costs = "legs.npy"\n',
    "bounds": 'algorithm = "held-karp"\ninstance = "many.npy"\n[held-karp]\nmethod = "bounded"\n',
    "ants": 'algorithm = "ant-colony"\ninstance = "many.npy"\n[stop]\niterations = 2\n',
    "queries": 'algorithm = "shortest-paths"\ninstance = "graph.csv"\n[shortest-paths]\nqueries = "pairs.txt"\n',
    "tree": 'algorithm = "steiner-kmb"\ninstance = { file = "graph.csv", terminals = [1, 3] }\n',
}


@pytest.fixture
def opened(monkeypatch):
    """Count how often each file is opened for reading, by its name."""
    found = Counter()

    def note(event, arguments):
        if event == "open" and found is not None and isinstance(arguments[0], (str, bytes)):
            flags = arguments[2] if isinstance(arguments[2], int) else 0
            if not flags & (os.O_WRONLY | os.O_RDWR):
                found[os.path.basename(os.fsdecode(arguments[0]))] += 1

    sys.addaudithook(note)  # it stays until the process ends
    yield found
    found = None


@pytest.mark.parametrize("name", JOBS)
def test_files_are_read_and_questions_stated_once(name, tmp_path, monkeypatch, opened, test_device):
    (tmp_path / "costs.txt").write_text(COSTS)
    (tmp_path / "windows.csv").write_text("city,earliest,latest\n1,0.5,90\n")
    np.save(tmp_path / "legs.npy", np.arange(4 * 16).reshape(4, 4, 4) / 4)
    np.save(tmp_path / "many.npy", np.random.default_rng(1).integers(1, 99, (12, 12)) / 4)
    (tmp_path / "graph.csv").write_text("from,to,length\n1,2,5\n2,3,12\n3,4,2\n")
    (tmp_path / "pairs.txt").write_text("1 4\n2 4\n")
    (tmp_path / "job.toml").write_text(JOBS[name])
    solver, stated = type(algorithm(JOBS[name].split('"')[1])), []
    statement = solver.statement

    def counted(self, *arguments, **keys):
        stated.append(arguments)
        return statement(self, *arguments, **keys)

    monkeypatch.setattr(solver, "statement", counted)
    done = commands_in_process()(["run", "job.toml", "--device", test_device], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(stated) == 1
    named = [file.name for file in tmp_path.iterdir() if file.suffix != ".toml" and f'"{file.name}"' in JOBS[name]]
    assert named and {file: opened[file] for file in named} == dict.fromkeys(named, 1)
