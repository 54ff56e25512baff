"""Within its first second a run says what it does, and goes on saying it while reading or compiling takes long."""

import os
import re
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest

from hpcsolve.device.build import HOST_FLAGS
from hpcsolve.output.log import heartbeat

JOB = 'algorithm = "shortest-paths"\ninstance = "roads.gr"\noutput = "out.h5"\n[shortest-paths]\nsources = [1]\n'
SLOW = """#!/bin/sh
case "$*" in *--version*|*--help=target*) exec g++ "$@";; esac
sleep 6
exec g++ "$@"
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a job whose graph takes a while to read, and a slow compiler."""
    n = 300_000
    tails = np.arange(1, n)
    body = "\n".join(f"a {tail} {tail + 1} 5" for tail in tails.tolist())
    (tmp_path / "roads.gr").write_text(f"p sp {n} {n - 1}\n{body}\n")
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "slow-compiler").write_text(SLOW)
    (tmp_path / "slow-compiler").chmod(0o755)
    return tmp_path


def spoken(command, folder, **environment):
    """Run a command to its end, and return the lines that it prints with the seconds at which each came."""
    started, lines = time.monotonic(), []
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
                          ) as process:
        assert process.stdout is not None
        lines = [(time.monotonic() - started, line.rstrip("\n")) for line in process.stdout]
    assert process.returncode == 0, lines
    return lines


@pytest.mark.slow
def test_the_first_line_comes_at_once_and_compiling_is_announced(folder):
    """With an empty cache and a slow compiler there are lines all the time."""
    command = [sys.executable, "-m", "hpcsolve", "run", "job.toml", "--device", "cpu"]
    slow = {"HPCSOLVE_CACHE": str(folder / "cache"), "HPCSOLVE_CXX": str(folder / "slow-compiler"),
            "HPCSOLVE_CXXFLAGS": HOST_FLAGS.replace("-O3", "-O0")}  # nine compilers beside other tests
    lines = spoken(command, folder, **slow)
    texts = [text for _, text in lines]
    assert texts[0] == "job:    job.toml" and lines[0][0] < 1
    assert texts[1].startswith("build:  compiling 9 kernel files with ") and "once" in texts[1]
    assert re.fullmatch(r"build:  [0-8] of 9 compiled after \d s", texts[2])
    reading = texts.index(f"read:   roads.gr, {(folder / 'roads.gr').stat().st_size / 2**20:.3g} MiB")
    assert reading < next(index for index, text in enumerate(texts) if text.startswith("hpcsolve 0."))
    times = [seconds for seconds, _ in lines]
    assert max(later - sooner for sooner, later in pairwise(times)) < 8
    warm = [text for _, text in spoken([*command, "--overwrite"], folder, **slow)]
    assert not [text for text in warm if text.startswith("build:")]
    assert not [text for _, text in spoken([*command, "--overwrite", "--quiet"], folder, **slow)
                if text.startswith(("job:", "build:", "read:"))]


def test_one_rank_speaks(mpiexec_path, folder):
    """Under mpiexec rank 0 alone prints the lines, before MPI has started."""
    command = [mpiexec_path, "-n", "3", sys.executable, "-m", "hpcsolve", "run", "job.toml", "--device", "cpu"]
    lines = spoken(command, folder)
    texts = [text for _, text in lines]
    assert texts[0] == "job:    job.toml" and lines[0][0] < 2
    assert len([text for text in texts if text.startswith("job:")]) == 1
    assert len([text for text in texts if text.startswith("read:   roads.gr")]) == 1


def test_a_heartbeat_beats_until_its_block_ends():
    """It also ends, and at once, when the block raises an error."""
    said = []
    with pytest.raises(KeyError), heartbeat(said.append, lambda seconds: f"{seconds:.1f}", interval=0.05):
        time.sleep(0.28)
        raise KeyError
    count = len(said)
    assert 2 <= count <= 5
    time.sleep(0.15)
    assert len(said) == count
