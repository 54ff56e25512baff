"""A run ends with one line, the first error, although every call of the driver fails after a kernel's failure."""

import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(__file__).parent / "sticky_program.py")
MATRIX, GRAPH = "instance = { generate = 'random-matrix', n = 15, high = 30 }", "instance = { generate = 'road-"
JOBS = {
    "held-karp": MATRIX,
    "ant-colony": f"{MATRIX}\n[stop]\niterations = 9",
    "shortest-paths": f"{GRAPH}graph', n = 300 }}\n[shortest-paths]\nsources = [1, 2, 3]",
    "steiner-kmb": f"{GRAPH}steiner', n = 300, terminals = 9 }}\n[steiner-kmb]\nmode = 'kmb'",
}


def write_job(folder, algorithm):
    """Write a job for a GPU into the folder."""
    head = f"algorithm = '{algorithm}'\noutput = 'out.h5'\ndevice = 'cuda'\n"
    (folder / "job.toml").write_text(f"{head}{JOBS[algorithm]}\n")


def test_every_use_after_a_failure_says_the_first_error(stub, run_process):
    environment = stub.environment(nvcc="single", fail_kernel=1)
    done = run_process([sys.executable, PROGRAM], timeout=60, env=environment)
    assert done.returncode == 0 and done.stderr == "", done.stdout + done.stderr
    said = dict(line.partition(": ")[::2] for line in done.stdout.splitlines())
    first = said["launch"]
    assert first.startswith("EnvironmentFault: a copy of 16384 bytes from the GPU failed on GPU 0 (Stub GPU 0, ")
    assert first.endswith("illegal memory access was encountered (the last kernel launched was minplus_multiply)")
    quiet = {"free", "close", "stage"}
    assert {name for name, text in said.items() if text == "nothing"} == quiet
    assert {text for name, text in said.items() if name not in {*quiet, "open again", "done"}} == {first}
    assert "cannot be used" in said["open again"] and "done" in said


@pytest.mark.parametrize(
    ("algorithm", "launch"),
    [("held-karp", 1), ("held-karp", 6), ("ant-colony", 6), ("shortest-paths", 1), ("steiner-kmb", 2)],
)
def test_a_run_ends_with_that_line(algorithm, launch, stub, hpcsolve, tmp_path):
    write_job(tmp_path, algorithm)
    environment = stub.environment(nvcc="single", fail_kernel=launch)
    done = hpcsolve("run", "job.toml", "--quiet", cwd=tmp_path, env=environment, timeout=200)
    assert done.returncode == 4 and not (tmp_path / "out.h5").exists(), done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("hpcsolve: error: "), done.stderr
    assert "failed on GPU 0 (Stub GPU 0" in lines[0] and "(the last kernel launched was " in lines[0]


def test_all_ranks_end_with_one_line(stub, mpiexec, tmp_path):
    write_job(tmp_path, "held-karp")
    environment = stub.environment(gpus=2, nvcc="single", fail_kernel=3)
    done = mpiexec(2, "run", "job.toml", "--quiet", cwd=tmp_path, env=environment, timeout=200)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "failed on GPU" in done.stderr and "Traceback" not in done.stderr and "PyCUDA" not in done.stderr
