"""The Python interface: `solve`, `load`, `collect`, `join` and their types, loaded on first use."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hpcsolve.analysis.collect import collect
from hpcsolve.analysis.load import Result, load
from hpcsolve.errors import InputError, NotWritten
from hpcsolve.formats import InstanceOf
from hpcsolve.job import IN_MEMORY, Job, job_from_table
from hpcsolve.job.load import with_files_from
from hpcsolve.output.log import Log
from hpcsolve.parallel.comm import SerialComm
from hpcsolve.parallel.launch import join
from hpcsolve.problems.graph import Graph
from hpcsolve.problems.tsp import Tsp
from hpcsolve.runner.ahead import build_for
from hpcsolve.runner.checkpoints import NO_CHECKPOINTS, CheckpointOptions
from hpcsolve.runner.kinds import kind_of, precision_of
from hpcsolve.runner.planned import PlannedRun, with_earlier, with_instance
from hpcsolve.runner.reading import read_reporting, say_source
from hpcsolve.runner.run import run_job

if TYPE_CHECKING:
    from hpcsolve.parallel.comm import Comm

ProblemLike = Tsp | Graph | ArrayLike | str | os.PathLike[str]

__all__ = ["Interrupted", "Result", "collect", "join", "load", "solve"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended `solve` early, in an algorithm that has an answer before its end.

    Attributes
    ----------
    result
        The best answer so far, checked, with `result.complete` False. It is in the output, too, if there is one.
    """

    def __init__(self, result: Result) -> None:
        super().__init__(f"the best answer so far is in the attribute `result` of this exception: {result!r}")
        self.result = result


def solve(
    problem: ProblemLike,
    algorithm: str = "held-karp",
    comm: Comm | None = None,
    *,
    device: str = "auto",
    threads: int | None = None,
    share_gpu: bool = False,
    output: str | os.PathLike[str] | None = None,
    checkpoints: str | os.PathLike[str] | None = None,
    quiet: bool = True,
    seed: int = 1,
    exact: bool = False,
    round: float | None = None,
    stop: Mapping[str, float] | None = None,
    terminals: Iterable[Any] | None = None,
    weight: str | None = "",
    directed: bool | None = None,
    **parameters: object,
) -> Result:
    """Solve a problem and return its result.

    Parameters
    ----------
    problem
        For tours, costs from row to column, `inf` where there is no arc, or places: a matrix, or a DataFrame (`lat`
        and `lon`, or costs whose index equals the columns). For graphs, a sparse matrix of scipy or a graph of
        networkx. For both, the path of a file, or a `Tsp` or `Graph` of hpcsolve. For a batch of small travelling
        salesman problems an array of shape (instances, n, n).
    comm
        By default this process solves alone. Under mpiexec every rank calls `solve`, with what `hpcsolve.join()` gives,
        after an earlier run has compiled the kernels (docs/python.md).
    algorithm, device, threads, share_gpu, seed, exact, round, stop
        As in a job file: `stop={"seconds": 60.0}`.
    output, checkpoints
        A result file to write, which replaces an existing file, and a folder in which checkpoints are kept until the
        job is solved, from which the same call goes on. By default nothing is written.
    quiet
        Whether to print nothing.
    terminals
        The terminals of a Steiner problem, in place of those of `problem`: rows of a matrix, nodes, names or labels.
    weight
        The edges' attribute (networkx, GraphML), column (CSV) or property (GeoJSON) with the weights, such as "length"
        in OSMnx. None: all weigh 1. By default it is "weight", and in GeoJSON the lines' length in metres.
    directed
        Whether entries, lines or edges are arcs; False takes the lighter one of two directions. By default what
        `problem` says. Where it does not say (CSV, GeoJSON; a sparse matrix given to steiner-kmb) they are edges, and
        refused if two directions differ.
    parameters
        The keys of the algorithm's own table in a job file: `path="open"`.

    Returns
    -------
    Result
        The same on every rank.

    Raises
    ------
    InputError, ResourceError, EnvironmentFault
        Where the command line ends with exit code 2, 3 or 4.
    NotWritten
        An `EnvironmentFault`: there is an answer, its attribute `result`, but it could not be written to `output`.
    Interrupted
        After Ctrl-C, where there is an answer so far; else a plain `KeyboardInterrupt`.

    Examples
    --------
    >>> import hpcsolve
    >>> hpcsolve.solve([[0, 1, 9], [9, 0, 1], [1, 9, 0]], device="cpu").cost
    3
    """
    ranks = comm or SerialComm()
    options = _terminals_option(terminals) | _weight_option(weight)
    options |= {} if directed is None else {"directed": directed}
    job = _job(problem, options, parameters, {
        "algorithm": algorithm, "output": os.fspath(output or ""), "device": device, "threads": threads, "seed": seed,
        "share-gpu": share_gpu, "exact": exact, "round": round, "stop": _stop_table(stop)})
    log = _Silent() if quiet else Log(ranks.rank)
    return _solved(job, ranks, lambda: _planned(job, problem, options, output is not None, log), log, checkpoints)


def _solved(
    job: Job, comm: Comm, plan: Callable[[], PlannedRun], log: Log, checkpoints: str | os.PathLike[str] | None
) -> Result:
    """Return the result of a job, or raise `Interrupted` if it is not complete. Collective."""
    checkpointing = NO_CHECKPOINTS
    if checkpoints is not None:
        checkpointing = CheckpointOptions(os.fspath(checkpoints), deadline=math.inf)
    if comm.size == 1:
        build_for(job, log.say)
    say_source(job, log.say)
    try:
        contents = comm.bcast(run_job(comm, plan, log, keep=True, checkpointing=checkpointing).contents)
    except NotWritten as fault:
        fault.result = Result(comm.bcast(fault.result))
        raise
    if contents is None:
        raise KeyboardInterrupt("there is no answer yet; the same call goes on from the checkpoint")
    result = Result(contents)
    if not result.complete:
        raise Interrupted(result)
    return result


def _job(
    problem: ProblemLike, options: Mapping[str, Any], parameters: dict[str, object], settings: dict[str, object]
) -> Job:
    own = {str(settings["algorithm"]): _keys(parameters)}
    settings = {key: _plain(value) for key, value in settings.items()}
    job = job_from_table({**settings, "instance": _instance_key(problem, options), **own})
    return with_files_from(Path.cwd(), job)


def _stop_table(stop: object) -> dict[str, Any]:
    if stop is not None and not isinstance(stop, Mapping):
        raise InputError(f'stop={stop!r} does not say what to stop at; write for example stop={{"seconds": {stop!r}}}')
    return dict(stop or {})


def _terminals_option(terminals: Iterable[Any] | None) -> dict[str, Any]:
    if isinstance(terminals, str):
        raise InputError(f"terminals={terminals!r}: give a list, as in terminals=[{terminals!r}]")
    return {} if terminals is None else {"terminals": list(terminals)}


def _weight_option(weight: str | None) -> dict[str, Any]:
    return {} if weight == "" else {"weight": weight}


class _Silent(Log):
    """A log that prints nothing, not even the answer."""

    def __init__(self) -> None:
        super().__init__(rank=-1)


def _planned(job: Job, problem: ProblemLike, options: Mapping[str, Any], write: bool, log: Log) -> PlannedRun:
    planned = with_instance(job, _instance(job, problem, options, log), job.settings.output if write else None)
    return with_earlier(planned)


def _instance(job: Job, problem: ProblemLike, options: Mapping[str, Any], log: Log) -> InstanceOf[Any]:
    if isinstance(problem, (str, os.PathLike)):
        return read_reporting(job, log.say)
    kind = kind_of(job)
    given = kind.given(problem, options, precision_of(job))
    return InstanceOf(given, IN_MEMORY, kind.content_hash(given), "memory")


def _instance_key(problem: ProblemLike, options: Mapping[str, Any]) -> str | dict[str, Any]:
    """Return the value of the job's key `instance`."""
    if not isinstance(problem, (str, os.PathLike)):
        return {"batch": IN_MEMORY} if isinstance(problem, np.ndarray) and problem.ndim == 3 else IN_MEMORY
    if options.get("weight", "") is None:
        raise InputError("weight=None is for graphs of networkx; for a file, name the attribute or column of weights")
    path = os.path.abspath(problem)
    return {"file": path, **{key: _plain(value) for key, value in options.items()}} if options else path


def _keys(parameters: dict[str, object]) -> dict[str, object]:
    """Return keyword arguments as keys and values of a job file. A key whose value is None is left out."""
    return {name.replace("_", "-"): _plain(value) for name, value in parameters.items() if value is not None}


def _plain(value: object) -> object:
    """Return numpy's numbers and arrays, and paths, as values that TOML has, in tables and lists too."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value
