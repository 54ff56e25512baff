"""SIGKILL to a rank or to the launcher at a random moment, again and again, on changing numbers of ranks.

HPCSOLVE_KILLS says how many kills are made in all (`make test-faults`: 200, with the figures of each algorithm).
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.cli.seen import solution
from tests.order_oracle import a_day
from tests.processes import processes, wait_until_gone

KILLS = int(os.environ.get("HPCSOLVE_KILLS", "5"))
JOBS = {
    "ants": """algorithm = "ant-colony"
instance = { generate = "uniform-tsp", n = 120, seed = 1 }
[ant-colony]
bound = false
colonies = 4
[stop]
iterations = 300
""",
    "tours": """algorithm = "edge-assembly"
instance = { generate = "clustered-tsp", n = 2000, seed = 1 }
[edge-assembly]
population = 60
bound = false
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
    "in time": """algorithm = "held-karp"
instance.file = "day.txt"
[held-karp]
method = "bounded"
""",
}


@dataclass
class Figures:
    """What was counted: kills by victim, those of them during the write of a checkpoint, resumed runs."""

    victims: Counter[str]
    during_a_write: int = 0
    from_a_checkpoint: int = 0
    identical: int = 0

    def __str__(self):
        """Return the figures in words."""
        victims = ", ".join(f"{count} of a {victim}" for victim, count in sorted(self.victims.items()))
        return (f"{self.victims.total()} kills ({victims}), {self.during_a_write} during the write of a checkpoint; "
                f"{self.identical} resumed runs with identical answers, {self.from_a_checkpoint} from a checkpoint")


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", JOBS)
def test_killed_at_random_moments(name, tmp_path, hpcsolve, mpiexec_path, monkeypatch):
    """After each kill the run is resumed to its end in a copy of the folder, and then goes on, to be killed again."""
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    (folder := tmp_path / "work").mkdir()
    (folder / "job.toml").write_text(JOBS[name])
    if name == "in time":
        (folder / "day.txt").write_text(a_wide_day())
    given = sorted(os.listdir(folder))
    whole = ("run", "job.toml", "--device", "cpu", "--output", "whole.h5", "--overwrite")
    for _ in range(2):  # the first one may compile the kernels
        began = time.monotonic()
        done = hpcsolve(*whole, cwd=folder, timeout=300)
        assert done.returncode == 0, done.stderr
        if "\nbuild: " not in done.stdout:
            break
    lasts, expected = time.monotonic() - began, solution(folder / "whole.h5")
    (folder / "whole.h5").unlink()
    chance, figures = random.Random(name), Figures(Counter())
    while figures.victims.total() < KILLS / len(JOBS):
        if killed_once(folder, mpiexec_path, chance, lasts, figures):
            resume(folder, tmp_path / "copy", mpiexec_path, chance, figures, expected, given)
        else:
            require_finished(folder, expected, given)
            (folder / "out.h5").unlink()
    assert os.listdir(temporary) == []
    print(f"{name}: {figures}; 0 unreadable checkpoints, 0 files left in the temporary folder")
    assert figures.identical == figures.victims.total()


def a_wide_day():
    """Return the file of 45 stops whose windows are so wide that the proof takes a second or two."""
    tsp, question = a_day(45, 3, 130)
    legs = np.where(np.eye(45, dtype=bool), 0, tsp.cost)
    rows = [*legs.tolist(), *zip(question.windows.earliest, question.windows.latest)]
    return "\n".join(["45", *(" ".join(map(str, row)) for row in rows)]) + "\n"


def resume(folder, copy, mpiexec_path, chance, figures, expected, given):
    """Run the same command to its end, on any number of ranks, in a copy of the folder, and compare the answer."""
    shutil.copytree(folder, copy)
    done = subprocess.run(command(mpiexec_path, chance), cwd=copy, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    figures.from_a_checkpoint += "resume: " in done.stdout
    require_finished(copy, expected, given)
    figures.identical += 1
    shutil.rmtree(copy)


def require_finished(folder, expected, given):
    """Check that a run has left its answer and the given files, and nothing else."""
    assert solution(folder / "out.h5") == expected
    assert sorted(os.listdir(folder)) == sorted([*given, "out.h5"])


def command(mpiexec_path, chance):
    """Return the command of the job on 1, 2 or 3 ranks."""
    return [mpiexec_path, "-n", str(chance.choice([1, 2, 3])), sys.executable, "-m", "hpcsolve", "run", "job.toml",
            "--device", "cpu", "--output", "out.h5", "--checkpoint-interval", "0.05"]


def killed_once(folder, mpiexec_path, chance, lasts, figures):
    """Start the job, kill one of its processes within about its time, and return whether it was killed before its end.

    The number of ranks, the moment and the process are chosen at random. Every other time the moment is the next one at
    which a checkpoint is being written.
    """
    words, before = command(mpiexec_path, chance), checkpoint_files(folder)
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            output, _ = process.communicate(timeout=min(chance.uniform(0.2, 1.2) * lasts, 300))
        except subprocess.TimeoutExpired:
            if chance.random() < 0.5:
                wait_for_a_write(folder, before, process)
            victim, writing = kill_one(folder, chance), is_writing(folder, before)
            wait_until_gone(folder)
            output, _ = process.communicate(timeout=10)
            if victim is not None and (process.returncode != 0 or not (folder / "out.h5").exists()):
                figures.victims[victim] += 1
                figures.during_a_write += writing
                return True
    assert process.returncode == 0, output
    return False


def is_writing(folder, before):
    """Return whether the run has written data files of a checkpoint without manifest yet, and there is one before it.

    Parameters
    ----------
    before
        The files that were there when the run began. Earlier kills may have left data files.
    """
    names = checkpoint_files(folder)
    last = max((name[:8] for name in names if name.endswith(".manifest")), default="")
    return last != "" and any(name[:8] > last for name in names - before if name.endswith(".data"))


def checkpoint_files(folder):
    """Return the names of the files in the folder of the checkpoints."""
    with suppress(FileNotFoundError):
        return set(os.listdir(folder / "out.h5.checkpoint"))
    return set()


def wait_for_a_write(folder, before, process):
    """Return when a checkpoint is being written, or the run is over."""
    while process.poll() is None and not is_writing(folder, before):
        time.sleep(0.0005)


def kill_one(folder, chance):
    """Kill a process of the job and return what it was: a rank, a compiler or the launcher. None if there was none."""
    victims = processes(folder)
    if not victims:
        return None
    victim = chance.choice(victims)
    with suppress(OSError):
        words = Path(f"/proc/{victim}/cmdline").read_bytes()
        os.kill(victim, signal.SIGKILL)
        program = Path(os.fsdecode(words.split(b"\0")[0])).name
        return "rank" if program.startswith("python") else "compiler" if program in ("g++", "cc1") else "launcher"
    return None
