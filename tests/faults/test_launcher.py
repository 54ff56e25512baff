"""A process of the launcher is killed while ranks wait for each other: none of them lives on."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.checkpoint.test_kills import processes
from tests.faults.conftest import require

PROGRAM = """
import os, sys, time
from hpcsolve.parallel.launch import guard

def main(comm):
    os.write(1, b"joined\\n")  # in one piece, also with PYTHONUNBUFFERED
    if comm.rank == 1:
        time.sleep(60)
    comm.barrier()
    return 0

sys.exit(guard(main))
"""
SECONDS_TO_BE_GONE = 10.0


VICTIMS = [("MPICH", "hydra_pmi_proxy"), ("MPICH", "mpiexec"), ("Open MPI", "prterun")]


@pytest.mark.parametrize(("name", "victim"), VICTIMS)
def test_a_process_of_the_launcher_is_killed(name, victim, mpis, tmp_path):
    """Without `parallel/interrupts.py` ranks that look for a message in shared memory would do so forever."""
    command = require(mpis, name).command(3, "-c", PROGRAM)
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **quiet) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["joined\n"] * 3
        named = {program_of(number): number for number in processes(tmp_path)}
        os.kill(named[victim], signal.SIGKILL)
        killed = time.monotonic()
        while left := processes(tmp_path):
            if time.monotonic() - killed > SECONDS_TO_BE_GONE:
                for number in left:
                    os.kill(number, signal.SIGKILL)
                pytest.fail(f"{len(left)} processes live on")
            process.poll()
            time.sleep(0.05)
    print(f"{victim} of {name}: gone after {time.monotonic() - killed:.1f} s, exit code {process.returncode}")
    assert process.returncode != 0


def program_of(number):
    """Return the name of a process's program."""
    return Path(os.fsdecode(Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")[0])).name
