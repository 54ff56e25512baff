"""`hpcsolve check`: small instances for every algorithm, solved on this installation, and their recorded answers.

The instances are generated, from seeds. An answer is recorded as its cost and a hash of all that a result file has in
`/solution`, which is the same on any number of ranks and on any device. If an answer differs, its line has the cost and
the hash that were found. After an intended change of a search, copy them into `CASES`.
"""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hpcsolve.algorithms.registry import algorithm
from hpcsolve.answers.contents import Contents
from hpcsolve.errors import EnvironmentFault, HpcsolveError
from hpcsolve.isolated import python_command
from hpcsolve.job import Job, job_from_table
from hpcsolve.output.log import Log, Say, duration
from hpcsolve.output.provenance import version
from hpcsolve.parallel.comm import Comm
from hpcsolve.runner.ahead import build_files
from hpcsolve.runner.conclude import CHECK_FAILED
from hpcsolve.runner.planned import read_planned
from hpcsolve.runner.reading import read_instance
from hpcsolve.runner.run import run_job

SECONDS = 600.0
"""Limit of the time of a check on several ranks."""
OVERSUBSCRIBED = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
"""Variables that let Open MPI start two ranks on one core, as MPICH does."""


@dataclass(frozen=True)
class Case:
    """A job with its recorded answer.

    Attributes
    ----------
    name
        The algorithm, and what of it is checked.
    instance, keys, stop
        The tables of the job.
    cost
        The recorded cost; None for distances, which have none.
    digest
        The recorded `digest_of` the answer.
    """

    name: str
    instance: Mapping[str, Any]
    cost: float | None
    digest: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    stop: Mapping[str, Any] = field(default_factory=dict)

    def job(self, device: str) -> Job:
        """Return the job for a device, as a job file names it. Ranks may share a GPU."""
        name = self.name.partition(",")[0]
        return job_from_table({"algorithm": name, "instance": dict(self.instance), name: dict(self.keys),
                               "stop": dict(self.stop), "device": device, "share-gpu": True, "output": ""})


CASES = (
    Case("held-karp, lattice", {"generate": "random-matrix", "n": 17, "seed": 1}, 1610, "d2fa967483fe"),
    Case("held-karp, bounds", {"generate": "uniform-tsp", "n": 30, "seed": 2}, 4043, "fa5457f0fdfb",
         {"method": "bounded"}),
    Case("edge-assembly", {"generate": "uniform-tsp", "n": 200, "seed": 3}, 10698, "14af78969589"),
    Case("ant-colony, symmetric", {"generate": "uniform-tsp", "n": 80, "seed": 4}, 6899, "bcc046516897",
         {"colonies": 2}, {"iterations": 40}),
    Case("ant-colony, asymmetric", {"generate": "random-matrix", "n": 60, "seed": 5}, 2143, "8d9d94fa0843",
         {"colonies": 2, "variant": "ant-system"}, {"iterations": 40}),
    Case("steiner-kmb, kmb", {"generate": "road-steiner", "n": 1000, "terminals": 60, "seed": 6}, 151350,
         "0afd978ddf25", {"mode": "kmb"}),
    Case("steiner-kmb, best", {"generate": "road-steiner", "n": 400, "terminals": 30, "seed": 7}, 66123, "dd4553252159",
         {"mode": "best", "shakes": 1, "starts": 2}),
    Case("shortest-paths, distances", {"generate": "road-graph", "n": 2000, "seed": 8}, None, "52f9d405b19d",
         {"sources": [1, 2, 3, 4, 5], "predecessors": True}),
    Case("shortest-paths, queries", {"generate": "rmat-graph", "scale": 9, "seed": 9}, None, "c4b41e9b2116",
         {"queries": [[1, 2], [3, 4], [5, 6]]}),
)
"""Small enough for some ten seconds of CPU time in all, where kernels need not be compiled."""


def build_for_cases(cases: Iterable[Case], device: str, say: Say) -> None:
    """Build the kernels of all cases at once, before MPI starts. Raises as `ahead.prepare_run`."""
    files: list[str] = []
    cores: dict[str, bool] = {}
    for job in (case.job(device) for case in cases):
        solver = algorithm(job.settings.algorithm)
        files += solver.kernels_of(job.parameters, job.settings.instance, job.settings.stop)
        cores.update(solver.cores)
    build_files(files, device, cores, say)


def check_cases(cases: Iterable[Case], device: str, comm: Comm, say: Say) -> int:
    """Solve all cases, say of each whether its answer is the recorded one, and return the exit code. Collective.

    Returns
    -------
    int
        0 if all are, the code of the first error that kept a case from an answer, or else `CHECK_FAILED`.
    """
    codes = []
    for case in cases:
        started = time.perf_counter()
        try:
            code, said = _checked(case, device, comm)
        except HpcsolveError as error:  # the same on all ranks
            code, said = error.exit_code, f"error: {error}"
        say(f"{case.name + ':':27}{said} ({duration(time.perf_counter() - started)})")
        codes.append(code)
    advice = ": do not trust this installation, and report these lines with what `hpcsolve info` prints"
    say(f"check:  {codes.count(0)} of {len(codes)} answers are as recorded{advice if CHECK_FAILED in codes else ''}")
    return worst_of(codes)


def worst_of(codes: Sequence[int]) -> int:
    """Return the first exit code of an error, or else `CHECK_FAILED` if an answer was wrong, or else 0."""
    return next((code for code in codes if code not in (0, CHECK_FAILED)), max(codes, default=0))


def _checked(case: Case, device: str, comm: Comm) -> tuple[int, str]:
    """Return the exit code and what is to be said of a case, on all ranks. Collective."""
    job = case.job(device)
    finished = run_job(comm, lambda: read_planned(job, None, lambda judge: read_instance(job)), Log(-1), keep=True)
    return comm.bcast(_compared(case, finished.contents, finished.exit_code))


def _compared(case: Case, contents: Contents | None, exit_code: int) -> tuple[int, str]:
    """Return the exit code and what is to be said of an answer. Ranks without the answer return what is not used."""
    if contents is None:
        return exit_code, ""
    cost = contents.cost
    found, recorded = _words(cost, digest_of(contents)), _words(case.cost, case.digest)
    if exit_code:
        return exit_code, f"WRONG: {found}: the check of the answer failed"
    if found != recorded:
        return CHECK_FAILED, f"WRONG: {found} instead of {recorded}"
    return 0, f"{found}, as recorded"


def _words(cost: float | None, digest: str) -> str:
    """Return an answer in words: its cost, unless that is None or NaN, and its digest."""
    return f"answer {digest}" if cost is None or math.isnan(cost) else f"cost {cost:.10g}, answer {digest}"


def digest_of(contents: Contents) -> str:
    """Return the first 12 digits of the SHA-256 of all values of `/solution`."""
    found = {name: np.asarray(column.values).tolist() for name, column in contents.groups["solution"].items()}
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()[:12]


def mpiexec() -> str | None:
    """Return the path of the launcher in this Python's environment, or else on the PATH. None without it or mpi4py."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return shutil.which("mpiexec", path=places) if version("mpi4py") else None


def check_on_ranks(launcher: str, ranks: int, words: Iterable[str]) -> int:
    """Run the command line of hpcsolve on several ranks, which print what they find, and return the exit code.

    Raises
    ------
    EnvironmentFault
        The launcher cannot be started, or does not end.
    """
    program = python_command("import sys; from hpcsolve.__main__ import main; sys.exit(main())", *words)
    command = [launcher, "-n", str(ranks), *program]
    try:
        code = subprocess.run(command, env={**OVERSUBSCRIBED, **os.environ}, stdin=subprocess.DEVNULL, check=False,
                              timeout=SECONDS).returncode
    except OSError as error:
        raise EnvironmentFault(f"{launcher} cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise EnvironmentFault(f"{launcher} and {ranks} ranks have not ended after {duration(SECONDS)}: does "
                               f"`{launcher} -n {ranks} hpcsolve info` end?") from None
    return code if code >= 0 else EnvironmentFault.exit_code
