"""The Python interface, `solve` and `load`, which `import hpcsolve` loads when it is first used."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hpcsolve.analysis.load import Result, load
from hpcsolve.formats import InstanceOf
from hpcsolve.job import IN_MEMORY, Job, job_from_table
from hpcsolve.job.load import with_files_from
from hpcsolve.output.log import Log
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.parallel.launch import join
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import Tsp
from hpcsolve.runner.ahead import build_for
from hpcsolve.runner.kinds import kind_of, read_instance
from hpcsolve.runner.run import run_task
from hpcsolve.runner.task import Task, task_of

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm

Problem = Tsp | Graph | ArrayLike | str | os.PathLike[str]

__all__ = ["Result", "join", "load", "solve"]


def solve(
    problem: Problem,
    algorithm: str = "held-karp",
    comm: Comm | None = None,
    *,
    device: str = "auto",
    threads: int | None = None,
    share_gpu: bool = False,
    output: str | os.PathLike[str] | None = None,
    quiet: bool = True,
    seed: int = 1,
    stop: Mapping[str, float] | None = None,
    terminals: Iterable[Any] | None = None,
    **parameters: object,
) -> Result:
    """Solve a problem.

    Parameters
    ----------
    problem
        An instance, a matrix of costs (from row to column; `inf`: no arc), or the path of a file; for graphs a
        `Graph`, a sparse matrix of scipy, or a graph of networkx.
    algorithm
        As in a job file.
    comm
        `hpcsolve.join()` under mpiexec, where every rank calls `solve`; by default this process alone. Then kernels
        should be in the cache already: compilers cannot be started safely while MPI runs.
    device, threads, share_gpu
        As in a job file.
    output
        Also write a result file, replacing any; by default none.
    quiet
        Print nothing.
    seed, stop
        As in a job file: `stop={"seconds": 60.0}`.
    terminals
        Of a Steiner problem, in place of any that it has: vertices as rows of a matrix, nodes of networkx, labels.
    parameters
        The algorithm's own, as in its table of a job file: `path="open"`.

    Returns
    -------
    Result
        On every rank.

    Raises
    ------
    InputError, ResourceError, EnvironmentFault
        As the command line's exit codes 2, 3 and 4.

    Examples
    --------
    >>> import hpcsolve
    >>> hpcsolve.solve([[0, 1, 9], [9, 0, 1], [1, 9, 0]], device="cpu").cost
    3
    """
    ranks = comm or SerialComm()
    options = {} if terminals is None else {"terminals": list(terminals)}
    table = {"algorithm": algorithm, "instance": _instance_key(problem, options), "output": os.fspath(output or ""),
             "device": device, "threads": threads, "share-gpu": share_gpu, "seed": seed, "stop": dict(stop or {}),
             algorithm: _keys(parameters)}
    job = with_files_from(Path.cwd(), job_from_table(table))
    if ranks.size == 1:
        build_for(algorithm, device)
    log = _Silent() if quiet else Log(ranks.rank)
    finished = run_task(ranks, lambda: _task(job, problem, options, output is not None), log, keep=True)
    contents = ranks.bcast(finished.contents)
    assert contents is not None
    return Result(contents)


class _Silent(Log):
    """A log that does not even print the answer."""

    def __init__(self) -> None:
        super().__init__(rank=-1)


def _task(job: Job, problem: Problem, options: Mapping[str, Any], write: bool) -> Task:
    return task_of(job, _instance(job, problem, options), job.settings.output if write else None)


def _instance(job: Job, problem: Problem, options: Mapping[str, Any]) -> InstanceOf[Any]:
    if isinstance(problem, (str, os.PathLike)):
        return read_instance(job)
    kind = kind_of(job)
    given = kind.given(problem, options)
    return InstanceOf(given, IN_MEMORY, kind.content_hash(given), "memory")


def _instance_key(problem: Problem, options: Mapping[str, Any]) -> str | dict[str, Any]:
    """Return the job's key `instance`."""
    if not isinstance(problem, (str, os.PathLike)):
        return IN_MEMORY
    path = os.path.abspath(problem)
    return {"file": path, **{key: _plain(value) for key, value in options.items()}} if options else path


def _keys(parameters: dict[str, object]) -> dict[str, object]:
    """Return Python's names and values as a job file has them. A key whose value is None is left out."""
    return {name.replace("_", "-"): _plain(value) for name, value in parameters.items() if value is not None}


def _plain(value: object) -> object:
    """Return numbers and arrays of numpy, and paths, as TOML has them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value
