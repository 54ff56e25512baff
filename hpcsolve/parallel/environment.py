"""What the launcher says of a run before MPI is touched, and settings that libraries read once, when they load.

Nothing here imports numpy or mpi4py: the command line calls `set_quiet_waiting` first of all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

LAUNCHERS = {
    "OMPI_COMM_WORLD_SIZE": "Open MPI's mpiexec",
    "MV2_COMM_WORLD_SIZE": "MVAPICH's mpiexec",
    "PMI_SIZE": "a PMI launcher (MPICH's mpiexec, srun --mpi=pmi2)",
}
"""Variable with the number of ranks -> who sets it."""

STEP = "SLURM_STEP_NUM_TASKS"
"""Tasks of a Slurm step. Under `mpiexec` these are the launcher's own helpers, so it counts only where no launcher of
`LAUNCHERS` spoke. `SLURM_NTASKS` says what the job asked for, not what was started, and counts nowhere."""

# The innermost launcher's first: under mpiexec in a Slurm job, SLURM_PROCID numbers the launcher's helpers.
RANKS = ("OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
LOCAL_SIZES = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE")
SIGNS = ("PMIX_RANK", "PMI_RANK", "PALS_RANKID")
"""Set by launchers that may say no size."""


def announced_sizes(environment: Mapping[str, str]) -> dict[str, int]:
    """Variable -> number of ranks, as the launcher says; empty without a launcher."""
    sizes = {name: _number(environment, name) for name in LAUNCHERS}
    found = {name: size for name, size in sizes.items() if size > 0}
    step = _number(environment, STEP)
    return found or ({STEP: step} if step > 0 else {})


def launched(environment: Mapping[str, str]) -> bool:
    """Whether a launcher started more ranks than this one, or does not say how many."""
    sizes = announced_sizes(environment)
    if sizes:
        return max(sizes.values()) > 1
    return any(name in environment for name in SIGNS)


def pmix_only(environment: Mapping[str, str]) -> bool:
    """Whether the launcher speaks PMIx (Open MPI's mpiexec, srun --mpi=pmix) and not the PMI that MPICH wants."""
    return "PMIX_RANK" in environment and "PMI_RANK" not in environment


def announced_rank(environment: Mapping[str, str]) -> int:
    """This process's number as the launcher counts, 0 where it does not."""
    return next((_number(environment, name) for name in RANKS if name in environment), 0)


def set_quiet_waiting(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let waiting threads and ranks sleep, and numpy's own threads stay away; what the user has set stays.

    OpenMP and numpy read their variables when they load, MPICH when it starts: call this before. With more ranks than
    cores MPICH's waiting ranks would keep the working ones from the cores (measured: 8 ranks on 2 cores, 8 ms for one
    small allreduce; 0.7 ms so).
    """
    environment.setdefault("OMP_WAIT_POLICY", "passive")
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")
    local_ranks = max((_number(environment, name) for name in LOCAL_SIZES), default=0)
    if local_ranks > len(os.sched_getaffinity(0)):
        environment.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0
