"""SIGKILL to a rank or to the launcher at a random moment, again and again, on changing numbers of ranks.

HPCSOLVE_KILLS says how many kills are made in all (`make test-faults`: 200).
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import h5py
import pytest

KILLS = int(os.environ.get("HPCSOLVE_KILLS", "5"))
SECONDS_TO_BE_GONE = 10.0
"""Time in which all processes of a job must end after one of them was killed."""
JOBS = {
    "ants": """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 120, seed = 1 }
[ant-colony]
colonies = 4
[stop]
iterations = 300
""",
    "held-karp": """algorithm = "held-karp"
instance = { generate = "random-matrix", n = 25, seed = 1 }
""",
    "rows": """algorithm = "shortest-paths"
instance = { generate = "road-graph", n = 20000, seed = 1 }
[shortest-paths]
sources = [SOURCES]
targets = [5, 77, 1234]
""".replace("SOURCES", ", ".join(map(str, range(1, 1500)))),
    "kmb": """algorithm = "steiner-kmb"
instance = { generate = "road-steiner", n = 20000, terminals = 1500, seed = 2 }
[steiner-kmb]
mode = "kmb"
""",
    "best": """algorithm = "steiner-kmb"
instance = { generate = "road-steiner", n = 4000, terminals = 300, seed = 2 }
[steiner-kmb]
mode = "best"
shakes = 3
""",
}

Start = Callable[..., "subprocess.CompletedProcess[str]"]


def solution(path: Path) -> dict[str, bytes]:
    """Return the bytes of `/solution`."""
    with h5py.File(path) as file:
        return {name: dataset[()].tobytes() for name, dataset in file["solution"].items()}


def processes(folder: Path) -> list[int]:
    """Return the processes that work in a folder: the launcher, its helpers and all ranks."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.readlink(entry / "cwd") == str(folder) and (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def wait_until_gone(folder: Path) -> None:
    """Wait until no process works in a folder, or fail the test and kill them."""
    deadline = time.monotonic() + SECONDS_TO_BE_GONE
    while left := processes(folder):
        if time.monotonic() > deadline:
            lines = [Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode() for number in left]
            for number in left:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            pytest.fail(f"these live on: {lines}")
        time.sleep(0.05)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", JOBS)
def test_killed_at_random_moments(
    name: str, tmp_path: Path, hpcsolve: Start, mpiexec_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "job.toml").write_text(JOBS[name])
    for _ in range(2):  # the first one compiles the kernels
        began = time.monotonic()
        whole = ("run", "job.toml", "--device", "cpu", "--output", "whole.h5", "--overwrite")
        assert hpcsolve(*whole, cwd=folder, timeout=300).returncode == 0
    lasts, expected = time.monotonic() - began, solution(folder / "whole.h5")
    (folder / "whole.h5").unlink()
    chance, kills = random.Random(name), 0
    while kills < KILLS / len(JOBS):
        killed = killed_once(folder, mpiexec_path, chance, lasts)
        kills += killed
        if not killed:
            assert solution(folder / "out.h5") == expected
            assert sorted(os.listdir(folder)) == ["job.toml", "out.h5"]
            (folder / "out.h5").unlink()
    while killed_once(folder, mpiexec_path, chance, 1e9):
        pass
    assert solution(folder / "out.h5") == expected
    assert sorted(os.listdir(folder)) == ["job.toml", "out.h5"]
    left = [name for name in os.listdir(temporary) if not re.fullmatch(r"cc\w{6}\.s", name)]
    assert left == [], "but what g++ leaves, which is asked for the features of the CPU"
    print(f"{name}: {kills} kills")


def killed_once(folder: Path, mpiexec_path: str, chance: random.Random, lasts: float) -> bool:
    """Start the job, kill one of its processes within about its time, and return whether it was killed before its end.

    The number of ranks, the moment and the process are chosen at random.
    """
    command = [mpiexec_path, "-n", str(chance.choice([1, 2, 3])), sys.executable, "-m", "hpcsolve", "run", "job.toml",
               "--device", "cpu", "--output", "out.h5", "--checkpoint-interval", "0.05"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            output, _ = process.communicate(timeout=min(chance.uniform(0.2, 1.2) * lasts, 300))
        except subprocess.TimeoutExpired:
            if victims := processes(folder):
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(victims), signal.SIGKILL)
            wait_until_gone(folder)
            output, _ = process.communicate(timeout=10)
            return process.returncode != 0 or not (folder / "out.h5").exists()
    assert process.returncode == 0, output
    return False
