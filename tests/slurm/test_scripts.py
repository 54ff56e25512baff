"""The Slurm scripts, edited as a user would, under a fake srun and under a real Slurm if there is one."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frame.source import REPOSITORY

SCRIPTS = sorted((REPOSITORY / "slurm").glob("*.sbatch"))
MARK = "# <--"
by_name = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)


def edited(script: Path, ranks: int, limits: str, setup: str) -> str:
    """Return the script with its three marked lines changed and nothing else."""
    lines = script.read_text(encoding="utf-8").splitlines()
    first, second, third = [number for number, line in enumerate(lines) if MARK in line]
    sizes = r"--ntasks-per-node=\d+ --gpus-per-node=\d+ --cpus-per-task=\d+"
    lines[first], count = re.subn(sizes, f"--ntasks-per-node={ranks} --cpus-per-task=1", lines[first])
    assert count == 1
    lines[second] = f"#SBATCH {limits}"
    lines[third] = f"setup() {{ {setup}; }}"
    return "\n".join(lines) + "\n"


def test_both_scripts_exist():
    assert [path.name for path in SCRIPTS] == ["multi_node.sbatch", "one_node.sbatch"]


@by_name
def test_scripts_are_valid_shell(script):
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@by_name
def test_three_lines_are_to_be_edited(script):
    marked = [line.split(MARK)[1].strip() for line in script.read_text(encoding="utf-8").splitlines() if MARK in line]
    assert [text[:2] for text in marked] == ["1.", "2.", "3."]


@by_name
def test_srun_gets_the_options_that_matter(script, tmp_path):
    """A fake srun prints the options that it gets."""
    (tmp_path / "srun").write_text('#!/bin/sh\nprintf "%s\\n" "$OMP_NUM_THREADS" "$@"\n')
    (tmp_path / "srun").chmod(0o755)
    job = tmp_path / "job.sbatch"
    job.write_text(edited(script, 2, "--time=1", "MPI=pmix"))
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_CPUS_PER_TASK": "8"}
    done = subprocess.run(
        ["bash", str(job), "a job.toml", "--device", "cpu"],
        env=environment, capture_output=True, text=True, check=True, timeout=20,
    )
    expected = ["8", "--mpi=pmix", "--cpus-per-task=8", "--kill-on-bad-exit=1"]
    assert done.stdout.splitlines() == [*expected, "hpcsolve", "run", "a job.toml", "--device", "cpu"]


def require_cluster() -> None:
    """Skip the test unless a Slurm cluster answers."""
    if shutil.which("sbatch") is None:
        pytest.skip("no sbatch on the PATH")
    answer = subprocess.run(["sinfo", "--noheader"], capture_output=True, text=True, check=False, timeout=60)
    if answer.returncode != 0 or "idle" not in answer.stdout:
        pytest.skip(f"no idle Slurm cluster answers: {(answer.stderr or answer.stdout).strip()[:80]}")


@by_name
def test_a_cluster_runs_the_scripts(script, mpiexec_path):
    """They are submitted in the checkout, a folder that the nodes share."""
    require_cluster()
    folder = REPOSITORY / "build" / f"slurm-{os.getpid()}-{script.stem}"
    folder.mkdir(parents=True)
    mpi = "pmix" if "--oversubscribe" in subprocess.getoutput(f"{mpiexec_path} --help") else "pmi2"
    setup = f'PATH="{Path(sys.executable).parent}:$PATH"; MPI={mpi}; export HPCSOLVE_CACHE="{folder}/cache"'
    (folder / "job.sbatch").write_text(edited(script, 2, "--time=5", setup))
    job, output = REPOSITORY / "jobs" / "eu-capitals.toml", folder / "result.h5"
    done = subprocess.run(
        ["sbatch", "--wait", "--output=job.log", "job.sbatch", str(job), "--device", "cpu", "--output", str(output)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=240,
    )
    log = (folder / "job.log").read_text(encoding="utf-8")
    assert done.returncode == 0, log
    assert "PASS" in log
    assert output.exists()
    shutil.rmtree(folder)
