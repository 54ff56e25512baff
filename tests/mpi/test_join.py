"""One process runs without MPI and several with it, and a launcher of another MPI is refused."""

import os
import sys
from pathlib import Path

import pytest

from hpcsolve.parallel import environment, launch

PROGRAM = Path(__file__).with_name("join_program.py")
LAUNCHER_VARIABLES = [*environment.LAUNCHERS, environment.STEP, *environment.RANKS, *environment.SIZELESS]


def alone(run_process, **variables):
    """Run the program as one process with these variables and no others of a launcher in its environment."""
    clean = {name: value for name, value in os.environ.items() if name not in LAUNCHER_VARIABLES}
    return run_process([sys.executable, str(PROGRAM)], timeout=30, env=clean | variables)


@pytest.mark.parametrize(
    "variables",
    [{}, {"SLURM_NTASKS": "8"}, {"SLURM_STEP_NUM_TASKS": "1", "PMI_SIZE": "1", "PMI_RANK": "0"}, {"PMI_SIZE": ""}],
    ids=["nothing", "inside a job", "a launcher of one", "empty"],
)
def test_one_process_needs_no_mpi(run_process, variables):
    done = alone(run_process, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, "SerialComm 0 of 1, mpi4py False\n", "")


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_launcher_makes_one_communicator(start_ranks, ranks):
    done = start_ranks(ranks, sys.executable, PROGRAM)
    kind = "SerialComm" if ranks == 1 else "MpiComm"
    expected = [f"{kind} {rank} of {ranks}, mpi4py {ranks > 1}" for rank in range(ranks)]
    assert (done.returncode, sorted(done.stdout.splitlines()), done.stderr) == (0, expected, "")


def test_the_launchers_helper_processes_do_not_count(start_ranks):
    """Inside a Slurm job mpiexec starts one helper per node with srun, and ranks see the number of helpers."""
    done = start_ranks(3, sys.executable, PROGRAM, env=os.environ | {"SLURM_STEP_NUM_TASKS": "2", "SLURM_NTASKS": "8"})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("variables", "launcher"), [
    ({"OMPI_COMM_WORLD_SIZE": "3"}, "Open MPI's mpiexec started 3 processes (OMPI_COMM_WORLD_SIZE=3)"),
    ({"SLURM_STEP_NUM_TASKS": "4"}, "srun started 4 processes (SLURM_STEP_NUM_TASKS=4)"),
    ({"MV2_COMM_WORLD_SIZE": "2"}, "MVAPICH's mpiexec started 2 processes"),
], ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
def test_a_launcher_of_another_mpi_is_refused(run_process, mpiexec_path, variables, launcher):
    done = alone(run_process, **variables)
    assert done.returncode == 4
    assert done.stdout == ""
    line = done.stderr.strip()
    assert "\n" not in line
    assert line.startswith(f"hpcsolve: error: {launcher}")
    assert "the MPI library of each, M" in line or "Open MPI v" in line
    assert "finds 1: the launcher belongs to another MPI; use" in line


def test_mpich_under_a_launcher_with_pmix_only(run_process, mpiexec_path):
    """It would abort in MPI_Init on every rank, with a page of output."""
    if pytest.importorskip("hpcsolve.parallel.mpi", reason="no mpi4py (extra `local`)").speaks_pmix():
        pytest.skip("this MPI supports PMIx")
    done = alone(run_process, PMIX_RANK="0", SLURM_STEP_NUM_TASKS="2")
    assert done.returncode == 4
    assert len(done.stderr.splitlines()) == 1
    assert "started by a PMIx launcher" in done.stderr
    assert "MPICH" in done.stderr
    assert alone(run_process, PMIX_RANK="1", SLURM_STEP_NUM_TASKS="2").stderr == ""


def test_only_one_of_the_refused_processes_prints_the_error(run_process, mpiexec_path):
    done = alone(run_process, SLURM_STEP_NUM_TASKS="4", SLURM_PROCID="3")
    assert (done.returncode, done.stderr) == (4, "")


@pytest.mark.parametrize("fault", ["raise ImportError('no module')", "raise RuntimeError('cannot load MPI library')"])
def test_mpi_that_cannot_be_used_prints_one_line(run_process, tmp_path, fault):
    (tmp_path / "mpi4py.py").write_text(fault)
    paths = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    done = alone(run_process, OMPI_COMM_WORLD_SIZE="2", PYTHONPATH=paths)
    assert done.returncode == 4
    assert len(done.stderr.splitlines()) == 1
    assert "pip install" in done.stderr


SIZES = [
    ({}, 1, False),
    ({}, 5, False),
    ({"PMI_SIZE": "4"}, 4, False),
    ({"PMI_SIZE": "4"}, 1, True),
    ({"PMI_SIZE": "4"}, 2, True),
    ({"PMI_SIZE": "1"}, 1, False),
    ({"PMI_SIZE": "4", "SLURM_STEP_NUM_TASKS": "2"}, 4, False),
    ({"PMI_SIZE": "1", "OMPI_COMM_WORLD_SIZE": "4"}, 4, False),
    ({"PMI_SIZE": "1", "OMPI_COMM_WORLD_SIZE": "4"}, 1, True),
    ({"SLURM_STEP_NUM_TASKS": "2"}, 1, True),
    ({"SLURM_STEP_NUM_TASKS": "2"}, 2, False),
    ({"SLURM_NTASKS": "2"}, 1, False),
]


@pytest.mark.parametrize(("variables", "size", "wrong"), SIZES)
def test_announced_and_found_sizes(monkeypatch, variables, size, wrong):
    for name in LAUNCHER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert bool(launch.mismatch(size, "MPICH 5.0.2")) == wrong


@pytest.mark.parametrize(
    ("library", "advice"),
    [("Open MPI v5.0.11", "srun --mpi=pmix"), ("MPICH 4.3", "srun --mpi=pmi2"), ("X 1", "of X 1")],
)
def test_the_right_command_is_named(monkeypatch, library, advice):
    monkeypatch.setenv("PMI_SIZE", "4")
    assert advice in launch.mismatch(1, library)
    assert library in launch.mismatch(1, library)


def test_quiet_waiting_keeps_what_the_user_set():
    settings = {"OMP_WAIT_POLICY": "active", "MPI_LOCALNRANKS": "10000"}
    environment.set_quiet_waiting(settings)
    assert settings["OMP_WAIT_POLICY"] == "active"
    assert settings["OPENBLAS_NUM_THREADS"] == "1"
    assert settings["MPIR_CVAR_ENABLE_HEAVY_YIELD"] == "1"
    few = {"MPI_LOCALNRANKS": "1"}
    environment.set_quiet_waiting(few)
    assert "MPIR_CVAR_ENABLE_HEAVY_YIELD" not in few
