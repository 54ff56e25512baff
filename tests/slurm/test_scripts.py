"""The Slurm scripts, edited as a user would, under a fake srun."""

import os
import re
import subprocess

import pytest

from tests.slurm.scripts import MARK, SCRIPTS, edited

by_name = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
PROGRAM = ["hpcsolve", "run", "a job.toml", "--device", "cpu"]
COMMANDS = {
    "one_node": PROGRAM,
    "multi_node": PROGRAM,
    "cpu_only": [*PROGRAM, "--device", "cpu"],
    "requeue": PROGRAM,
    "array": ["hpcsolve", "sweep", *PROGRAM[2:], "--run", "3"],
}
WHEN_STOPPED = {"requeue": "requeue 7", "array": "requeue 6_3"}


def with_fakes(folder, script, setup, exit_code=0):
    """Run an edited script where srun and scontrol print what they get, and srun returns an exit code."""
    (folder / "srun").write_text(f'#!/bin/sh\nprintf "%s\\n" "$OMP_NUM_THREADS" "$@"\nexit {exit_code}\n')
    (folder / "scontrol").write_text('#!/bin/sh\necho "$@" >&2\n')
    for name in ("srun", "scontrol"):
        (folder / name).chmod(0o755)
    job = folder / "job.sbatch"
    job.write_text(edited(script, 2, "--time=1", setup))
    variables = {"SLURM_CPUS_PER_TASK": "8", "SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "6", "SLURM_ARRAY_TASK_ID": "3"}
    return subprocess.run(
        ["bash", str(job), "a job.toml", "--device", "cpu"],
        env={**os.environ, **variables, "PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True, text=True,
        check=False, timeout=20,
    )


def test_every_script_is_known():
    assert [path.stem for path in SCRIPTS] == sorted(COMMANDS)


@by_name
def test_scripts_are_valid_shell(script):
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@by_name
def test_three_lines_are_to_be_edited(script):
    marked = [line.split(MARK)[1].strip() for line in script.read_text(encoding="utf-8").splitlines() if MARK in line]
    assert [text[:2] for text in marked] == ["1.", "2.", "3."]


@by_name
@pytest.mark.parametrize("mpi", ["pmix", ""])
def test_srun_gets_the_options_that_matter(script, mpi, tmp_path):
    """Every rank dies with the first, and with an empty `MPI` srun takes the site's default."""
    done = with_fakes(tmp_path, script, f"MPI={mpi}")
    assert (done.returncode, done.stderr) == (0, "")
    threads, *options = done.stdout.splitlines()[: -len(COMMANDS[script.stem])]
    bound = ["--cpu-bind=cores"] if script.stem == "cpu_only" else []
    given = [f"--mpi={mpi}"] if mpi else []
    assert (threads, options) == ("8", [*given, "--cpus-per-task=8", *bound, "--kill-on-bad-exit=1"])
    assert done.stdout.splitlines()[-len(COMMANDS[script.stem]):] == COMMANDS[script.stem]


@by_name
@pytest.mark.parametrize("exit_code", [0, 2, 75, 143])
def test_a_stopped_run_is_queued_again_and_no_other(script, exit_code, tmp_path):
    done = with_fakes(tmp_path, script, "MPI=pmi2", exit_code)
    assert done.returncode == exit_code
    assert done.stderr.strip() == (WHEN_STOPPED.get(script.stem, "") if exit_code == 75 else "")


@by_name
def test_a_job_may_be_queued_again_and_keeps_its_log(script):
    options = " ".join(re.findall(r"^#SBATCH (.*?)(?:#.*)?$", script.read_text(), re.M)).split()
    assert {"--requeue", "--open-mode=append"} <= set(options)
    assert ("--signal=B:USR1@300" in options) == (script.stem in WHEN_STOPPED)
